/* The last lines of a run, and those to come: a `tail -f` of its public log.
 *
 *     gcc run_tail.c $(pkg-config --cflags --libs gallivant) -o run_tail
 *     ./run_tail [--once] [-n LINES] DIRECTORY
 *
 * What is missing is shown where it is missing, in brackets. It sleeps until a line is there.
 */

#include <gallivant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *directory, gallivant_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", directory, gallivant_error_name(error), gallivant_error_message(error));
    fprintf(stderr, "%s\n", gallivant_error_remedy(error));
    gallivant_error_free(error);
    return 1;
}

static void print_row(const gallivant_log_row *row)
{
    if (row->kind == GALLIVANT_ROW_LINE) {
        fwrite(row->text.data, 1, row->text.length, stdout);
        putchar('\n');
    } else {
        printf("[%s]\n", row->reason ? gallivant_gap_reason_name(row->reason) : "gap");
    }
}

/* Prints the last rows of a run, and notes the id of the last one; whether that worked. */
static int print_last(const char *directory, size_t count, char *last, size_t capacity, gallivant_error **error)
{
    static gallivant_log_row rows[GALLIVANT_LOG_ROWS_CAPACITY];
    static char texts[GALLIVANT_LOG_TEXTS_CAPACITY];
    gallivant_log_buffer buffer = GALLIVANT_LOG_BUFFER_INIT;
    gallivant_log_window window = GALLIVANT_LOG_WINDOW_INIT;
    gallivant_log_reader *reader = NULL;
    if (gallivant_log_reader_open(directory, strlen(directory), NULL, &reader, error) != GALLIVANT_OK)
        return 0;
    buffer.rows = rows;
    buffer.capacity = GALLIVANT_LOG_ROWS_CAPACITY;
    buffer.texts = texts;
    buffer.texts_capacity = GALLIVANT_LOG_TEXTS_CAPACITY;
    int32_t status = gallivant_log_reader_tail(reader, &buffer, &window, error);
    gallivant_log_reader_free(reader);
    if (status != GALLIVANT_OK)
        return 0;
    for (size_t at = window.filled > count ? window.filled - count : 0; at < window.filled; at++)
        print_row(&rows[at]);
    if (window.after.data != NULL)
        snprintf(last, capacity, "%s", window.after.data);
    return 1;
}

/* Prints what comes after the row with this id, for ever. */
static void follow(const char *directory, const char *last, gallivant_error **error)
{
    static char buffer[GALLIVANT_REPLAY_FRAME_CAPACITY], texts[GALLIVANT_REPLAY_FRAME_CAPACITY];
    gallivant_replay *replay = NULL;
    size_t needed = 0;
    int32_t status =
        gallivant_replay_open(directory, strlen(directory), *last ? last : NULL, strlen(last), NULL, &replay, error);
    while (status == GALLIVANT_OK) {
        gallivant_frame frame = GALLIVANT_FRAME_INIT;
        gallivant_log_row row = GALLIVANT_LOG_ROW_INIT;
        status = gallivant_replay_next(replay, GALLIVANT_FOREVER, &frame, buffer, sizeof buffer, &needed, error);
        if (status != GALLIVANT_OK || frame.event == GALLIVANT_FRAME_HEARTBEAT)
            continue;
        status = gallivant_frame_row(&frame, &row, texts, sizeof texts, &needed, error);
        if (status == GALLIVANT_OK)
            print_row(&row);
        fflush(stdout);
    }
    gallivant_replay_free(replay);
}

int main(int argc, char **argv)
{
    const char *directory = NULL;
    gallivant_error *error = NULL;
    char last[64] = "";
    size_t count = 10;
    int once = 0;

    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--once") == 0)
            once = 1;
        else if (strcmp(argv[at], "-n") == 0 && at + 1 < argc)
            count = strtoul(argv[++at], NULL, 10);
        else
            directory = argv[at];
    }
    if (directory == NULL) {
        fprintf(stderr, "usage: %s [--once] [-n LINES] DIRECTORY\n", argv[0]);
        return 2;
    }
    if (!print_last(directory, count, last, sizeof last, &error))
        return fail(directory, error);
    fflush(stdout);
    if (once)
        return 0;
    follow(directory, last, &error);
    return fail(directory, error);
}
