/* Replays that wait: a log that grows, wakes, closing, event loops, forks, descriptors. */

#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a frame may take that has to come; this is for a machine that is busy or that emulates every instruction. */
static const uint64_t long_ms = 20000;
/* How long it is waited to see that nothing comes. */
static const uint64_t quiet_ms = 200;

static char buffer[GALLIVANT_REPLAY_FRAME_CAPACITY];
static gallivant_frame frame;
static size_t needed;

static gallivant_replay *replay_of(const char *directory)
{
    gallivant_replay *replay = NULL;
    CHECK_OK(gallivant_replay_open(TEXT(directory), NULL, 0, NULL, &replay, &error));
    return replay;
}

static int32_t next(gallivant_replay *replay, uint64_t timeout_ms)
{
    gallivant_frame fresh = GALLIVANT_FRAME_INIT;
    frame = fresh;
    CHECK_OK(gallivant_replay_next(replay, timeout_ms, &frame, buffer, sizeof buffer, &needed, &error));
    return frame.event;
}

#define GROWN 60

/* Appends one event after the other, projects each, and trims now and then. */
static void *grow(void *user_data)
{
    const char *directory = user_data;
    char owned[] = "hunter2!", page[128];
    gallivant_journal_owner owner = GALLIVANT_JOURNAL_OWNER_INIT;
    gallivant_str secrets[] = { { owned, sizeof owned - 1 } };
    gallivant_redactor *redactor = NULL;
    gallivant_journal *journal = NULL;
    gallivant_projection *projection = NULL;
    uintptr_t right = 1;
    owner.task_id = owner.run_id = owner.provider = gallivant_str_from("x");
    right &= gallivant_redactor_new(secrets, 1, &redactor, NULL) == GALLIVANT_OK;
    right &= gallivant_journal_open(directory, strlen(directory), &owner, redactor, NULL, &journal, NULL) == GALLIVANT_OK;
    right &= gallivant_projection_open(directory, strlen(directory), NULL, &projection, NULL) == GALLIVANT_OK;
    for (int at = 1; at <= GROWN; at++) {
        int length = snprintf(page, sizeof page, "[{\"id\":\"%d\",\"provenance\":\"local\",\"type\":\"t\",\"data\":\"live\"}]", at);
        right &= gallivant_journal_append(journal, page, (size_t)length, NULL, 0, NULL, NULL) == GALLIVANT_OK;
        right &= gallivant_projection_catch_up(projection, NULL, NULL) == GALLIVANT_OK;
        if (at % 20 == 0)
            right &= gallivant_projection_trim(projection, 600, NULL, NULL) == GALLIVANT_OK;
    }
    gallivant_projection_free(projection);
    gallivant_journal_free(journal);
    gallivant_redactor_free(redactor);
    return (void *)right;
}

static void ex_jrn_72_a_log_that_grows_is_followed_from_another_thread(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = replay_of(directory);
    pthread_t writer;
    void *right = NULL;
    CHECK(pthread_create(&writer, NULL, grow, (void *)(uintptr_t)directory) == 0);
    for (unsigned long wanted = 1; wanted <= GROWN;) {
        /* Now and then with too little room, which loses nothing. */
        if (wanted % 7 == 0)
            CHECK_OK(gallivant_replay_next(replay, 1, &frame, buffer, 1, &needed, &error));
        int32_t event = next(replay, long_ms);
        CHECK(event == GALLIVANT_FRAME_LINE || event == GALLIVANT_FRAME_GAP);
        if (event == 0)
            break;
        /* What was trimmed before it was read is one gap, and nothing else is ever left out. */
        int has_jumped = event == GALLIVANT_FRAME_GAP && frame.id.data == NULL;
        if (has_jumped)
            CHECK(next(replay, long_ms) == GALLIVANT_FRAME_LINE);
        unsigned long id = frame.id.data ? strtoul(frame.id.data, NULL, 10) : 0;
        CHECK(has_jumped ? id > wanted : id == wanted);
        wanted = id + 1;
    }
    CHECK(pthread_join(writer, &right) == 0 && right != NULL);
    CHECK(next(replay, 0) == 0 && needed == 0);
    gallivant_replay_free(replay);
}

static void *wait_without_end(void *user_data)
{
    static char own_buffer[256];
    gallivant_frame own = GALLIVANT_FRAME_INIT;
    gallivant_error *error = NULL;
    size_t own_needed = 77;
    int32_t status =
        gallivant_replay_next(user_data, GALLIVANT_FOREVER, &own, own_buffer, sizeof own_buffer, &own_needed, &error);
    gallivant_error_free(error);
    return (void *)(uintptr_t)(status == GALLIVANT_CANCELLED && own.event == 0 && own_needed == 77);
}

static void a_wake_from_another_thread_ends_the_wait_and_nothing_closes_before(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = replay_of(directory);
    gallivant_str id = { NULL, 0 };
    struct timespec moment = { 0, 1000000 };
    pthread_t thread;
    void *cancelled = NULL;
    CHECK(pthread_create(&thread, NULL, wait_without_end, replay) == 0);
    /* Until the other thread is in the call, which another call is then told. */
    while (gallivant_replay_resume_point(replay, &id, NULL) != GALLIVANT_HANDLE_BUSY)
        nanosleep(&moment, NULL);
    CHECK_FAILS(GALLIVANT_HANDLE_BUSY, NULL, gallivant_replay_close(replay, &error));
    CHECK_FAILS(GALLIVANT_HANDLE_BUSY, NULL,
                gallivant_replay_poll(replay, &frame, buffer, sizeof buffer, &needed, &error));
    CHECK(gallivant_replay_descriptor(replay) == -1);
    gallivant_replay_wake(replay);
    CHECK(pthread_join(thread, &cancelled) == 0 && cancelled != NULL);
    /* Nothing is lost by it, and one wake ends one wait. */
    lines_said(directory, 1, 1);
    CHECK(next(replay, long_ms) == GALLIVANT_FRAME_LINE);
    CHECK_VIEW(frame.id, "1");
    /* A wake that comes before the wait ends it too, whatever is there to be told. */
    lines_said(directory, 2, 1);
    gallivant_replay_wake(replay);
    CHECK_FAILS(GALLIVANT_CANCELLED, NULL,
                gallivant_replay_next(replay, GALLIVANT_FOREVER, &frame, buffer, sizeof buffer, &needed, &error));
    CHECK(next(replay, long_ms) == GALLIVANT_FRAME_LINE);
    CHECK_OK(gallivant_replay_close(replay, &error));
    gallivant_replay_free(replay);
}

static void ex_jrn_71_the_descriptor_is_readable_when_there_is_a_frame(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = replay_of(directory);
    struct pollfd descriptor = { gallivant_replay_descriptor(replay), POLLIN, 0 };
    int rows = 0;
    CHECK(descriptor.fd >= 0);
    CHECK_OK(gallivant_replay_poll(replay, &frame, buffer, sizeof buffer, &needed, &error));
    CHECK(needed == 0 && poll(&descriptor, 1, (int)quiet_ms) == 0);
    lines_said(directory, 1, 3);
    while (rows < 3) {
        CHECK(poll(&descriptor, 1, (int)long_ms) == 1);
        do {
            CHECK_OK(gallivant_replay_poll(replay, &frame, buffer, sizeof buffer, &needed, &error));
            rows += frame.event == GALLIVANT_FRAME_LINE;
        } while (frame.event != 0);
    }
    CHECK(rows == 3 && poll(&descriptor, 1, (int)quiet_ms) == 0);
    gallivant_replay_wake(replay);
    CHECK(poll(&descriptor, 1, (int)long_ms) == 1);
    gallivant_replay_free(replay);
}

static void a_forked_child_is_told_that_the_replay_is_its_parents(void)
{
    const char *directory = fresh_directory();
    gallivant_replay *replay = replay_of(directory);
    gallivant_log_reader *reader = NULL;
    int status = -1;
    lines_said(directory, 1, 2);
    CHECK_OK(gallivant_log_reader_open(TEXT(directory), NULL, &reader, &error));
    CHECK(next(replay, long_ms) == GALLIVANT_FRAME_LINE);
    pid_t child = fork();
    if (child == 0) {
        gallivant_error *error = NULL;
        gallivant_log_window window = GALLIVANT_LOG_WINDOW_INIT;
        gallivant_str id = { NULL, 0 };
        int right = gallivant_replay_next(replay, GALLIVANT_FOREVER, &frame, buffer, sizeof buffer, &needed, &error) ==
                        GALLIVANT_EXECUTION_INPUT &&
                    strcmp(gallivant_error_reason(error), "forked") == 0 &&
                    gallivant_replay_poll(replay, &frame, buffer, sizeof buffer, &needed, NULL) ==
                        GALLIVANT_EXECUTION_INPUT &&
                    gallivant_replay_descriptor(replay) == -1;
        /* A reader of lines goes on, and the resume point says where to open another one. */
        right = right && gallivant_replay_resume_point(replay, &id, NULL) == GALLIVANT_OK && strcmp(id.data, "1") == 0 &&
                gallivant_log_reader_tail(reader, NULL, &window, NULL) == GALLIVANT_OK && window.count == 2;
        gallivant_error_free(error);
        gallivant_replay_free(replay);
        gallivant_log_reader_free(reader);
        end_child(right);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    lines_said(directory, 3, 1);
    CHECK(next(replay, long_ms) == GALLIVANT_FRAME_LINE);
    CHECK(next(replay, long_ms) == GALLIVANT_FRAME_LINE);
    CHECK_VIEW(frame.id, "3");
    gallivant_replay_free(replay);
    gallivant_log_reader_free(reader);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

static void ex_jrn_71_closing_gives_every_descriptor_back(void)
{
    const char *directory = fresh_directory();
    size_t before = open_descriptors();
    gallivant_replay *replays[10];
    for (int at = 0; at < 10; at++) {
        replays[at] = replay_of(directory);
        CHECK(next(replays[at], 0) == 0);
    }
    CHECK(open_descriptors() >= before + 10);
    for (int at = 0; at < 10; at += 2)
        CHECK_OK(gallivant_replay_close(replays[at], &error));
    for (int at = 1; at < 10; at += 2)
        gallivant_replay_free(replays[at]);
    CHECK(open_descriptors() == before);
    for (int at = 0; at < 10; at += 2)
        gallivant_replay_free(replays[at]);
}

void suite_replay_waiting(void)
{
    RUN(ex_jrn_72_a_log_that_grows_is_followed_from_another_thread);
    RUN(a_wake_from_another_thread_ends_the_wait_and_nothing_closes_before);
    RUN(ex_jrn_71_the_descriptor_is_readable_when_there_is_a_frame);
    RUN(a_forked_child_is_told_that_the_replay_is_its_parents);
    RUN(ex_jrn_71_closing_gives_every_descriptor_back);
}
