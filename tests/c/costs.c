/* What reading costs: system calls, counted by a tracer, and allocations, counted by a `malloc` of this program's own.
 *
 *     costs DIRECTORY
 */

#define _GNU_SOURCE
#include <gallivant.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The library's allocations come here, because a program's symbols go before those of its libraries. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static size_t allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    allocations++;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

static int passed, failed, skipped;

static void check(int holds, const char *what, long count)
{
    printf("%s %s: %ld\n", holds ? "ok  " : "FAIL", what, count);
    passed += holds;
    failed += !holds;
}

static void must(int32_t status)
{
    if (status != GALLIVANT_OK) {
        printf("FAIL %s\n", gallivant_status_name(status));
        exit(1);
    }
}

static void settle(void)
{
    struct timespec pause = { 0, 80000000 };
    nanosleep(&pause, NULL);
}

static void observe(const char *directory)
{
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_observation active = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    gallivant_harness_state_writer *writer = NULL;
    identity.agent = gallivant_str_from("worker");
    identity.harness = gallivant_str_from("claude");
    identity.token = gallivant_str_from("tok");
    identity.pty_session = gallivant_str_from("worker");
    active.state = GALLIVANT_STATE_ACTIVE;
    active.reason = gallivant_str_from("tool");
    must(gallivant_harness_state_writer_open(directory, strlen(directory), &identity, NULL, NULL, &writer, NULL));
    must(gallivant_harness_state_writer_observe(writer, &active, NULL, NULL));
    gallivant_harness_state_writer_free(writer);
}

static gallivant_harness_state_reader *reader;

static void read_once(void)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    must(gallivant_harness_state_reader_read(reader, NULL, &derived, NULL));
    if (derived.state != GALLIVANT_STATE_ACTIVE || strcmp(derived.reason.data, "tool") != 0)
        exit(1);
}

static gallivant_harness_state_fleet *fleet;
static gallivant_harness_state_seat seats[256];
static char texts[65536];
static size_t agents;

static const char *fleet_root;

static gallivant_harness_state_fleet_buffer room(void)
{
    gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
    buffer.seats = seats;
    buffer.capacity = sizeof seats / sizeof *seats;
    buffer.texts = texts;
    buffer.texts_capacity = sizeof texts;
    return buffer;
}

static void check_read(const gallivant_harness_state_fleet_summary *summary)
{
    if (summary->filled != agents || seats[agents - 1].derived.state != GALLIVANT_STATE_ACTIVE)
        exit(1);
}

static void read_fleet(void)
{
    gallivant_harness_state_fleet_buffer buffer = room();
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    must(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, NULL));
    check_read(&summary);
}

static void read_fleet_once(void)
{
    gallivant_harness_state_fleet_buffer buffer = room();
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    must(gallivant_harness_state_fleet_read_once(fleet_root, strlen(fleet_root), NULL, NULL, NULL, &buffer, &summary,
                                                 NULL));
    check_read(&summary);
}

/* How many system calls a child makes for this, after it has done it twice; -1 where nothing may be traced here. */
static long system_calls(void (*what)(void))
{
    int status = 0;
    long stops = 0;
    pid_t child = fork();
    if (child == 0) {
        what();
        what();
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        what();
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? -1 : -2;
    while (ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        stops++;
    /* Each call stops at its beginning and at its end. What `raise` still does after the stop, and the exit, are counted by
     * a child that does nothing in between. */
    return stops / 2;
}

static void nothing(void)
{
}

static long cost(void (*what)(void))
{
    long none = system_calls(nothing), some = system_calls(what);
    return none < 0 || some < 0 ? -1 : some - none;
}

static long allocations_of(void (*what)(void), int times)
{
    what();
    what();
    size_t before = allocations;
    for (int i = 0; i < times; i++)
        what();
    return (long)(allocations - before);
}

/* A fleet of so many agents; how many allocations a read of it takes when it stands unchanged. */
static long allocations_of_fleet(const char *root, size_t count)
{
    char path[300];
    mkdir(root, 0700);
    for (agents = 0; agents < count; agents++) {
        snprintf(path, sizeof path, "%s/agent-%zu", root, agents);
        observe(path);
    }
    settle();
    must(gallivant_harness_state_fleet_open(root, strlen(root), NULL, NULL, &fleet, NULL));
    fleet_root = root;
    return allocations_of(read_fleet, 1);
}

int main(int argc, char **argv)
{
    char path[256];
    if (argc != 2)
        return 2;
    snprintf(path, sizeof path, "%s/one", argv[1]);
    observe(path);
    must(gallivant_harness_state_reader_open(path, strlen(path), NULL, &reader, NULL));
    size_t before = allocations;
    read_once();
    check(allocations > before, "the first read allocates, which shows that it is counted", (long)(allocations - before));
    long made = allocations_of(read_once, 100);
    check(made == 0, "allocations of a hundred further reads of one record", made);
    long calls = cost(read_once);
    if (calls < 0) {
        skipped++;
        printf("skip nothing may be traced here\n");
    } else {
        check(calls <= 4, "system calls of one read", calls);
    }
    gallivant_harness_state_reader_free(reader);

    snprintf(path, sizeof path, "%s/small", argv[1]);
    long few = allocations_of_fleet(path, 3), few_once = allocations_of(read_fleet_once, 1);
    gallivant_harness_state_fleet_free(fleet);
    snprintf(path, sizeof path, "%s/large", argv[1]);
    long many = allocations_of_fleet(path, 100), many_once = allocations_of(read_fleet_once, 1);
    check(few == many, "allocations of a read of a hundred agents, as many as of three", many);
    /* The list of names doubles its room some five times. */
    check(many_once - few_once < 20, "allocations of a read of a hundred agents that keeps nothing, some more than of three",
          many_once - few_once);
    calls = cost(read_fleet);
    if (calls >= 0)
        /* Two for each agent, and some for the root. */
        check(calls <= 2 * 100 + 10, "system calls of a read of a hundred agents", calls);
    gallivant_harness_state_fleet_free(fleet);
    printf("%d passed, %d failed", passed, failed);
    if (skipped > 0)
        printf(", %d skipped", skipped);
    printf("\n");
    return failed != 0;
}
