/* The order in which handles are freed, and handles in two threads. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>

static void parents_may_go_before_their_children(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(2000000000000);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_session *session = NULL;
    gallivant_harness_state_claim_result *claim = NULL;
    gallivant_harness_state_environment *environment = NULL;
    gallivant_harness_state_writer *writer = NULL, *sibling = NULL;
    gallivant_harness_state_ownership *guard = NULL;
    gallivant_harness_state_reader *reader = NULL;
    gallivant_harness_state_snapshot *snapshot = NULL;
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    gallivant_harness_state_record record = GALLIVANT_HARNESS_STATE_RECORD_INIT;
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    uint64_t sequence = 0;
    CHECK_OK(gallivant_harness_state_session_start(TEXT(directory), &identity, &options, &session, &error));
    gallivant_host_free(host);
    CHECK_OK(gallivant_harness_state_session_claim(session, &claim, &error));
    CHECK_OK(gallivant_harness_state_session_environment(session, &environment, &error));
    CHECK_OK(gallivant_harness_state_session_writer(session, &writer, &error));
    gallivant_harness_state_session_free(session);
    CHECK(gallivant_harness_state_claim_result_sequence(claim) == 1);
    gallivant_harness_state_claim_result_free(claim);
    CHECK_OK(gallivant_harness_state_environment_open_writer(environment, NULL, &sibling, &error));
    gallivant_harness_state_environment_free(environment);
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &idle, NULL, &error));
    CHECK_OK(gallivant_harness_state_writer_lock_current_ownership(writer, &guard, &error));
    gallivant_harness_state_writer_free(writer);
    CHECK_OK(gallivant_harness_state_ownership_sequence(guard, &sequence, &error));
    gallivant_harness_state_ownership_free(guard);
    CHECK_OK(gallivant_harness_state_writer_heartbeat(sibling, NULL, &error));
    gallivant_harness_state_writer_free(sibling);

    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &reader, &error));
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    gallivant_harness_state_reader_free(reader);
    CHECK_OK(gallivant_harness_state_snapshot_record(snapshot, &record, &error));
    CHECK_VIEW(record.incarnation, "tok");
    CHECK_OK(gallivant_harness_state_snapshot_derive(snapshot, record.written_at_ms, GALLIVANT_NO_PROBE, &derived,
                                                     &error));
    CHECK(derived.state == GALLIVANT_STATE_IDLE);
    gallivant_harness_state_snapshot_free(snapshot);
}

/* A probe that waits in the middle of a read until the other thread has tried the same reader. */
struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int reading, tried;
    gallivant_harness_state_reader *reader;
};

static void tell(struct meeting *meeting, int *what)
{
    pthread_mutex_lock(&meeting->mutex);
    *what = 1;
    pthread_cond_broadcast(&meeting->changed);
    pthread_mutex_unlock(&meeting->mutex);
}

static void await(struct meeting *meeting, const int *what)
{
    pthread_mutex_lock(&meeting->mutex);
    while (!*what)
        pthread_cond_wait(&meeting->changed, &meeting->mutex);
    pthread_mutex_unlock(&meeting->mutex);
}

static int32_t wait_inside(void *user_data, const gallivant_harness_state_record *record)
{
    struct meeting *meeting = user_data;
    (void)record;
    tell(meeting, &meeting->reading);
    await(meeting, &meeting->tried);
    return GALLIVANT_LIVENESS_ALIVE;
}

static void *read_slowly(void *user_data)
{
    struct meeting *meeting = user_data;
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    probe.kind = GALLIVANT_PROBE_CALLBACK;
    probe.callback = wait_inside;
    probe.user_data = meeting;
    int32_t status = gallivant_harness_state_reader_read(meeting->reader, &probe, &derived, NULL);
    return (void *)(uintptr_t)(status == GALLIVANT_OK && derived.state == GALLIVANT_STATE_IDLE);
}

static void a_reader_in_use_by_another_thread_is_busy(void)
{
    const char *directory = fresh_directory();
    struct meeting meeting = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, NULL };
    gallivant_harness_state_writer *writer = writer_on(directory, "tok", 0, NULL);
    gallivant_harness_state_observation idle = seen(GALLIVANT_STATE_IDLE);
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_snapshot *snapshot = NULL;
    pthread_t thread;
    void *succeeded = NULL;
    CHECK_OK(gallivant_harness_state_writer_observe(writer, &idle, NULL, &error));
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &meeting.reader, &error));
    CHECK(pthread_create(&thread, NULL, read_slowly, &meeting) == 0);
    await(&meeting, &meeting.reading);
    derived.observed = 77;
    CHECK_FAILS(GALLIVANT_HANDLE_BUSY, NULL,
                gallivant_harness_state_reader_read(meeting.reader, NULL, &derived, &error));
    CHECK_FAILS(GALLIVANT_HANDLE_BUSY, NULL,
                gallivant_harness_state_reader_snapshot(meeting.reader, &snapshot, &error));
    CHECK(derived.observed == 77 && snapshot == NULL);
    tell(&meeting, &meeting.tried);
    CHECK(pthread_join(thread, &succeeded) == 0 && succeeded != NULL);
    CHECK_OK(gallivant_harness_state_reader_read(meeting.reader, NULL, &derived, &error));
    gallivant_harness_state_reader_free(meeting.reader);
    gallivant_harness_state_writer_free(writer);
}

/* Threads that all hammer one snapshot: each call either has it alone or is told that it has not. */
static void *derive_often(void *user_data)
{
    for (int i = 0; i < 300; i++) {
        gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
        int32_t status = gallivant_harness_state_snapshot_derive(user_data, 1, GALLIVANT_NO_PROBE, &derived, NULL);
        if (status != GALLIVANT_OK && status != GALLIVANT_HANDLE_BUSY)
            return NULL;
    }
    return user_data;
}

static void a_snapshot_in_several_threads_answers_or_is_busy(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_reader *reader = NULL;
    gallivant_harness_state_snapshot *snapshot = NULL;
    pthread_t threads[4];
    claimed(directory, "tok", NULL);
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), NULL, &reader, &error));
    CHECK_OK(gallivant_harness_state_reader_snapshot(reader, &snapshot, &error));
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, derive_often, snapshot) == 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == snapshot);
    }
    gallivant_harness_state_snapshot_free(snapshot);
    gallivant_harness_state_reader_free(reader);
}

/* A call from a destructor of thread-local memory, when the library's own may be gone already. */
static pthread_key_t key;

static void read_at_the_end(void *reader)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_error *error = NULL;
    gallivant_harness_state_reader_read(reader, NULL, &derived, &error);
    gallivant_harness_state_reader_read(NULL, NULL, &derived, &error);
    gallivant_error_free(error);
    gallivant_harness_state_reader_free(reader);
}

static void *end_with_a_reader(void *directory)
{
    gallivant_harness_state_reader *reader = NULL;
    gallivant_harness_state_reader_open(TEXT((char *)directory), NULL, &reader, NULL);
    return pthread_setspecific(key, reader) == 0 ? directory : NULL;
}

static void a_call_at_the_very_end_of_a_thread_is_harmless(void)
{
    pthread_t thread;
    void *result = NULL;
    CHECK(pthread_key_create(&key, read_at_the_end) == 0);
    CHECK(pthread_create(&thread, NULL, end_with_a_reader, (void *)(uintptr_t)fresh_directory()) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result != NULL);
    pthread_key_delete(key);
}

void suite_handles(void)
{
    RUN(parents_may_go_before_their_children);
    RUN(a_reader_in_use_by_another_thread_is_busy);
    RUN(a_snapshot_in_several_threads_answers_or_is_busy);
    RUN(a_call_at_the_very_end_of_a_thread_is_harmless);
}
