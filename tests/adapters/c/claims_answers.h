/* Answers of the adapter of idempotent creates, and what its ids name. */

#ifndef CLAIMS_ANSWERS_H
#define CLAIMS_ANSWERS_H

#include "json.h"

#include <gallivant.h>

/* What an id names. */
typedef struct named {
    struct named *next;
    char *id;
    gallivant_idempotency_begun begun;
} named;

/* The memory, or the end of the program. */
void *must(void *memory);

/* Members of an answer: null where there is nothing. */
void write_text(json_out *out, const char *key, gallivant_str value);
void write_bytes(json_out *out, const char *key, gallivant_bytes bytes);

/* Whole answers: a request that makes no sense; a refusal; a call that answers its status alone, whose error is freed. */
void write_input(json_out *out);
void write_refusal(json_out *out, const gallivant_error *error);
void write_done(json_out *out, int32_t status, gallivant_error *error);

/* The answer of a call that answers a begin, which gets the id. Frees the error. */
void write_begun(json_out *out, gallivant_str id, int32_t status, const gallivant_idempotency_begun *begun,
                 gallivant_error *error);

/* What an id names, or takes it out of the list. */
named *find(gallivant_str id, int take);

/* Drops what an id names, or all. */
void forget(named *one);
void forget_all(void);
void free_begun(gallivant_idempotency_begun *begun);

#endif
