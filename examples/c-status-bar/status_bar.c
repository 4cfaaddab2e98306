/* A status bar for coding agents: one line for each agent, by its directory.
 *
 *     gcc status_bar.c $(pkg-config --cflags --libs gallivant) -o status_bar
 *     ./status_bar [--once] DIRECTORY...
 *
 * On a terminal it redraws itself when a line changes; elsewhere it prints each line that has changed.
 */

#define _POSIX_C_SOURCE 200809L
#include <gallivant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *directory;
    gallivant_harness_state_reader *reader;
    char line[256];
} agent;

static const uint64_t look_every_ms = 50;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void fail(const char *directory, gallivant_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", directory, gallivant_error_name(error), gallivant_error_message(error));
    fprintf(stderr, "%s\n", gallivant_error_remedy(error));
    exit(1);
}

/* Says in `line` what the agent is doing. Answers when that may change by time alone, in ms since 1970. */
static uint64_t look(const agent *agent, char *line, size_t size)
{
    /* A session whose process is gone has lost its lease: then its last word is not its state any more. */
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_derived seen = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_error *error = NULL;
    char since[24] = "", asked[48] = "";
    probe.kind = GALLIVANT_PROBE_LEASE;
    if (gallivant_harness_state_reader_read(agent->reader, &probe, &seen, &error) != GALLIVANT_OK)
        fail(agent->directory, error);
    if (!seen.observed) {
        snprintf(line, size, "%-24s never observed", agent->directory);
        return UINT64_MAX;
    }
    if (seen.blocked_on == GALLIVANT_BLOCKED_ON_HUMAN)
        snprintf(asked, sizeof asked, " waits for a human (%s)", gallivant_ask_name(seen.ask));
    if (seen.since_ms.is_set) {
        time_t seconds = (time_t)(seen.since_ms.value / 1000);
        struct tm local;
        strftime(since, sizeof since, " since %H:%M:%S", localtime_r(&seconds, &local));
    }
    snprintf(line, size, "%-24s %-8s%s%s%s%s%s", agent->directory, gallivant_state_name(seen.state), asked, since,
             seen.reason.data ? " (" : "", seen.reason.data ? seen.reason.data : "", seen.reason.data ? ")" : "");
    return seen.valid_until_ms.is_set ? seen.valid_until_ms.value : UINT64_MAX;
}

int main(int argc, char **argv)
{
    int once = argc > 1 && strcmp(argv[1], "--once") == 0, terminal = !once && isatty(STDOUT_FILENO);
    int count = argc - 1 - once;
    agent *agents = calloc((size_t)count + 1, sizeof *agents);
    gallivant_error *error = NULL;

    if (count < 1) {
        fprintf(stderr, "usage: %s [--once] DIRECTORY...\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        const char *directory = agents[i].directory = argv[1 + once + i];
        if (gallivant_harness_state_reader_open(directory, strlen(directory), NULL, &agents[i].reader, &error))
            fail(directory, error);
    }
    for (;;) {
        uint64_t until = now_ms() + look_every_ms;
        int changed = 0;
        for (int i = 0; i < count; i++) {
            char line[sizeof agents[i].line];
            uint64_t changes = look(&agents[i], line, sizeof line);
            until = changes < until ? changes : until;
            if (strcmp(line, agents[i].line) != 0) {
                memcpy(agents[i].line, line, sizeof line);
                changed = 1;
                if (!terminal)
                    puts(line);
            }
        }
        if (terminal && changed) {
            printf("\033[H\033[J");
            for (int i = 0; i < count; i++)
                puts(agents[i].line);
        }
        fflush(stdout);
        if (once)
            break;
        uint64_t now = now_ms(), wait = until > now ? until - now : 1;
        struct timespec sleep = { (time_t)(wait / 1000), (long)(wait % 1000) * 1000000 };
        nanosleep(&sleep, NULL);
    }
    for (int i = 0; i < count; i++)
        gallivant_harness_state_reader_free(agents[i].reader);
    free(agents);
    return 0;
}
