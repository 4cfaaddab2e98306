/* Writing what is seen. */

#include "check.h"

#include <errno.h>
#include <pthread.h>

static const uint64_t now = 2000000000000;

static gallivant_harness_state_report observe(gallivant_harness_state_writer *writer,
                                              gallivant_harness_state_observation observation)
{
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &observation, &report, &error));
    return report;
}

static void hs_48_every_call_answers_a_typed_outcome(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *first = writer_on(directory, "tok-a", claimed(directory, "tok-a", NULL), NULL);
    gallivant_harness_state_report report = observe(first, seen(GALLIVANT_STATE_IDLE));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED && report.refusal == 0 && report.skip == 0);
    CHECK(report.struct_size == sizeof report && report.floor_failure == 0);
    report = observe(first, seen(GALLIVANT_STATE_IDLE));
    CHECK(report.outcome == GALLIVANT_OUTCOME_COALESCED);

    CHECK(claimed(directory, "tok-b", NULL) == 2);
    report = observe(first, seen(GALLIVANT_STATE_ACTIVE));
    CHECK(report.outcome == GALLIVANT_OUTCOME_REFUSED && report.refusal == GALLIVANT_REFUSAL_SUPERSEDED);
    gallivant_harness_state_writer *second = writer_on(directory, "tok-c", 0, NULL);
    report = observe(second, seen(GALLIVANT_STATE_ACTIVE));
    CHECK(report.refusal == GALLIVANT_REFUSAL_UNCLAIMED);
    CHECK_OK(gallivant_harness_state_writer_heartbeat(second, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_SKIPPED && report.skip == GALLIVANT_SKIP_FOREIGN_TOKEN);
    CHECK(report.refusal == 0);
    gallivant_harness_state_writer_free(first);
    gallivant_harness_state_writer_free(second);
}

static void hs_32_what_cannot_be_observed_is_an_error_before_anything_is_touched(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, NULL), *unfenced = NULL;
    gallivant_harness_state_observation observation = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_UNKNOWN_STATE, NULL,
                gallivant_harness_state_writer_observe(writer, &observation, NULL, &error));
    observation = asking(GALLIVANT_ASK_UNKNOWN);
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_UNKNOWN_ASK, NULL,
                gallivant_harness_state_writer_observe(writer, &observation, NULL, &error));
    observation = asking(GALLIVANT_ASK_QUESTION);
    observation.blocked_on = GALLIVANT_BLOCKED_ON_NONE;
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_ASK_WITHOUT_HUMAN, NULL,
                gallivant_harness_state_writer_observe_unless_ended(writer, &observation, NULL, &error));
    observation = seen(GALLIVANT_STATE_ENDED);
    observation.reason = VIEW("superseded");
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_RESERVED_REASON, NULL,
                gallivant_harness_state_writer_observe(writer, &observation, NULL, &error));
    identity.pty_session = VIEW(NULL);
    CHECK_OK(gallivant_harness_state_writer_open(TEXT(directory), &identity, NULL, NULL, &unfenced, &error));
    observation = seen(GALLIVANT_STATE_IDLE);
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_UNFENCED, NULL,
                gallivant_harness_state_writer_observe(unfenced, &observation, NULL, &error));
    CHECK_TEXT(content_of(directory, "harness-state"), NULL);
    gallivant_harness_state_writer_free(unfenced);
    gallivant_harness_state_writer_free(writer);
}

static void hs_06_strings_are_written_as_they_come(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, &options);
    gallivant_harness_state_observation observation = asking(GALLIVANT_ASK_PERMISSION);
    gallivant_str with_zero = { "a\0b", 3 };
    observation.input_buffer = GALLIVANT_INPUT_BUFFER_NONEMPTY;
    observation.reason = VIEW("\xc3\xa4 \xf0\x9f\x90\xa6 \"q\"\n");
    observation.exit = with_zero;
    CHECK(observe(writer, observation).outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK_TEXT(content_of(directory, "harness-state"),
               "{\"schema\":\"st2.harness-state.v1\",\"agent\":\"host.worker\",\"harness\":\"codex\",\"state\":\"active\","
               "\"blockedOn\":\"human\",\"inputBuffer\":\"nonempty\",\"ask\":\"permission\","
               "\"reason\":\"\xc3\xa4 \xf0\x9f\x90\xa6 \\\"q\\\"\\n\",\"exit\":\"a\\u0000b\",\"ptySession\":\"worker\","
               "\"incarnation\":\"tok\",\"seq\":1,\"sinceMs\":2000000000000,\"writtenAtMs\":2000000000000,"
               "\"transitions\":0}\n");
    gallivant_harness_state_writer_free(writer);
    gallivant_host_free(host);
}

static void hs_42_unless_ended_leaves_an_ending_and_hs_54_another_exit_replaces(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", claimed(directory, "tok", NULL), NULL);
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK_OK(gallivant_harness_state_writer_ended(writer, TEXT("exit 0"), &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK_OK(gallivant_harness_state_writer_ended(writer, TEXT("exit 0"), &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_COALESCED);
    CHECK_OK(gallivant_harness_state_writer_observe_unless_ended(writer, &idle, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_REFUSED && report.refusal == GALLIVANT_REFUSAL_TERMINAL);
    CHECK_OK(gallivant_harness_state_writer_ended(writer, TEXT("signal 9"), &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK_OK(gallivant_harness_state_writer_heartbeat(writer, &report, &error));
    CHECK(report.skip == GALLIVANT_SKIP_ENDED);
    CHECK_OK(gallivant_harness_state_writer_ended(writer, NULL, 0, NULL, &error));
    CHECK_OK(gallivant_harness_state_writer_observe_unless_ended(writer, &idle, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    gallivant_harness_state_writer_free(writer);
}

static void hs_45_after_an_interrupt_the_same_observation_is_a_transition(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", claimed(directory, "tok", NULL), NULL);
    observe(writer, seen(GALLIVANT_STATE_IDLE));
    uint64_t before = derived_in(directory, NULL).transition_sequence.value;
    CHECK_OK(gallivant_harness_state_writer_interrupt(writer, &error));
    CHECK(observe(writer, seen(GALLIVANT_STATE_IDLE)).outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK(derived_in(directory, NULL).transition_sequence.value == before + 1);
    gallivant_harness_state_writer_free(writer);
}

static void hs_40_a_token_only_writer_remembers_the_sequence_it_resolved(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, NULL);
    gallivant_optional_u64 sequence = { 77, 1 };
    CHECK_OK(gallivant_harness_state_writer_sequence(writer, &sequence, &error));
    CHECK(sequence.is_set == 0 && sequence.value == 0);
    observe(writer, seen(GALLIVANT_STATE_IDLE));
    CHECK_OK(gallivant_harness_state_writer_sequence(writer, &sequence, &error));
    CHECK(sequence.is_set == 1 && sequence.value == 1);
    gallivant_harness_state_writer_free(writer);
    writer = writer_on(directory, "tok", UINT64_MAX, NULL);
    CHECK_OK(gallivant_harness_state_writer_sequence(writer, &sequence, &error));
    CHECK(sequence.is_set == 1 && sequence.value == UINT64_MAX);
    gallivant_harness_state_writer_free(writer);
}

static void hs_51_a_heartbeat_renews_the_stamp_and_nothing_else(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, &options);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK_OK(gallivant_harness_state_writer_heartbeat(writer, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_SKIPPED && report.skip == GALLIVANT_SKIP_ABSENT);
    observe(writer, seen(GALLIVANT_STATE_IDLE));
    CHECK_OK(gallivant_testing_host_advance_ms(host, 5000, &error));
    CHECK_OK(gallivant_harness_state_writer_heartbeat(writer, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED && report.skip == 0);
    CHECK_OK(gallivant_harness_state_writer_heartbeat(writer, NULL, &error));
    gallivant_harness_state_derived derived = derived_in(directory, &options);
    CHECK(derived.observed_at_ms.value == now + 5001 && derived.since_ms.value == now);
    gallivant_harness_state_writer_free(writer);
    gallivant_host_free(host);
}

static void hs_50_a_floor_that_cannot_be_raised_is_in_the_report(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, &options);
    const char *faults = "[{\"on\": \"rename\", \"name\": \".harness-state.seq\", \"do\": \"error\", \"errno\": \"EDQUOT\"}]";
    CHECK_OK(gallivant_testing_host_set_faults(host, TEXT(faults), &error));
    gallivant_harness_state_report report = observe(writer, seen(GALLIVANT_STATE_IDLE));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK(report.floor_failure == GALLIVANT_HARNESS_STATE_IO && report.floor_failure_os_error == EDQUOT);
    gallivant_harness_state_writer_free(writer);
    gallivant_host_free(host);
}

static void a_write_that_fails_is_an_error_and_leaves_what_stood(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(now);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, &options);
    gallivant_harness_state_observation active = seen(GALLIVANT_STATE_ACTIVE);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    observe(writer, seen(GALLIVANT_STATE_IDLE));
    const char *faults = "[{\"on\": \"write\", \"do\": \"short\", \"bytes\": 9, \"errno\": \"ENOSPC\"}]";
    CHECK_OK(gallivant_testing_host_set_faults(host, TEXT(faults), &error));
    gallivant_error *error = NULL;
    CHECK(gallivant_harness_state_writer_observe(writer, &active, &report, &error) == GALLIVANT_HARNESS_STATE_IO);
    CHECK(gallivant_error_os_error(error) == ENOSPC && report.outcome == 0);
    gallivant_error_free(error);
    CHECK(derived_in(directory, &options).state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_writer_free(writer);
    gallivant_host_free(host);
}

/* Writes from one of several threads; counts the records that landed. */
static void *write_some(void *user_data)
{
    static const int32_t states[] = { GALLIVANT_STATE_IDLE, GALLIVANT_STATE_ACTIVE };
    uintptr_t landed = 0;
    for (int i = 0; i < 20; i++) {
        gallivant_harness_state_observation observation = seen(states[i % 2]);
        gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
        if (gallivant_harness_state_writer_observe(user_data, &observation, &report, NULL) != GALLIVANT_OK)
            return (void *)UINTPTR_MAX;
        landed += report.outcome == GALLIVANT_OUTCOME_LANDED;
    }
    return (void *)landed;
}

static void one_writer_serves_several_threads(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, NULL);
    pthread_t threads[4];
    uintptr_t landed = 0;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, write_some, writer) == 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0);
        CHECK((uintptr_t)result != UINTPTR_MAX);
        landed += (uintptr_t)result;
    }
    /* The first record is transition 0; each further one that landed is one more. */
    CHECK(landed > 0 && derived_in(directory, NULL).transition_sequence.value == landed - 1);
    gallivant_harness_state_writer_free(writer);
}

void suite_writer(void)
{
    RUN(hs_48_every_call_answers_a_typed_outcome);
    RUN(hs_32_what_cannot_be_observed_is_an_error_before_anything_is_touched);
    RUN(hs_06_strings_are_written_as_they_come);
    RUN(hs_42_unless_ended_leaves_an_ending_and_hs_54_another_exit_replaces);
    RUN(hs_45_after_an_interrupt_the_same_observation_is_a_transition);
    RUN(hs_40_a_token_only_writer_remembers_the_sequence_it_resolved);
    RUN(hs_51_a_heartbeat_renews_the_stamp_and_nothing_else);
    RUN(hs_50_a_floor_that_cannot_be_raised_is_in_the_report);
    RUN(a_write_that_fails_is_an_error_and_leaves_what_stood);
    RUN(one_writer_serves_several_threads);
}
