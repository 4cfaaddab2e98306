/* The host that a test controls, as users use it for their own crash tests. */

#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t now = 2000000000000;

static size_t lines_of(gallivant_host *host)
{
    gallivant_text *text = NULL;
    size_t lines = 0;
    CHECK_OK(gallivant_testing_host_operations(host, &text, &error));
    gallivant_str view = gallivant_text_view(text);
    for (size_t i = 0; i < view.length; i++)
        lines += view.data[i] == '\n';
    gallivant_text_free(text);
    return lines;
}

static void a_manual_clock_stands_until_it_is_moved(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    claimed(directory, "tok", &options);
    CHECK(derived_in(directory, &options).observed_at_ms.value == now);
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, now + 7, &error));
    CHECK_OK(gallivant_testing_host_advance_ms(host, 3, &error));
    claimed(directory, "tok", &options);
    CHECK(derived_in(directory, &options).observed_at_ms.value == now + 10);
    CHECK_OK(gallivant_testing_host_advance_ms(host, -10, &error));
    CHECK(derived_in(directory, &options).observed_at_ms.value == now + 10);
    gallivant_host_free(host);
}

static void a_host_without_options_is_the_machine_and_counts(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = NULL;
    CHECK_OK(gallivant_testing_host_new(NULL, &host, &error));
    CHECK(lines_of(host) == 0);
    gallivant_harness_state_options options = options_with(host);
    claimed(directory, "tok", &options);
    CHECK(lines_of(host) > 5);
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, 5, &error));
    CHECK_OK(gallivant_testing_host_advance_ms(host, 5, &error));
    claimed(directory, "tok", &options);
    CHECK(derived_in(directory, NULL).observed_at_ms.value > 1600000000000);
    gallivant_host_free(host);
}

static void fixed_chance_gives_the_same_token_parts_again(void)
{
    const uint64_t random[] = { 10, 255 };
    gallivant_testing_host_options given = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_host *host = NULL;
    char token[GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY];
    const char *const ends[] = { "-000000000000000a", "-00000000000000ff", "-0000000000000100" };
    size_t length = 0;
    given.random = random;
    given.random_count = 2;
    CHECK_OK(gallivant_testing_host_new(&given, &host, &error));
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(gallivant_harness_state_mint_token(host, token, sizeof token, &length, &error));
        CHECK_TEXT(token + length - 17, ends[i]);
    }
    gallivant_host_free(host);
}

static void faults_that_cannot_be_used_leave_those_that_were_set(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_claim_result *claim = NULL;
    gallivant_error *error = NULL;
    const char *faults = "[{\"on\": \"mutating\", \"repeat\": true, \"do\": \"error\", \"errno\": \"EROFS\"}]";
    CHECK_OK(gallivant_testing_host_set_faults(host, TEXT(faults), &error));
    CHECK(gallivant_testing_host_set_faults(host, TEXT("[{}]"), &error) == GALLIVANT_INPUT);
    gallivant_error_free(error);
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_IO, NULL,
                gallivant_harness_state_claim(TEXT(directory), &identity, &options, &claim, &error));
    CHECK_OK(gallivant_testing_host_set_faults(host, TEXT("[]"), &error));
    CHECK(claimed(directory, "tok", &options) == 1);
    gallivant_host_free(host);
}

/* What a crash at operation `number` of a claim leaves behind; 0 once the claim has fewer operations. */
static int claim_and_crash_at(const char *directory, size_t number)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        char faults[64];
        gallivant_host *host = host_at(now + 1);
        gallivant_harness_state_options options = options_with(host);
        gallivant_harness_state_identity identity = identity_of("tok-b");
        gallivant_harness_state_claim_result *claim = NULL;
        snprintf(faults, sizeof faults, "[{\"at\": %zu, \"do\": \"crash\"}]", number);
        gallivant_testing_host_set_faults(host, TEXT(faults), NULL);
        int32_t claimed = gallivant_harness_state_claim(TEXT(directory), &identity, &options, &claim, NULL);
        gallivant_harness_state_claim_result_free(claim);
        gallivant_host_free(host);
        _exit(claimed == GALLIVANT_OK ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

static void hsi_5_a_crash_at_any_operation_of_a_claim_leaves_the_old_record_or_the_new(void)
{
    size_t crashes = 0;
    for (int crashed = 1; crashed != 0; crashes += (size_t)crashed) {
        const char *directory = fresh_directory();
        gallivant_host *host = host_at(now);
        gallivant_harness_state_options options = options_with(host);
        gallivant_harness_state_writer *writer = writer_on(directory, "tok-a", claimed(directory, "tok-a", &options),
                                                           &options);
        gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
        CHECK_OK(gallivant_harness_state_writer_observe(writer, &idle, NULL, &error));
        crashed = claim_and_crash_at(directory, crashes + 1);
        gallivant_harness_state_derived derived = derived_in(directory, &options);
        if (derived.ownership_sequence.value == 1)
            CHECK(derived.state == GALLIVANT_STATE_IDLE && crashed);
        else
            CHECK(derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_CLAIMED);
        /* Whatever it left, the next claim is above both. */
        CHECK(claimed(directory, "tok-c", &options) == derived.ownership_sequence.value + 1);
        gallivant_harness_state_writer_free(writer);
        gallivant_host_free(host);
    }
    CHECK(crashes > 10);
}

void suite_testing(void)
{
    RUN(a_manual_clock_stands_until_it_is_moved);
    RUN(a_host_without_options_is_the_machine_and_counts);
    RUN(fixed_chance_gives_the_same_token_parts_again);
    RUN(faults_that_cannot_be_used_leave_those_that_were_set);
    RUN(hsi_5_a_crash_at_any_operation_of_a_claim_leaves_the_old_record_or_the_new);
}
