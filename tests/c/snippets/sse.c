/* The lines of a run as server-sent events: DIRECTORY [LAST_EVENT_ID]. Ends when nothing more is there; a server would wait. */

#include <gallivant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const char *what, gallivant_error *error)
{
    fprintf(stderr, "cannot %s: %s (%s)\n", what, gallivant_error_message(error), gallivant_error_name(error));
    gallivant_error_free(error);
    return 1;
}

/* Memory for so many bytes, in the place of a smaller one. */
static char *grown(char *buffer, size_t *capacity, size_t needed)
{
    *capacity = needed;
    buffer = realloc(buffer, needed);
    if (buffer == NULL)
        abort();
    return buffer;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".", *last = argc > 2 ? argv[2] : NULL;
    gallivant_replay *replay = NULL;
    gallivant_error *error = NULL;
    char *buffer = NULL, *event = NULL;
    size_t capacity = 0, event_capacity = 0, needed = 0, length = 0;

    if (gallivant_replay_open(directory, strlen(directory), last, last ? strlen(last) : 0, NULL, &replay, &error))
        return report("open the replay", error);
    for (;;) {
        gallivant_frame frame = GALLIVANT_FRAME_INIT;
        if (gallivant_replay_next(replay, 0, &frame, buffer, capacity, &needed, &error))
            return report("pull", error);
        if (needed == 0)
            break;
        if (frame.event == 0) {
            /* It did not fit, and comes again. */
            buffer = grown(buffer, &capacity, needed);
            continue;
        }
        if (gallivant_frame_to_sse(&frame, event, event_capacity, &length, &error))
            return report("write", error);
        if (length >= event_capacity) {
            event = grown(event, &event_capacity, length + 1);
            gallivant_frame_to_sse(&frame, event, event_capacity, &length, NULL);
        }
        fwrite(event, 1, length, stdout);
    }
    gallivant_replay_free(replay);
    free(buffer);
    free(event);
    return 0;
}
