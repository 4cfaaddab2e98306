/* A create that may be retried: what a server does with the key and the body that it has received. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

/* What is made here is a file. Whether it exists can be found out by its name, which is made of the key. */
static int make_thing(const char *path)
{
    FILE *file = fopen(path, "w");
    return file == NULL || fputs("a thing\n", file) < 0 || fclose(file) != 0;
}

static int exists(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

static void answer_with(gallivant_str resource, gallivant_bytes answer, const char *how)
{
    printf("%s: %s, %zu bytes saved\n", how, resource.data, answer.length);
}

/* Makes the thing under the reservation. An early return leaves it to be freed, which releases it. */
static int32_t make_under(gallivant_idempotency_reservation *reservation, const char *path, gallivant_error **error)
{
    static const char answer[] = "{\"created\":true}";
    int32_t status = gallivant_idempotency_reservation_effect_starting(reservation, GALLIVANT_DEFAULT, error);
    if (status != GALLIVANT_OK)
        return status;
    if (make_thing(path) != 0)
        /* Known to be absent: say so, or the mark leaves the key unknown. */
        return gallivant_idempotency_reservation_release(reservation, GALLIVANT_DEFAULT, error);
    return gallivant_idempotency_reservation_complete(reservation, path, strlen(path), answer, strlen(answer),
                                                      GALLIVANT_DEFAULT, error);
}

static int32_t create(gallivant_idempotency_store *store, const gallivant_idempotency_name *name, const char *body,
                      const char *path, gallivant_error **error)
{
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    int32_t status = gallivant_idempotency_store_begin(store, name, body, strlen(body), GALLIVANT_DEFAULT, &begun, error);
    while (status == GALLIVANT_OK) {
        gallivant_idempotency_begun next = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
        switch (begun.begin) {
        case GALLIVANT_BEGIN_CREATE:
            status = make_under(begun.reservation, path, error);
            gallivant_idempotency_reservation_free(begun.reservation);
            return status;
        case GALLIVANT_BEGIN_REPLAY:
            answer_with(gallivant_idempotency_claim_resource(begun.claim), gallivant_idempotency_claim_answer(begun.claim),
                        gallivant_how_name(begun.how));
            gallivant_idempotency_claim_free(begun.claim);
            return status;
        case GALLIVANT_BEGIN_IN_PROGRESS:
            status = gallivant_idempotency_ticket_wait(begun.ticket, 30000, &next, error);
            gallivant_idempotency_ticket_free(begun.ticket);
            break;
        default:
            status = exists(path) ? gallivant_idempotency_unknown_claim_settle_found(begun.unknown, path, strlen(path),
                                                                                     GALLIVANT_DEFAULT, &next, error)
                                  : gallivant_idempotency_unknown_claim_settle_absent(begun.unknown, GALLIVANT_DEFAULT,
                                                                                      &next, error);
            gallivant_idempotency_unknown_claim_free(begun.unknown);
        }
        begun = next;
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    gallivant_idempotency_store *store = NULL;
    gallivant_error *error = NULL;
    char path[4096], thing[4096];
    snprintf(path, sizeof path, "%s/idempotency.db", directory);
    snprintf(thing, sizeof thing, "%s/thing-3f8a", directory);
    int32_t status = gallivant_idempotency_store_open(path, strlen(path), NULL, &store, &error);

    const gallivant_str scope[] = { gallivant_str_from("acme"), gallivant_str_from("workspace-7") };
    gallivant_idempotency_name name = GALLIVANT_IDEMPOTENCY_NAME_INIT;
    name.operation = gallivant_str_from("things.create");
    name.scope = scope;
    name.scope_count = 2;
    name.key = gallivant_str_from("3f8a");

    for (int again = 0; status == GALLIVANT_OK && again < 2; again++)
        status = create(store, &name, "{\"name\":\"thing\"}", thing, &error);
    if (status != GALLIVANT_OK)
        fprintf(stderr, "%s: %s\n", gallivant_error_name(error), gallivant_error_message(error));
    gallivant_error_free(error);
    gallivant_idempotency_store_free(store);
    return status == GALLIVANT_OK ? 0 : 1;
}
