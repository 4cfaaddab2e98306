/* An event loop that waits for creates of others: one descriptor for all of a store's tickets. */

#define _POSIX_C_SOURCE 200809L
#include <gallivant.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static int fail(gallivant_error *error)
{
    fprintf(stderr, "%s: %s\n", gallivant_error_name(error), gallivant_error_message(error));
    gallivant_error_free(error);
    return 1;
}

int main(int argc, char **argv)
{
    const gallivant_str scope[] = { gallivant_str_from("acme") };
    gallivant_idempotency_name name = GALLIVANT_IDEMPOTENCY_NAME_INIT;
    gallivant_idempotency_begun first = GALLIVANT_IDEMPOTENCY_BEGUN_INIT, seen = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_store *store = NULL;
    gallivant_idempotency_changes *changes = NULL;
    gallivant_error *error = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/idempotency.db", argc > 1 ? argv[1] : ".");
    name.operation = gallivant_str_from("things.create");
    name.scope = scope;
    name.scope_count = 1;
    name.key = gallivant_str_from("k");
    if (gallivant_idempotency_store_open(path, strlen(path), NULL, &store, &error) ||
        gallivant_idempotency_store_begin(store, &name, "{}", 2, GALLIVANT_DEFAULT, &first, &error) ||
        gallivant_idempotency_store_begin(store, &name, "{}", 2, GALLIVANT_DEFAULT, &seen, &error) ||
        gallivant_idempotency_store_changes(store, &changes, &error))
        return fail(error);

    while (seen.begin == GALLIVANT_BEGIN_IN_PROGRESS) {
        struct pollfd polled = { gallivant_idempotency_changes_descriptor(changes), POLLIN, 0 };
        gallivant_idempotency_begun looked = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
        if (gallivant_idempotency_changes_drain(changes, &error) ||
            gallivant_idempotency_ticket_look(seen.ticket, GALLIVANT_DEFAULT, &looked, &error))
            return fail(error);
        gallivant_idempotency_ticket_free(seen.ticket);
        seen = looked;
        if (seen.begin == GALLIVANT_BEGIN_IN_PROGRESS)
            poll(&polled, 1, (int)gallivant_idempotency_ticket_next_look_ms(seen.ticket, changes));

        /* In the place of another process, which would take its time. */
        if (first.reservation != NULL &&
            gallivant_idempotency_reservation_complete(first.reservation, "r", 1, "", 0, GALLIVANT_DEFAULT, &error))
            return fail(error);
        gallivant_idempotency_reservation_free(first.reservation);
        first.reservation = NULL;
    }

    int is_replayed = seen.begin == GALLIVANT_BEGIN_REPLAY;
    gallivant_idempotency_claim_free(seen.claim);
    gallivant_idempotency_changes_free(changes);
    gallivant_idempotency_store_free(store);
    return is_replayed ? 0 : 1;
}
