/* Windows of a run's lines, in memory of the caller. */

#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static gallivant_log_row rows[GALLIVANT_LOG_ROWS_CAPACITY];
static char texts[GALLIVANT_LOG_TEXTS_CAPACITY];
static gallivant_log_window window;
static gallivant_log_reader *reader;

static gallivant_log_buffer room(size_t capacity, size_t texts_capacity)
{
    gallivant_log_buffer buffer = GALLIVANT_LOG_BUFFER_INIT;
    gallivant_log_window fresh = GALLIVANT_LOG_WINDOW_INIT;
    window = fresh;
    memset(rows, 0x55, sizeof rows);
    memset(texts, 0x55, sizeof texts);
    buffer.rows = rows;
    buffer.capacity = capacity;
    buffer.texts = texts;
    buffer.texts_capacity = texts_capacity;
    return buffer;
}

static gallivant_log_buffer enough(void)
{
    return room(GALLIVANT_LOG_ROWS_CAPACITY, GALLIVANT_LOG_TEXTS_CAPACITY);
}

static void tail(void)
{
    gallivant_log_buffer buffer = enough();
    CHECK_OK(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    CHECK(window.filled == window.count && window.texts_needed <= GALLIVANT_LOG_TEXTS_CAPACITY);
}

static void open_in(const char *directory)
{
    CHECK_OK(gallivant_log_reader_open(TEXT(directory), NULL, &reader, &error));
}

static void ex_jrn_62_a_window_has_rows_and_the_cursors_around_them(void)
{
    const char *directory = fresh_directory();
    open_in(directory);
    tail();
    CHECK(window.struct_size == sizeof window && window.count == 0 && window.texts_needed == 0);
    CHECK(window.before.data == NULL && window.after.data == NULL);
    lines_said(directory, 1, 3);
    tail();
    CHECK(window.count == 3 && rows[0].struct_size == sizeof rows[0]);
    for (size_t at = 0; at < 3; at++) {
        char id[8], text[16];
        snprintf(id, sizeof id, "%zu", at + 1);
        snprintf(text, sizeof text, "text %zu", at + 1);
        CHECK(rows[at].kind == GALLIVANT_ROW_LINE && rows[at].reason == 0);
        CHECK_VIEW(rows[at].id, id);
        CHECK_VIEW(rows[at].text, text);
    }
    CHECK(window.before.data == NULL);
    CHECK_VIEW(window.after, "3");
    gallivant_log_reader_free(reader);
}

static void ex_jrn_66_history_and_lines_go_both_ways(void)
{
    const char *directory = fresh_directory();
    gallivant_log_buffer buffer = enough();
    char cursor[32];
    size_t seen = 0;
    lines_said(directory, 1, 900);
    open_in(directory);
    tail();
    CHECK(window.count == 400);
    seen = window.count;
    while (window.before.data != NULL) {
        strcpy(cursor, window.before.data);
        buffer = enough();
        CHECK_OK(gallivant_log_reader_history(reader, TEXT(cursor), &buffer, &window, &error));
        seen += window.count;
    }
    CHECK(seen == 900);
    CHECK_VIEW(rows[0].id, "1");
    buffer = enough();
    CHECK_OK(gallivant_log_reader_lines(reader, NULL, 0, 2, &buffer, &window, &error));
    CHECK(window.count == 2);
    CHECK_VIEW(window.after, "2");
    buffer = enough();
    CHECK_OK(gallivant_log_reader_lines(reader, TEXT("899"), 400, &buffer, &window, &error));
    CHECK(window.count == 1);
    CHECK_VIEW(rows[0].id, "900");
    CHECK_VIEW(window.before, "900");
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_log_reader_history(reader, TEXT("901"), &buffer, &window, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_log_reader_lines(reader, "", 0, 9, &buffer, &window, &error));
    gallivant_log_reader_free(reader);
}

static void a_window_that_does_not_fit_is_delivered_by_the_next_call(void)
{
    const char *directory = fresh_directory();
    gallivant_log_buffer buffer = enough();
    lines_said(directory, 1, 5);
    open_in(directory);
    CHECK_OK(gallivant_log_reader_tail(reader, NULL, &window, &error));
    CHECK(window.count == 5 && window.filled == 0 && window.after.data == NULL);
    size_t needed = window.texts_needed;
    lines_said(directory, 6, 1);
    for (size_t capacity = 0; capacity < 5; capacity++) {
        buffer = room(capacity, needed);
        CHECK_OK(gallivant_log_reader_tail(reader, &buffer, &window, &error));
        CHECK(window.count == 5 && window.filled == 0 && rows[0].kind == 0x55555555);
    }
    for (size_t capacity = 0; capacity < needed; capacity++) {
        buffer = room(5, capacity);
        CHECK_OK(gallivant_log_reader_tail(reader, &buffer, &window, &error));
        CHECK(window.texts_needed == needed && window.filled == 0 && texts[0] == 0x55);
    }
    /* What was written meanwhile is not in it. */
    buffer = room(5, needed);
    CHECK_OK(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    CHECK(window.count == 5 && window.filled == 5 && texts[needed] == 0x55 && rows[5].kind == 0x55555555);
    CHECK_VIEW(rows[4].id, "5");
    CHECK_VIEW(window.after, "5");
    tail();
    CHECK(window.count == 6);
    /* Another question drops it. */
    CHECK_OK(gallivant_log_reader_lines(reader, TEXT("5"), 400, NULL, &window, &error));
    CHECK(window.count == 1);
    lines_said(directory, 7, 1);
    CHECK_OK(gallivant_log_reader_lines(reader, TEXT("5"), 400, NULL, &window, &error));
    CHECK(window.count == 1);
    CHECK_OK(gallivant_log_reader_lines(reader, TEXT("5"), 399, NULL, &window, &error));
    CHECK(window.count == 2);
    CHECK_OK(gallivant_log_reader_lines(reader, TEXT("5"), 400, NULL, &window, &error));
    CHECK(window.count == 2);
    gallivant_log_reader_free(reader);
}

static void rows_of_a_later_program_keep_their_size(void)
{
    const char *directory = fresh_directory();
    struct later {
        gallivant_log_row row;
        uint64_t more;
    } later[3];
    gallivant_log_buffer buffer = enough();
    lines_said(directory, 1, 2);
    open_in(directory);
    memset(later, 0x55, sizeof later);
    buffer.rows = &later[0].row;
    buffer.row_size = sizeof later[0];
    buffer.capacity = 3;
    CHECK_OK(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    CHECK(window.filled == 2 && later[1].row.struct_size == sizeof later[0] && later[1].more == 0);
    CHECK_VIEW(later[1].row.text, "text 2");
    CHECK(later[2].more == 0x5555555555555555);
    gallivant_log_reader_free(reader);
}

static void ex_jrn_61_a_full_window_fits_the_capacities_of_the_header(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    gallivant_projection *projection = NULL;
    static char page[400000];
    size_t length = 0;
    for (int at = 0; at < 400; at++) {
        length += (size_t)sprintf(page + length, "%c{\"id\":\"%d\",\"provenance\":\"local\",\"type\":\"t\",\"data\":\"", at ? ',' : '[', at);
        memset(page + length, 'x', 800);
        length += 800;
        length += (size_t)sprintf(page + length, "\"}");
    }
    page[length++] = ']';
    CHECK_OK(gallivant_journal_append(journal, page, length, NULL, 0, NULL, &error));
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    CHECK_OK(gallivant_projection_catch_up(projection, NULL, &error));
    open_in(directory);
    tail();
    CHECK(window.count > 250 && window.count < 400 && window.texts_needed > 200000);
    gallivant_log_reader_free(reader);
    gallivant_projection_free(projection);
    gallivant_journal_free(journal);
}

static void ex_jrn_65_what_is_missing_or_damaged_is_a_gap_row(void)
{
    const char *directory = fresh_directory();
    static char lines[65536];
    lines_said(directory, 1, 20);
    open_in(directory);
    strcpy(lines, content_of(directory, "job.log"));
    lines[strcspn(lines, "\n") + 4] ^= 1;
    write_file(directory, "job.log", lines);
    tail();
    CHECK(rows[1].kind == GALLIVANT_ROW_GAP && rows[1].reason == GALLIVANT_GAP_REASON_CORRUPT_RECORD);
    CHECK_VIEW(rows[1].id, "2");
    CHECK(rows[1].text.data == NULL);
    CHECK_VIEW(rows[2].text, "text 3");
    uint64_t first = trimmed(directory, 300);
    tail();
    CHECK(rows[0].kind == GALLIVANT_ROW_GAP && rows[0].reason == GALLIVANT_GAP_REASON_RETAINED && rows[0].id.data == NULL);
    CHECK(window.count == 22 - first);
    unlink(path_in(directory, "job.idx"));
    tail();
    CHECK(window.count == 1 && rows[0].reason == GALLIVANT_GAP_REASON_INDEX_MISSING);
    gallivant_log_reader_free(reader);
}

static void what_a_reader_of_lines_refuses(void)
{
    const char *directory = fresh_directory();
    gallivant_log_reader *none = NULL;
    gallivant_log_buffer buffer = enough();
    REFUSES_NULL(gallivant_log_reader_open(NULL, 0, NULL, &none, &error));
    REFUSES_NULL(gallivant_log_reader_open(TEXT(directory), NULL, NULL, &error));
    REFUSES_UTF8(gallivant_log_reader_open(TEXT(BAD), NULL, &none, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_log_reader_open(TEXT(path_in(directory, "nowhere")), NULL, &none, &error));
    CHECK(none == NULL);
    open_in(directory);
    REFUSES_NULL(gallivant_log_reader_tail(NULL, &buffer, &window, &error));
    REFUSES_NULL(gallivant_log_reader_tail(reader, &buffer, NULL, &error));
    REFUSES_NULL(gallivant_log_reader_history(NULL, TEXT("1"), &buffer, &window, &error));
    REFUSES_NULL(gallivant_log_reader_history(reader, NULL, 0, &buffer, &window, &error));
    REFUSES_UTF8(gallivant_log_reader_history(reader, TEXT(BAD), &buffer, &window, &error));
    REFUSES_NULL(gallivant_log_reader_lines(NULL, NULL, 0, 1, &buffer, &window, &error));
    REFUSES_UTF8(gallivant_log_reader_lines(reader, TEXT(BAD), 1, &buffer, &window, &error));
    buffer.rows = NULL;
    REFUSES_NULL(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    buffer = room(1, 1);
    buffer.texts = NULL;
    REFUSES_NULL(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    buffer = room(SIZE_MAX / 8, 1);
    CHECK_FAILS(GALLIVANT_INPUT, "length", gallivant_log_reader_tail(reader, &buffer, &window, &error));
    buffer = room(1, SIZE_MAX);
    CHECK_FAILS(GALLIVANT_INPUT, "length", gallivant_log_reader_tail(reader, &buffer, &window, &error));
    buffer = room(1, 1);
    buffer.row_size = sizeof rows[0] + 1;
    REFUSES_SIZE(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    buffer.row_size = 8;
    REFUSES_SIZE(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    buffer = room(1, 1);
    buffer.struct_size = 8;
    REFUSES_SIZE(gallivant_log_reader_tail(reader, &buffer, &window, &error));
    window.struct_size = 8;
    REFUSES_SIZE(gallivant_log_reader_tail(reader, NULL, &window, &error));
    gallivant_log_reader_free(reader);
    gallivant_log_reader_free(NULL);
}

void suite_log_reader(void)
{
    RUN(ex_jrn_62_a_window_has_rows_and_the_cursors_around_them);
    RUN(ex_jrn_66_history_and_lines_go_both_ways);
    RUN(a_window_that_does_not_fit_is_delivered_by_the_next_call);
    RUN(rows_of_a_later_program_keep_their_size);
    RUN(ex_jrn_61_a_full_window_fits_the_capacities_of_the_header);
    RUN(ex_jrn_65_what_is_missing_or_damaged_is_a_gap_row);
    RUN(what_a_reader_of_lines_refuses);
}
