/* A probe of one's own: is the session behind this record still there? */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

static int32_t ask_the_terminal(void *user_data, const gallivant_harness_state_record *record)
{
    const char *living = user_data;
    if (record->pty_session.length == strlen(living) &&
        memcmp(record->pty_session.data, living, record->pty_session.length) == 0)
        return GALLIVANT_LIVENESS_ALIVE;
    return GALLIVANT_LIVENESS_INDETERMINATE;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    char living[] = "worker";
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_derived seen = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_reader *reader = NULL;

    probe.kind = GALLIVANT_PROBE_CALLBACK;
    probe.callback = ask_the_terminal;
    probe.user_data = living;
    if (gallivant_harness_state_reader_open(directory, strlen(directory), NULL, &reader, NULL) ||
        gallivant_harness_state_reader_read(reader, &probe, &seen, NULL))
        return 1;
    printf("%s\n", seen.observed ? gallivant_state_name(seen.state) : "never observed");
    gallivant_harness_state_reader_free(reader);
    return 0;
}
