/* A status bar for coding agents: one line for each agent, by its directory.
 *
 *     gcc status_bar.c $(pkg-config --cflags --libs gallivant) -o status_bar
 *     ./status_bar [--once] DIRECTORY...
 *
 * On a terminal it redraws itself when a line changes; elsewhere it prints each line that has changed. It sleeps until a
 * file changes, a session dies, or time alone makes an answer another, and wakes for nothing else.
 */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <gallivant.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *directory;
    gallivant_harness_state_watch *watch;
    char line[256];
} agent;

/* How often to look on platforms that have no descriptor to wait on. */
static const int look_every_ms = 50;

static void fail(const char *directory, gallivant_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", directory, gallivant_error_name(error), gallivant_error_message(error));
    fprintf(stderr, "%s\n", gallivant_error_remedy(error));
    exit(1);
}

static void watch_agent(agent *agent)
{
    /* A session whose process is gone has lost its lease: then its last word is not its state any more. */
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_error *error = NULL;
    probe.kind = GALLIVANT_PROBE_LEASE;
    if (gallivant_harness_state_watch_record(agent->directory, strlen(agent->directory), &probe, NULL, NULL,
                                             &agent->watch, &error) != GALLIVANT_OK)
        fail(agent->directory, error);
}

/* Says in the agent's line what it is doing. */
static void describe(agent *agent, const gallivant_harness_state_derived *seen)
{
    char since[24] = "", asked[48] = "";
    if (!seen->observed) {
        snprintf(agent->line, sizeof agent->line, "%-24s never observed", agent->directory);
        return;
    }
    if (seen->blocked_on == GALLIVANT_BLOCKED_ON_HUMAN)
        snprintf(asked, sizeof asked, " waits for a human (%s)", gallivant_ask_name(seen->ask));
    if (seen->since_ms.is_set) {
        time_t seconds = (time_t)(seen->since_ms.value / 1000);
        struct tm local;
        strftime(since, sizeof since, " since %H:%M:%S", localtime_r(&seconds, &local));
    }
    snprintf(agent->line, sizeof agent->line, "%-24s %-8s%s%s%s%s%s", agent->directory,
             gallivant_state_name(seen->state), asked, since, seen->reason.data ? " (" : "",
             seen->reason.data ? seen->reason.data : "", seen->reason.data ? ")" : "");
}

/* Takes what has changed, if anything has; whether the agent's line is another. */
static int look(agent *agent)
{
    gallivant_harness_state_change change = GALLIVANT_HARNESS_STATE_CHANGE_INIT;
    gallivant_harness_state_seat seat = GALLIVANT_HARNESS_STATE_SEAT_INIT;
    gallivant_error *error = NULL;
    char before[sizeof agent->line];
    if (gallivant_harness_state_watch_poll(agent->watch, &change, &error) != GALLIVANT_OK)
        fail(agent->directory, error);
    if (change.count == 0)
        return 0;
    if (gallivant_harness_state_watch_seat(agent->watch, 0, &seat, &error) != GALLIVANT_OK)
        fail(agent->directory, error);
    memcpy(before, agent->line, sizeof before);
    describe(agent, &seat.derived);
    return strcmp(before, agent->line) != 0;
}

int main(int argc, char **argv)
{
    int once = argc > 1 && strcmp(argv[1], "--once") == 0, terminal = !once && isatty(STDOUT_FILENO);
    int count = argc - 1 - once, timeout = -1;
    agent *agents = calloc((size_t)count + 1, sizeof *agents);
    struct pollfd *descriptors = calloc((size_t)count + 1, sizeof *descriptors);

    if (count < 1 || agents == NULL || descriptors == NULL) {
        fprintf(stderr, "usage: %s [--once] DIRECTORY...\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        agents[i].directory = argv[1 + once + i];
        watch_agent(&agents[i]);
        descriptors[i].fd = gallivant_harness_state_watch_descriptor(agents[i].watch);
        descriptors[i].events = POLLIN;
        if (descriptors[i].fd < 0)
            timeout = look_every_ms;
    }
    do {
        int changed = 0;
        for (int i = 0; i < count; i++) {
            if (!look(&agents[i]))
                continue;
            changed = 1;
            if (!terminal)
                puts(agents[i].line);
        }
        if (terminal && changed) {
            printf("\033[H\033[J");
            for (int i = 0; i < count; i++)
                puts(agents[i].line);
        }
        if (fflush(stdout) != 0 || ferror(stdout)) {
            perror("standard output");
            return 1;
        }
    } while (!once && (poll(descriptors, (nfds_t)count, timeout) >= 0 || errno == EINTR));
    for (int i = 0; i < count; i++)
        gallivant_harness_state_watch_free(agents[i].watch);
    free(descriptors);
    free(agents);
    return 0;
}
