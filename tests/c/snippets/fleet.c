/* Every agent below a directory, and why the first of them is in its state. */

#include <gallivant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the whole fleet into the buffer, which grows as far as it has to and is kept for the next time. */
static int32_t read_fleet(gallivant_harness_state_fleet *fleet, gallivant_harness_state_fleet_buffer *buffer,
                          gallivant_harness_state_fleet_summary *summary, gallivant_error **error)
{
    for (;;) {
        int32_t status = gallivant_harness_state_fleet_read(fleet, NULL, buffer, summary, error);
        if (status != GALLIVANT_OK || (summary->filled == summary->count && summary->texts_needed <= buffer->texts_capacity))
            return status;
        buffer->capacity = summary->count + 16;
        buffer->texts_capacity = summary->texts_needed + 1024;
        buffer->seats = realloc(buffer->seats, buffer->capacity * sizeof *buffer->seats);
        buffer->texts = realloc(buffer->texts, buffer->texts_capacity);
        if (buffer->seats == NULL || buffer->texts == NULL)
            abort();
    }
}

static void explain(const char *directory)
{
    gallivant_harness_state_reader *reader = NULL;
    gallivant_harness_state_snapshot *snapshot = NULL;
    gallivant_text *lines = NULL;
    if (gallivant_harness_state_reader_open(directory, strlen(directory), NULL, &reader, NULL) == GALLIVANT_OK &&
        gallivant_harness_state_reader_snapshot(reader, &snapshot, NULL) == GALLIVANT_OK &&
        gallivant_harness_state_snapshot_explain(snapshot, GALLIVANT_DEFAULT, GALLIVANT_NO_PROBE, NULL, &lines, NULL) ==
            GALLIVANT_OK)
        printf("%s", gallivant_text_view(lines).data);
    gallivant_text_free(lines);
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_reader_free(reader);
}

int main(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : ".";
    gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    gallivant_harness_state_fleet *fleet = NULL;
    gallivant_error *error = NULL;

    if (gallivant_harness_state_fleet_open(root, strlen(root), NULL, NULL, &fleet, &error) != GALLIVANT_OK ||
        read_fleet(fleet, &buffer, &summary, &error) != GALLIVANT_OK) {
        fprintf(stderr, "%s\n", gallivant_error_message(error));
        return 1;
    }
    for (size_t i = 0; i < summary.filled; i++)
        printf("%s: %s\n", buffer.seats[i].path.data, gallivant_state_name(buffer.seats[i].derived.state));
    if (summary.left_out.unreadable > 0)
        printf("not readable: %s\n", summary.left_out.example.data);
    explain(root);
    free(buffer.seats);
    free(buffer.texts);
    gallivant_harness_state_fleet_free(fleet);
    return 0;
}
