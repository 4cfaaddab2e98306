/* The test driver of the execution layer in C: a machine of the public interface, driven by a script.
 *
 * drive.c hears the commands; drive_call.c steps a machine on a thread of its own; drive_desk.c knows who waits for which
 * answer; drive_faults.c crashes, fails and pauses; drive_wire.c reads and writes lines. The protocol is described in
 * tests/vectors/execution/README.md. Nothing here judges anything. */

#ifndef DRIVE_H
#define DRIVE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <gallivant.h>

#include "json.h"

/* ---- the wire ---- */

/* A part of a line, as the text that it came as. */
typedef struct {
    const char *at;
    size_t length;
} piece;

/* The text of a member of a JSON object; `null` where there is none. Nothing of it is judged. */
piece wire_member(piece object, const char *key);
int wire_has(piece object, const char *key);
/* A copy of a member's string, to be freed; NULL where it is none. */
char *wire_string(piece object, const char *key);
/* A member that is an integer from 0; `otherwise` where it is none. */
uint64_t wire_integer(piece object, const char *key, uint64_t otherwise);
/* A copy, to be freed. `wire_compact` leaves out the white space between values. */
char *wire_copy(piece text);
char *wire_compact(piece text);
void *wire_memory(size_t size);

/* Writes a line whole, whoever else writes, and frees it. */
void say(json_out *line);
/* `{"<what>":<number>}`. */
void say_number(const char *what, uint64_t number);
/* The end of the command with this id: a JSON text, or an error. */
void say_ok(const char *id, gallivant_str value);
void say_error(const char *id, const gallivant_error *error);
/* An input that this program cannot use. */
void say_wrong(const char *id, const char *message);

/* ---- the desk ---- */

typedef enum { SAID_ANSWER, SAID_FAILURE, SAID_SENDING, SAID_CLOCK, SAID_DROP } said_kind;

/* What a call is told while it is open. */
typedef struct said {
    said_kind kind;
    uint64_t question;
    char *text; /* of an answer or a failure */
    struct said *next;
} said;

typedef struct script script;

/* A boundary, as long as somebody uses it. */
typedef struct {
    gallivant_execution_boundary *boundary;
    gallivant_host *host;
    double jitter;
    script *faults;
    int users;
    char *dropped_by; /* the id of the `drop` that is answered when the last user has gone; NULL for none */
} opened;

/* A call that runs. */
typedef struct running {
    opened *open;
    char *id, *method, *args;
    gallivant_execution_abort_token *token;
    uint64_t question; /* the one that it waits for; 0 for none */
    said *inbox;
    struct running *next;
} running;

/* A call begins and ends. A machine that has ended judges what belongs to no open call. */
void desk_open(running *call);
void desk_ended(running *call, gallivant_execution_machine *machine);
/* Waits for what the call is told next; the caller frees it. */
said *desk_wait(running *call);
void desk_asks(running *call, uint64_t question);
/* Passes on what is said about a question. */
void desk_hear(said *told);
/* Every open call is told that the clock was moved, or that its boundary is gone. */
void desk_clock(uint64_t now);
void desk_drop(void);
uint64_t desk_now(void);
/* Asks, and waits for the answer. */
void desk_pause(const char *point);
/* Somebody uses a boundary, and uses it no more. */
opened *opened_use(opened *open);
void opened_leave(opened *open);
void said_free(said *told);

/* Feeds a machine what was said; GALLIVANT_OK where it took a step into `step`, which a `sending` leaves alone. */
int32_t feed(gallivant_execution_machine *machine, const said *told, gallivant_execution_step *step);

/* ---- a call, and the faults ---- */

/* Runs a call on a thread of its own. */
void run_call(running *call);

/* The script of an `open`; NULL where it is no list of {point, nth, action}. */
script *script_read(piece faults);
void script_free(script *faults);
int32_t script_at(void *faults, gallivant_str point);

#endif
