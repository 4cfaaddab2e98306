/* What every function refuses: NULL, bytes that are no UTF-8, structs of a wrong size, numbers that are no constants.
 * A refused call has done nothing and has left its outputs alone. */

#include "check.h"

/* A place for outputs that no call may touch. */
static char mark;
#define UNTOUCHED(type) ((type *)(void *)&mark)
#define IS_UNTOUCHED(pointer) ((void *)(pointer) == (void *)&mark)

static void opening_a_reader(void)
{
    gallivant_harness_state_reader *reader = UNTOUCHED(gallivant_harness_state_reader);
    REFUSES_NULL(gallivant_harness_state_reader_open(NULL, 0, NULL, &reader, &error));
    REFUSES_NULL(gallivant_harness_state_reader_open(NULL, 5, NULL, &reader, &error));
    REFUSES_NULL(gallivant_harness_state_reader_open("/", 1, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_reader_open(TEXT(BAD), NULL, &reader, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "length", gallivant_harness_state_reader_open("/", SIZE_MAX, NULL, &reader, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "path",
                gallivant_harness_state_reader_open("", 0, NULL, &reader, &error));
    CHECK(gallivant_harness_state_reader_open(NULL, 0, NULL, &reader, NULL) == GALLIVANT_INPUT);
    CHECK(IS_UNTOUCHED(reader));
}

static void options_of_every_kind(void)
{
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_harness_state_reader *reader = UNTOUCHED(gallivant_harness_state_reader);
    gallivant_str bad = VIEW(BAD), none = VIEW(NULL);
    options.struct_size = sizeof options - 1;
    REFUSES_SIZE(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.struct_size = 0;
    REFUSES_SIZE(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.struct_size = SIZE_MAX;
    REFUSES_SIZE(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.struct_size = sizeof options;
    options.schema = bad;
    REFUSES_UTF8(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.schema = none;
    options.also_accepted_schemas_count = 1;
    REFUSES_NULL(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.also_accepted_schemas = &bad;
    REFUSES_UTF8(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.also_accepted_schemas = &none;
    REFUSES_NULL(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.also_accepted_schemas_count = 0;
    options.wrapperless_prefixes_count = 1;
    REFUSES_NULL(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    options.wrapperless_prefixes = &bad;
    REFUSES_UTF8(gallivant_harness_state_reader_open("/", 1, &options, &reader, &error));
    CHECK(IS_UNTOUCHED(reader));
}

/* A struct as a later release has it: longer, with members that this one does not know. */
static void options_of_a_later_release(void)
{
    struct {
        gallivant_harness_state_options known;
        uint64_t more;
    } later = { GALLIVANT_HARNESS_STATE_OPTIONS_INIT, 0 };
    gallivant_harness_state_reader *reader = NULL;
    later.known.struct_size = sizeof later;
    CHECK_OK(gallivant_harness_state_reader_open("/", 1, &later.known, &reader, &error));
    gallivant_harness_state_reader_free(reader);
    later.more = 1;
    REFUSES_SIZE(gallivant_harness_state_reader_open("/", 1, &later.known, &reader, &error));
}

static void an_output_of_a_later_release(void)
{
    struct {
        gallivant_harness_state_derived known;
        uint64_t more;
    } later = { GALLIVANT_HARNESS_STATE_DERIVED_INIT, 7 };
    gallivant_harness_state_reader *reader = NULL;
    const char *directory = fresh_directory();
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &reader, &error));
    later.known.struct_size = sizeof later;
    CHECK_OK(gallivant_harness_state_reader_read(reader, NULL, &later.known, &error));
    CHECK(later.known.struct_size == sizeof later && later.more == 0);
    gallivant_harness_state_reader_free(reader);
}

static void reading(void)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_reader *reader = NULL;
    gallivant_harness_state_snapshot *snapshot = UNTOUCHED(gallivant_harness_state_snapshot);
    const char *directory = fresh_directory();
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &reader, &error));
    derived.observed = 77;
    REFUSES_NULL(gallivant_harness_state_reader_read(NULL, NULL, &derived, &error));
    REFUSES_NULL(gallivant_harness_state_reader_read(reader, NULL, NULL, &error));
    REFUSES_CONSTANT(gallivant_harness_state_reader_read(reader, &probe, &derived, &error));
    probe.kind = GALLIVANT_PROBE_FIXED;
    probe.liveness = 3;
    REFUSES_CONSTANT(gallivant_harness_state_reader_read(reader, &probe, &derived, &error));
    probe.kind = GALLIVANT_PROBE_PROCESS;
    REFUSES_NULL(gallivant_harness_state_reader_read(reader, &probe, &derived, &error));
    probe.kind = GALLIVANT_PROBE_CALLBACK;
    REFUSES_NULL(gallivant_harness_state_reader_read(reader, &probe, &derived, &error));
    probe.struct_size++;
    probe.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_reader_read(reader, &probe, &derived, &error));
    derived.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_reader_read(reader, NULL, &derived, &error));
    CHECK(derived.observed == 77);
    REFUSES_NULL(gallivant_harness_state_reader_snapshot(NULL, &snapshot, &error));
    REFUSES_NULL(gallivant_harness_state_reader_snapshot(reader, NULL, &error));
    CHECK(IS_UNTOUCHED(snapshot));
    gallivant_harness_state_reader_free(reader);
    gallivant_harness_state_reader_free(NULL);
}

static void snapshots(void)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_record record = GALLIVANT_HARNESS_STATE_RECORD_INIT;
    gallivant_harness_state_reader *reader = NULL;
    gallivant_harness_state_snapshot *snapshot = NULL;
    int32_t wants = 77;
    const char *directory = fresh_directory();
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &reader, &error));
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_record(NULL, &record, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_record(snapshot, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_wants_probe(NULL, 1, &wants, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_wants_probe(snapshot, 1, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_derive(NULL, 1, GALLIVANT_NO_PROBE, &derived, &error));
    REFUSES_NULL(gallivant_harness_state_snapshot_derive(snapshot, 1, GALLIVANT_NO_PROBE, NULL, &error));
    REFUSES_CONSTANT(gallivant_harness_state_snapshot_derive(snapshot, 1, 9, &derived, &error));
    derived.struct_size = record.struct_size = 0;
    REFUSES_SIZE(gallivant_harness_state_snapshot_derive(snapshot, 1, GALLIVANT_NO_PROBE, &derived, &error));
    REFUSES_SIZE(gallivant_harness_state_snapshot_record(snapshot, &record, &error));
    CHECK(wants == 77);
    CHECK_TEXT(gallivant_harness_state_snapshot_damage(NULL), NULL);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_snapshot_free(NULL);
    gallivant_harness_state_reader_free(reader);
}

/* The identity is checked the same way by all that take one. */
static int32_t open_writer(const gallivant_harness_state_identity *identity, gallivant_error **error)
{
    gallivant_harness_state_writer *writer = UNTOUCHED(gallivant_harness_state_writer);
    int32_t status = gallivant_harness_state_writer_open("/", 1, identity, NULL, NULL, &writer, error);
    CHECK(IS_UNTOUCHED(writer));
    return status;
}

static void identities(void)
{
    gallivant_harness_state_identity identity = identity_of("tok");
    REFUSES_NULL(open_writer(NULL, &error));
    identity.struct_size = 1;
    REFUSES_SIZE(open_writer(&identity, &error));
    gallivant_str *strings[] = { &identity.agent, &identity.harness, &identity.token };
    for (size_t i = 0; i < 3; i++) {
        identity = identity_of("tok");
        *strings[i] = VIEW(NULL);
        REFUSES_NULL(open_writer(&identity, &error));
        *strings[i] = VIEW(BAD);
        REFUSES_UTF8(open_writer(&identity, &error));
    }
    identity = identity_of("tok");
    identity.pty_session = VIEW(BAD);
    REFUSES_UTF8(open_writer(&identity, &error));
    identity = identity_of("");
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_EMPTY_TOKEN, NULL, open_writer(&identity, &error));
}

static void claiming(void)
{
    gallivant_harness_state_identity identity = identity_of("claude-session-1");
    gallivant_harness_state_claim_result *claim = UNTOUCHED(gallivant_harness_state_claim_result);
    const char *directory = path_in(fresh_directory(), "not-made");
    REFUSES_NULL(gallivant_harness_state_claim(NULL, 0, &identity, NULL, &claim, &error));
    REFUSES_NULL(gallivant_harness_state_claim(TEXT(directory), NULL, NULL, &claim, &error));
    REFUSES_NULL(gallivant_harness_state_claim(TEXT(directory), &identity, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_claim(TEXT(BAD), &identity, NULL, &claim, &error));
    REFUSES_NULL(gallivant_harness_state_claim_wrapperless(NULL, 0, &identity, NULL, &claim, &error));
    REFUSES_NULL(gallivant_harness_state_claim_wrapperless(TEXT(directory), NULL, NULL, &claim, &error));
    REFUSES_NULL(gallivant_harness_state_claim_wrapperless(TEXT(directory), &identity, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_claim_wrapperless(TEXT(BAD), &identity, NULL, &claim, &error));
    CHECK(IS_UNTOUCHED(claim));
    CHECK_TEXT(content_of(directory, "harness-state"), NULL);

    CHECK(gallivant_harness_state_claim_result_sequence(NULL) == 0);
    CHECK(gallivant_harness_state_claim_result_floor_failure(NULL) == NULL);
    CHECK(gallivant_harness_state_claim_result_floor_damage(NULL) == NULL);
    CHECK(gallivant_harness_state_claim_result_context_failure(NULL) == NULL);
    CHECK(gallivant_harness_state_claim_result_swept(NULL) == 0);
    gallivant_harness_state_claim_result_free(NULL);
}

static void writing(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, NULL);
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_optional_u64 sequence = { 77, 1 };
    REFUSES_NULL(gallivant_harness_state_writer_open(NULL, 0, &identity, NULL, NULL, &writer, &error));
    REFUSES_NULL(gallivant_harness_state_writer_open("/", 1, &identity, NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_writer_open(TEXT(BAD), &identity, NULL, NULL, &writer, &error));

    report.outcome = 77;
    REFUSES_NULL(gallivant_harness_state_writer_observe(NULL, &idle, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_observe(writer, NULL, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_observe_unless_ended(NULL, &idle, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_observe_unless_ended(writer, NULL, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_ended(NULL, NULL, 0, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_ended(writer, NULL, 6, &report, &error));
    REFUSES_UTF8(gallivant_harness_state_writer_ended(writer, TEXT(BAD), &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_interrupt(NULL, &error));
    REFUSES_NULL(gallivant_harness_state_writer_heartbeat(NULL, &report, &error));
    REFUSES_NULL(gallivant_harness_state_writer_sequence(NULL, &sequence, &error));
    REFUSES_NULL(gallivant_harness_state_writer_sequence(writer, NULL, &error));

    int32_t *numbers[] = { &idle.state, &idle.blocked_on, &idle.input_buffer, &idle.ask };
    for (size_t i = 0; i < 4; i++) {
        idle = seen(GALLIVANT_STATE_IDLE);
        *numbers[i] = 99;
        REFUSES_CONSTANT(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
        *numbers[i] = -1;
        REFUSES_CONSTANT(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    }
    idle = seen(GALLIVANT_STATE_IDLE);
    idle.reason = VIEW(BAD);
    REFUSES_UTF8(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    idle.reason = VIEW(NULL);
    idle.exit = VIEW(BAD);
    REFUSES_UTF8(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    idle = seen(GALLIVANT_STATE_IDLE);
    idle.struct_size = 3;
    REFUSES_SIZE(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    idle = seen(GALLIVANT_STATE_IDLE);
    report.struct_size = 3;
    REFUSES_SIZE(gallivant_harness_state_writer_observe(writer, &idle, &report, &error));
    REFUSES_SIZE(gallivant_harness_state_writer_ended(writer, NULL, 0, &report, &error));
    REFUSES_SIZE(gallivant_harness_state_writer_heartbeat(writer, &report, &error));
    CHECK(report.outcome == 77 && sequence.value == 77);
    CHECK_TEXT(content_of(directory, "harness-state"), NULL);
    gallivant_harness_state_writer_free(writer);
    gallivant_harness_state_writer_free(NULL);
}

static void never_called(void *user_data)
{
    (void)user_data;
    CHECK(!"an action ran although its call was refused");
}

static void ownership(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", claimed(directory, "tok", NULL), NULL);
    gallivant_harness_state_ownership *guard = UNTOUCHED(gallivant_harness_state_ownership);
    uint64_t sequence = 77;
    int32_t ran = 77;
    REFUSES_NULL(gallivant_harness_state_writer_with_current_ownership(NULL, never_called, NULL, &ran, &error));
    REFUSES_NULL(gallivant_harness_state_writer_with_current_ownership(writer, NULL, NULL, &ran, &error));
    REFUSES_NULL(gallivant_harness_state_writer_with_current_ownership(writer, never_called, NULL, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_writer_lock_current_ownership(NULL, &guard, &error));
    REFUSES_NULL(gallivant_harness_state_writer_lock_current_ownership(writer, NULL, &error));
    CHECK(ran == 77 && IS_UNTOUCHED(guard));
    REFUSES_NULL(gallivant_harness_state_ownership_sequence(NULL, &sequence, &error));
    CHECK_OK(gallivant_harness_state_writer_lock_current_ownership(writer, &guard, &error));
    REFUSES_NULL(gallivant_harness_state_ownership_sequence(guard, NULL, &error));
    CHECK(sequence == 77);
    gallivant_harness_state_ownership_free(guard);
    gallivant_harness_state_ownership_free(NULL);
    gallivant_harness_state_writer_free(writer);
}

static void environments(void)
{
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_environment *environment = UNTOUCHED(gallivant_harness_state_environment);
    gallivant_harness_state_writer *writer = UNTOUCHED(gallivant_harness_state_writer);
    gallivant_optional_u64 sequence = { 77, 1 };
    const char *const bad[] = { "GALLIVANT_AGENT=" BAD, NULL };
    REFUSES_NULL(gallivant_harness_state_environment_new(NULL, 0, &identity, NULL, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_environment_new("/", 1, NULL, NULL, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_environment_new("/", 1, &identity, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_environment_new(TEXT(BAD), &identity, NULL, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_environment_from(NULL, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_environment_from(bad, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_environment_from(bad, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_environment_identity(NULL, &identity, &error));
    REFUSES_NULL(gallivant_harness_state_environment_sequence(NULL, &sequence, &error));
    REFUSES_NULL(gallivant_harness_state_environment_open_writer(NULL, NULL, &writer, &error));
    CHECK(IS_UNTOUCHED(environment) && IS_UNTOUCHED(writer));
    CHECK_OK(gallivant_harness_state_environment_new("/", 1, &identity, NULL, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_environment_identity(environment, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_environment_sequence(environment, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_environment_open_writer(environment, NULL, NULL, &error));
    identity.struct_size = 3;
    REFUSES_SIZE(gallivant_harness_state_environment_identity(environment, &identity, &error));
    CHECK(sequence.value == 77);
    CHECK(gallivant_harness_state_environment_entries(NULL) == NULL);
    CHECK_VIEW(gallivant_harness_state_environment_directory(NULL), NULL);
    gallivant_harness_state_environment_free(environment);
    gallivant_harness_state_environment_free(NULL);
}

static void sessions(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = UNTOUCHED(gallivant_harness_state_session);
    gallivant_harness_state_claim_result *claim = UNTOUCHED(gallivant_harness_state_claim_result);
    gallivant_harness_state_writer *writer = UNTOUCHED(gallivant_harness_state_writer);
    gallivant_harness_state_environment *environment = UNTOUCHED(gallivant_harness_state_environment);
    gallivant_process *process = UNTOUCHED(gallivant_process);
    gallivant_harness_state_tick tick = GALLIVANT_HARNESS_STATE_TICK_INIT;
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    int32_t holds = 77;
    REFUSES_NULL(gallivant_harness_state_session_start(NULL, 0, &identity, NULL, &session, &error));
    REFUSES_NULL(gallivant_harness_state_session_start(TEXT(directory), NULL, NULL, &session, &error));
    REFUSES_NULL(gallivant_harness_state_session_start(TEXT(directory), &identity, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_session_start(TEXT(BAD), &identity, NULL, &session, &error));
    CHECK(IS_UNTOUCHED(session));
    CHECK_TEXT(content_of(directory, "harness-state"), NULL);
    REFUSES_NULL(gallivant_harness_state_session_claim(NULL, &claim, &error));
    REFUSES_NULL(gallivant_harness_state_session_writer(NULL, &writer, &error));
    REFUSES_NULL(gallivant_harness_state_session_environment(NULL, &environment, &error));
    REFUSES_NULL(gallivant_harness_state_session_attach(NULL, 1, &process, &error));
    REFUSES_NULL(gallivant_harness_state_session_harness_process(NULL, &process, &error));
    REFUSES_NULL(gallivant_harness_state_session_heartbeat_if_due(NULL, &tick, &error));
    REFUSES_NULL(gallivant_harness_state_session_holds_lease(NULL, &holds, &error));
    REFUSES_NULL(gallivant_harness_state_session_end(NULL, NULL, 0, &report, &error));
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, NULL, &session, &error));
    REFUSES_NULL(gallivant_harness_state_session_claim(session, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_session_writer(session, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_session_environment(session, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_session_harness_process(session, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_session_holds_lease(session, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_session_end(session, NULL, 4, &report, &error));
    REFUSES_UTF8(gallivant_harness_state_session_end(session, TEXT(BAD), &report, &error));
    tick.struct_size = report.struct_size = 4;
    REFUSES_SIZE(gallivant_harness_state_session_heartbeat_if_due(session, &tick, &error));
    REFUSES_SIZE(gallivant_harness_state_session_end(session, NULL, 0, &report, &error));
    CHECK(IS_UNTOUCHED(claim) && IS_UNTOUCHED(writer) && IS_UNTOUCHED(environment) && IS_UNTOUCHED(process));
    CHECK(holds == 77 && tick.kind == 0 && report.outcome == 0);
    gallivant_harness_state_session_free(session);
    gallivant_harness_state_session_free(NULL);
}

static void hooks(void)
{
    gallivant_harness_state_hook_report *report = UNTOUCHED(gallivant_harness_state_hook_report);
    gallivant_harness_state_report written = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    REFUSES_NULL(gallivant_harness_state_observe_hook(NULL, 0, TEXT("{}"), NULL, NULL, &report, &error));
    REFUSES_UTF8(gallivant_harness_state_observe_hook(TEXT(BAD), TEXT("{}"), NULL, NULL, &report, &error));
    REFUSES_NULL(gallivant_harness_state_observe_hook(TEXT("codex"), NULL, 0, NULL, NULL, &report, &error));
    REFUSES_NULL(gallivant_harness_state_observe_hook(TEXT("codex"), TEXT("{}"), NULL, NULL, NULL, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "unknown-harness",
                gallivant_harness_state_observe_hook(TEXT("Codex"), TEXT("{}"), NULL, NULL, &report, &error));
    CHECK(IS_UNTOUCHED(report));
    REFUSES_NULL(gallivant_harness_state_hook_report_written(NULL, &written, &error));
    CHECK_OK(gallivant_harness_state_observe_hook(TEXT("codex"), TEXT("{}"), NULL, NULL, &report, &error));
    REFUSES_NULL(gallivant_harness_state_hook_report_written(report, NULL, &error));
    written.struct_size = 1;
    REFUSES_SIZE(gallivant_harness_state_hook_report_written(report, &written, &error));
    gallivant_harness_state_hook_report_free(report);
    gallivant_harness_state_hook_report_free(NULL);
    CHECK(gallivant_harness_state_hook_report_kind(NULL) == 0);
    CHECK_TEXT(gallivant_harness_state_hook_report_word(NULL), "");
    CHECK_TEXT(gallivant_harness_state_hook_report_event(NULL), NULL);
    CHECK(gallivant_harness_state_hook_report_lossy(NULL) == 0);
    CHECK(gallivant_harness_state_hook_report_error(NULL) == NULL);
    REFUSES_NULL(gallivant_harness_state_note(NULL, 0, TEXT("entry"), NULL, &error));
    REFUSES_NULL(gallivant_harness_state_note("/", 1, NULL, 0, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_note(TEXT(BAD), TEXT("entry"), NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_note("/", 1, TEXT(BAD), NULL, &error));
}

static void testing_hosts(void)
{
    gallivant_testing_host_options options = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_host *host = UNTOUCHED(gallivant_host);
    gallivant_text *text = UNTOUCHED(gallivant_text);
    REFUSES_NULL(gallivant_testing_host_new(&options, NULL, &error));
    options.random_count = 3;
    REFUSES_NULL(gallivant_testing_host_new(&options, &host, &error));
    options.random = (const uint64_t *)(const void *)&options;
    options.random_count = SIZE_MAX / 8;
    CHECK_FAILS(GALLIVANT_INPUT, "length", gallivant_testing_host_new(&options, &host, &error));
    options.random_count = 0;
    options.faults_json = VIEW(BAD);
    REFUSES_UTF8(gallivant_testing_host_new(&options, &host, &error));
    options.faults_json = VIEW("[{\"do\": \"dance\"}]");
    gallivant_error *error = NULL;
    CHECK(gallivant_testing_host_new(&options, &host, &error) == GALLIVANT_INPUT);
    gallivant_error_free(error);
    options.struct_size = 2;
    REFUSES_SIZE(gallivant_testing_host_new(&options, &host, &error));
    REFUSES_NULL(gallivant_testing_host_set_wall_ms(NULL, 1, &error));
    REFUSES_NULL(gallivant_testing_host_advance_ms(NULL, 1, &error));
    REFUSES_NULL(gallivant_testing_host_set_faults(NULL, TEXT("[]"), &error));
    REFUSES_NULL(gallivant_testing_host_operations(NULL, &text, &error));
    CHECK(IS_UNTOUCHED(host));
    CHECK_OK(gallivant_testing_host_new(NULL, &host, &error));
    REFUSES_NULL(gallivant_testing_host_set_faults(host, NULL, 0, &error));
    REFUSES_UTF8(gallivant_testing_host_set_faults(host, TEXT(BAD), &error));
    REFUSES_NULL(gallivant_testing_host_operations(host, NULL, &error));
    CHECK(IS_UNTOUCHED(text));
    gallivant_host_free(host);
    gallivant_host_free(NULL);
}

void suite_inputs(void)
{
    RUN(opening_a_reader);
    RUN(options_of_every_kind);
    RUN(options_of_a_later_release);
    RUN(an_output_of_a_later_release);
    RUN(reading);
    RUN(snapshots);
    RUN(identities);
    RUN(claiming);
    RUN(writing);
    RUN(ownership);
    RUN(environments);
    RUN(sessions);
    RUN(hooks);
    RUN(testing_hosts);
}
