/* What our writers add to a record: evidence, children, the harness's process; and why a reader concludes what it does. */

#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <unistd.h>

static const char *directory;
static gallivant_harness_state_reader *reader;

static void set_up(void)
{
    directory = fresh_directory();
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &reader, &error));
}

static void tear_down(void)
{
    gallivant_harness_state_reader_free(reader);
}

static gallivant_harness_state_snapshot *taken(gallivant_harness_state_record *record)
{
    gallivant_harness_state_record fresh = GALLIVANT_HARNESS_STATE_RECORD_INIT;
    gallivant_harness_state_snapshot *snapshot = NULL;
    *record = fresh;
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    CHECK_OK(gallivant_harness_state_snapshot_record(snapshot, record, &error));
    return snapshot;
}

static gallivant_harness_state_writer *writer_by(int32_t evidence)
{
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    options.evidence = evidence;
    return writer_on(directory, "tok", 0, &options);
}

static gallivant_harness_state_report observe(gallivant_harness_state_writer *writer, int32_t state)
{
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_harness_state_observation observation = seen(state);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &observation, &report, &error));
    return report;
}

static void hs_98_a_screen_gives_way_to_a_channel(void)
{
    set_up();
    gallivant_harness_state_record record;
    gallivant_harness_state_snapshot *snapshot;
    gallivant_harness_state_writer *channel = writer_by(GALLIVANT_EVIDENCE_CHANNEL);
    gallivant_harness_state_writer *screen = writer_by(GALLIVANT_EVIDENCE_SCREEN);
    gallivant_harness_state_writer *wrapper = writer_by(0);
    CHECK(observe(screen, GALLIVANT_STATE_IDLE).outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK(observe(channel, GALLIVANT_STATE_ACTIVE).outcome == GALLIVANT_OUTCOME_LANDED);
    snapshot = taken(&record);
    CHECK(record.has_extension == 1 && record.evidence == GALLIVANT_EVIDENCE_CHANNEL);
    CHECK_VIEW(record.evidence_word, "channel");
    CHECK(record.late == 0 && record.children == 0 && record.harness_pid == 0 && record.event_ms.is_set == 1);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_report refused = observe(screen, GALLIVANT_STATE_IDLE);
    CHECK(refused.outcome == GALLIVANT_OUTCOME_REFUSED && refused.refusal == GALLIVANT_REFUSAL_WEAKER_EVIDENCE);
    CHECK(observe(wrapper, GALLIVANT_STATE_IDLE).outcome == GALLIVANT_OUTCOME_LANDED);
    snapshot = taken(&record);
    CHECK(record.evidence == GALLIVANT_EVIDENCE_WRAPPER);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_writer_free(channel);
    gallivant_harness_state_writer_free(screen);
    gallivant_harness_state_writer_free(wrapper);
    tear_down();
}

static void hs_98_a_sibling_says_by_what_it_knows(void)
{
    set_up();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_harness_state_environment *environment = NULL;
    gallivant_harness_state_writer *screen = NULL;
    gallivant_harness_state_record record;
    CHECK_OK(gallivant_harness_state_environment_new(TEXT(directory), &identity, NULL, &environment, &error));
    options.evidence = 9;
    REFUSES_CONSTANT(gallivant_harness_state_environment_open_writer(environment, &options, &screen, &error));
    REFUSES_CONSTANT(gallivant_harness_state_writer_open(TEXT(directory), &identity, NULL, &options, &screen, &error));
    CHECK(screen == NULL);
    options.evidence = GALLIVANT_EVIDENCE_SCREEN;
    CHECK_OK(gallivant_harness_state_environment_open_writer(environment, &options, &screen, &error));
    observe(screen, GALLIVANT_STATE_IDLE);
    gallivant_harness_state_snapshot *snapshot = taken(&record);
    CHECK(record.evidence == GALLIVANT_EVIDENCE_SCREEN);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_writer_free(screen);
    gallivant_harness_state_environment_free(environment);
    tear_down();
}

static void hs_99_children_run_beside_the_turn(void)
{
    set_up();
    gallivant_harness_state_writer *writer = writer_by(0);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_harness_state_record record;
    observe(writer, GALLIVANT_STATE_IDLE);
    CHECK_OK(gallivant_harness_state_writer_note_child(writer, TEXT("c1"), GALLIVANT_CHILD_STARTED, &report, &error));
    CHECK(report.outcome == GALLIVANT_OUTCOME_LANDED);
    CHECK_OK(gallivant_harness_state_writer_note_child(writer, TEXT("c2"), GALLIVANT_CHILD_WORKING, NULL, &error));
    gallivant_harness_state_snapshot *snapshot = taken(&record);
    CHECK(record.children == 2 && record.state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    CHECK_OK(gallivant_harness_state_reader_read(reader, NULL, &derived, &error));
    CHECK(derived.state == GALLIVANT_STATE_ACTIVE);
    CHECK_VIEW(derived.reason, "children");
    CHECK_OK(gallivant_harness_state_writer_note_child(writer, TEXT("c1"), GALLIVANT_CHILD_STOPPED, NULL, &error));
    CHECK_OK(gallivant_harness_state_writer_note_child(writer, TEXT("c2"), GALLIVANT_CHILD_STOPPED, NULL, &error));
    CHECK_OK(gallivant_harness_state_reader_read(reader, NULL, &derived, &error));
    CHECK(derived.state == GALLIVANT_STATE_IDLE);

    report.outcome = 77;
    REFUSES_NULL(gallivant_harness_state_writer_note_child(NULL, TEXT("c"), 1, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_note_child(writer, NULL, 0, 1, &report, &error));
    REFUSES_UTF8(gallivant_harness_state_writer_note_child(writer, TEXT(BAD), 1, &report, &error));
    REFUSES_CONSTANT(gallivant_harness_state_writer_note_child(writer, TEXT("c"), 0, &report, &error));
    REFUSES_CONSTANT(gallivant_harness_state_writer_note_child(writer, TEXT("c"), 4, &report, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "child",
                gallivant_harness_state_writer_note_child(writer, "", 0, 1, &report, &error));
    CHECK(report.outcome == 77);
    report.struct_size = 3;
    REFUSES_SIZE(gallivant_harness_state_writer_note_child(writer, TEXT("c"), 1, &report, &error));
    gallivant_harness_state_writer_free(writer);
    tear_down();
}

static void hs_95_the_harness_of_a_record_can_be_probed(void)
{
    set_up();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = NULL;
    gallivant_process *process = NULL;
    gallivant_harness_state_record record;
    int32_t liveness = 77;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, NULL, &session, &error));
    gallivant_harness_state_snapshot *snapshot = taken(&record);
    CHECK_OK(gallivant_harness_state_snapshot_harness_process(snapshot, &process, &error));
    CHECK(process == NULL && record.harness_pid == 0);
    gallivant_harness_state_snapshot_free(snapshot);
    CHECK_OK(gallivant_harness_state_session_attach(session, (uint32_t)getpid(), NULL, &error));
    snapshot = taken(&record);
    CHECK(record.harness_pid == (uint32_t)getpid());
    CHECK_OK(gallivant_harness_state_snapshot_harness_process(snapshot, &process, &error));
    CHECK_OK(gallivant_process_liveness(process, NULL, &liveness, &error));
    CHECK(liveness == GALLIVANT_LIVENESS_ALIVE);
    REFUSES_NULL(gallivant_harness_state_snapshot_harness_process(NULL, &process, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_harness_process(snapshot, NULL, &error));
    gallivant_process_free(process);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_session_free(session);
    tear_down();
}

static void hs_91_a_snapshot_explains_its_conclusion(void)
{
    set_up();
    gallivant_harness_state_writer *writer = writer_by(0);
    gallivant_harness_state_record record;
    gallivant_text *json = NULL, *lines = NULL;
    observe(writer, GALLIVANT_STATE_IDLE);
    gallivant_harness_state_snapshot *snapshot = taken(&record);
    CHECK_OK(gallivant_harness_state_snapshot_explain(snapshot, GALLIVANT_DEFAULT, GALLIVANT_LIVENESS_DEAD, &json, &lines,
                                                      &error));
    const char *text = gallivant_text_view(json).data;
    CHECK(strstr(text, "\"clause\":\"HS-80\"") != NULL && strstr(text, "\"reason\":\"session-dead\"") != NULL);
    CHECK(strstr(text, "\"agent\":\"host.worker\"") != NULL && strstr(text, "tok") == NULL);
    CHECK(strncmp(gallivant_text_view(lines).data, "unknown (session-dead), by HS-80\n", 33) == 0);
    gallivant_text_free(json);
    gallivant_text_free(lines);
    json = lines = NULL;
    CHECK_OK(gallivant_harness_state_snapshot_explain(snapshot, record.written_at_ms, GALLIVANT_NO_PROBE, NULL, &lines,
                                                      &error));
    CHECK(strncmp(gallivant_text_view(lines).data, "idle, by HS-84\n", 15) == 0);
    gallivant_text_free(lines);
    CHECK_OK(gallivant_harness_state_snapshot_explain(snapshot, record.written_at_ms + 15 * 60000, GALLIVANT_NO_PROBE,
                                                      &json, NULL, &error));
    CHECK(strstr(gallivant_text_view(json).data, "\"clause\":\"HS-75\"") != NULL);
    gallivant_text_free(json);
    json = lines = NULL;
    REFUSES_NULL(gallivant_harness_state_snapshot_explain(NULL, 1, GALLIVANT_NO_PROBE, &json, &lines, &error));
    REFUSES_CONSTANT(gallivant_harness_state_snapshot_explain(snapshot, 1, 9, &json, &lines, &error));
    CHECK(json == NULL && lines == NULL);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_writer_free(writer);
    tear_down();
}

void suite_extension(void)
{
    RUN(hs_98_a_screen_gives_way_to_a_channel);
    RUN(hs_98_a_sibling_says_by_what_it_knows);
    RUN(hs_99_children_run_beside_the_turn);
    RUN(hs_95_the_harness_of_a_record_can_be_probed);
    RUN(hs_91_a_snapshot_explains_its_conclusion);
}
