/* Answers of the adapter of idempotent creates, and what its ids name, see claims_answers.h. */

#define _POSIX_C_SOURCE 200809L
#include "claims_answers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list is locked while somebody looks something up; what an id names is used by one thread at a time. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static named *list;

void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void write_text(json_out *out, const char *key, gallivant_str value)
{
    json_write_key(out, key);
    if (value.data == NULL)
        json_write_raw(out, "null");
    else
        json_write_string(out, value.data, value.length);
}

void write_bytes(json_out *out, const char *key, gallivant_bytes bytes)
{
    char pair[3];
    json_write_key(out, key);
    json_write_raw(out, bytes.data == NULL ? "null" : "\"");
    for (size_t i = 0; i < bytes.length; i++) {
        snprintf(pair, sizeof pair, "%02x", bytes.data[i]);
        json_write_raw(out, pair);
    }
    if (bytes.data != NULL)
        json_write_raw(out, "\"");
}

void write_input(json_out *out)
{
    json_write_raw(out, "{\"ok\":false,\"error\":\"INPUT\"}");
}

void write_refusal(json_out *out, const gallivant_error *error)
{
    json_write_raw(out, "{\"ok\":false");
    write_text(out, "error", gallivant_str_from(gallivant_error_name(error)));
    write_text(out, "remedy", gallivant_str_from(gallivant_error_remedy(error)));
    write_text(out, "message", gallivant_str_from(gallivant_error_message(error)));
    write_text(out, "reason", gallivant_str_from(gallivant_error_reason(error)));
    write_text(out, "resource", gallivant_error_resource(error));
    write_text(out, "file", gallivant_str_from(gallivant_error_file(error)));
    json_write_raw(out, "}");
}

/* The answer of a call that answers nothing but its status. Frees the error. */
void write_done(json_out *out, int32_t status, gallivant_error *error)
{
    if (status == GALLIVANT_OK)
        json_write_raw(out, "{\"ok\":true}");
    else
        write_refusal(out, error);
    gallivant_error_free(error);
}

void free_begun(gallivant_idempotency_begun *begun)
{
    gallivant_idempotency_reservation_free(begun->reservation);
    gallivant_idempotency_claim_free(begun->claim);
    gallivant_idempotency_ticket_free(begun->ticket);
    gallivant_idempotency_unknown_claim_free(begun->unknown);
}

/* What an id names, or takes it out of the list. */
named *find(gallivant_str id, int take)
{
    named *found = NULL;
    pthread_mutex_lock(&list_lock);
    for (named **at = &list; *at != NULL && found == NULL; at = found ? at : &(*at)->next)
        if (strcmp((*at)->id, id.data) == 0) {
            found = *at;
            if (take)
                *at = found->next;
        }
    pthread_mutex_unlock(&list_lock);
    return found;
}

void forget(named *one)
{
    if (one != NULL) {
        free_begun(&one->begun);
        free(one->id);
        free(one);
    }
}

void forget_all(void)
{
    while (list != NULL) {
        named *first = list;
        list = first->next;
        forget(first);
    }
}

/* The answer of a call that answers a begin, which gets the id. Frees the error. */
void write_begun(json_out *out, gallivant_str id, int32_t status, const gallivant_idempotency_begun *begun,
                        gallivant_error *error)
{
    if (status != GALLIVANT_OK) {
        write_done(out, status, error);
        return;
    }
    named *replaced = find(id, 1);
    named *made = must(calloc(1, sizeof *made));
    made->id = must(strdup(id.data));
    made->begun = *begun;
    json_write_raw(out, "{\"ok\":true");
    write_text(out, "begin", gallivant_str_from(gallivant_begin_name(begun->begin)));
    write_text(out, "how", gallivant_str_from(gallivant_how_name(begun->how)));
    if (begun->claim != NULL) {
        write_text(out, "resource", gallivant_idempotency_claim_resource(begun->claim));
        write_bytes(out, "answer", gallivant_idempotency_claim_answer(begun->claim));
    }
    json_write_raw(out, "}");
    pthread_mutex_lock(&list_lock);
    made->next = list;
    list = made;
    pthread_mutex_unlock(&list_lock);
    forget(replaced);
}
