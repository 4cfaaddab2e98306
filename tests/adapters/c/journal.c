/* The C conformance adapter of journals: one JSON request a line in, one JSON answer a line out, over the public header
 * alone.
 *
 * The protocol is described in tests/adapters/journal.md. */

#define _POSIX_C_SOURCE 200809L
#include "json.h"

#include <gallivant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One run, and what is open of it. */
static char *directory;
static size_t directory_length;
static gallivant_host *host;
static gallivant_journal *journal;
static gallivant_projection *projection;
static gallivant_replay *replay;

/* Writes the members of its answer, which count for nothing where the status is not GALLIVANT_OK. */
typedef int32_t operation(const json_value *request, json_out *out, gallivant_error **error);

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* A string, or none where there is null or nothing. */
static gallivant_str text(const json_value *object, const char *key)
{
    const json_value *string = json_string(object, key);
    gallivant_str view = { string ? string->text : NULL, string ? string->length : 0 };
    return view;
}

static uint64_t number(const json_value *object, const char *key)
{
    const uint64_t *found = json_integer(object, key);
    return found ? *found : 0;
}

/* Writes the comma that an element of a list needs, unless it is the first. */
static void begin_element(json_out *out)
{
    if (out->text[out->length - 1] != '[')
        json_write_raw(out, ",");
}

/* The string, or null for none. */
static void write_value(json_out *out, gallivant_str value)
{
    if (value.data == NULL)
        json_write_raw(out, "null");
    else
        json_write_string(out, value.data, value.length);
}

static void write_element(json_out *out, gallivant_str value)
{
    begin_element(out);
    write_value(out, value);
}

static void write_text(json_out *out, const char *key, gallivant_str value)
{
    json_write_key(out, key);
    write_value(out, value);
}

/* A list of numbers, without its closing bracket. */
static void write_numbers(json_out *out, const uint64_t *numbers, size_t count)
{
    json_write_raw(out, "[");
    for (size_t at = 0; at < count; at++) {
        begin_element(out);
        json_write_integer(out, numbers[at]);
    }
}

static void write_position(json_out *out, gallivant_journal_position end)
{
    const uint64_t numbers[] = { end.offset, end.sequence };
    json_write_key(out, "end");
    write_numbers(out, numbers, 2);
    json_write_raw(out, "]");
}

static gallivant_str reason_of(int32_t reason)
{
    return gallivant_str_from(reason ? gallivant_gap_reason_name(reason) : NULL);
}

static void close_all(void)
{
    gallivant_replay_free(replay);
    gallivant_projection_free(projection);
    gallivant_journal_free(journal);
    gallivant_host_free(host);
    free(directory);
    replay = NULL;
    projection = NULL;
    journal = NULL;
    host = NULL;
    directory = NULL;
    directory_length = 0;
}

static int32_t new_redactor(const json_value *secrets, gallivant_redactor **redactor, gallivant_error **error)
{
    const json_value *first = secrets ? secrets->first : NULL;
    size_t count = 0;
    for (const json_value *each = first; each != NULL; each = each->next)
        count++;
    gallivant_str *views = must(calloc(count + 1, sizeof *views));
    for (size_t at = 0; at < count; at++, first = first->next) {
        views[at].data = first->text;
        views[at].length = first->length;
    }
    int32_t status = gallivant_redactor_new(views, count, redactor, error);
    free(views);
    return status;
}

static int32_t open_journal(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_testing_host_options options = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_journal_owner owner = GALLIVANT_JOURNAL_OWNER_INIT;
    const json_value *run = json_string(request, "dir"), *given = json_member(request, "owner");
    const uint64_t *now_ms = json_integer(request, "now_ms");
    gallivant_redactor *redactor = NULL;
    (void)out;
    close_all();
    directory = must(strdup(run ? run->text : ""));
    directory_length = strlen(directory);
    options.wall_ms.is_set = now_ms != NULL;
    options.wall_ms.value = now_ms ? *now_ms : 0;
    owner.task_id = text(given, "taskId");
    owner.run_id = text(given, "runId");
    owner.provider = text(given, "provider");
    owner.provider_job_id = text(given, "jobId");
    owner.turn_id = text(given, "turnId");
    int32_t status = gallivant_testing_host_new(&options, &host, error);
    if (status == GALLIVANT_OK)
        status = new_redactor(json_member(request, "secrets"), &redactor, error);
    if (status == GALLIVANT_OK)
        status = gallivant_journal_open(directory, directory_length, &owner, redactor, host, &journal, error);
    gallivant_redactor_free(redactor);
    return status;
}

static int32_t append(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_journal_appended appended = GALLIVANT_JOURNAL_APPENDED_INIT;
    gallivant_str page = text(request, "page");
    /* No event is shorter than its two brackets. */
    size_t capacity = page.length / 2 + 1;
    gallivant_journal_placed *placed = must(calloc(capacity, sizeof *placed));
    int32_t status = gallivant_journal_append(journal, page.data, page.length, placed, capacity, &appended, error);
    json_write_key(out, "placed");
    json_write_raw(out, "[");
    for (size_t at = 0; status == GALLIVANT_OK && at < appended.count; at++) {
        begin_element(out);
        write_numbers(out, &placed[at].sequence, 1);
        write_element(out, gallivant_str_from(gallivant_placed_name(placed[at].how)));
        json_write_raw(out, "]");
    }
    json_write_raw(out, "]");
    write_position(out, appended.end);
    free(placed);
    return status;
}

static int32_t recover(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_journal_recovered recovered = GALLIVANT_JOURNAL_RECOVERED_INIT;
    (void)request;
    int32_t status = gallivant_journal_recover(journal, &recovered, error);
    json_write_key(out, "kept");
    json_write_integer(out, recovered.kept);
    json_write_key(out, "gap");
    json_write_raw(out, recovered.gap ? "true" : "false");
    write_position(out, recovered.end);
    return status;
}

static int32_t open_projection(gallivant_error **error)
{
    if (projection != NULL)
        return GALLIVANT_OK;
    return gallivant_projection_open(directory, directory_length, host, &projection, error);
}

static void write_projected(json_out *out, const gallivant_projected *projected)
{
    const uint64_t numbers[] = { projected->first, projected->next, projected->bytes };
    json_write_key(out, "projected");
    write_numbers(out, numbers, 3);
    json_write_raw(out, "]");
}

static int32_t project(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_projected projected = GALLIVANT_PROJECTED_INIT;
    (void)request;
    int32_t status = open_projection(error);
    if (status == GALLIVANT_OK)
        status = gallivant_projection_catch_up(projection, &projected, error);
    write_projected(out, &projected);
    return status;
}

static int32_t trim(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_projected projected = GALLIVANT_PROJECTED_INIT;
    int32_t status = open_projection(error);
    if (status == GALLIVANT_OK)
        status = gallivant_projection_trim(projection, number(request, "keep_bytes"), &projected, error);
    write_projected(out, &projected);
    return status;
}

static void write_window(json_out *out, const gallivant_log_row *rows, const gallivant_log_window *window)
{
    json_write_key(out, "rows");
    json_write_raw(out, "[");
    for (size_t at = 0; at < window->filled; at++) {
        begin_element(out);
        json_write_raw(out, "{");
        write_text(out, "id", rows[at].id);
        write_text(out, "kind", gallivant_str_from(gallivant_row_name(rows[at].kind)));
        write_text(out, "text", rows[at].text);
        write_text(out, "reason", reason_of(rows[at].reason));
        json_write_raw(out, "}");
    }
    json_write_raw(out, "]");
    write_text(out, "before", window->before);
    write_text(out, "after", window->after);
}

/* The three windows. */
static int32_t read_window(const json_value *request, json_out *out, gallivant_error **error)
{
    static gallivant_log_row rows[GALLIVANT_LOG_ROWS_CAPACITY];
    static char texts[GALLIVANT_LOG_TEXTS_CAPACITY];
    gallivant_log_buffer buffer = GALLIVANT_LOG_BUFFER_INIT;
    gallivant_log_window window = GALLIVANT_LOG_WINDOW_INIT;
    gallivant_log_reader *reader = NULL;
    const char *op = text(request, "op").data;
    gallivant_str before = text(request, "before"), after = text(request, "after");
    buffer.rows = rows;
    buffer.capacity = GALLIVANT_LOG_ROWS_CAPACITY;
    buffer.texts = texts;
    buffer.texts_capacity = GALLIVANT_LOG_TEXTS_CAPACITY;
    int32_t status = gallivant_log_reader_open(directory, directory_length, host, &reader, error);
    if (status != GALLIVANT_OK)
        return status;
    if (strcmp(op, "tail") == 0)
        status = gallivant_log_reader_tail(reader, &buffer, &window, error);
    else if (strcmp(op, "history") == 0)
        status = gallivant_log_reader_history(reader, before.data, before.length, &buffer, &window, error);
    else
        status = gallivant_log_reader_lines(reader, after.data, after.length, (size_t)number(request, "limit"), &buffer,
                                            &window, error);
    write_window(out, rows, &window);
    gallivant_log_reader_free(reader);
    return status;
}

static int32_t open_replay(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_str after = text(request, "after");
    (void)out;
    gallivant_replay_free(replay);
    replay = NULL;
    return gallivant_replay_open(directory, directory_length, after.data, after.length, host, &replay, error);
}

static int32_t write_frame(json_out *out, const gallivant_frame *frame, gallivant_error **error)
{
    static char *event;
    static size_t capacity;
    size_t length = 0;
    int32_t status = gallivant_frame_to_sse(frame, event, capacity, &length, error);
    if (status == GALLIVANT_OK && length >= capacity) {
        capacity = length + 1;
        event = must(realloc(event, capacity));
        status = gallivant_frame_to_sse(frame, event, capacity, &length, error);
    }
    if (status != GALLIVANT_OK)
        return status;
    gallivant_str written = { event, length };
    begin_element(out);
    json_write_raw(out, "[");
    write_element(out, frame->id);
    write_element(out, gallivant_str_from(gallivant_frame_name(frame->event)));
    write_element(out, frame->data);
    write_element(out, written);
    json_write_raw(out, "]");
    return status;
}

static int32_t read_frames(const json_value *request, json_out *out, gallivant_error **error)
{
    static char buffer[GALLIVANT_REPLAY_FRAME_CAPACITY];
    uint64_t left = number(request, "count"), timeout_ms = number(request, "timeout_ms");
    gallivant_str resume = { NULL, 0 };
    int32_t status = GALLIVANT_OK;
    size_t needed = 1;
    json_write_key(out, "frames");
    json_write_raw(out, "[");
    while (left > 0) {
        gallivant_frame frame = GALLIVANT_FRAME_INIT;
        status = gallivant_replay_next(replay, timeout_ms, &frame, buffer, sizeof buffer, &needed, error);
        if (status != GALLIVANT_OK || needed == 0)
            break;
        if (frame.event == GALLIVANT_FRAME_HEARTBEAT)
            continue;
        status = write_frame(out, &frame, error);
        if (status != GALLIVANT_OK)
            break;
        left--;
    }
    json_write_raw(out, "]");
    if (status == GALLIVANT_OK)
        status = gallivant_replay_resume_point(replay, &resume, error);
    write_text(out, "resume", resume);
    return status;
}

static void write_gap(void *out, const gallivant_journal_gap *gap)
{
    const uint64_t numbers[] = { gap->from, gap->to };
    begin_element(out);
    write_numbers(out, numbers, 2);
    write_element(out, reason_of(gap->reason));
    begin_element(out);
    json_write_integer(out, gap->bytes_from);
    begin_element(out);
    json_write_integer(out, gap->bytes_to);
    json_write_raw(out, "]");
}

static int32_t check(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_journal_checked checked = GALLIVANT_JOURNAL_CHECKED_INIT;
    (void)request;
    json_write_key(out, "gaps");
    json_write_raw(out, "[");
    int32_t status = gallivant_journal_check(directory, directory_length, host, write_gap, out, &checked, error);
    const uint64_t pending[] = { checked.pending_records, checked.pending_kept };
    json_write_raw(out, "]");
    write_position(out, checked.end);
    json_write_key(out, "records");
    json_write_integer(out, checked.records);
    json_write_key(out, "pending");
    if (checked.pending_records == 0) {
        json_write_raw(out, "null");
    } else {
        write_numbers(out, pending, 2);
        json_write_raw(out, "]");
    }
    return status;
}

static int32_t read_result(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_text *result = NULL;
    (void)request;
    int32_t status = gallivant_journal_read_run_result(directory, directory_length, host, &result, error);
    write_text(out, "result", result ? gallivant_text_view(result) : gallivant_str_from(NULL));
    gallivant_text_free(result);
    return status;
}

static void write_candidate(void *out, gallivant_str run)
{
    write_element(out, run);
}

static int32_t list_candidates(const json_value *request, json_out *out, gallivant_error **error)
{
    gallivant_str root = text(request, "root");
    json_write_key(out, "candidates");
    json_write_raw(out, "[");
    int32_t status = gallivant_journal_retention_candidates(root.data, root.length, host, write_candidate, out, error);
    json_write_raw(out, "]");
    return status;
}

static const struct {
    const char *name;
    operation *run;
} operations[] = {
    { "open", open_journal },
    { "append", append },
    { "recover", recover },
    { "project", project },
    { "trim", trim },
    { "tail", read_window },
    { "history", read_window },
    { "lines", read_window },
    { "replay", open_replay },
    { "frames", read_frames },
    { "check", check },
    { "result", read_result },
    { "candidates", list_candidates },
};

static operation *find(const json_value *request)
{
    const json_value *op = json_string(request, "op");
    for (size_t at = 0; op != NULL && at < sizeof operations / sizeof *operations; at++)
        if (strcmp(op->text, operations[at].name) == 0)
            return operations[at].run;
    return NULL;
}

static void answer(const json_value *request)
{
    json_out out = { NULL, 0, 0 };
    gallivant_error *error = NULL;
    operation *run = find(request);
    json_write_raw(&out, "{\"ok\":true");
    int32_t status = run ? run(request, &out, &error) : GALLIVANT_INPUT;
    if (status != GALLIVANT_OK) {
        out.length = 0;
        json_write_raw(&out, "{\"ok\":false");
        write_text(&out, "error", gallivant_str_from(gallivant_status_name(status)));
        write_text(&out, "reason", gallivant_str_from(gallivant_error_reason(error)));
    }
    json_write_raw(&out, "}");
    puts(out.text);
    fflush(stdout);
    gallivant_error_free(error);
    free(out.text);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) >= 0) {
        json_value *request = json_parse(line, (size_t)length);
        answer(request);
        json_free(request);
    }
    close_all();
    free(line);
    return 0;
}
