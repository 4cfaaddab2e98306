/* Handing a session to its siblings. */

#include "check.h"

static void hs_67_the_variables_of_a_session_and_back(void)
{
    gallivant_harness_state_identity identity = identity_of("tok"), back = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_environment *environment = NULL, *again = NULL;
    gallivant_optional_u64 sequence = { 0, 0 };
    uint64_t highest = UINT64_MAX;
    CHECK_OK(gallivant_harness_state_environment_new(TEXT("/agents/a=b"), &identity, &highest, &environment, &error));
    const char *const *entries = gallivant_harness_state_environment_entries(environment);
    const char *const wanted[] = {
        "GALLIVANT_AGENT_DIR=/agents/a=b", "GALLIVANT_AGENT=host.worker", "GALLIVANT_HARNESS=codex",
        "GALLIVANT_SESSION_TOKEN=tok", "GALLIVANT_SESSION_SEQ=18446744073709551615", "GALLIVANT_PTY_SESSION=worker", NULL,
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK_TEXT(entries[i], wanted[i]);
    CHECK_OK(gallivant_harness_state_environment_from(entries, &again, &error));
    gallivant_harness_state_environment_free(environment);
    CHECK_VIEW(gallivant_harness_state_environment_directory(again), "/agents/a=b");
    CHECK_OK(gallivant_harness_state_environment_identity(again, &back, &error));
    CHECK_VIEW(back.agent, "host.worker");
    CHECK_VIEW(back.harness, "codex");
    CHECK_VIEW(back.token, "tok");
    CHECK_VIEW(back.pty_session, "worker");
    CHECK_OK(gallivant_harness_state_environment_sequence(again, &sequence, &error));
    CHECK(sequence.is_set == 1 && sequence.value == UINT64_MAX);
    gallivant_harness_state_environment_free(again);
}

static void hs_67_what_a_token_only_session_without_a_pty_leaves_out(void)
{
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_environment *environment = NULL;
    gallivant_optional_u64 sequence = { 7, 1 };
    identity.pty_session = VIEW(NULL);
    CHECK_OK(gallivant_harness_state_environment_new(TEXT("/a"), &identity, NULL, &environment, &error));
    const char *const *entries = gallivant_harness_state_environment_entries(environment);
    CHECK_TEXT(entries[3], "GALLIVANT_SESSION_TOKEN=tok");
    CHECK_TEXT(entries[4], NULL);
    CHECK_OK(gallivant_harness_state_environment_sequence(environment, &sequence, &error));
    CHECK(sequence.is_set == 0 && sequence.value == 0);
    gallivant_harness_state_environment_free(environment);
}

static void hs_67_an_environment_without_a_session_and_one_that_is_broken(void)
{
    gallivant_harness_state_environment *environment = NULL;
    const char *const none[] = { NULL };
    /* Names that only begin alike, a name without a value, bytes that are no text: none of it is ours. */
    const char *const foreign[] = { "GALLIVANT_AGENT_DIRECTORY=/a", "GALLIVANT_AGENT", "PATH=\xff", "=", "", NULL };
    const char *const empty[] = { "GALLIVANT_AGENT_DIR=/a", "GALLIVANT_AGENT=a", "GALLIVANT_HARNESS=h",
                                  "GALLIVANT_SESSION_TOKEN=", NULL };
    const char *const broken[] = { "GALLIVANT_AGENT_DIR=/a", "GALLIVANT_AGENT=a", "GALLIVANT_HARNESS=h",
                                   "GALLIVANT_SESSION_TOKEN=t", "GALLIVANT_SESSION_SEQ=1x", NULL };
    const char *const doubled[] = { "GALLIVANT_AGENT_DIR=/first", "GALLIVANT_AGENT=a", "GALLIVANT_HARNESS=h",
                                    "GALLIVANT_SESSION_TOKEN=t", "GALLIVANT_AGENT_DIR=/second", NULL };
    const char *const *without[] = { none, foreign, empty };
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(gallivant_harness_state_environment_from(without[i], &environment, &error));
        CHECK(environment == NULL);
    }
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "environment",
                gallivant_harness_state_environment_from(broken, &environment, &error));
    CHECK(environment == NULL);
    CHECK_OK(gallivant_harness_state_environment_from(doubled, &environment, &error));
    CHECK_VIEW(gallivant_harness_state_environment_directory(environment), "/first");
    gallivant_harness_state_environment_free(environment);
}

static void a_value_with_a_zero_byte_is_refused(void)
{
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_environment *environment = NULL;
    identity.agent.data = "a\0b";
    identity.agent.length = 3;
    CHECK_FAILS(GALLIVANT_INPUT, "environment",
                gallivant_harness_state_environment_new(TEXT("/a"), &identity, NULL, &environment, &error));
    CHECK(environment == NULL);
}

static void the_names_to_clear(void)
{
    const char *const *names = gallivant_harness_state_environment_names();
    const char *const wanted[] = { "GALLIVANT_AGENT_DIR", "GALLIVANT_AGENT", "GALLIVANT_HARNESS",
                                   "GALLIVANT_SESSION_TOKEN", "GALLIVANT_SESSION_SEQ", "GALLIVANT_PTY_SESSION", NULL };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK_TEXT(names[i], wanted[i]);
}

static void hs_67_a_sibling_writes_for_the_session(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_environment *environment = NULL;
    gallivant_harness_state_writer *writer = NULL;
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_optional_u64 adopted = { 0, 0 };
    uint64_t sequence = claimed(directory, "tok", NULL);
    CHECK_OK(gallivant_harness_state_environment_new(TEXT(directory), &identity, &sequence, &environment, &error));
    CHECK_OK(gallivant_harness_state_environment_open_writer(environment, NULL, &writer, &error));
    gallivant_harness_state_environment_free(environment);
    CHECK_OK(gallivant_harness_state_writer_sequence(writer, &adopted, &error));
    CHECK(adopted.value == sequence);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    gallivant_harness_state_writer_free(writer);
}

void suite_environment(void)
{
    RUN(hs_67_the_variables_of_a_session_and_back);
    RUN(hs_67_what_a_token_only_session_without_a_pty_leaves_out);
    RUN(hs_67_an_environment_without_a_session_and_one_that_is_broken);
    RUN(a_value_with_a_zero_byte_is_refused);
    RUN(the_names_to_clear);
    RUN(hs_67_a_sibling_writes_for_the_session);
}
