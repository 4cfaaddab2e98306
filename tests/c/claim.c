/* Taking a seat, and what a claim says it could not do. */

#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static gallivant_harness_state_claim_result *claim_in(const char *directory,
                                                      const gallivant_harness_state_options *options)
{
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_claim_result *claim = NULL;
    CHECK_OK(gallivant_harness_state_claim(TEXT(directory), &identity, options, &claim, &error));
    return claim;
}

static void hs_55_the_same_token_claiming_twice_gets_two_sequences(void)
{
    const char *directory = path_in(fresh_directory(), "made");
    gallivant_harness_state_claim_result *claim = claim_in(directory, NULL);
    CHECK(gallivant_harness_state_claim_result_sequence(claim) == 1);
    CHECK(gallivant_harness_state_claim_result_floor_failure(claim) == NULL);
    CHECK(gallivant_harness_state_claim_result_floor_damage(claim) == NULL);
    CHECK(gallivant_harness_state_claim_result_context_failure(claim) == NULL);
    CHECK(gallivant_harness_state_claim_result_swept(claim) == 0);
    gallivant_harness_state_claim_result_free(claim);
    CHECK(claimed(directory, "tok", NULL) == 2);
    CHECK_TEXT(content_of(directory, ".harness-state.seq"), "2\n");
}

static void hs_62_a_floor_that_cannot_be_raised_is_reported(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(2000000000000);
    gallivant_harness_state_options options = options_with(host);
    const char *faults = "[{\"on\": \"rename\", \"name\": \".harness-state.seq\", \"do\": \"error\", \"errno\": \"EIO\"}]";
    CHECK_OK(gallivant_testing_host_set_faults(host, TEXT(faults), &error));
    gallivant_harness_state_claim_result *claim = claim_in(directory, &options);
    const gallivant_error *failure = gallivant_harness_state_claim_result_floor_failure(claim);
    CHECK(gallivant_harness_state_claim_result_sequence(claim) == 1);
    CHECK(gallivant_error_code(failure) == GALLIVANT_HARNESS_STATE_IO);
    CHECK(gallivant_error_os_error(failure) == EIO);
    CHECK(strstr(gallivant_error_message(failure), ".harness-state.seq") != NULL);
    gallivant_harness_state_claim_result_free(claim);
    gallivant_host_free(host);
}

static void hs_57_a_damaged_floor_is_reported(void)
{
    const char *directory = fresh_directory();
    write_file(directory, ".harness-state.seq", "seven\n");
    gallivant_harness_state_claim_result *claim = claim_in(directory, NULL);
    CHECK(gallivant_harness_state_claim_result_floor_damage(claim) != NULL);
    CHECK(gallivant_harness_state_claim_result_floor_failure(claim) == NULL);
    gallivant_harness_state_claim_result_free(claim);
    CHECK_TEXT(content_of(directory, ".harness-state.seq"), "1\n");
}

static void hs_63_a_sibling_record_that_cannot_be_removed_is_reported(void)
{
    const char *directory = fresh_directory();
    CHECK(mkdir(path_in(directory, "harness-context"), 0700) == 0);
    gallivant_harness_state_claim_result *claim = claim_in(directory, NULL);
    const gallivant_error *failure = gallivant_harness_state_claim_result_context_failure(claim);
    CHECK(gallivant_error_code(failure) == GALLIVANT_HARNESS_STATE_IO);
    CHECK(gallivant_error_os_error(failure) != 0);
    gallivant_harness_state_claim_result_free(claim);
}

static void hs_04_a_claim_counts_the_abandoned_files_that_it_swept(void)
{
    const char *directory = fresh_directory();
    struct timespec long_ago[2] = { { 1000, 0 }, { 1000, 0 } };
    write_file(directory, ".harness-state.tmp-1-2-3", "half a rec");
    CHECK(utimensat(AT_FDCWD, path_in(directory, ".harness-state.tmp-1-2-3"), long_ago, 0) == 0);
    gallivant_harness_state_claim_result *claim = claim_in(directory, NULL);
    CHECK(gallivant_harness_state_claim_result_swept(claim) == 1);
    gallivant_harness_state_claim_result_free(claim);
    CHECK_TEXT(content_of(directory, ".harness-state.tmp-1-2-3"), NULL);
}

static void hs_58_an_exhausted_sequence_is_refused(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_claim_result *claim = NULL;
    write_file(directory, ".harness-state.seq", "18446744073709551615\n");
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_SEQUENCE_EXHAUSTED, NULL,
                gallivant_harness_state_claim(TEXT(directory), &identity, NULL, &claim, &error));
    CHECK(claim == NULL);
    write_file(directory, ".harness-state.seq", "18446744073709551614\n");
    CHECK(claimed(directory, "tok", NULL) == UINT64_MAX);
}

static void hs_21_a_lock_that_stays_held_is_busy_and_writes_nothing(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_claim_result *claim = NULL;
    int lock = open(path_in(directory, ".harness-state.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(lock >= 0 && flock(lock, LOCK_EX) == 0);
    options.lock_wait_ms = 20;
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_BUSY, NULL,
                gallivant_harness_state_claim(TEXT(directory), &identity, &options, &claim, &error));
    CHECK(claim == NULL);
    CHECK_TEXT(content_of(directory, "harness-state"), NULL);
    close(lock);
    CHECK(claimed(directory, "tok", &options) == 1);
}

static void hs_64_to_66_a_wrapperless_session_takes_only_a_free_seat(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("claude-session-1");
    gallivant_harness_state_claim_result *claim = NULL;
    CHECK_OK(gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, NULL, &claim, &error));
    CHECK(gallivant_harness_state_claim_result_sequence(claim) == 1);
    gallivant_harness_state_claim_result_free(claim);

    /* A wrapper's claim is not free, and says so by no claim at all. */
    CHECK(claimed(directory, "tok", NULL) == 2);
    CHECK_OK(gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, NULL, &claim, &error));
    CHECK(claim == NULL);

    identity = identity_of("tok");
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_BAD_TOKEN, NULL,
                gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, NULL, &claim, &error));
    identity = identity_of("");
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_EMPTY_TOKEN, NULL,
                gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, NULL, &claim, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_EMPTY_TOKEN, NULL,
                gallivant_harness_state_claim(TEXT(directory), &identity, NULL, &claim, &error));
}

static void hs_65_other_wrapperless_prefixes_may_be_registered(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_str prefixes[] = { VIEW("codex-session-"), VIEW("other-") };
    gallivant_harness_state_identity identity = identity_of("other-1");
    gallivant_harness_state_claim_result *claim = NULL;
    options.wrapperless_prefixes = prefixes;
    options.wrapperless_prefixes_count = 2;
    CHECK_OK(gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, &options, &claim, &error));
    CHECK(claim != NULL);
    gallivant_harness_state_claim_result_free(claim);
    /* An array of none is not the default: no token may. */
    options.wrapperless_prefixes_count = 0;
    identity = identity_of("claude-session-1");
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_BAD_TOKEN, NULL,
                gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, &options, &claim, &error));
}

static void hs_05_the_schema_to_write_and_those_to_accept_are_options(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_harness_state_derived derived;
    options.schema = VIEW("st.harness-state.v1");
    CHECK(claimed(directory, "tok", &options) == 1);
    CHECK(strstr(content_of(directory, "harness-state"), "\"schema\":\"st.harness-state.v1\"") != NULL);
    derived = derived_in(directory, NULL);
    CHECK(derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_UNSUPPORTED_SCHEMA);
    gallivant_str accepted[] = { VIEW("x"), VIEW("st.harness-state.v1") };
    options.schema = VIEW(NULL);
    options.also_accepted_schemas = accepted;
    options.also_accepted_schemas_count = 2;
    derived = derived_in(directory, &options);
    CHECK(derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_CLAIMED);
}

void suite_claim(void)
{
    RUN(hs_55_the_same_token_claiming_twice_gets_two_sequences);
    RUN(hs_62_a_floor_that_cannot_be_raised_is_reported);
    RUN(hs_57_a_damaged_floor_is_reported);
    RUN(hs_63_a_sibling_record_that_cannot_be_removed_is_reported);
    RUN(hs_04_a_claim_counts_the_abandoned_files_that_it_swept);
    RUN(hs_58_an_exhausted_sequence_is_refused);
    RUN(hs_21_a_lock_that_stays_held_is_busy_and_writes_nothing);
    RUN(hs_64_to_66_a_wrapperless_session_takes_only_a_free_seat);
    RUN(hs_65_other_wrapperless_prefixes_may_be_registered);
    RUN(hs_05_the_schema_to_write_and_those_to_accept_are_options);
}
