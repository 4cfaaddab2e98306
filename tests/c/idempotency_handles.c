/* Idempotent creates: the order in which handles are freed, handles in several threads and in a forked child, and what is
 * no argument. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void handles_go_on_without_their_store(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(2000000000000);
    gallivant_idempotency_store_options options = GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT;
    gallivant_idempotency_begun replayed = GALLIVANT_IDEMPOTENCY_BEGUN_INIT, again = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    struct stat file;
    options.host = host;
    gallivant_idempotency_store *store = claims_in(directory, &options);
    gallivant_idempotency_begun first = begun_with(store, "k", "{}"), running = begun_with(store, "k", "{}");
    gallivant_host_free(host);
    gallivant_idempotency_store_free(store);
    gallivant_idempotency_store_free(NULL);
    completed(first, "r");
    CHECK_OK(gallivant_idempotency_ticket_look(running.ticket, GALLIVANT_DEFAULT, &replayed, &error));
    free_begun(running);
    CHECK_OK(gallivant_idempotency_claim_recreate(replayed.claim, GALLIVANT_DEFAULT, &again, &error));
    free_begun(replayed);
    CHECK_OK(gallivant_idempotency_reservation_effect_starting(again.reservation, GALLIVANT_DEFAULT, &error));
    free_begun(again);
    /* The last handle closes the file, and SQLite then takes its log away. */
    CHECK(stat(path_in(directory, "idempotency.db"), &file) == 0 && (file.st_mode & 0777) == 0600);
    CHECK(stat(path_in(directory, "idempotency.db-wal"), &file) != 0);
}

/* A thread that uses a handle again and again until it is told to stop. */
struct user {
    void *handle;
    void (*use)(void *handle);
    atomic_int stop;
};

static void *use_until_stopped(void *given)
{
    struct user *user = given;
    while (!atomic_load(&user->stop))
        user->use(user->handle);
    return NULL;
}

/* The handle is used by another thread all the time, so that `call` finds it in use sooner or later. */
static void finds_it_busy(void *handle, void (*use)(void *handle), int32_t (*call)(void *handle, gallivant_error **error))
{
    struct user user = { handle, use, 0 };
    pthread_t thread;
    /* Long enough for the other thread to be in the middle of a call, also where threads take turns. */
    const struct timespec moment = { 0, 1000000 };
    gallivant_error *error = NULL;
    int32_t status = GALLIVANT_OK;
    CHECK(pthread_create(&thread, NULL, use_until_stopped, &user) == 0);
    for (int i = 0; i < 10000 && status == GALLIVANT_OK; i++) {
        nanosleep(&moment, NULL);
        status = call(handle, &error);
    }
    atomic_store(&user.stop, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(status == GALLIVANT_HANDLE_BUSY && gallivant_error_code(error) == GALLIVANT_HANDLE_BUSY);
    gallivant_error_free(error);
    CHECK(call(handle, NULL) == GALLIVANT_OK);
}

static int32_t refresh(void *reservation, gallivant_error **error)
{
    return gallivant_idempotency_reservation_keep_alive(reservation, GALLIVANT_DEFAULT, error);
}

static void refresh_quietly(void *reservation)
{
    refresh(reservation, NULL);
}

static void a_reservation_in_use_by_another_thread_is_busy(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun begun = begun_with(store, "k", "{}");
    finds_it_busy(begun.reservation, refresh_quietly, refresh);
    completed(begun, "r");
    gallivant_idempotency_store_free(store);
}

static char large[1 << 20];

static int32_t add(void *fingerprint, gallivant_error **error)
{
    return gallivant_idempotency_fingerprint_update(fingerprint, large, 1, error);
}

static void add_much(void *fingerprint)
{
    gallivant_idempotency_fingerprint_update(fingerprint, large, sizeof large, NULL);
}

static void a_fingerprint_in_use_by_another_thread_is_busy(void)
{
    gallivant_idempotency_fingerprint *fingerprint = NULL;
    CHECK_OK(gallivant_idempotency_fingerprint_new(&fingerprint, &error));
    finds_it_busy(fingerprint, add_much, add);
    gallivant_idempotency_fingerprint_free(fingerprint);
}

static int32_t drain(void *changes, gallivant_error **error)
{
    return gallivant_idempotency_changes_drain(changes, error);
}

static void drain_quietly(void *changes)
{
    drain(changes, NULL);
}

static void changes_in_use_by_another_thread_are_busy(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_changes *changes = NULL;
    CHECK_OK(gallivant_idempotency_store_changes(store, &changes, &error));
    finds_it_busy(changes, drain_quietly, drain);
    gallivant_idempotency_changes_free(changes);
    gallivant_idempotency_store_free(store);
}

/* IK-16: threads that share one store, each with the same create. One makes it, the rest wait for it. */
static atomic_int made;

static void *create_once(void *store)
{
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT, ended = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = GALLIVANT_IDEMPOTENCY_NAME_INIT;
    gallivant_str scope[] = { VIEW("org") };
    name.operation = VIEW("things.create");
    name.scope = scope;
    name.scope_count = 1;
    name.key = VIEW("k");
    if (gallivant_idempotency_store_begin(store, &name, TEXT("{}"), 20000, &begun, NULL) != GALLIVANT_OK)
        return NULL;
    if (begun.begin == GALLIVANT_BEGIN_IN_PROGRESS) {
        int32_t status = gallivant_idempotency_ticket_wait(begun.ticket, 20000, &ended, NULL);
        free_begun(begun);
        if (status != GALLIVANT_OK)
            return NULL;
        begun = ended;
    }
    if (begun.begin == GALLIVANT_BEGIN_CREATE) {
        atomic_fetch_add(&made, 1);
        gallivant_idempotency_reservation_complete(begun.reservation, TEXT("r"), TEXT("made"), 20000, NULL);
    }
    free_begun(begun);
    return store;
}

static void ik_16_threads_that_share_a_store_make_one_thing(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, create_once, store) == 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == store);
    }
    CHECK(atomic_load(&made) == 1);
    gallivant_idempotency_store_free(store);
}

/* One claim and one ticket that several threads use at once. */
struct shared {
    const gallivant_idempotency_claim *claim;
    const gallivant_idempotency_ticket *ticket;
    gallivant_idempotency_begun begun[4];
    atomic_int next, replayed;
};

static void *recreate_shared(void *given)
{
    struct shared *shared = given;
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    int32_t status = gallivant_idempotency_claim_recreate(shared->claim, 20000, &begun, NULL);
    shared->begun[atomic_fetch_add(&shared->next, 1)] = begun;
    return status == GALLIVANT_OK ? given : NULL;
}

static void *wait_shared(void *given)
{
    struct shared *shared = given;
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    int32_t status = gallivant_idempotency_ticket_wait(shared->ticket, 20000, &begun, NULL);
    atomic_fetch_add(&shared->replayed, begun.begin == GALLIVANT_BEGIN_REPLAY);
    free_begun(begun);
    return status == GALLIVANT_OK ? given : NULL;
}

static void ik_08_threads_that_share_a_claim_and_a_ticket_get_one_create(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    struct shared shared;
    pthread_t threads[4];
    gallivant_idempotency_begun created = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    int creates = 0, waits = 0;
    memset(&shared, 0, sizeof shared);
    completed(begun_with(store, "k", "{}"), "r-1");
    gallivant_idempotency_begun first = begun_with(store, "k", "{}");
    shared.claim = first.claim;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, recreate_shared, &shared) == 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == &shared);
    }
    for (int i = 0; i < 4; i++) {
        creates += shared.begun[i].begin == GALLIVANT_BEGIN_CREATE;
        waits += shared.begun[i].begin == GALLIVANT_BEGIN_IN_PROGRESS;
        if (shared.begun[i].reservation != NULL)
            created = shared.begun[i];
        if (shared.begun[i].ticket != NULL)
            shared.ticket = shared.begun[i].ticket;
    }
    CHECK(creates == 1 && waits == 3);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, wait_shared, &shared) == 0);
    CHECK_OK(gallivant_idempotency_reservation_complete(created.reservation, TEXT("r-2"), TEXT("made"), GALLIVANT_DEFAULT,
                                                        &error));
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == &shared);
        free_begun(shared.begun[i]);
    }
    CHECK(atomic_load(&shared.replayed) == 4);
    free_begun(first);
    gallivant_idempotency_store_free(store);
}

/* What a child can see of its parent's handles. */
static int all_refused(gallivant_idempotency_store *store, gallivant_idempotency_begun held, gallivant_idempotency_begun running)
{
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = named("other");
    gallivant_error *error = NULL;
    int32_t status = gallivant_idempotency_store_begin(store, &name, TEXT("{}"), GALLIVANT_DEFAULT, &begun, &error);
    int refused = status == GALLIVANT_IDEMPOTENCY_FORKED && strcmp(gallivant_error_reason(error), "forked") == 0;
    gallivant_error_free(error);
    refused &= gallivant_idempotency_reservation_complete(held.reservation, TEXT("r"), TEXT("x"), GALLIVANT_DEFAULT, NULL) ==
               GALLIVANT_IDEMPOTENCY_FORKED;
    refused &= gallivant_idempotency_ticket_look(running.ticket, GALLIVANT_DEFAULT, &begun, NULL) ==
               GALLIVANT_IDEMPOTENCY_FORKED;
    refused &= gallivant_idempotency_store_capability(store, NULL) == GALLIVANT_IDEMPOTENCY_FORKED;
    return refused;
}

static void ik_19_a_forked_child_opens_a_fresh_store(void)
{
    const char *directory = fresh_directory();
    gallivant_idempotency_store *store = claims_in(directory, NULL);
    gallivant_idempotency_begun held = begun_with(store, "k", "{}"), running = begun_with(store, "k", "{}");
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        int right = all_refused(store, held, running);
        /* Freeing what is the parent's is harmless, before and after a fresh store. */
        free_begun(running);
        gallivant_idempotency_store *fresh = claims_in(directory, NULL);
        gallivant_idempotency_begun seen = begun_with(fresh, "k", "{}"), own = begun_with(fresh, "own", "{}");
        right &= seen.begin == GALLIVANT_BEGIN_IN_PROGRESS && own.begin == GALLIVANT_BEGIN_CREATE;
        free_begun(held);
        gallivant_idempotency_store_free(store);
        free_begun(seen);
        seen = begun_with(fresh, "k", "{}");
        right &= seen.begin == GALLIVANT_BEGIN_IN_PROGRESS;
        free_begun(seen);
        completed(own, "the child's");
        gallivant_idempotency_store_free(fresh);
        end_child(right);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    completed(held, "r");
    free_begun(running);
    gallivant_idempotency_begun own = begun_with(store, "own", "{}");
    CHECK(own.begin == GALLIVANT_BEGIN_REPLAY);
    CHECK_VIEW(gallivant_idempotency_claim_resource(own.claim), "the child's");
    free_begun(own);
    gallivant_idempotency_store_free(store);
}

static void what_a_store_refuses(void)
{
    const char *path = path_in(fresh_directory(), "idempotency.db");
    gallivant_idempotency_store *store = NULL, *none = NULL;
    gallivant_idempotency_store_options options = GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT;
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = named("k");
    gallivant_idempotency_inspection *found = NULL;
    gallivant_idempotency_changes *changes = NULL;
    gallivant_idempotency_swept swept = GALLIVANT_IDEMPOTENCY_SWEPT_INIT;
    const uint8_t taken[GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES] = { 0 };
    REFUSES_NULL(gallivant_idempotency_store_open(NULL, 0, NULL, &none, &error));
    REFUSES_NULL(gallivant_idempotency_store_open(TEXT(path), NULL, NULL, &error));
    REFUSES_UTF8(gallivant_idempotency_store_open(TEXT(BAD), NULL, &none, &error));
    options.struct_size = 8;
    REFUSES_SIZE(gallivant_idempotency_store_open(TEXT(path), &options, &none, &error));
    CHECK(none == NULL && access(path, F_OK) != 0);
    CHECK_OK(gallivant_idempotency_store_open(TEXT(path), NULL, &store, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin(NULL, &name, "", 0, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin(store, NULL, "", 0, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin(store, &name, NULL, 1, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin(store, &name, "", 0, 0, NULL, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin_fingerprinted(NULL, &name, taken, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin_fingerprinted(store, NULL, taken, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin_fingerprinted(store, &name, NULL, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_store_begin_fingerprinted(store, &name, taken, 0, NULL, &error));
    name.scope = NULL;
    REFUSES_NULL(gallivant_idempotency_store_begin(store, &name, "", 0, 0, &begun, &error));
    name = named("k");
    name.key.data = NULL;
    REFUSES_NULL(gallivant_idempotency_store_begin(store, &name, "", 0, 0, &begun, &error));
    name = named("k");
    name.operation.data = NULL;
    REFUSES_NULL(gallivant_idempotency_store_begin(store, &name, "", 0, 0, &begun, &error));
    name = named("k");
    name.struct_size = 8;
    REFUSES_SIZE(gallivant_idempotency_store_begin(store, &name, "", 0, 0, &begun, &error));
    REFUSES_SIZE(gallivant_idempotency_store_inspect(store, &name, &found, &error));
    name = named("k");
    REFUSES_NULL(gallivant_idempotency_store_inspect(NULL, &name, &found, &error));
    REFUSES_NULL(gallivant_idempotency_store_inspect(store, NULL, &found, &error));
    REFUSES_NULL(gallivant_idempotency_store_inspect(store, &name, NULL, &error));
    REFUSES_NULL(gallivant_idempotency_store_sweep(NULL, &swept, &error));
    REFUSES_NULL(gallivant_idempotency_store_capability(NULL, &error));
    REFUSES_NULL(gallivant_idempotency_store_changes(NULL, &changes, &error));
    REFUSES_NULL(gallivant_idempotency_store_changes(store, NULL, &error));
    gallivant_idempotency_store_notice_sleep(NULL);
    begun.struct_size = swept.struct_size = 8;
    REFUSES_SIZE(gallivant_idempotency_store_begin(store, &name, "", 0, 0, &begun, &error));
    REFUSES_SIZE(gallivant_idempotency_store_sweep(store, &swept, &error));
    /* None of them has reserved anything. */
    CHECK_OK(gallivant_idempotency_store_inspect(store, &name, &found, &error));
    CHECK(found == NULL && changes == NULL);
    gallivant_idempotency_store_free(store);
}

static void what_its_handles_refuse(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_fingerprint *fingerprint = NULL;
    gallivant_idempotency_begun held = begun_with(store, "k", "{}"), running = begun_with(store, "k", "{}");
    gallivant_idempotency_reservation *reservation = held.reservation;
    uint8_t taken[GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES];
    int32_t stands = 0;
    REFUSES_NULL(gallivant_idempotency_reservation_complete(NULL, "r", 1, "", 0, 0, &error));
    REFUSES_NULL(gallivant_idempotency_reservation_complete(reservation, NULL, 0, "", 0, 0, &error));
    REFUSES_UTF8(gallivant_idempotency_reservation_complete(reservation, TEXT(BAD), "", 0, 0, &error));
    REFUSES_NULL(gallivant_idempotency_reservation_complete(reservation, "r", 1, NULL, 1, 0, &error));
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_INPUT, "resource",
                gallivant_idempotency_reservation_complete(reservation, "", 0, "", 0, GALLIVANT_DEFAULT, &error));
    REFUSES_NULL(gallivant_idempotency_reservation_release(NULL, 0, &error));
    REFUSES_NULL(gallivant_idempotency_reservation_effect_starting(NULL, 0, &error));
    REFUSES_NULL(gallivant_idempotency_reservation_keep_alive(NULL, 0, &error));
    REFUSES_NULL(gallivant_idempotency_ticket_wait(NULL, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_ticket_wait(running.ticket, 0, NULL, &error));
    REFUSES_NULL(gallivant_idempotency_ticket_look(NULL, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_ticket_look(running.ticket, 0, NULL, &error));
    CHECK_OK(gallivant_idempotency_reservation_effect_starting(reservation, GALLIVANT_DEFAULT, &error));
    free_begun(held);
    gallivant_idempotency_begun unknown = begun_with(store, "k", "{}");
    REFUSES_NULL(gallivant_idempotency_unknown_claim_settle_found(NULL, "r", 1, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_unknown_claim_settle_found(unknown.unknown, NULL, 0, 0, &begun, &error));
    REFUSES_UTF8(gallivant_idempotency_unknown_claim_settle_found(unknown.unknown, TEXT(BAD), 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_unknown_claim_settle_found(unknown.unknown, "r", 1, 0, NULL, &error));
    REFUSES_NULL(gallivant_idempotency_unknown_claim_settle_absent(NULL, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_unknown_claim_settle_absent(unknown.unknown, 0, NULL, &error));
    free_begun(unknown);
    unknown = begun_with(store, "k", "{}");
    CHECK_OK(gallivant_idempotency_unknown_claim_settle_found(unknown.unknown, "r", 1, GALLIVANT_DEFAULT, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_claim_recreate(NULL, 0, &begun, &error));
    REFUSES_NULL(gallivant_idempotency_claim_recreate(begun.claim, 0, NULL, &error));
    REFUSES_NULL(gallivant_idempotency_claim_still_stands(NULL, &stands, &error));
    REFUSES_NULL(gallivant_idempotency_claim_still_stands(begun.claim, NULL, &error));
    free_begun(begun);
    free_begun(unknown);
    free_begun(running);
    CHECK(gallivant_idempotency_claim_resource(NULL).data == NULL);
    CHECK(gallivant_idempotency_claim_answer(NULL).data == NULL && gallivant_idempotency_claim_completed_ms(NULL) == 0);
    CHECK(gallivant_idempotency_inspection_resource(NULL).data == NULL);
    CHECK(gallivant_idempotency_inspection_answer(NULL).data == NULL);
    REFUSES_NULL(gallivant_idempotency_changes_drain(NULL, &error));
    REFUSES_NULL(gallivant_idempotency_fingerprint_new(NULL, &error));
    CHECK_OK(gallivant_idempotency_fingerprint_new(&fingerprint, &error));
    REFUSES_NULL(gallivant_idempotency_fingerprint_update(NULL, "", 0, &error));
    REFUSES_NULL(gallivant_idempotency_fingerprint_update(fingerprint, NULL, 1, &error));
    REFUSES_NULL(gallivant_idempotency_fingerprint_bytes(NULL, taken, &error));
    REFUSES_NULL(gallivant_idempotency_fingerprint_bytes(fingerprint, NULL, &error));
    gallivant_idempotency_fingerprint_free(fingerprint);
    gallivant_idempotency_fingerprint_free(NULL);
    REFUSES_NULL(gallivant_testing_host_stand_at(NULL, 0, 0, &error));
    gallivant_idempotency_store_free(store);
}

void suite_idempotency_handles(void)
{
    RUN(handles_go_on_without_their_store);
    RUN(a_reservation_in_use_by_another_thread_is_busy);
    RUN(a_fingerprint_in_use_by_another_thread_is_busy);
    RUN(changes_in_use_by_another_thread_are_busy);
    RUN(ik_16_threads_that_share_a_store_make_one_thing);
    RUN(ik_08_threads_that_share_a_claim_and_a_ticket_get_one_create);
    RUN(ik_19_a_forked_child_opens_a_fresh_store);
    RUN(what_a_store_refuses);
    RUN(what_its_handles_refuse);
}
