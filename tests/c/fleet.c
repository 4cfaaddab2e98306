/* Fleets: every record below a directory, into memory of the caller. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *root;
static gallivant_harness_state_fleet *fleet;

/* A buffer with this much room, all of it marked. */
static gallivant_harness_state_fleet_buffer buffer_of(size_t capacity, size_t texts)
{
    gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
    buffer.capacity = capacity;
    buffer.seats = malloc((capacity + 1) * sizeof *buffer.seats);
    buffer.texts_capacity = texts;
    buffer.texts = malloc(texts + 1);
    if (buffer.seats == NULL || buffer.texts == NULL)
        abort();
    memset(buffer.seats, 0x55, (capacity + 1) * sizeof *buffer.seats);
    memset(buffer.texts, 0x55, texts + 1);
    return buffer;
}

/* What lies behind the room is as it was marked. */
static void check_and_free(gallivant_harness_state_fleet_buffer *buffer)
{
    const unsigned char *behind = (const unsigned char *)(buffer->seats + buffer->capacity);
    for (size_t i = 0; i < sizeof *buffer->seats; i++)
        CHECK(behind[i] == 0x55);
    CHECK(buffer->texts[buffer->texts_capacity] == 0x55);
    free(buffer->seats);
    free(buffer->texts);
}

static gallivant_harness_state_fleet_summary read_into(const gallivant_harness_state_fleet_buffer *buffer)
{
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    CHECK_OK(gallivant_harness_state_fleet_read(fleet, NULL, buffer, &summary, &error));
    return summary;
}

static void observe_as(const char *agent, gallivant_harness_state_observation observation)
{
    gallivant_harness_state_writer *writer = writer_on(path_in(root, agent), "tok", 0, NULL);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &observation, NULL, &error));
    gallivant_harness_state_writer_free(writer);
}

static void set_up(const gallivant_harness_state_fleet_options *bounds)
{
    root = fresh_directory();
    CHECK_OK(gallivant_harness_state_fleet_open(TEXT(root), bounds, NULL, &fleet, &error));
}

static void tear_down(void)
{
    gallivant_harness_state_fleet_free(fleet);
}

static void hs_92_every_record_is_read_in_the_order_of_its_path(void)
{
    set_up(NULL);
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    idle.reason = VIEW("waits");
    observe_as("b", asking(GALLIVANT_ASK_REVIEW));
    observe_as("a/below", idle);
    observe_as("a", seen(GALLIVANT_STATE_ACTIVE));
    mkdir(path_in(root, "bad"), 0700);
    write_file(path_in(root, "bad"), "harness-state", "{");
    gallivant_harness_state_fleet_buffer buffer = buffer_of(9, 1000);
    gallivant_harness_state_fleet_summary summary = read_into(&buffer);
    const gallivant_harness_state_seat *seats = buffer.seats;
    CHECK(summary.struct_size == sizeof summary && summary.count == 4 && summary.filled == 4);
    CHECK(summary.texts_needed > 0 && summary.texts_needed < 1000);
    CHECK_VIEW(seats[0].path, "a");
    CHECK_VIEW(seats[1].path, "a/below");
    CHECK_VIEW(seats[2].path, "b");
    CHECK_VIEW(seats[3].path, "bad");
    CHECK(seats[0].struct_size == sizeof *seats && seats[0].derived.struct_size == sizeof seats->derived);
    CHECK(seats[0].derived.observed == 1 && seats[0].derived.state == GALLIVANT_STATE_ACTIVE);
    CHECK(seats[1].derived.state == GALLIVANT_STATE_IDLE);
    CHECK_VIEW(seats[1].derived.reason, "waits");
    CHECK_VIEW(seats[1].derived.exit, NULL);
    CHECK_VIEW(seats[1].derived.harness, "codex");
    CHECK_VIEW(seats[1].derived.evidence_incarnation, "tok");
    CHECK(seats[2].derived.ask == GALLIVANT_ASK_REVIEW);
    CHECK(seats[3].derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_MALFORMED_RECORD);
    CHECK(summary.valid_until_ms.is_set == 1);
    CHECK(summary.valid_until_ms.value <= seats[0].derived.valid_until_ms.value);
    CHECK_VIEW(summary.left_out.example, NULL);
    check_and_free(&buffer);
    tear_down();
}

static void hs_92_what_does_not_fit_is_said_and_a_larger_buffer_holds_it(void)
{
    set_up(NULL);
    const char *agents[] = { "a", "b", "c" };
    for (size_t i = 0; i < 3; i++)
        observe_as(agents[i], seen(GALLIVANT_STATE_IDLE));
    gallivant_harness_state_fleet_summary all = read_into(NULL);
    CHECK(all.count == 3 && all.filled == 0 && all.texts_needed > 3 && all.valid_until_ms.is_set == 1);
    /* As many texts as it takes, and one byte less. */
    for (size_t missing = 0; missing < 2; missing++) {
        gallivant_harness_state_fleet_buffer buffer = buffer_of(3, all.texts_needed - missing);
        gallivant_harness_state_fleet_summary summary = read_into(&buffer);
        CHECK(summary.count == 3 && summary.filled == 3 - missing && summary.texts_needed == all.texts_needed);
        CHECK_VIEW(buffer.seats[1].path, "b");
        check_and_free(&buffer);
    }
    for (size_t capacity = 0; capacity < 5; capacity++) {
        gallivant_harness_state_fleet_buffer buffer = buffer_of(capacity, all.texts_needed);
        gallivant_harness_state_fleet_summary summary = read_into(&buffer);
        CHECK(summary.count == 3 && summary.filled == (capacity < 3 ? capacity : 3));
        /* It follows from clocks that are each read in whole ms. */
        CHECK(summary.valid_until_ms.value - all.valid_until_ms.value + 1 <= 2);
        check_and_free(&buffer);
    }
    tear_down();
}

static void hs_92_what_was_left_out_is_said(void)
{
    gallivant_harness_state_fleet_options bounds = GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT;
    bounds.max_depth = 1;
    bounds.max_records = 2;
    set_up(&bounds);
    const char *agents[] = { "a", "a/b/c", "d", "e" };
    for (size_t i = 0; i < 4; i++)
        observe_as(agents[i], seen(GALLIVANT_STATE_IDLE));
    gallivant_harness_state_fleet_summary summary = read_into(NULL);
    CHECK(summary.count == 2 && summary.left_out.too_deep == 1 && summary.left_out.too_many == 1);
    CHECK(summary.left_out.unreadable == 0 && summary.left_out.unnameable == 0);
    tear_down();
}

static void hs_92_threads_that_share_a_walk_find_what_one_finds_in_the_same_order(void)
{
    gallivant_harness_state_fleet_options bounds = GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT;
    const uint64_t threads[] = { GALLIVANT_DEFAULT, 0, 4 };
    gallivant_harness_state_fleet_buffer alone = buffer_of(100, 10000);
    char name[16];
    root = fresh_directory();
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d", i);
        observe_as(name, seen(i % 2 == 0 ? GALLIVANT_STATE_IDLE : GALLIVANT_STATE_ACTIVE));
    }
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        gallivant_harness_state_fleet_buffer buffer = buffer_of(100, 10000);
        bounds.threads = threads[i];
        CHECK_OK(gallivant_harness_state_fleet_open(TEXT(root), &bounds, NULL, &fleet, &error));
        gallivant_harness_state_fleet_summary summary = read_into(i == 0 ? &alone : &buffer);
        CHECK(summary.count == 100 && summary.filled == 100);
        for (size_t seat = 0; i > 0 && seat < summary.filled; seat++) {
            CHECK(strcmp(buffer.seats[seat].path.data, alone.seats[seat].path.data) == 0);
            CHECK(buffer.seats[seat].derived.state == alone.seats[seat].derived.state);
        }
        check_and_free(&buffer);
        gallivant_harness_state_fleet_free(fleet);
    }
    check_and_free(&alone);
}

/* One read that keeps nothing. */
static gallivant_harness_state_fleet_summary once_into(const gallivant_harness_state_fleet_buffer *buffer, uint64_t threads)
{
    gallivant_harness_state_fleet_options bounds = GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT;
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    bounds.threads = threads;
    CHECK_OK(gallivant_harness_state_fleet_read_once(TEXT(root), &bounds, NULL, NULL, buffer, &summary, &error));
    return summary;
}

static void hs_92_one_read_that_keeps_nothing_finds_what_a_fleet_finds(void)
{
    set_up(NULL);
    CHECK(once_into(NULL, GALLIVANT_DEFAULT).count == 0);
    char name[16];
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "%d/%d", i / 10, i);
        observe_as(name, i % 2 == 0 ? seen(GALLIVANT_STATE_ACTIVE) : asking(GALLIVANT_ASK_REVIEW));
    }
    gallivant_harness_state_fleet_buffer kept = buffer_of(70, 9000);
    gallivant_harness_state_fleet_summary all = read_into(&kept);
    CHECK(all.filled == 70);
    const uint64_t threads[] = { GALLIVANT_DEFAULT, 3 };
    for (size_t i = 0; i < 2; i++) {
        gallivant_harness_state_fleet_buffer buffer = buffer_of(70, all.texts_needed);
        gallivant_harness_state_fleet_summary summary = once_into(&buffer, threads[i]);
        CHECK(summary.count == 70 && summary.filled == 70 && summary.texts_needed == all.texts_needed);
        for (size_t seat = 0; seat < summary.filled; seat++) {
            const gallivant_harness_state_seat *one = &buffer.seats[seat], *other = &kept.seats[seat];
            CHECK(strcmp(one->path.data, other->path.data) == 0);
            CHECK(one->derived.state == other->derived.state && one->derived.ask == other->derived.ask);
            CHECK(strcmp(one->derived.harness.data, other->derived.harness.data) == 0);
            CHECK(one->derived.transition_sequence.value == other->derived.transition_sequence.value);
        }
        check_and_free(&buffer);
        buffer = buffer_of(5, all.texts_needed);
        summary = once_into(&buffer, threads[i]);
        CHECK(summary.count == 70 && summary.filled == 5 && summary.valid_until_ms.is_set == 1);
        check_and_free(&buffer);
    }
    check_and_free(&kept);
    tear_down();
}

static void hs_92_an_unreadable_directory_is_counted_with_an_example(void)
{
    set_up(NULL);
    observe_as("a/b", seen(GALLIVANT_STATE_IDLE));
    chmod(path_in(root, "a"), 0);
    gallivant_harness_state_fleet_buffer buffer = buffer_of(2, 500);
    gallivant_harness_state_fleet_summary summary = read_into(&buffer);
    /* Root may read everything. */
    if (geteuid() != 0) {
        CHECK(summary.left_out.unreadable == 1 && summary.count == 0);
        CHECK(strncmp(summary.left_out.example.data, "a: ", 3) == 0);
        CHECK(summary.texts_needed == summary.left_out.example.length + 1);
        CHECK(read_into(NULL).left_out.example.data == NULL);
    }
    chmod(path_in(root, "a"), 0700);
    check_and_free(&buffer);
    tear_down();
}

static void hs_92_a_lease_tells_of_each_session(void)
{
    set_up(NULL);
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = NULL;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_fleet_buffer buffer = buffer_of(2, 500);
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    probe.kind = GALLIVANT_PROBE_LEASE;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(path_in(root, "a")), &identity, NULL, &session, &error));
    observe_as("a", seen(GALLIVANT_STATE_IDLE));
    CHECK_OK(gallivant_harness_state_fleet_read(fleet, &probe, &buffer, &summary, &error));
    CHECK(summary.filled == 1 && buffer.seats[0].derived.state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_session_free(session);
    CHECK_OK(gallivant_harness_state_fleet_read(fleet, &probe, &buffer, &summary, &error));
    CHECK(buffer.seats[0].derived.unknown_reason == GALLIVANT_UNKNOWN_REASON_SESSION_DEAD);
    CHECK_OK(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error));
    CHECK(buffer.seats[0].derived.state == GALLIVANT_STATE_IDLE);
    check_and_free(&buffer);
    tear_down();
}

/* A program of a later release has larger seats: the library fills what it knows and clears the rest. */
static void seats_of_a_later_release(void)
{
    set_up(NULL);
    struct later {
        gallivant_harness_state_seat known;
        uint64_t more;
    } later[3];
    char texts[500];
    gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
    observe_as("a", seen(GALLIVANT_STATE_IDLE));
    observe_as("b", seen(GALLIVANT_STATE_ACTIVE));
    memset(later, 0x55, sizeof later);
    buffer.seats = &later[0].known;
    buffer.seat_size = sizeof *later;
    buffer.capacity = 2;
    buffer.texts = texts;
    buffer.texts_capacity = sizeof texts;
    CHECK(read_into(&buffer).filled == 2);
    CHECK_VIEW(later[1].known.path, "b");
    CHECK(later[1].known.derived.state == GALLIVANT_STATE_ACTIVE && later[1].more == 0 && later[2].more != 0);
    tear_down();
}

static void hs_92_a_fleet_sees_what_has_changed_and_forgets_on_demand(void)
{
    set_up(NULL);
    CHECK(read_into(NULL).count == 0);
    observe_as("a", seen(GALLIVANT_STATE_IDLE));
    CHECK(read_into(NULL).count == 1);
    gallivant_harness_state_fleet_buffer buffer = buffer_of(1, 500);
    observe_as("a", seen(GALLIVANT_STATE_ACTIVE));
    CHECK(read_into(&buffer).filled == 1 && buffer.seats[0].derived.state == GALLIVANT_STATE_ACTIVE);
    CHECK_OK(gallivant_harness_state_fleet_forget(fleet, &error));
    CHECK(read_into(&buffer).filled == 1 && buffer.seats[0].derived.state == GALLIVANT_STATE_ACTIVE);
    check_and_free(&buffer);
    tear_down();
}

/* How often this thread has read the fleet whole, in a buffer of its own. */
static void *read_often(void *rounds)
{
    gallivant_harness_state_seat seats[4];
    char texts[500];
    gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
    uintptr_t whole = 0;
    buffer.seats = seats;
    buffer.capacity = 4;
    buffer.texts = texts;
    buffer.texts_capacity = sizeof texts;
    for (uintptr_t i = 0; i < (uintptr_t)rounds; i++) {
        gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
        int32_t status = gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, NULL);
        whole += status == GALLIVANT_OK && summary.filled == 2 && strcmp(seats[1].path.data, "b") == 0 &&
                 seats[0].derived.state == GALLIVANT_STATE_IDLE;
    }
    return (void *)whole;
}

static void hs_92_one_fleet_serves_several_threads(void)
{
    set_up(NULL);
    pthread_t threads[4];
    observe_as("a", seen(GALLIVANT_STATE_IDLE));
    observe_as("b", seen(GALLIVANT_STATE_IDLE));
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, read_often, (void *)(uintptr_t)200) == 0);
    for (int i = 0; i < 4; i++) {
        void *whole = NULL;
        CHECK(pthread_join(threads[i], &whole) == 0 && (uintptr_t)whole == 200);
    }
    tear_down();
}

/* Whether a forked child reads the fleet whole. A child that hangs is ended by its alarm. */
static int child_reads(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit((uintptr_t)read_often((void *)(uintptr_t)2) == 2 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void hs_92_a_forked_child_goes_on_reading(void)
{
    set_up(NULL);
    observe_as("a", seen(GALLIVANT_STATE_IDLE));
    observe_as("b", seen(GALLIVANT_STATE_IDLE));
    CHECK(child_reads());
    CHECK((uintptr_t)read_often((void *)(uintptr_t)1) == 1);
    CHECK(child_reads());
    /* Another thread may be in the middle of a read at the moment of the fork. */
    pthread_t thread;
    void *whole = NULL;
    CHECK(pthread_create(&thread, NULL, read_often, (void *)(uintptr_t)400) == 0);
    for (int i = 0; i < 5; i++)
        CHECK(child_reads());
    CHECK(pthread_join(thread, &whole) == 0 && (uintptr_t)whole == 400);
    tear_down();
}

static void what_a_fleet_refuses(void)
{
    gallivant_harness_state_fleet_options bounds = GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT;
    gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_fleet *none = NULL;
    gallivant_harness_state_seat seat;
    REFUSES_NULL(gallivant_harness_state_fleet_open(NULL, 0, NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_harness_state_fleet_open("/", 1, NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_fleet_open(TEXT(BAD), NULL, NULL, &none, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "path",
                gallivant_harness_state_fleet_open("", 0, NULL, NULL, &none, &error));
    bounds.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_fleet_open("/", 1, &bounds, NULL, &none, &error));
    CHECK(none == NULL);

    summary.count = 77;
    REFUSES_NULL(gallivant_harness_state_fleet_read_once(NULL, 0, NULL, NULL, NULL, NULL, &summary, &error));
    REFUSES_NULL(gallivant_harness_state_fleet_read_once("/", 1, NULL, NULL, NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_harness_state_fleet_read_once(TEXT(BAD), NULL, NULL, NULL, NULL, &summary, &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_INPUT, "path",
                gallivant_harness_state_fleet_read_once("", 0, NULL, NULL, NULL, NULL, &summary, &error));
    REFUSES_SIZE(gallivant_harness_state_fleet_read_once("/", 1, &bounds, NULL, NULL, NULL, &summary, &error));
    REFUSES_CONSTANT(gallivant_harness_state_fleet_read_once("/", 1, NULL, NULL, &probe, NULL, &summary, &error));
    buffer.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_fleet_read_once("/", 1, NULL, NULL, NULL, &buffer, &summary, &error));
    buffer.struct_size = sizeof buffer;

    set_up(NULL);
    REFUSES_NULL(gallivant_harness_state_fleet_read(NULL, NULL, NULL, &summary, &error));
    REFUSES_NULL(gallivant_harness_state_fleet_read(fleet, NULL, NULL, NULL, &error));
    REFUSES_NULL(gallivant_harness_state_fleet_forget(NULL, &error));
    REFUSES_CONSTANT(gallivant_harness_state_fleet_read(fleet, &probe, NULL, &summary, &error));
    probe.kind = GALLIVANT_PROBE_FIXED;
    REFUSES_CONSTANT(gallivant_harness_state_fleet_read(fleet, &probe, NULL, &summary, &error));
    buffer.capacity = 1;
    REFUSES_NULL(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error));
    buffer.seats = &seat;
    buffer.texts_capacity = 1;
    REFUSES_NULL(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error));
    buffer.texts_capacity = 0;
    buffer.capacity = SIZE_MAX / 16;
    CHECK_FAILS(GALLIVANT_INPUT, "length",
                gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error));
    buffer.capacity = 1;
    size_t sizes[] = { 0, sizeof seat - 8, sizeof seat + 1, 8192 };
    for (size_t i = 0; i < 4; i++) {
        buffer.seat_size = sizes[i];
        REFUSES_SIZE(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error));
    }
    buffer.seat_size = sizeof seat;
    buffer.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error));
    summary.struct_size = 8;
    REFUSES_SIZE(gallivant_harness_state_fleet_read(fleet, NULL, NULL, &summary, &error));
    CHECK(summary.count == 77);
    gallivant_harness_state_fleet_free(NULL);
    tear_down();
}

void suite_fleet(void)
{
    RUN(hs_92_every_record_is_read_in_the_order_of_its_path);
    RUN(hs_92_what_does_not_fit_is_said_and_a_larger_buffer_holds_it);
    RUN(hs_92_what_was_left_out_is_said);
    RUN(hs_92_threads_that_share_a_walk_find_what_one_finds_in_the_same_order);
    RUN(hs_92_one_read_that_keeps_nothing_finds_what_a_fleet_finds);
    RUN(hs_92_an_unreadable_directory_is_counted_with_an_example);
    RUN(hs_92_a_lease_tells_of_each_session);
    RUN(seats_of_a_later_release);
    RUN(hs_92_a_fleet_sees_what_has_changed_and_forgets_on_demand);
    RUN(hs_92_one_fleet_serves_several_threads);
    RUN(hs_92_a_forked_child_goes_on_reading);
    RUN(what_a_fleet_refuses);
}
