/* Watches: being told of changes. */

#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a change may take that has to come. A change is told within 50 ms; this is for a machine that is busy or that
 * emulates every instruction. */
static const uint64_t long_ms = 60000;
/* How long it is waited to see that nothing comes. */
static const uint64_t quiet_ms = 200;

static gallivant_harness_state_watch *watch;
static gallivant_harness_state_change change;
static gallivant_harness_state_seat seat;

static void observe_in(const char *directory, int32_t state)
{
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, NULL);
    gallivant_harness_state_observation observation = seen(state);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &observation, NULL, &error));
    gallivant_harness_state_writer_free(writer);
}

static void next(uint64_t timeout_ms)
{
    gallivant_harness_state_change fresh = GALLIVANT_HARNESS_STATE_CHANGE_INIT;
    change = fresh;
    CHECK_OK(gallivant_harness_state_watch_next(watch, timeout_ms, &change, &error));
}

static const gallivant_harness_state_derived *told(size_t index)
{
    gallivant_harness_state_seat fresh = GALLIVANT_HARNESS_STATE_SEAT_INIT;
    seat = fresh;
    CHECK_OK(gallivant_harness_state_watch_seat(watch, index, &seat, &error));
    return &seat.derived;
}

static void watch_record(const char *directory, const gallivant_harness_state_probe *probe,
                         const gallivant_harness_state_options *options)
{
    CHECK_OK(gallivant_harness_state_watch_record(TEXT(directory), probe, NULL, options, &watch, &error));
}

static void hs_93_a_record_that_appears_changes_and_goes_is_told(void)
{
    const char *directory = fresh_directory();
    watch_record(directory, NULL, NULL);
    next(long_ms);
    CHECK(change.struct_size == sizeof change && change.told == 1 && change.count == 1);
    CHECK(change.noticing == GALLIVANT_NOTICING_NOTIFIED);
    CHECK(told(0)->observed == 0);
    CHECK_VIEW(seat.path, ".");
    observe_in(directory, GALLIVANT_STATE_IDLE);
    next(long_ms);
    CHECK(change.told == 1 && change.count == 1 && told(0)->state == GALLIVANT_STATE_IDLE);
    CHECK(seat.struct_size == sizeof seat && seat.derived.valid_until_ms.is_set == 1);
    CHECK_VIEW(seat.derived.harness, "codex");
    CHECK_VIEW(seat.derived.evidence_incarnation, "tok");
    next(quiet_ms);
    CHECK(change.told == 0 && change.count == 0 && change.noticing == 0);
    unlink(path_in(directory, "harness-state"));
    next(long_ms);
    CHECK(change.told == 1 && told(0)->observed == 0);
    gallivant_harness_state_watch_free(watch);
}

static void hs_93_a_fleet_tells_which_seats_have_changed(void)
{
    const char *root = fresh_directory();
    gallivant_harness_state_fleet_options bounds = GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT;
    bounds.max_depth = 1;
    observe_in(path_in(root, "a"), GALLIVANT_STATE_IDLE);
    observe_in(path_in(root, "b"), GALLIVANT_STATE_ACTIVE);
    CHECK_OK(gallivant_harness_state_watch_fleet(TEXT(root), &bounds, NULL, NULL, NULL, &watch, &error));
    next(long_ms);
    CHECK(change.count == 2 && change.left_out.too_deep == 0);
    CHECK(told(1)->state == GALLIVANT_STATE_ACTIVE);
    CHECK_VIEW(seat.path, "b");
    /* All seats of one change stand together. */
    gallivant_str second = seat.path;
    CHECK(told(0)->state == GALLIVANT_STATE_IDLE);
    CHECK_VIEW(seat.path, "a");
    CHECK_VIEW(second, "b");
    observe_in(path_in(root, "a"), GALLIVANT_STATE_ACTIVE);
    next(long_ms);
    CHECK(change.count == 1 && told(0)->state == GALLIVANT_STATE_ACTIVE);
    CHECK_VIEW(seat.path, "a");
    CHECK_FAILS(GALLIVANT_INPUT, "index", gallivant_harness_state_watch_seat(watch, 1, &seat, &error));
    observe_in(path_in(root, "b/too/deep"), GALLIVANT_STATE_IDLE);
    next(long_ms);
    CHECK(change.told == 1 && change.left_out.too_deep == 1);
    gallivant_harness_state_watch_free(watch);
}

static void hs_93_the_descriptor_is_readable_when_there_is_something_to_tell(void)
{
    const char *directory = fresh_directory();
    watch_record(directory, NULL, NULL);
    struct pollfd descriptor = { gallivant_harness_state_watch_descriptor(watch), POLLIN, 0 };
    CHECK(descriptor.fd >= 0);
    CHECK_OK(gallivant_harness_state_watch_poll(watch, &change, &error));
    CHECK(change.told == 1);
    CHECK_OK(gallivant_harness_state_watch_poll(watch, &change, &error));
    CHECK(change.told == 0 && change.count == 0);
    CHECK(poll(&descriptor, 1, (int)quiet_ms) == 0);
    observe_in(directory, GALLIVANT_STATE_IDLE);
    /* A burst is told once it has settled: a readable descriptor need not be a change yet. */
    do {
        CHECK(poll(&descriptor, 1, (int)long_ms) == 1);
        CHECK_OK(gallivant_harness_state_watch_poll(watch, &change, &error));
    } while (change.told == 0);
    CHECK(told(0)->state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_watch_free(watch);
    CHECK(gallivant_harness_state_watch_descriptor(NULL) == -1);
}

static void hs_93_it_tells_what_time_alone_changes(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    options.stale_ms = 400;
    observe_in(directory, GALLIVANT_STATE_IDLE);
    watch_record(directory, NULL, &options);
    next(long_ms);
    if (told(0)->state == GALLIVANT_STATE_IDLE) {
        next(long_ms);
        CHECK(change.told == 1);
    }
    CHECK(told(0)->unknown_reason == GALLIVANT_UNKNOWN_REASON_STALE);
    gallivant_harness_state_watch_free(watch);
}

static void hs_93_it_tells_of_a_session_that_dies(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = NULL;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    probe.kind = GALLIVANT_PROBE_LEASE;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, NULL, &session, &error));
    observe_in(directory, GALLIVANT_STATE_IDLE);
    watch_record(directory, &probe, NULL);
    next(long_ms);
    CHECK(told(0)->state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_session_free(session);
    next(long_ms);
    CHECK(told(0)->unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);
    gallivant_harness_state_watch_free(watch);
}

static int32_t say(void *user_data, const gallivant_harness_state_record *record)
{
    CHECK_VIEW(record->incarnation, "tok");
    return *(int32_t *)user_data;
}

static void hs_93_a_callback_is_asked_at_its_interval(void)
{
    const char *directory = fresh_directory();
    int32_t liveness = GALLIVANT_LIVENESS_ALIVE;
    gallivant_harness_state_watch_options watching = GALLIVANT_HARNESS_STATE_WATCH_OPTIONS_INIT;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    options.probe_budget_ms = long_ms;
    probe.kind = GALLIVANT_PROBE_CALLBACK;
    probe.callback = say;
    probe.user_data = &liveness;
    watching.probe_interval_ms = 20;
    observe_in(directory, GALLIVANT_STATE_IDLE);
    CHECK_OK(gallivant_harness_state_watch_record(TEXT(directory), &probe, &watching, &options, &watch, &error));
    next(long_ms);
    CHECK(told(0)->state == GALLIVANT_STATE_IDLE);
    next(quiet_ms);
    CHECK(change.told == 0);
    liveness = GALLIVANT_LIVENESS_DEAD;
    next(long_ms);
    CHECK(told(0)->unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);
    gallivant_harness_state_watch_free(watch);
}

static void *wait_without_end(void *user_data)
{
    gallivant_harness_state_change own = GALLIVANT_HARNESS_STATE_CHANGE_INIT;
    gallivant_error *error = NULL;
    int32_t status = gallivant_harness_state_watch_next(user_data, GALLIVANT_FOREVER, &own, &error);
    gallivant_error_free(error);
    return (void *)(uintptr_t)(status == GALLIVANT_CANCELLED && own.told == 0);
}

static void hs_93_a_wake_from_another_thread_ends_the_wait(void)
{
    const char *directory = fresh_directory();
    pthread_t thread;
    void *cancelled = NULL;
    watch_record(directory, NULL, NULL);
    next(long_ms);
    CHECK(pthread_create(&thread, NULL, wait_without_end, watch) == 0);
    /* Until the other thread is in the call, which another call is then told. */
    gallivant_harness_state_change own = GALLIVANT_HARNESS_STATE_CHANGE_INIT;
    struct timespec moment = { 0, 1000000 };
    while (gallivant_harness_state_watch_seat(watch, 0, &seat, NULL) != GALLIVANT_HANDLE_BUSY)
        nanosleep(&moment, NULL);
    CHECK_FAILS(GALLIVANT_HANDLE_BUSY, NULL, gallivant_harness_state_watch_poll(watch, &own, &error));
    CHECK(gallivant_harness_state_watch_descriptor(watch) == -1);
    gallivant_harness_state_watch_wake(watch);
    CHECK(pthread_join(thread, &cancelled) == 0 && cancelled != NULL);
    /* Nothing is lost by it, and one wake ends one wait. */
    observe_in(directory, GALLIVANT_STATE_IDLE);
    next(long_ms);
    CHECK(change.told == 1 && told(0)->state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_watch_free(watch);
    gallivant_harness_state_watch_wake(NULL);
}

static void hs_93_a_forked_child_is_told_that_the_watch_is_its_parents(void)
{
    const char *directory = fresh_directory();
    int status = -1;
    watch_record(directory, NULL, NULL);
    next(long_ms);
    pid_t child = fork();
    if (child == 0) {
        gallivant_error *error = NULL;
        int refused = gallivant_harness_state_watch_next(watch, 0, &change, &error) == GALLIVANT_HARNESS_STATE_INPUT &&
                      strcmp(gallivant_error_reason(error), "forked") == 0 &&
                      gallivant_harness_state_watch_descriptor(watch) == -1;
        gallivant_error_free(error);
        gallivant_harness_state_watch_free(watch);
        _exit(refused ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    observe_in(directory, GALLIVANT_STATE_IDLE);
    next(long_ms);
    CHECK(told(0)->state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_watch_free(watch);
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

static void hs_93_freeing_a_watch_leaves_no_descriptor(void)
{
    const char *directory = fresh_directory();
    size_t before = open_descriptors();
    watch_record(directory, NULL, NULL);
    next(long_ms);
    CHECK(open_descriptors() > before);
    gallivant_harness_state_watch_free(watch);
    CHECK(open_descriptors() == before);
}

static void what_a_watch_refuses(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_watch_options watching = GALLIVANT_HARNESS_STATE_WATCH_OPTIONS_INIT;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_watch *none = NULL;
    gallivant_harness_state_change own = GALLIVANT_HARNESS_STATE_CHANGE_INIT;
    gallivant_harness_state_seat place = GALLIVANT_HARNESS_STATE_SEAT_INIT;
    REFUSES_NULL(gallivant_harness_state_watch_record(NULL, 0, NULL, NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_harness_state_watch_record("/", 1, NULL, NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_watch_record(TEXT(BAD), NULL, NULL, NULL, &none, &error));
    REFUSES_CONSTANT(gallivant_harness_state_watch_record("/", 1, &probe, NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_harness_state_watch_fleet(NULL, 0, NULL, NULL, NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_harness_state_watch_fleet("/", 1, NULL, NULL, NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_watch_fleet(TEXT(BAD), NULL, NULL, NULL, NULL, &none, &error));
    probe.kind = GALLIVANT_PROBE_FIXED;
    REFUSES_CONSTANT(gallivant_harness_state_watch_fleet("/", 1, NULL, &probe, NULL, NULL, &none, &error));
    watching.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_watch_record("/", 1, NULL, &watching, NULL, &none, &error));
    REFUSES_SIZE(gallivant_harness_state_watch_fleet("/", 1, NULL, NULL, &watching, NULL, &none, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "path",
                gallivant_harness_state_watch_record("", 0, NULL, NULL, NULL, &none, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "path",
                gallivant_harness_state_watch_fleet("", 0, NULL, NULL, NULL, NULL, &none, &error));
    CHECK(none == NULL);

    watch_record(directory, NULL, NULL);
    own.count = 77;
    REFUSES_NULL(gallivant_harness_state_watch_next(NULL, 0, &own, &error));
    REFUSES_NULL(gallivant_harness_state_watch_next(watch, 0, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_watch_poll(NULL, &own, &error));
    REFUSES_NULL(gallivant_harness_state_watch_poll(watch, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_watch_seat(NULL, 0, &place, &error));
    REFUSES_NULL(gallivant_harness_state_watch_seat(watch, 0, NULL, &error));
    own.struct_size = place.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_watch_next(watch, 0, &own, &error));
    REFUSES_SIZE(gallivant_harness_state_watch_poll(watch, &own, &error));
    REFUSES_SIZE(gallivant_harness_state_watch_seat(watch, 0, &place, &error));
    CHECK(own.count == 77);
    gallivant_harness_state_watch_free(watch);
    gallivant_harness_state_watch_free(NULL);
}

void suite_watch(void)
{
    RUN(hs_93_a_record_that_appears_changes_and_goes_is_told);
    RUN(hs_93_a_fleet_tells_which_seats_have_changed);
    RUN(hs_93_the_descriptor_is_readable_when_there_is_something_to_tell);
    RUN(hs_93_it_tells_what_time_alone_changes);
    RUN(hs_93_it_tells_of_a_session_that_dies);
    RUN(hs_93_a_callback_is_asked_at_its_interval);
    RUN(hs_93_a_wake_from_another_thread_ends_the_wait);
    RUN(hs_93_a_forked_child_is_told_that_the_watch_is_its_parents);
    RUN(hs_93_freeing_a_watch_leaves_no_descriptor);
    RUN(what_a_watch_refuses);
}
