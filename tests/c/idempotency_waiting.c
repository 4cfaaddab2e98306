/* Idempotent creates: waiting for a create that runs, in a call of its own and in an event loop. */

#define _GNU_SOURCE
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long an end may take that has to come: for a machine that is busy or that emulates every instruction. */
static const uint64_t long_ms = 20000;

static void pause_ms(long ms)
{
    struct timespec length = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&length, NULL);
}

static void *complete_soon(void *reservation)
{
    pause_ms(50);
    int32_t status = gallivant_idempotency_reservation_complete(reservation, TEXT("r"), TEXT("made"), GALLIVANT_DEFAULT, NULL);
    return status == GALLIVANT_OK ? reservation : NULL;
}

static void *release_soon(void *reservation)
{
    pause_ms(50);
    gallivant_idempotency_reservation_free(reservation);
    return NULL;
}

static void ik_06_a_waiter_gets_the_finished_claim(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun first = begun_with(store, "k", "{}"), again = begun_with(store, "k", "{}");
    gallivant_idempotency_begun ended = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    pthread_t thread;
    void *succeeded = NULL;
    CHECK(again.begin == GALLIVANT_BEGIN_IN_PROGRESS && again.ticket != NULL && again.claim == NULL);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_IN_PROGRESS, NULL,
                gallivant_idempotency_ticket_wait(again.ticket, 0, &ended, &error));
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_IN_PROGRESS, NULL,
                gallivant_idempotency_ticket_wait(again.ticket, 20, &ended, &error));
    CHECK(ended.begin == 0);
    CHECK(pthread_create(&thread, NULL, complete_soon, first.reservation) == 0);
    CHECK_OK(gallivant_idempotency_ticket_wait(again.ticket, GALLIVANT_FOREVER, &ended, &error));
    CHECK(pthread_join(thread, &succeeded) == 0 && succeeded != NULL);
    CHECK(ended.begin == GALLIVANT_BEGIN_REPLAY && ended.how == GALLIVANT_HOW_WAITED);
    CHECK_VIEW(gallivant_idempotency_claim_resource(ended.claim), "r");
    free_begun(ended);
    /* The ticket stays good. */
    CHECK_OK(gallivant_idempotency_ticket_look(again.ticket, GALLIVANT_DEFAULT, &ended, &error));
    CHECK(ended.begin == GALLIVANT_BEGIN_REPLAY);
    free_begun(ended);
    free_begun(again);
    free_begun(first);
    gallivant_idempotency_store_free(store);
}

static void ik_06_a_waiter_gets_the_create_when_the_first_is_freed(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_begun first = begun_with(store, "k", "{}"), again = begun_with(store, "k", "{}");
    gallivant_idempotency_begun ended = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, release_soon, first.reservation) == 0);
    CHECK_OK(gallivant_idempotency_ticket_wait(again.ticket, long_ms, &ended, &error));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(ended.begin == GALLIVANT_BEGIN_CREATE && ended.how == GALLIVANT_HOW_WAITED);
    free_begun(again);
    /* The key is this one's now: another body, and a late ticket of the first one's body, are told. */
    again = begun_with(store, "k", "{}");
    CHECK(again.begin == GALLIVANT_BEGIN_IN_PROGRESS);
    free_begun(ended);
    ended = begun_with(store, "k", "other");
    gallivant_idempotency_begun refused = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_KEY_REUSED, NULL,
                gallivant_idempotency_ticket_look(again.ticket, GALLIVANT_DEFAULT, &refused, &error));
    free_begun(ended);
    free_begun(again);
    gallivant_idempotency_store_free(store);
}

/* A process that reserves the key, marks it if it is told to, and waits to be killed. */
static pid_t reserve_in_another_process(const char *directory, int marks)
{
    char ready = 0;
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        gallivant_idempotency_store *store = claims_in(directory, NULL);
        gallivant_idempotency_begun begun = begun_with(store, "k", "{}");
        if (marks)
            gallivant_idempotency_reservation_effect_starting(begun.reservation, GALLIVANT_DEFAULT, NULL);
        ready = begun.begin == GALLIVANT_BEGIN_CREATE;
        if (write(ends[1], &ready, 1) == 1)
            pause();
        _exit(1);
    }
    CHECK(read(ends[0], &ready, 1) == 1 && ready == 1);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void ik_09_a_waiter_takes_over_from_a_process_that_is_killed(void)
{
    for (int marks = 0; marks < 2; marks++) {
        const char *directory = fresh_directory();
        gallivant_idempotency_begun ended = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
        pid_t child = reserve_in_another_process(directory, marks);
        gallivant_idempotency_store *store = claims_in(directory, NULL);
        gallivant_idempotency_begun again = begun_with(store, "k", "{}");
        CHECK(again.begin == GALLIVANT_BEGIN_IN_PROGRESS);
        kill(child, SIGKILL);
        CHECK_OK(gallivant_idempotency_ticket_wait(again.ticket, long_ms, &ended, &error));
        CHECK(waitpid(child, NULL, 0) == child);
        CHECK(ended.begin == (marks ? GALLIVANT_BEGIN_UNKNOWN : GALLIVANT_BEGIN_CREATE));
        CHECK(marks || ended.how == GALLIVANT_HOW_TAKEN_OVER);
        free_begun(ended);
        free_begun(again);
        gallivant_idempotency_store_free(store);
    }
}

/* As an event loop does it: poll, drain, look. */
static void ik_06_the_descriptor_wakes_an_event_loop(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_changes *changes = NULL;
    gallivant_idempotency_begun first = begun_with(store, "k", "{}"), seen = begun_with(store, "k", "{}");
    gallivant_idempotency_begun looked = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    pthread_t thread;
    CHECK_OK(gallivant_idempotency_store_changes(store, &changes, &error));
    struct pollfd descriptor = { gallivant_idempotency_changes_descriptor(changes), POLLIN, 0 };
    CHECK(descriptor.fd >= 0);
    CHECK_OK(gallivant_idempotency_changes_drain(changes, &error));
    CHECK(poll(&descriptor, 1, 0) == 0);
    uint64_t told = gallivant_idempotency_ticket_next_look_ms(seen.ticket, changes);
    uint64_t untold = gallivant_idempotency_ticket_next_look_ms(seen.ticket, NULL);
    CHECK(told > untold && untold >= 1 && told <= 250);
    CHECK(gallivant_idempotency_ticket_next_look_ms(NULL, changes) == 0);

    /* While the create runs, a look gives another ticket. */
    CHECK_OK(gallivant_idempotency_ticket_look(seen.ticket, GALLIVANT_DEFAULT, &looked, &error));
    CHECK(looked.begin == GALLIVANT_BEGIN_IN_PROGRESS && looked.ticket != seen.ticket);
    free_begun(seen);
    seen = looked;
    CHECK(pthread_create(&thread, NULL, complete_soon, first.reservation) == 0);
    CHECK(poll(&descriptor, 1, (int)long_ms) == 1);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(gallivant_idempotency_changes_drain(changes, &error));
    CHECK_OK(gallivant_idempotency_ticket_look(seen.ticket, GALLIVANT_DEFAULT, &looked, &error));
    CHECK(looked.begin == GALLIVANT_BEGIN_REPLAY && looked.how == GALLIVANT_HOW_WAITED);
    free_begun(looked);
    free_begun(seen);
    free_begun(first);
    gallivant_idempotency_store_free(store);
    CHECK_OK(gallivant_idempotency_changes_drain(changes, &error));
    gallivant_idempotency_changes_free(changes);
    gallivant_idempotency_changes_free(NULL);
    CHECK(gallivant_idempotency_changes_descriptor(NULL) == -1);
}

static void ik_19_the_descriptor_stays_with_the_parent(void)
{
    gallivant_idempotency_store *store = claims_in(fresh_directory(), NULL);
    gallivant_idempotency_changes *changes = NULL;
    int status = -1;
    CHECK_OK(gallivant_idempotency_store_changes(store, &changes, &error));
    pid_t child = fork();
    if (child == 0) {
        int refused = gallivant_idempotency_changes_drain(changes, NULL) == GALLIVANT_IDEMPOTENCY_FORKED &&
                      gallivant_idempotency_changes_descriptor(changes) == -1;
        gallivant_idempotency_changes_free(changes);
        end_child(refused);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct pollfd descriptor = { gallivant_idempotency_changes_descriptor(changes), POLLIN, 0 };
    completed(begun_with(store, "k", "{}"), "r");
    CHECK(poll(&descriptor, 1, (int)long_ms) == 1);
    gallivant_idempotency_changes_free(changes);
    gallivant_idempotency_store_free(store);
}

void suite_idempotency_waiting(void)
{
    RUN(ik_06_a_waiter_gets_the_finished_claim);
    RUN(ik_06_a_waiter_gets_the_create_when_the_first_is_freed);
    RUN(ik_09_a_waiter_takes_over_from_a_process_that_is_killed);
    RUN(ik_06_the_descriptor_wakes_an_event_loop);
    RUN(ik_19_the_descriptor_stays_with_the_parent);
}
