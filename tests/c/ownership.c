/* Doing something only while the session owns the seat, and what a fork leaves of it. */

#define _GNU_SOURCE
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static void count(void *user_data)
{
    ++*(int *)user_data;
}

static void hs_68_an_action_runs_only_while_the_session_owns_the_seat(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok-a", claimed(directory, "tok-a", NULL), NULL);
    int times = 0;
    int32_t ran = -1;
    CHECK_OK(gallivant_harness_state_writer_with_current_ownership(writer, count, &times, &ran, &error));
    CHECK(ran == 1 && times == 1);
    claimed(directory, "tok-b", NULL);
    CHECK_OK(gallivant_harness_state_writer_with_current_ownership(writer, count, &times, &ran, &error));
    CHECK(ran == 0 && times == 1);
    gallivant_harness_state_writer_free(writer);
}

/* A writer of the same agent, as another process has it. */
struct rival {
    const char *directory;
    int32_t status;
};

static void claim_meanwhile(void *user_data)
{
    struct rival *rival = user_data;
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_harness_state_identity identity = identity_of("tok-b");
    gallivant_harness_state_claim_result *claim = NULL;
    options.lock_wait_ms = 10;
    rival->status = gallivant_harness_state_claim(TEXT(rival->directory), &identity, &options, &claim, NULL);
}

static void hs_68_no_claim_lands_while_the_action_runs_or_the_guard_is_held(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok-a", claimed(directory, "tok-a", NULL), NULL);
    struct rival rival = { directory, GALLIVANT_OK };
    gallivant_harness_state_ownership *guard = NULL;
    uint64_t sequence = 0;
    int32_t ran = 0;
    CHECK_OK(gallivant_harness_state_writer_with_current_ownership(writer, claim_meanwhile, &rival, &ran, &error));
    CHECK(ran == 1 && rival.status == GALLIVANT_HARNESS_STATE_BUSY);

    CHECK_OK(gallivant_harness_state_writer_lock_current_ownership(writer, &guard, &error));
    CHECK_OK(gallivant_harness_state_ownership_sequence(guard, &sequence, &error));
    CHECK(sequence == 1);
    rival.status = GALLIVANT_OK;
    claim_meanwhile(&rival);
    CHECK(rival.status == GALLIVANT_HARNESS_STATE_BUSY);
    gallivant_harness_state_ownership_free(guard);

    CHECK(claimed(directory, "tok-b", NULL) == 2);
    CHECK_OK(gallivant_harness_state_writer_lock_current_ownership(writer, &guard, &error));
    CHECK(guard == NULL);
    gallivant_harness_state_writer_free(writer);
}

/* Runs the test's second half in a forked child and answers its exit status. */
static int in_child(int (*body)(void *), void *user_data)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(body(user_data));
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int guard_is_dead(void *user_data)
{
    gallivant_harness_state_ownership *guard = user_data;
    gallivant_error *error = NULL;
    uint64_t sequence = 77;
    int right = gallivant_harness_state_ownership_sequence(guard, &sequence, &error) == GALLIVANT_HARNESS_STATE_INPUT &&
                strcmp(gallivant_error_reason(error), "forked") == 0 && sequence == 77;
    gallivant_error_free(error);
    gallivant_harness_state_ownership_free(guard);
    return right ? 0 : 1;
}

static void hs_24_a_guard_is_dead_in_a_forked_child_and_the_parents_lock_stays(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok-a", claimed(directory, "tok-a", NULL), NULL);
    gallivant_harness_state_ownership *guard = NULL;
    struct rival rival = { directory, GALLIVANT_OK };
    uint64_t sequence = 0;
    CHECK_OK(gallivant_harness_state_writer_lock_current_ownership(writer, &guard, &error));
    CHECK(in_child(guard_is_dead, guard) == 0);
    CHECK_OK(gallivant_harness_state_ownership_sequence(guard, &sequence, &error));
    claim_meanwhile(&rival);
    CHECK(rival.status == GALLIVANT_HARNESS_STATE_BUSY);
    gallivant_harness_state_ownership_free(guard);
    gallivant_harness_state_writer_free(writer);
}

static int session_is_dead(void *user_data)
{
    gallivant_harness_state_session *session = user_data;
    gallivant_error *error = NULL;
    int32_t holds = 1;
    int right = gallivant_harness_state_session_heartbeat_if_due(session, NULL, &error) ==
                    GALLIVANT_HARNESS_STATE_INPUT &&
                strcmp(gallivant_error_reason(error), "forked") == 0;
    gallivant_error_free(error);
    right = right && gallivant_harness_state_session_end(session, NULL, 0, NULL, NULL) == GALLIVANT_HARNESS_STATE_INPUT;
    right = right && gallivant_harness_state_session_holds_lease(session, &holds, NULL) == GALLIVANT_OK && holds == 0;
    gallivant_harness_state_session_free(session);
    return right ? 0 : 1;
}

static void hs_24_a_session_is_dead_in_a_forked_child_and_the_parents_lease_stays(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = NULL;
    int32_t holds = 0;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, NULL, &session, &error));
    CHECK(in_child(session_is_dead, session) == 0);
    CHECK_OK(gallivant_harness_state_session_holds_lease(session, &holds, &error));
    CHECK(holds == 1);
    CHECK_OK(gallivant_harness_state_session_heartbeat_if_due(session, NULL, &error));
    gallivant_harness_state_session_free(session);
}

static int write_in_child(void *user_data)
{
    gallivant_harness_state_writer *writer = user_data;
    gallivant_harness_state_observation active = seen(GALLIVANT_STATE_ACTIVE);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    int32_t status = gallivant_harness_state_writer_observe(writer, &active, &report, NULL);
    gallivant_harness_state_writer_free(writer);
    return status == GALLIVANT_OK && report.outcome == GALLIVANT_OUTCOME_LANDED ? 0 : 1;
}

static void a_writer_and_a_reader_go_on_in_a_forked_child(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", claimed(directory, "tok", NULL), NULL);
    CHECK(in_child(write_in_child, writer) == 0);
    CHECK(derived_in(directory, NULL).state == GALLIVANT_STATE_ACTIVE);
    gallivant_harness_state_writer_free(writer);
}

void suite_ownership(void)
{
    RUN(hs_68_an_action_runs_only_while_the_session_owns_the_seat);
    RUN(hs_68_no_claim_lands_while_the_action_runs_or_the_guard_is_held);
    RUN(hs_24_a_guard_is_dead_in_a_forked_child_and_the_parents_lock_stays);
    RUN(hs_24_a_session_is_dead_in_a_forked_child_and_the_parents_lease_stays);
    RUN(a_writer_and_a_reader_go_on_in_a_forked_child);
}
