/* The status bar sleeps: while nothing changes it prints nothing and is not woken once, and it wakes when it should.
 *
 *     sleeping STATUS_BAR DIRECTORY
 */

#define _GNU_SOURCE
#include <gallivant.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int passed, failed;
static int output;
static pid_t bar;

static void check(int holds, const char *what)
{
    printf("%s %s\n", holds ? "ok  " : "FAIL", what);
    passed += holds;
    failed += !holds;
}

static uint64_t clock_ms(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&pause, NULL);
}

/* Whether a line that holds this comes within the time; every other is skipped. */
static int says(const char *words, int within_ms)
{
    static char text[65536];
    static size_t length;
    uint64_t end = clock_ms(CLOCK_MONOTONIC) + (uint64_t)within_ms;
    for (;;) {
        char *line_end;
        while ((line_end = memchr(text, '\n', length)) != NULL) {
            *line_end = '\0';
            int found = strstr(text, words) != NULL;
            length -= (size_t)(line_end + 1 - text);
            memmove(text, line_end + 1, length);
            if (found)
                return 1;
        }
        uint64_t now = clock_ms(CLOCK_MONOTONIC);
        struct pollfd readable = { output, POLLIN, 0 };
        if (now >= end || poll(&readable, 1, (int)(end - now)) <= 0)
            return 0;
        ssize_t more = read(output, text + length, sizeof text - length);
        if (more <= 0)
            return 0;
        length += (size_t)more;
    }
}

/* How often the bar has gone to sleep so far; -1 where the system does not tell. In *is_asleep, whether it sleeps now. */
static long sleeps(int *is_asleep)
{
    char path[64], line[256], state = 0;
    long count = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)bar);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    }
    if (file != NULL)
        fclose(file);
    if (is_asleep != NULL)
        *is_asleep = state == 'S';
    return count;
}

/* That count once the bar is through with what it was told: on a busy machine it may not have come to sleep yet. */
static long settled(void)
{
    int is_asleep = 0;
    long before, count = sleeps(&is_asleep);
    for (int tries = 0; count >= 0 && tries < 100; tries++) {
        before = count;
        pause_ms(300);
        count = sleeps(&is_asleep);
        if (is_asleep && count == before)
            break;
    }
    return count;
}

static void start(const char *program, const char *a, const char *b)
{
    int ends[2];
    if (pipe(ends) != 0)
        exit(1);
    bar = fork();
    if (bar == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, a, b, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    output = ends[0];
}

static void observe(const char *directory)
{
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_observation idle = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    gallivant_harness_state_writer *writer = NULL;
    identity.agent = gallivant_str_from("worker");
    identity.harness = gallivant_str_from("codex");
    identity.token = gallivant_str_from("tok");
    identity.pty_session = gallivant_str_from("worker");
    idle.state = GALLIVANT_STATE_IDLE;
    if (gallivant_harness_state_writer_open(directory, strlen(directory), &identity, NULL, NULL, &writer, NULL) ||
        gallivant_harness_state_writer_observe(writer, &idle, NULL, NULL))
        exit(1);
    gallivant_harness_state_writer_free(writer);
}

/* A record as other programs write it, which is stale in so many ms. */
static void stale_in(const char *directory, uint64_t ms)
{
    char staged[256], path[256];
    uint64_t stamp = clock_ms(CLOCK_REALTIME) + ms - 15 * 60 * 1000;
    snprintf(staged, sizeof staged, "%s/.harness-state.tmp-1", directory);
    snprintf(path, sizeof path, "%s/harness-state", directory);
    mkdir(directory, 0700);
    FILE *file = fopen(staged, "w");
    if (file == NULL)
        exit(1);
    fprintf(file,
            "{\"schema\":\"st2.harness-state.v1\",\"agent\":\"a\",\"harness\":\"h\",\"state\":\"active\",\"blockedOn\":"
            "\"none\",\"inputBuffer\":\"empty\",\"ptySession\":\"b\",\"sinceMs\":%llu,\"writtenAtMs\":%llu,\"transitions\":0}\n",
            (unsigned long long)stamp, (unsigned long long)stamp);
    if (fclose(file) != 0 || rename(staged, path) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    char a[200], b[200];
    if (argc != 3)
        return 2;
    snprintf(a, sizeof a, "%s/a", argv[2]);
    snprintf(b, sizeof b, "%s/b", argv[2]);
    start(argv[1], a, b);
    check(says("never observed", 60000) && says("never observed", 60000), "it says what is there");

    long before = settled();
    check(!says("", 2000), "it prints nothing while nothing changes");
    if (before < 0)
        printf("skip the wakes are not counted here\n");
    else
        check(sleeps(NULL) == before, "it is not woken in two seconds in which nothing changes");

    observe(a);
    check(says("idle", 60000), "it says what has changed");

    uint64_t published = clock_ms(CLOCK_MONOTONIC);
    stale_in(b, 5000);
    check(says("active", 60000), "it says what another program wrote");
    before = settled();
    check(says("stale", 60000), "it says what time alone has changed");
    uint64_t taken = clock_ms(CLOCK_MONOTONIC) - published;
    check(taken >= 4999 && taken < 20000, "it says so when it is time");
    /* Nothing but that instant has woken it; writing the line may have put it to sleep once more. */
    if (before >= 0)
        check(sleeps(NULL) - before <= 3, "it is woken for it alone");

    kill(bar, SIGKILL);
    waitpid(bar, NULL, 0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
