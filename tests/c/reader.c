/* Reading, probes and snapshots. */

#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t now = 2000000000000;
static const uint64_t minute = 60000;

/* A fixture of each test: a directory, a clock, a record, a reader. */
static const char *directory;
static gallivant_host *host;
static gallivant_harness_state_options options;
static gallivant_harness_state_reader *reader;

static void set_up(void)
{
    directory = fresh_directory();
    host = host_at(now);
    options = options_with(host);
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), &options, &reader, &error));
}

static void tear_down(void)
{
    gallivant_harness_state_reader_free(reader);
    gallivant_host_free(host);
}

static void write_as(const char *token, gallivant_harness_state_observation observation)
{
    gallivant_harness_state_writer *writer = writer_on(directory, token, 0, &options);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &observation, NULL, &error));
    gallivant_harness_state_writer_free(writer);
}

static gallivant_harness_state_derived read_with(const gallivant_harness_state_probe *probe)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    CHECK_OK(gallivant_harness_state_reader_read(reader, probe, &derived, &error));
    return derived;
}

static void hs_70_nothing_observed_is_not_unknown(void)
{
    set_up();
    gallivant_harness_state_derived derived = read_with(NULL);
    CHECK(derived.observed == 0 && derived.state == 0 && derived.unknown_reason == 0);
    CHECK(derived.since_ms.is_set == 0 && derived.valid_until_ms.is_set == 0);
    CHECK_VIEW(derived.reason, NULL);
    CHECK(derived.struct_size == sizeof derived);
    tear_down();
}

static void hs_84_the_whole_answer_of_a_live_record(void)
{
    set_up();
    gallivant_harness_state_observation observation = asking(GALLIVANT_ASK_REVIEW);
    observation.input_buffer = GALLIVANT_INPUT_BUFFER_EMPTY;
    observation.reason = VIEW("");
    write_as("tok", observation);
    gallivant_harness_state_derived derived = read_with(NULL);
    CHECK(derived.observed == 1 && derived.unknown_reason == 0);
    CHECK(derived.state == GALLIVANT_STATE_ACTIVE && derived.blocked_on == GALLIVANT_BLOCKED_ON_HUMAN);
    CHECK(derived.input_buffer == GALLIVANT_INPUT_BUFFER_EMPTY && derived.ask == GALLIVANT_ASK_REVIEW);
    CHECK(derived.since_ms.is_set == 1 && derived.since_ms.value == now);
    CHECK(derived.valid_until_ms.is_set == 1 && derived.valid_until_ms.value == now + 15 * minute);
    CHECK_VIEW(derived.reason, "");
    CHECK_VIEW(derived.exit, NULL);
    CHECK_VIEW(derived.harness, "codex");
    CHECK_VIEW(derived.evidence_incarnation, "tok");
    CHECK(derived.observed_at_ms.value == now && derived.ownership_sequence.value == 1);
    CHECK(derived.transition_sequence.is_set == 1 && derived.transition_sequence.value == 0);
    tear_down();
}

static void hs_90_the_answer_says_until_when_it_is_valid(void)
{
    set_up();
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    uint64_t until = read_with(NULL).valid_until_ms.value;
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, until - 1, &error));
    CHECK(read_with(NULL).state == GALLIVANT_STATE_IDLE);
    CHECK_OK(gallivant_testing_host_advance_ms(host, 1, &error));
    gallivant_harness_state_derived derived = read_with(NULL);
    CHECK(derived.state == GALLIVANT_STATE_UNKNOWN && derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_STALE);
    CHECK_VIEW(derived.reason, "stale");
    CHECK(derived.valid_until_ms.is_set == 0 && derived.since_ms.is_set == 0);
    CHECK_OK(gallivant_testing_host_advance_ms(host, -(int64_t)(20 * minute), &error));
    derived = read_with(NULL);
    CHECK(derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_FUTURE_SKEW);
    CHECK(derived.valid_until_ms.value == now - minute);
    tear_down();
}

static void hs_07_the_times_are_options(void)
{
    set_up();
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    options.stale_ms = 1000;
    CHECK(derived_in(directory, &options).valid_until_ms.value == now + 1000);
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, now + 1000, &error));
    CHECK(derived_in(directory, &options).unknown_reason == GALLIVANT_UNKNOWN_REASON_STALE);
    CHECK_OK(gallivant_testing_host_set_wall_ms(host, now - 5, &error));
    CHECK(derived_in(directory, &options).state == GALLIVANT_STATE_IDLE);
    options.future_skew_ms = 4;
    CHECK(derived_in(directory, &options).unknown_reason == GALLIVANT_UNKNOWN_REASON_FUTURE_SKEW);
    tear_down();
}

static void hs_01_a_reader_opens_the_directory_or_the_record(void)
{
    set_up();
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    CHECK(derived_in(path_in(directory, "harness-state"), &options).state == GALLIVANT_STATE_IDLE);
    tear_down();
}

static void strings_hold_until_the_next_read_and_zero_bytes_are_counted(void)
{
    set_up();
    gallivant_harness_state_observation observation = seen(GALLIVANT_STATE_IDLE);
    gallivant_str with_zero = { "a\0b", 3 };
    observation.reason = with_zero;
    write_as("tok", observation);
    gallivant_harness_state_derived derived = read_with(NULL);
    CHECK(derived.reason.length == 3 && memcmp(derived.reason.data, "a\0b", 4) == 0);
    /* A snapshot of the same reader leaves its answer alone. */
    gallivant_harness_state_snapshot *snapshot = NULL;
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    gallivant_harness_state_snapshot_free(snapshot);
    CHECK(memcmp(derived.reason.data, "a\0b", 4) == 0);
    tear_down();
}

/* What the callback was told, and what it shall answer. */
struct asked {
    int times;
    int32_t answer;
    long delay_ms;
    int32_t nested;
};

static int32_t say(void *user_data, const gallivant_harness_state_record *record)
{
    struct asked *asked = user_data;
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    struct timespec delay = { 0, asked->delay_ms * 1000000 };
    asked->times++;
    CHECK(record->struct_size == sizeof *record && record->present == 1);
    CHECK_VIEW(record->incarnation, "tok");
    CHECK_VIEW(record->pty_session, "worker");
    CHECK_VIEW(record->state_word, "idle");
    asked->nested = gallivant_harness_state_reader_read(reader, NULL, &derived, NULL);
    nanosleep(&delay, NULL);
    return asked->answer;
}

static void hs_79_to_81_a_callback_is_asked_once_and_only_where_it_decides(void)
{
    set_up();
    struct asked asked = { 0, GALLIVANT_LIVENESS_DEAD, 0, 0 };
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    probe.kind = GALLIVANT_PROBE_CALLBACK;
    probe.callback = say;
    probe.user_data = &asked;
    CHECK(read_with(&probe).observed == 0 && asked.times == 0);
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    gallivant_harness_state_derived derived = read_with(&probe);
    CHECK(asked.times == 1 && derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);
    CHECK_VIEW(derived.harness, "codex");
    /* The callback came back to the reader that was asking it. */
    CHECK(asked.nested == GALLIVANT_HANDLE_BUSY);
    int32_t harmless[] = { GALLIVANT_LIVENESS_ALIVE, GALLIVANT_LIVENESS_INDETERMINATE, 77, -1 };
    for (size_t i = 0; i < 4; i++) {
        asked.answer = harmless[i];
        CHECK(read_with(&probe).state == GALLIVANT_STATE_IDLE);
    }
    CHECK(asked.times == 5);
    tear_down();
}

static void hs_81_a_callback_that_takes_too_long_has_answered_nothing(void)
{
    set_up();
    struct asked asked = { 0, GALLIVANT_LIVENESS_DEAD, 30, 0 };
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    probe.kind = GALLIVANT_PROBE_CALLBACK;
    probe.callback = say;
    probe.user_data = &asked;
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    gallivant_harness_state_reader_free(reader);
    options.probe_budget_ms = 10;
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), &options, &reader, &error));
    CHECK(read_with(&probe).state == GALLIVANT_STATE_IDLE && asked.times == 1);
    tear_down();
}

static void hs_80_fixed_and_process_probes(void)
{
    set_up();
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_process *process = NULL;
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    probe.kind = GALLIVANT_PROBE_FIXED;
    probe.liveness = GALLIVANT_LIVENESS_ALIVE;
    CHECK(read_with(&probe).state == GALLIVANT_STATE_IDLE);
    probe.liveness = GALLIVANT_LIVENESS_DEAD;
    CHECK(read_with(&probe).unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);

    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    CHECK_OK(gallivant_process_identify(NULL, (uint32_t)child, &process, &error));
    probe.kind = GALLIVANT_PROBE_PROCESS;
    probe.process = process;
    CHECK(read_with(&probe).state == GALLIVANT_STATE_IDLE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(read_with(&probe).unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);
    gallivant_process_free(process);
    tear_down();
}

static void hs_94_the_lease_probe_follows_the_sessions_lease(void)
{
    set_up();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = NULL;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    probe.kind = GALLIVANT_PROBE_LEASE;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, &options, &session, &error));
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    CHECK(read_with(&probe).state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_session_free(session);
    CHECK(read_with(&probe).unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);
    CHECK(read_with(NULL).state == GALLIVANT_STATE_IDLE);
    tear_down();
}

static void a_snapshot_shows_the_record_as_it_stands(void)
{
    set_up();
    gallivant_harness_state_snapshot *snapshot = NULL;
    gallivant_harness_state_record record = GALLIVANT_HARNESS_STATE_RECORD_INIT;
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    int32_t wants = -1;
    write_file(directory, "harness-state",
               "{\"schema\":\"st2.harness-state.v1\",\"agent\":\"a\",\"harness\":\"h\",\"state\":\"dreaming\","
               "\"blockedOn\":\"human\",\"inputBuffer\":\"full\",\"sinceMs\":1999999999999,\"writtenAtMs\":2000000000000,"
               "\"transitions\":18446744073709551615}\n");
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    write_file(directory, "harness-state", "gone");
    CHECK_OK(gallivant_harness_state_snapshot_record(snapshot, &record, &error));
    CHECK(record.present == 1 && record.state == GALLIVANT_STATE_UNKNOWN);
    CHECK_VIEW(record.state_word, "dreaming");
    CHECK(record.blocked_on == GALLIVANT_BLOCKED_ON_HUMAN);
    CHECK_VIEW(record.blocked_on_word, "human");
    CHECK_VIEW(record.input_buffer_word, "full");
    CHECK(record.ask == GALLIVANT_ASK_NONE);
    CHECK_VIEW(record.ask_word, "none");
    CHECK_VIEW(record.schema, "st2.harness-state.v1");
    CHECK_VIEW(record.agent, "a");
    CHECK_VIEW(record.harness, "h");
    CHECK_VIEW(record.reason, NULL);
    CHECK_VIEW(record.exit, NULL);
    CHECK_VIEW(record.pty_session, NULL);
    CHECK_VIEW(record.incarnation, "");
    CHECK(record.seq == 0 && record.since_ms == now - 1 && record.written_at_ms == now);
    CHECK(record.transitions == UINT64_MAX);
    CHECK_TEXT(gallivant_harness_state_snapshot_damage(snapshot), NULL);
    CHECK_OK(gallivant_harness_state_snapshot_wants_probe(snapshot, now, &wants, &error));
    CHECK(wants == 0);
    CHECK_OK(gallivant_harness_state_snapshot_derive(snapshot, now, GALLIVANT_NO_PROBE, &derived, &error));
    CHECK(derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_LITERAL_UNKNOWN);
    gallivant_harness_state_snapshot_free(snapshot);

    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    CHECK_OK(gallivant_harness_state_snapshot_record(snapshot, &record, &error));
    CHECK(record.present == 0 && record.written_at_ms == 0);
    CHECK_VIEW(record.agent, NULL);
    CHECK(gallivant_harness_state_snapshot_damage(snapshot) != NULL);
    CHECK_OK(gallivant_harness_state_snapshot_derive(snapshot, now, GALLIVANT_NO_PROBE, &derived, &error));
    CHECK(derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_MALFORMED_RECORD);
    gallivant_harness_state_snapshot_free(snapshot);
    tear_down();
}

static void a_snapshot_concludes_again_without_reading(void)
{
    set_up();
    gallivant_harness_state_snapshot *snapshot = NULL;
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    int32_t wants = -1;
    write_as("tok", seen(GALLIVANT_STATE_IDLE));
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    write_as("tok", seen(GALLIVANT_STATE_ACTIVE));
    CHECK_OK(gallivant_harness_state_snapshot_wants_probe(snapshot, now, &wants, &error));
    CHECK(wants == 1);
    CHECK_OK(gallivant_harness_state_snapshot_derive(snapshot, now, GALLIVANT_NO_PROBE, &derived, &error));
    CHECK(derived.state == GALLIVANT_STATE_IDLE);
    CHECK_OK(gallivant_harness_state_snapshot_derive(snapshot, now, GALLIVANT_LIVENESS_DEAD, &derived, &error));
    CHECK_VIEW(derived.reason, "session-dead");
    uint64_t later = now + 15 * minute;
    CHECK_OK(gallivant_harness_state_snapshot_derive(snapshot, later, GALLIVANT_LIVENESS_DEAD, &derived, &error));
    CHECK_VIEW(derived.reason, "stale");
    CHECK_OK(gallivant_harness_state_snapshot_wants_probe(snapshot, later, &wants, &error));
    CHECK(wants == 0);
    gallivant_harness_state_snapshot_free(snapshot);
    tear_down();
}

void suite_reader(void)
{
    RUN(hs_70_nothing_observed_is_not_unknown);
    RUN(hs_84_the_whole_answer_of_a_live_record);
    RUN(hs_90_the_answer_says_until_when_it_is_valid);
    RUN(hs_07_the_times_are_options);
    RUN(hs_01_a_reader_opens_the_directory_or_the_record);
    RUN(strings_hold_until_the_next_read_and_zero_bytes_are_counted);
    RUN(hs_79_to_81_a_callback_is_asked_once_and_only_where_it_decides);
    RUN(hs_81_a_callback_that_takes_too_long_has_answered_nothing);
    RUN(hs_80_fixed_and_process_probes);
    RUN(hs_94_the_lease_probe_follows_the_sessions_lease);
    RUN(a_snapshot_shows_the_record_as_it_stands);
    RUN(a_snapshot_concludes_again_without_reading);
}
