/* Replays: frames into a buffer of the caller, and as server-sent events. */

#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static gallivant_frame frame;
static char buffer[GALLIVANT_REPLAY_FRAME_CAPACITY];
static size_t needed;

static gallivant_replay *replay_of(const char *directory, const char *last_event_id)
{
    gallivant_replay *replay = NULL;
    CHECK_OK(gallivant_replay_open(TEXT(directory), last_event_id, last_event_id ? strlen(last_event_id) : 0, NULL, &replay,
                                   &error));
    return replay;
}

/* Polls with so much room; whether a frame came. */
static int polled(gallivant_replay *replay, size_t capacity)
{
    gallivant_frame fresh = GALLIVANT_FRAME_INIT;
    frame = fresh;
    memset(buffer, 0x55, sizeof buffer);
    CHECK_OK(gallivant_replay_poll(replay, &frame, capacity ? buffer : NULL, capacity, &needed, &error));
    CHECK(frame.struct_size == sizeof frame && (frame.event != 0) == (needed > 0 && needed <= capacity));
    CHECK(frame.event != 0 || (frame.id.data == NULL && frame.data.data == NULL && buffer[0] == 0x55));
    CHECK(capacity == sizeof buffer || buffer[capacity] == 0x55);
    return frame.event != 0;
}

/* The ids of all frames that are there, each with a space behind it; `-` for one without. */
static const char *ids(gallivant_replay *replay)
{
    static char seen[4096];
    seen[0] = '\0';
    while (polled(replay, sizeof buffer)) {
        strcat(seen, frame.id.data ? frame.id.data : "-");
        strcat(seen, " ");
    }
    return seen;
}

static void resumes_at(gallivant_replay *replay, const char *wanted)
{
    gallivant_str id = { NULL, 0 };
    CHECK_OK(gallivant_replay_resume_point(replay, &id, &error));
    CHECK_VIEW(id, wanted);
}

static void ex_jrn_67_a_replay_resumes_just_after_its_id_or_begins_with_a_gap(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = NULL;
    lines_said(directory, 1, 9);
    replay = replay_of(directory, NULL);
    resumes_at(replay, NULL);
    CHECK(polled(replay, sizeof buffer) && frame.event == GALLIVANT_FRAME_LINE);
    CHECK_VIEW(frame.id, "1");
    CHECK_VIEW(frame.data, "{\"id\":\"1\",\"kind\":\"line\",\"text\":\"text 1\"}");
    CHECK_TEXT(ids(replay), "2 3 4 5 6 7 8 9 ");
    resumes_at(replay, "9");
    gallivant_replay_free(replay);
    replay = replay_of(directory, "7");
    CHECK_TEXT(ids(replay), "8 9 ");
    gallivant_replay_free(replay);
    /* What is not retained any more. */
    uint64_t first = trimmed(directory, 150);
    CHECK(first > 3);
    replay = replay_of(directory, "1");
    CHECK(polled(replay, sizeof buffer) && frame.event == GALLIVANT_FRAME_GAP && frame.id.data == NULL);
    CHECK_VIEW(frame.data, "{\"id\":null,\"kind\":\"gap\",\"reason\":\"retained\"}");
    resumes_at(replay, "1");
    CHECK(polled(replay, sizeof buffer) && strtoull(frame.id.data, NULL, 10) == first);
    gallivant_replay_free(replay);
}

static void ex_jrn_68_an_id_that_was_never_issued_begins_with_a_gap(void)
{
    const char *directory = fresh_directory();
    const char *const never[] = { "4", "0", "made-up", "" };
    lines_said(directory, 1, 3);
    for (size_t at = 0; at < 4; at++) {
        gallivant_replay *replay = replay_of(directory, never[at]);
        resumes_at(replay, never[at]);
        CHECK_TEXT(ids(replay), "- 1 2 3 ");
        gallivant_replay_free(replay);
    }
}

static void ex_jrn_72_a_frame_that_does_not_fit_is_told_by_the_next_call(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = NULL;
    char resume[8] = "";
    lines_said(directory, 1, 3);
    replay = replay_of(directory, NULL);
    for (int row = 1; row <= 3; row++) {
        /* From no room at all, byte by byte up to what it needs; by both calls. */
        CHECK(!polled(replay, 0) && needed > 1);
        size_t wanted = needed;
        for (size_t capacity = 1; capacity < wanted; capacity++) {
            CHECK(!polled(replay, capacity) && needed == wanted);
            CHECK_OK(gallivant_replay_next(replay, 0, &frame, buffer, capacity, &needed, &error));
            CHECK(frame.event == 0 && needed == wanted && buffer[0] == 0x55);
            resumes_at(replay, row == 1 ? NULL : resume);
        }
        CHECK(polled(replay, wanted) && needed == wanted);
        CHECK(frame.id.length + 1 + frame.data.length + 1 == wanted);
        snprintf(resume, sizeof resume, "%d", row);
        CHECK_VIEW(frame.id, resume);
        resumes_at(replay, resume);
    }
    CHECK(!polled(replay, 1) && needed == 0);
    gallivant_replay_free(replay);
}

static void ex_jrn_72_a_pull_through_one_byte_loses_nothing(void)
{
    const char *directory = fresh_directory();
    char seen[256] = "";
    size_t capacity = 1;
    char *place = malloc(capacity);
    gallivant_replay *replay = replay_of(directory, NULL);
    lines_said(directory, 1, 12);
    for (;;) {
        gallivant_frame own = GALLIVANT_FRAME_INIT;
        CHECK_OK(gallivant_replay_next(replay, 20, &own, place, capacity, &needed, &error));
        if (needed == 0)
            break;
        if (own.event == 0) {
            /* Memory of just that size, so that a byte beyond it is seen. */
            free(place);
            capacity = needed;
            place = malloc(capacity);
            continue;
        }
        strcat(seen, own.id.data);
        strcat(seen, " ");
    }
    CHECK_TEXT(seen, "1 2 3 4 5 6 7 8 9 10 11 12 ");
    free(place);
    gallivant_replay_free(replay);
}

static void ex_jrn_69_a_frame_is_written_as_a_server_sent_event(void)
{
    const char *directory = fresh_directory(), *wanted = "id: 1\nevent: line\ndata: {\"id\":\"1\",\"kind\":\"line\",\"text\":\"text 1\"}\n\n";
    char event[128];
    size_t length = 0;
    gallivant_frame own = GALLIVANT_FRAME_INIT;
    gallivant_replay *replay = NULL;
    lines_said(directory, 1, 1);
    replay = replay_of(directory, NULL);
    CHECK(polled(replay, sizeof buffer));
    memset(event, 0x55, sizeof event);
    CHECK_OK(gallivant_frame_to_sse(&frame, NULL, 0, &length, &error));
    CHECK(length == strlen(wanted));
    CHECK_OK(gallivant_frame_to_sse(&frame, event, length, &length, &error));
    CHECK(length == strlen(wanted) && event[0] == 0x55);
    CHECK_OK(gallivant_frame_to_sse(&frame, event, length + 1, &length, &error));
    CHECK_TEXT(event, wanted);
    gallivant_replay_free(replay);
    /* Each line break begins a field of its own. */
    own.event = GALLIVANT_FRAME_GAP;
    own.data = VIEW("a\rb\nc\r\n");
    CHECK_OK(gallivant_frame_to_sse(&own, event, sizeof event, &length, &error));
    CHECK_TEXT(event, "event: gap\ndata: a\ndata: b\ndata: c\ndata: \n\n");
    own.event = GALLIVANT_FRAME_HEARTBEAT;
    CHECK_OK(gallivant_frame_to_sse(&own, event, sizeof event, &length, &error));
    CHECK_TEXT(event, ":heartbeat\n\n");
    own.event = 0;
    REFUSES_CONSTANT(gallivant_frame_to_sse(&own, event, sizeof event, &length, &error));
    own.event = GALLIVANT_FRAME_LINE;
    REFUSES_NULL(gallivant_frame_to_sse(NULL, event, sizeof event, &length, &error));
    REFUSES_NULL(gallivant_frame_to_sse(&own, NULL, 1, &length, &error));
    REFUSES_NULL(gallivant_frame_to_sse(&own, event, sizeof event, NULL, &error));
    own.data = VIEW(BAD);
    REFUSES_UTF8(gallivant_frame_to_sse(&own, event, sizeof event, &length, &error));
    own.struct_size = 8;
    REFUSES_SIZE(gallivant_frame_to_sse(&own, event, sizeof event, &length, &error));
}

static void ex_jrn_69_a_frame_carries_its_row(void)
{
    const char *directory = fresh_directory();
    char texts[32];
    gallivant_log_row row = GALLIVANT_LOG_ROW_INIT;
    gallivant_frame own = GALLIVANT_FRAME_INIT;
    gallivant_replay *replay = NULL;
    lines_said(directory, 1, 1);
    replay = replay_of(directory, "made-up");
    CHECK(polled(replay, sizeof buffer));
    CHECK_OK(gallivant_frame_row(&frame, &row, NULL, 0, &needed, &error));
    CHECK(row.struct_size == sizeof row && row.kind == GALLIVANT_ROW_GAP && row.reason == 0 && needed == 0);
    CHECK(polled(replay, sizeof buffer));
    memset(texts, 0x55, sizeof texts);
    CHECK_OK(gallivant_frame_row(&frame, &row, texts, 8, &needed, &error));
    CHECK(row.kind == 0 && row.text.data == NULL && needed == 9 && texts[0] == 0x55);
    CHECK_OK(gallivant_frame_row(&frame, &row, texts, 9, &needed, &error));
    CHECK(row.kind == GALLIVANT_ROW_LINE && texts[9] == 0x55);
    CHECK_VIEW(row.id, "1");
    CHECK_VIEW(row.text, "text 1");
    gallivant_replay_free(replay);
    own.event = GALLIVANT_FRAME_GAP;
    own.data = VIEW("{\"id\":null,\"kind\":\"gap\",\"reason\":\"retained\"}");
    CHECK_OK(gallivant_frame_row(&own, &row, texts, sizeof texts, &needed, &error));
    CHECK(row.kind == GALLIVANT_ROW_GAP && row.reason == GALLIVANT_GAP_REASON_RETAINED && row.id.data == NULL);
    own.event = GALLIVANT_FRAME_HEARTBEAT;
    own.data = VIEW("");
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape", gallivant_frame_row(&own, &row, texts, sizeof texts, &needed, &error));
    own.event = 0;
    REFUSES_CONSTANT(gallivant_frame_row(&own, &row, texts, sizeof texts, &needed, &error));
    own.event = GALLIVANT_FRAME_GAP;
    REFUSES_NULL(gallivant_frame_row(NULL, &row, texts, sizeof texts, &needed, &error));
    REFUSES_NULL(gallivant_frame_row(&own, NULL, texts, sizeof texts, &needed, &error));
    REFUSES_NULL(gallivant_frame_row(&own, &row, NULL, 1, &needed, &error));
    REFUSES_NULL(gallivant_frame_row(&own, &row, texts, sizeof texts, NULL, &error));
    own.data = VIEW(NULL);
    REFUSES_NULL(gallivant_frame_row(&own, &row, texts, sizeof texts, &needed, &error));
    row.struct_size = 8;
    own.data = VIEW("{}");
    REFUSES_SIZE(gallivant_frame_row(&own, &row, texts, sizeof texts, &needed, &error));
    own.struct_size = 8;
    REFUSES_SIZE(gallivant_frame_row(&own, &row, texts, sizeof texts, &needed, &error));
}

static void ex_jrn_70_a_heartbeat_comes_after_twenty_seconds_of_silence(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(2000000000000);
    gallivant_replay *replay = NULL;
    CHECK_OK(gallivant_replay_open(TEXT(directory), NULL, 0, host, &replay, &error));
    CHECK(!polled(replay, sizeof buffer));
    /* The clock goes on besides. */
    CHECK_OK(gallivant_testing_host_advance_ms(host, 10000, &error));
    CHECK(!polled(replay, sizeof buffer));
    CHECK_OK(gallivant_testing_host_advance_ms(host, 10000, &error));
    CHECK(!polled(replay, 0) && needed == 1);
    CHECK(polled(replay, 1) && frame.event == GALLIVANT_FRAME_HEARTBEAT && frame.id.data == NULL);
    CHECK_VIEW(frame.data, "");
    CHECK(!polled(replay, sizeof buffer));
    gallivant_replay_free(replay);
    gallivant_host_free(host);
}

static void ex_jrn_83_damage_is_told_as_a_gap_and_hides_nothing(void)
{
    const char *directory = fresh_directory();
    static char log[65536];
    gallivant_replay *replay = NULL;
    gallivant_projection *projection = NULL;
    lines_said(directory, 1, 6);
    /* A damaged record of the journal, projected anew; and a damaged line. */
    strcpy(log, content_of(directory, "events.jsonl"));
    strchr(strchr(log, '\n') + 1, '\n')[40] ^= 1;
    write_file(directory, "events.jsonl", log);
    unlink(path_in(directory, "job.log"));
    unlink(path_in(directory, "job.idx"));
    unlink(path_in(directory, "log-meta.json"));
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    CHECK_OK(gallivant_projection_catch_up(projection, NULL, &error));
    gallivant_projection_free(projection);
    strcpy(log, content_of(directory, "job.log"));
    log[3] ^= 1;
    write_file(directory, "job.log", log);
    replay = replay_of(directory, NULL);
    CHECK(polled(replay, sizeof buffer) && frame.event == GALLIVANT_FRAME_GAP);
    CHECK_VIEW(frame.data, "{\"id\":\"1\",\"kind\":\"gap\",\"reason\":\"corrupt-record\"}");
    CHECK(polled(replay, sizeof buffer) && frame.event == GALLIVANT_FRAME_LINE);
    CHECK(polled(replay, sizeof buffer) && frame.event == GALLIVANT_FRAME_GAP);
    CHECK_VIEW(frame.data, "{\"id\":\"3\",\"kind\":\"gap\"}");
    CHECK_TEXT(ids(replay), "4 5 6 ");
    /* What cannot be believed at all is an error, and no end of the run. */
    write_file(directory, "log-meta.json", "{\"version\":9}");
    gallivant_replay *other = replay_of(directory, NULL);
    gallivant_frame own = GALLIVANT_FRAME_INIT;
    own.event = 77;
    CHECK_FAILS(GALLIVANT_EXECUTION_VERSION, "log-meta",
                gallivant_replay_next(other, GALLIVANT_FOREVER, &own, buffer, sizeof buffer, &needed, &error));
    CHECK(own.event == 77);
    gallivant_replay_free(other);
    gallivant_replay_free(replay);
}

static void ex_jrn_71_a_closed_replay_answers_that_it_is(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = NULL;
    lines_said(directory, 1, 3);
    replay = replay_of(directory, NULL);
    CHECK(polled(replay, sizeof buffer) && gallivant_replay_descriptor(replay) >= 0);
    CHECK_OK(gallivant_replay_close(replay, &error));
    CHECK_OK(gallivant_replay_close(replay, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "closed", gallivant_replay_poll(replay, &frame, buffer, sizeof buffer, &needed, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "closed",
                gallivant_replay_next(replay, GALLIVANT_FOREVER, &frame, buffer, sizeof buffer, &needed, &error));
    CHECK(gallivant_replay_descriptor(replay) == -1);
    gallivant_replay_wake(replay);
    resumes_at(replay, "1");
    gallivant_replay_free(replay);
}

static void what_a_replay_refuses(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *none = NULL, *replay = NULL;
    gallivant_frame own = GALLIVANT_FRAME_INIT;
    gallivant_str id = { NULL, 77 };
    REFUSES_NULL(gallivant_replay_open(NULL, 0, NULL, 0, NULL, &none, &error));
    REFUSES_NULL(gallivant_replay_open(TEXT(directory), NULL, 1, NULL, &none, &error));
    REFUSES_NULL(gallivant_replay_open(TEXT(directory), NULL, 0, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_replay_open(TEXT(BAD), NULL, 0, NULL, &none, &error));
    REFUSES_UTF8(gallivant_replay_open(TEXT(directory), TEXT(BAD), NULL, &none, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_replay_open(TEXT(path_in(directory, "nowhere")), NULL, 0, NULL, &none, &error));
    CHECK(none == NULL);
    replay = replay_of(directory, NULL);
    own.event = 77;
    needed = 77;
    REFUSES_NULL(gallivant_replay_next(NULL, 0, &own, buffer, sizeof buffer, &needed, &error));
    REFUSES_NULL(gallivant_replay_next(replay, 0, NULL, buffer, sizeof buffer, &needed, &error));
    REFUSES_NULL(gallivant_replay_next(replay, 0, &own, NULL, 1, &needed, &error));
    REFUSES_NULL(gallivant_replay_next(replay, 0, &own, buffer, sizeof buffer, NULL, &error));
    REFUSES_NULL(gallivant_replay_poll(NULL, &own, buffer, sizeof buffer, &needed, &error));
    REFUSES_NULL(gallivant_replay_poll(replay, NULL, buffer, sizeof buffer, &needed, &error));
    REFUSES_NULL(gallivant_replay_poll(replay, &own, NULL, 1, &needed, &error));
    REFUSES_NULL(gallivant_replay_poll(replay, &own, buffer, sizeof buffer, NULL, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "length", gallivant_replay_poll(replay, &own, buffer, SIZE_MAX, &needed, &error));
    own.struct_size = 8;
    REFUSES_SIZE(gallivant_replay_next(replay, 0, &own, buffer, sizeof buffer, &needed, &error));
    REFUSES_SIZE(gallivant_replay_poll(replay, &own, buffer, sizeof buffer, &needed, &error));
    REFUSES_NULL(gallivant_replay_resume_point(NULL, &id, &error));
    REFUSES_NULL(gallivant_replay_resume_point(replay, NULL, &error));
    REFUSES_NULL(gallivant_replay_close(NULL, &error));
    CHECK(own.event == 77 && needed == 77 && id.length == 77);
    CHECK(gallivant_replay_descriptor(NULL) == -1);
    gallivant_replay_wake(NULL);
    gallivant_replay_free(replay);
    gallivant_replay_free(NULL);
}

void suite_replay(void)
{
    RUN(ex_jrn_67_a_replay_resumes_just_after_its_id_or_begins_with_a_gap);
    RUN(ex_jrn_68_an_id_that_was_never_issued_begins_with_a_gap);
    RUN(ex_jrn_72_a_frame_that_does_not_fit_is_told_by_the_next_call);
    RUN(ex_jrn_72_a_pull_through_one_byte_loses_nothing);
    RUN(ex_jrn_69_a_frame_is_written_as_a_server_sent_event);
    RUN(ex_jrn_69_a_frame_carries_its_row);
    RUN(ex_jrn_70_a_heartbeat_comes_after_twenty_seconds_of_silence);
    RUN(ex_jrn_83_damage_is_told_as_a_gap_and_hides_nothing);
    RUN(ex_jrn_71_a_closed_replay_answers_that_it_is);
    RUN(what_a_replay_refuses);
}
