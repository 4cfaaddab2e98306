/* A session from start to end. */

#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t now = 2000000000000;
static const uint64_t minute = 60000;

static gallivant_harness_state_session *start_in(const char *directory, const char *token,
                                                 const gallivant_harness_state_options *options)
{
    gallivant_harness_state_identity identity = identity_of(token);
    gallivant_harness_state_session *session = NULL;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, options, &session, &error));
    return session;
}

static int32_t holds_lease(const gallivant_harness_state_session *session)
{
    int32_t holds = -1;
    CHECK_OK(gallivant_harness_state_session_holds_lease(session, &holds, &error));
    return holds;
}

static gallivant_harness_state_tick tick(gallivant_harness_state_session *session)
{
    gallivant_harness_state_tick tick = GALLIVANT_HARNESS_STATE_TICK_INIT;
    CHECK_OK(gallivant_harness_state_session_heartbeat_if_due(session, &tick, &error));
    return tick;
}

static void a_session_from_start_to_end(void)
{
    const char *directory = path_in(fresh_directory(), "agent");
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_session *session = start_in(directory, NULL, &options);
    gallivant_harness_state_claim_result *claim = NULL;
    gallivant_harness_state_environment *environment = NULL;
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_process *process = NULL, *attached = NULL;
    gallivant_process_identity named = GALLIVANT_PROCESS_IDENTITY_INIT;
    CHECK_OK(gallivant_harness_state_session_claim(session, &claim, &error));
    CHECK(gallivant_harness_state_claim_result_sequence(claim) == 1);
    gallivant_harness_state_claim_result_free(claim);
    CHECK(holds_lease(session) == 1);
    CHECK(derived_in(directory, &options).unknown_reason == GALLIVANT_UNKNOWN_REASON_CLAIMED);

    /* The token was minted and is handed on. */
    CHECK_OK(gallivant_harness_state_session_environment(session, &environment, &error));
    CHECK_OK(gallivant_harness_state_environment_identity(environment, &identity, &error));
    CHECK(identity.token.length > 0);
    CHECK_TEXT(content_of(directory, ".harness-state.lease"), identity.token.data);
    CHECK_VIEW(gallivant_harness_state_environment_directory(environment), directory);
    gallivant_harness_state_environment_free(environment);

    CHECK_OK(gallivant_harness_state_session_harness_process(session, &process, &error));
    CHECK(process == NULL);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    CHECK_OK(gallivant_harness_state_session_attach(session, (uint32_t)child, &process, &error));
    CHECK_OK(gallivant_process_describe(process, &named, &error));
    CHECK(named.pid == (uint32_t)child);
    gallivant_process_free(process);
    CHECK_OK(gallivant_harness_state_session_harness_process(session, &attached, &error));
    CHECK(attached != NULL);
    gallivant_process_free(attached);
    CHECK(derived_in(directory, &options).state == GALLIVANT_STATE_READY);

    gallivant_harness_state_tick due = tick(session);
    CHECK(due.kind == GALLIVANT_TICK_NOT_DUE && due.due_ms == now + 5 * minute && due.skip == 0);
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, now + 6 * minute, &error));
    due = tick(session);
    CHECK(due.kind == GALLIVANT_TICK_RENEWED && due.due_ms == 0);
    CHECK(derived_in(directory, &options).observed_at_ms.value == now + 6 * minute);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_OK(gallivant_testing_host_advance_ms(host, (int64_t)(6 * minute), &error));
    CHECK(tick(session).kind == GALLIVANT_TICK_HARNESS_GONE);

    CHECK_OK(gallivant_harness_state_session_end(session, TEXT("signal 9"), &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK(holds_lease(session) == 0);
    CHECK(derived_in(directory, &options).state == GALLIVANT_STATE_ENDED);
    gallivant_harness_state_session_free(session);
    gallivant_host_free(host);
}

static void attaching_a_process_that_does_not_run_is_refused(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_session *session = start_in(directory, "tok", NULL);
    gallivant_process *process = NULL;
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "no-such-process",
                gallivant_harness_state_session_attach(session, 0, &process, &error));
    CHECK(process == NULL);
    CHECK_OK(gallivant_harness_state_session_attach(session, (uint32_t)getpid(), NULL, &error));
    gallivant_harness_state_session_free(session);
}

static void a_superseded_session_gives_its_lease_up(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_session *old = start_in(directory, "tok-a", &options), *new;
    new = start_in(directory, "tok-b", &options);
    CHECK(holds_lease(old) == 1 && holds_lease(new) == 0);
    gallivant_harness_state_tick skipped = tick(old);
    CHECK(skipped.kind == GALLIVANT_TICK_SKIPPED && skipped.skip == GALLIVANT_SKIP_SUPERSEDED);
    CHECK(holds_lease(old) == 0);
    CHECK_OK(gallivant_harness_state_session_heartbeat_if_due(new, NULL, &error));
    CHECK(holds_lease(new) == 1);
    gallivant_harness_state_session_free(old);
    CHECK(holds_lease(new) == 1);
    gallivant_harness_state_session_free(new);
    gallivant_host_free(host);
}

static void a_sessions_writer_lives_on_without_the_lease(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_session *session = start_in(directory, "tok", NULL), *next;
    gallivant_harness_state_writer *writer = NULL;
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK_OK(gallivant_harness_state_session_writer(session, &writer, &error));
    gallivant_harness_state_session_free(session);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    next = start_in(directory, "tok-b", NULL);
    CHECK(holds_lease(next) == 1);
    gallivant_harness_state_session_free(next);
    gallivant_harness_state_writer_free(writer);
}

void suite_session(void)
{
    RUN(a_session_from_start_to_end);
    RUN(attaching_a_process_that_does_not_run_is_refused);
    RUN(a_superseded_session_gives_its_lease_up);
    RUN(a_sessions_writer_lives_on_without_the_lease);
}
