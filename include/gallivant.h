/*
 * libgallivant: crash-safe on-disk state for coordinators of coding agents. The C interface.
 *
 * CONVENTIONS
 *
 * Names. Everything begins with `gallivant_` or `GALLIVANT_`, then the domain (`harness_state`), then the type,
 * then the verb.
 *
 * Order. A function takes its receiver, then its inputs, then its outputs, then `error`, which is last.
 *
 * Status. A function that can fail answers an `int32_t`: 0 (`GALLIVANT_OK`), or one of the numbers below, which
 * are never reused. A refusal by the rules of a domain is an answer and comes with `GALLIVANT_OK`. On failure the
 * outputs are untouched. Functions that cannot fail answer their value.
 *
 * Error. `gallivant_error **error` may be NULL. Where it is not, a failed call puts a new `gallivant_error`
 * there, whatever stood there before, and a successful call leaves it alone: initialise it with NULL, and free
 * what you got with `gallivant_error_free`. There is no last error and nothing is kept for a thread.
 *
 * NULL is checked for every argument. It is allowed where the comment of the function or member says so, and for
 * every free function; elsewhere the call answers `GALLIVANT_INPUT` and has done nothing. Any other pointer has to
 * point to what its type says.
 *
 * Constants are `int32_t` wherever they are passed or stored. A number that is no constant of its family is an
 * error as an input, and may be one of a later release as an output. 0 always means "none" or "not known".
 *
 * Strings come in as pointer and length and have to be UTF-8, paths too; they are copied where they are kept. They go
 * out as `gallivant_str`, as `const char *` that end in a zero byte where they can hold no other, or into a buffer of
 * the caller. Names and words that a function answers for a constant live for ever and are never NULL.
 *
 * Structs whose first member is `struct_size` have a macro `..._INIT`: begin with it, also for outputs. Later releases
 * append members; the size tells the library which ones the program knows.
 *
 * Ownership. A function whose output is `type **` makes a handle that the caller owns and frees with the one function
 * that the type's comment names. Handles may be freed in any order: what one needs of another stays alive. A handle
 * that is lent, as part of another, is a pointer to const and lives as long as that one. Memory comes from the library
 * and goes back to it, never through `free`.
 *
 * Threads. Each handle's comment says by how many threads it may be used at once. A handle for one thread at a time may
 * change threads between calls; a call that finds it in use answers `GALLIVANT_HANDLE_BUSY` and has done nothing.
 * Freeing a handle while a call uses it is a bug of the caller. The library has no threads of its own.
 *
 * Callbacks run on the calling thread, inside the call. They return normally: no `longjmp`, no C++ exception, no thread
 * cancellation may pass through the library.
 *
 * Forks. Handles may be used in a forked child, except that locks, leases and watches stay with the parent: a guard,
 * session or watch that came through a fork answers `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked`, and freeing it is
 * harmless. A child of a process that had several threads may only call `exec` and the like, as always.
 *
 * The library prints nothing, reads no environment by itself, installs no signal handler and keeps no configuration. A
 * bug that would have been a crash of the library is answered as `GALLIVANT_INTERNAL`.
 */

/* Printed from ffi/src by `GALLIVANT_BLESS=1 cargo test -p libgallivant --test header`; do not edit. */

#ifndef GALLIVANT_H
#define GALLIVANT_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. */
#define GALLIVANT_VERSION "0.1.0"
#define GALLIVANT_VERSION_MAJOR 0
#define GALLIVANT_VERSION_MINOR 1
#define GALLIVANT_VERSION_PATCH 0
#define GALLIVANT_VERSION_NUMBER \
    (GALLIVANT_VERSION_MAJOR * 1000000 + GALLIVANT_VERSION_MINOR * 1000 + GALLIVANT_VERSION_PATCH)

/* The version of the binary interface, which is the number in the soname. */
#define GALLIVANT_ABI_VERSION 0

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------
 * Versions: what the program was compiled with and what it runs with.
 *
 * `GALLIVANT_VERSION` and its three parts stand above, as the header's; the functions tell the library's.
 */

// The version of the library that runs, such as `0.1.0`.
const char *gallivant_version(void);

// The version of the library that runs, as major * 1000000 + minor * 1000 + patch; comparable with
// `GALLIVANT_VERSION_NUMBER`.
uint32_t gallivant_version_number(void);

// The version of the binary interface, which is the number in the soname. A program runs with every library that
// answers the `GALLIVANT_ABI_VERSION` it was compiled with and is not older than its header.
uint32_t gallivant_abi_version(void);

/* --------------------------------------------------------------------------
 * Statuses: what every call that can fail answers.
 *
 * A status says what happened, its kind what a caller does about it. The numbers are those of the project's one table of
 * codes, and the names, without `GALLIVANT_`, are the codes of every other language.
 */

// It worked. Refusals by the rules of a domain are answers and come with this status too.
#define GALLIVANT_OK 0

// An argument is not usable: NULL, not UTF-8, a struct of the wrong size, a number that is no constant.
#define GALLIVANT_INPUT 1

// A bug in the library was caught at the boundary.
#define GALLIVANT_INTERNAL 2

// One handle was used by two calls at once although its rule forbids it.
#define GALLIVANT_HANDLE_BUSY 3

// The caller's own signal ended a wait: `gallivant_harness_state_watch_wake`.
#define GALLIVANT_CANCELLED 4

// An observation said unknown, which only readers may derive.
#define GALLIVANT_HARNESS_STATE_UNKNOWN_STATE 100

// A live state from a writer without a pty session.
#define GALLIVANT_HARNESS_STATE_UNFENCED 101

// An ask that is no ask.
#define GALLIVANT_HARNESS_STATE_UNKNOWN_ASK 102

// An ask although no human is waited for.
#define GALLIVANT_HARNESS_STATE_ASK_WITHOUT_HUMAN 103

// An observation spelled the placeholder that only a claim writes.
#define GALLIVANT_HARNESS_STATE_RESERVED_REASON 104

// The empty token owns nothing.
#define GALLIVANT_HARNESS_STATE_EMPTY_TOKEN 105

// A wrapperless claim by a token without a wrapperless prefix.
#define GALLIVANT_HARNESS_STATE_BAD_TOKEN 106

// No sequence above the highest one is left.
#define GALLIVANT_HARNESS_STATE_SEQUENCE_EXHAUSTED 107

// The lock was held by somebody else until the wait ended.
#define GALLIVANT_HARNESS_STATE_BUSY 108

// Locks do not exclude on this file system.
#define GALLIVANT_HARNESS_STATE_LOCKING 109

// The disk, a path or a permission failed.
#define GALLIVANT_HARNESS_STATE_IO 110

// A malformed payload or environment, or an object used after a fork.
#define GALLIVANT_HARNESS_STATE_INPUT 111

// A malformed argument of the execution layer.
#define GALLIVANT_EXECUTION_INPUT 200

// A provider's reply, or a cursor, time or ledger that was saved, breaks the contract.
#define GALLIVANT_EXECUTION_PROTOCOL 201

// A file or the transport failed.
#define GALLIVANT_EXECUTION_IO 202

// A journal is damaged.
#define GALLIVANT_EXECUTION_JOURNAL 203

// A file has a version that this package does not support.
#define GALLIVANT_EXECUTION_VERSION 204

// The local output queue or its state is invalid, or cannot be saved.
#define GALLIVANT_EXECUTION_QUEUE 205

// There is no such run or operation.
#define GALLIVANT_EXECUTION_UNKNOWN_RUN 206

// The caller's argument is wrong; the same call fails again.
#define GALLIVANT_KIND_INPUT 1

// The rules forbid it in the present state of the disk.
#define GALLIVANT_KIND_REFUSED 2

// Somebody else is at work; the same call may pass later.
#define GALLIVANT_KIND_BUSY 3

// What happened is not known yet and has to be found out first.
#define GALLIVANT_KIND_UNRESOLVED 4

// Bytes on disk make no sense; nothing was written over them.
#define GALLIVANT_KIND_CORRUPT 5

// Bytes on disk belong to another version.
#define GALLIVANT_KIND_INCOMPATIBLE 6

// The machine cannot do it now: disk, permission, file system.
#define GALLIVANT_KIND_UNAVAILABLE 7

// A bug in the library.
#define GALLIVANT_KIND_INTERNAL 8

// The stable name of a status, such as `HARNESS_STATE_BUSY`; `OK` for success, `invalid` for a number that is no
// status of this library.
const char *gallivant_status_name(int32_t status);

// The word of the specification for a status, such as `busy`: the name without its domain, in lower case with
// hyphens; `ok` for success.
const char *gallivant_status_word(int32_t status);

// What a caller does about a status: one of the GALLIVANT_KIND constants; 0 for success and for no status.
int32_t gallivant_status_kind(int32_t status);

// One sentence about a status that an operator can act on; empty for success.
const char *gallivant_status_remedy(int32_t status);

// The whole documentation page of a status, in Markdown: what it means, what is true on disk now, what to do;
// empty for success.
const char *gallivant_status_page(int32_t status);

// The word for a GALLIVANT_KIND constant, such as `busy`; `invalid` for any other number.
const char *gallivant_kind_name(int32_t kind);

/* --------------------------------------------------------------------------
 * Errors: what a failed call has to say beyond its status.
 */

// The detail of one failed call. Never changes. Its strings are valid until it is freed.
//
// Threads: any number at once. Free it with `gallivant_error_free`.
typedef struct gallivant_error gallivant_error;

// The status that the call answered; `GALLIVANT_OK` where `error` is NULL.
int32_t gallivant_error_code(const gallivant_error *error);

// The stable name of the status, such as `HARNESS_STATE_IO`; `OK` where `error` is NULL.
const char *gallivant_error_name(const gallivant_error *error);

// What a caller does about it: one of the GALLIVANT_KIND constants; 0 where `error` is NULL.
int32_t gallivant_error_kind(const gallivant_error *error);

// A stable word that refines the status, such as `forked`; NULL where there is none.
const char *gallivant_error_reason(const gallivant_error *error);

// One line for people: what happened, to which file, argument or value. Not stable. Empty where `error` is NULL.
const char *gallivant_error_message(const gallivant_error *error);

// One sentence that an operator can act on. Empty where `error` is NULL.
const char *gallivant_error_remedy(const gallivant_error *error);

// The `errno` of the system call that failed; 0 where none did.
int32_t gallivant_error_os_error(const gallivant_error *error);

// Frees the error. NULL is allowed. Errors that belong to another result are pointers to const and are freed with it.
void gallivant_error_free(gallivant_error *error);

/* --------------------------------------------------------------------------
 * Strings.
 */

// A string as pointer and length, in bytes of UTF-8.
//
// As an input it need not end in a zero byte and is read during the call only. As an output it is followed by a
// zero byte that the length does not count, so that `data` can be given to `printf("%s")`; a string from a record may
// hold further zero bytes, and the length is what is right. It is valid as long as its owner says, see there.
//
// A null `data` is no string at all, which is not the empty string.
typedef struct gallivant_str {
    // The first byte; null for no string.
    const char *data;
    // How many bytes.
    size_t length;
} gallivant_str;

// A number that may be absent.
typedef struct gallivant_optional_u64 {
    // The number; 0 in an output where it is absent.
    uint64_t value;
    // 0 where it is absent. Outputs say 1 where it is there; in inputs anything but 0 does.
    int32_t is_set;
} gallivant_optional_u64;

// The view of a string that ends in a zero byte, as C's own strings do. NULL gives no string. The view is valid as
// long as the string.
gallivant_str gallivant_str_from(const char *text);

/* --------------------------------------------------------------------------
 * Texts that results own, and buffers that the caller owns.
 */

// A text of any length that a function has answered. Never changes.
//
// Threads: any number at once. Free it with `gallivant_text_free`.
typedef struct gallivant_text gallivant_text;

// The text, valid until the handle is freed; no string where `text` is NULL.
gallivant_str gallivant_text_view(const gallivant_text *text);

// Frees the text. NULL is allowed.
void gallivant_text_free(gallivant_text *text);

/* --------------------------------------------------------------------------
 * Structs that grow: each begins with its size, so that programs and libraries of different releases agree.
 *
 * A later release only appends members, and a member that is all zero bytes means what the release before did.
 */

/* In an options struct: whatever the library's own default is. */
#define GALLIVANT_DEFAULT UINT64_MAX

/* --------------------------------------------------------------------------
 * Hosts: where clock, chance, process facts and disk come from.
 */

// Where the library takes time, chance, facts about processes and the disk from. NULL, wherever a host is asked for,
// is the real machine; `gallivant_testing_host_new` makes one that a test controls.
//
// Threads: any number at once. Free it with `gallivant_host_free`.
typedef struct gallivant_host gallivant_host;

// Frees the host. NULL is allowed. What was opened with it goes on using it.
void gallivant_host_free(gallivant_host *host);

/* --------------------------------------------------------------------------
 * Processes: what names one for ever, and what can be proved about it.
 *
 * A pid alone names nobody, because it is used again.
 */

// Neither can be proved.
#define GALLIVANT_LIVENESS_INDETERMINATE 0

// It runs.
#define GALLIVANT_LIVENESS_ALIVE 1

// It is provably gone.
#define GALLIVANT_LIVENESS_DEAD 2

// One process, whether it still runs or not. Never changes.
//
// Threads: any number at once. Free it with `gallivant_process_free`.
typedef struct gallivant_process gallivant_process;

// What names one process.
typedef struct gallivant_process_identity {
    // Set by `GALLIVANT_PROCESS_IDENTITY_INIT`.
    size_t struct_size;
    // Process id, as the process's own namespace counts.
    uint32_t pid;
    // Start time in the unit of the system's process table (Linux: clock ticks since boot).
    uint64_t start;
    // Identifies the boot of the machine; empty where the system does not tell.
    gallivant_str boot;
    // Identifies the pid namespace; empty where the system does not tell.
    gallivant_str pid_namespace;
    // Identifies the machine; empty where the system does not tell.
    gallivant_str host;
} gallivant_process_identity;

/* Initialises one, as input or output. */
#define GALLIVANT_PROCESS_IDENTITY_INIT \
    { sizeof(gallivant_process_identity), 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

// The process that runs under this pid now; NULL, with success, where none does or it cannot be read.
int32_t gallivant_process_identify(const gallivant_host *host,
                                   uint32_t pid,
                                   gallivant_process **process,
                                   gallivant_error **error);

// The process with this identity, which was described and kept earlier.
int32_t gallivant_process_new(const gallivant_process_identity *identity,
                              gallivant_process **process,
                              gallivant_error **error);

// What names this process. The strings are valid until the process is freed.
int32_t gallivant_process_describe(const gallivant_process *process,
                                   gallivant_process_identity *identity,
                                   gallivant_error **error);

// What can be proved about this process now: one of the GALLIVANT_LIVENESS constants.
int32_t gallivant_process_liveness(const gallivant_process *process,
                                   const gallivant_host *host,
                                   int32_t *liveness,
                                   gallivant_error **error);

// Frees the process. NULL is allowed.
void gallivant_process_free(gallivant_process *process);

// The word for a GALLIVANT_LIVENESS constant, such as `alive`; `invalid` for any other number.
const char *gallivant_liveness_name(int32_t liveness);

/* --------------------------------------------------------------------------
 * Harness state: the constants and their words.
 *
 * On each axis 0 is "unknown": in an answer nothing is known, and in a record the word is one that this release does not
 * know.
 */

// What the harness is doing is not known.
#define GALLIVANT_STATE_UNKNOWN 0

// Spawned; nothing has been observed yet. Positive evidence of life.
#define GALLIVANT_STATE_READY 1

// Waiting for a prompt.
#define GALLIVANT_STATE_IDLE 2

// Working on a turn.
#define GALLIVANT_STATE_ACTIVE 3

// Reserved: read, not produced.
#define GALLIVANT_STATE_CHILD 4

// The session is over.
#define GALLIVANT_STATE_ENDED 5

// Whom the harness waits for is not known.
#define GALLIVANT_BLOCKED_ON_UNKNOWN 0

// It waits for nobody.
#define GALLIVANT_BLOCKED_ON_NONE 1

// It waits for a person.
#define GALLIVANT_BLOCKED_ON_HUMAN 2

// Whether text waits in the input line is not known.
#define GALLIVANT_INPUT_BUFFER_UNKNOWN 0

// Nothing is typed.
#define GALLIVANT_INPUT_BUFFER_EMPTY 1

// Something is typed and not sent.
#define GALLIVANT_INPUT_BUFFER_NONEMPTY 2

// What the person is asked for is not known.
#define GALLIVANT_ASK_UNKNOWN 0

// The person is asked for nothing.
#define GALLIVANT_ASK_NONE 1

// To permit a tool.
#define GALLIVANT_ASK_PERMISSION 2

// To answer a question.
#define GALLIVANT_ASK_QUESTION 3

// To review a result or plan.
#define GALLIVANT_ASK_REVIEW 4

// By what it is known is not known. In options: by what a wrapper knows.
#define GALLIVANT_EVIDENCE_UNKNOWN 0

// A hook of the harness told it.
#define GALLIVANT_EVIDENCE_HOOK 1

// A channel that the harness offers told it: a protocol, a stream of events.
#define GALLIVANT_EVIDENCE_CHANNEL 2

// The wrapper that drives the harness knows it from what it does itself.
#define GALLIVANT_EVIDENCE_WRAPPER 3

// It was read off the harness's screen. While it is fresh, what a hook or a channel told is not replaced by it.
#define GALLIVANT_EVIDENCE_SCREEN 4

// The file could not be read.
#define GALLIVANT_UNKNOWN_REASON_UNREADABLE_RECORD 1

// The bytes are no record.
#define GALLIVANT_UNKNOWN_REASON_MALFORMED_RECORD 2

// The schema is not accepted.
#define GALLIVANT_UNKNOWN_REASON_UNSUPPORTED_SCHEMA 3

// The stamp is too far ahead of the clock.
#define GALLIVANT_UNKNOWN_REASON_FUTURE_SKEW 4

// Nobody has confirmed the record for too long.
#define GALLIVANT_UNKNOWN_REASON_STALE 5

// The record's state is a word that this release does not know.
#define GALLIVANT_UNKNOWN_REASON_LITERAL_UNKNOWN 6

// A session has claimed the seat and not been observed yet.
#define GALLIVANT_UNKNOWN_REASON_CLAIMED 7

// A live record names no pty session although a probe was asked for.
#define GALLIVANT_UNKNOWN_REASON_UNFENCED_RECORD 8

// The probe says that the session is dead.
#define GALLIVANT_UNKNOWN_REASON_SESSION_DEAD 9

// The machine slept for longer than a record is believed, and the session may be about to confirm it.
#define GALLIVANT_UNKNOWN_REASON_HOST_SUSPENDED 10

// The machine has booted since.
#define GALLIVANT_UNKNOWN_REASON_REBOOTED 11

// The session told of its end, then more events came, and its harness provably runs.
#define GALLIVANT_UNKNOWN_REASON_ACTIVITY_AFTER_END 12

// A new record stands, or a stamp was renewed.
#define GALLIVANT_OUTCOME_LANDED 1

// Nothing changed and the stamp is fresh; nothing was written.
#define GALLIVANT_OUTCOME_COALESCED 2

// The rules forbid it; nothing was written.
#define GALLIVANT_OUTCOME_REFUSED 3

// A heartbeat found nothing of this session's to renew; nothing was written.
#define GALLIVANT_OUTCOME_SKIPPED 4

// Something stands at the record's name that cannot be read; only a claim goes over it.
#define GALLIVANT_REFUSAL_UNREADABLE 1

// A token-only writer found somebody else's record.
#define GALLIVANT_REFUSAL_UNCLAIMED 2

// Record or floor carries a higher sequence: another session has claimed.
#define GALLIVANT_REFUSAL_SUPERSEDED 3

// The record is of a schema that is not accepted.
#define GALLIVANT_REFUSAL_SCHEMA 4

// The session's own ending with an exit stands.
#define GALLIVANT_REFUSAL_TERMINAL 5

// A hook had no identity in its environment.
#define GALLIVANT_REFUSAL_IDENTITY_MISSING 6

// A later event of the same session stands.
#define GALLIVANT_REFUSAL_LATE 7

// What stands is fresh and known by stronger evidence.
#define GALLIVANT_REFUSAL_WEAKER_EVIDENCE 8

// The hook belongs to another harness, which inherited the session's variables.
#define GALLIVANT_REFUSAL_FOREIGN_DESCENDANT 9

// There is no record.
#define GALLIVANT_SKIP_ABSENT 1

// The record cannot be read.
#define GALLIVANT_SKIP_UNREADABLE 2

// The record is of a schema that is not accepted.
#define GALLIVANT_SKIP_SCHEMA 3

// The record carries another session's token.
#define GALLIVANT_SKIP_FOREIGN_TOKEN 4

// The record's state is a word that this release does not know.
#define GALLIVANT_SKIP_UNKNOWN_STATE 5

// The session has ended.
#define GALLIVANT_SKIP_ENDED 6

// Record or floor carries a higher sequence.
#define GALLIVANT_SKIP_SUPERSEDED 7

// The word for a GALLIVANT_STATE constant, such as `active`; `invalid` for any other number.
const char *gallivant_state_name(int32_t state);

// The constant for a word; `GALLIVANT_STATE_UNKNOWN` for any other. Case matters.
int32_t gallivant_state_from_name(const char *name, size_t name_length);

// The word for a GALLIVANT_BLOCKED_ON constant, such as `human`; `invalid` for any other number.
const char *gallivant_blocked_on_name(int32_t blocked_on);

// The constant for a word; `GALLIVANT_BLOCKED_ON_UNKNOWN` for any other. Case matters.
int32_t gallivant_blocked_on_from_name(const char *name, size_t name_length);

// The word for a GALLIVANT_INPUT_BUFFER constant, such as `nonempty`; `invalid` for any other number.
const char *gallivant_input_buffer_name(int32_t input_buffer);

// The constant for a word; `GALLIVANT_INPUT_BUFFER_UNKNOWN` for any other. Case matters.
int32_t gallivant_input_buffer_from_name(const char *name, size_t name_length);

// The word for a GALLIVANT_ASK constant, such as `permission`; `invalid` for any other number.
const char *gallivant_ask_name(int32_t ask);

// The constant for a word; `GALLIVANT_ASK_UNKNOWN` for any other. Case matters.
int32_t gallivant_ask_from_name(const char *name, size_t name_length);

// The word for a GALLIVANT_EVIDENCE constant, such as `hook`; `invalid` for any other number.
const char *gallivant_evidence_name(int32_t evidence);

// The constant for a word; `GALLIVANT_EVIDENCE_UNKNOWN` for any other. Case matters.
int32_t gallivant_evidence_from_name(const char *name, size_t name_length);

// The word for a GALLIVANT_UNKNOWN_REASON constant, such as `stale`; `invalid` for any other number.
const char *gallivant_unknown_reason_name(int32_t unknown_reason);

// The word for a GALLIVANT_OUTCOME constant, such as `landed`; `invalid` for any other number.
const char *gallivant_outcome_name(int32_t outcome);

// The word for a GALLIVANT_REFUSAL constant, such as `superseded`; `invalid` for any other number.
const char *gallivant_refusal_name(int32_t refusal);

// The word for a GALLIVANT_SKIP constant, such as `ended`; `invalid` for any other number.
const char *gallivant_skip_name(int32_t skip);

/* --------------------------------------------------------------------------
 * Harness state: options of readers and writers.
 */

// What may be set. Wherever options are asked for, NULL stands for the defaults, which agree with existing deployments.
typedef struct gallivant_harness_state_options {
    // Set by `GALLIVANT_HARNESS_STATE_OPTIONS_INIT`.
    size_t struct_size;
    // Where time, chance, facts about processes and the disk come from; NULL for the real machine.
    const gallivant_host *host;
    // The schema to write, compared whole; no string for the default, `st2.harness-state.v1`.
    gallivant_str schema;
    // Further schemas to accept when reading; NULL for none.
    const gallivant_str *also_accepted_schemas;
    // How many.
    size_t also_accepted_schemas_count;
    // From this age on a record tells nothing, in ms. Default 15 minutes.
    uint64_t stale_ms;
    // From this age on an unchanged observation is stamped again, in ms. Default 5 minutes.
    uint64_t refresh_ms;
    // A stamp further ahead than this is not believed, in ms. Default 60 seconds.
    uint64_t future_skew_ms;
    // How long a call waits for the lock, in ms. Default 10 seconds.
    uint64_t lock_wait_ms;
    // A probe that takes longer than this has answered nothing, in ms. Default 100 ms.
    uint64_t probe_budget_ms;
    // Tokens with one of these prefixes belong to sessions that no wrapper launched; NULL for the default, which is
    // `claude-session-` alone.
    const gallivant_str *wrapperless_prefixes;
    // How many.
    size_t wrapperless_prefixes_count;
    // Whether records carry the extension object and are judged by it: 1 or 0. Default 1.
    uint64_t extension;
    // By what a writer that is opened with these options knows what it observes: GALLIVANT_EVIDENCE; 0 for a wrapper's
    // knowledge. A session is a wrapper and a hook a hook whatever stands here.
    int32_t evidence;
} gallivant_harness_state_options;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_OPTIONS_INIT \
    { sizeof(gallivant_harness_state_options), NULL, { NULL, 0 }, NULL, 0, GALLIVANT_DEFAULT, \
      GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, NULL, 0, \
      GALLIVANT_DEFAULT, GALLIVANT_EVIDENCE_UNKNOWN }

/* --------------------------------------------------------------------------
 * Harness state: the record as it stands on disk, and what a reader concludes from it.
 *
 * Both are plain structs of the caller; their strings belong to the handle that filled them.
 */

// What a reader concludes.
//
// For an unknown state all four axes are unknown, there is no `since_ms` and no `exit`, and `unknown_reason` says
// why. The members from `harness` on are the evidence, as far as there is any.
typedef struct gallivant_harness_state_derived {
    // Set by `GALLIVANT_HARNESS_STATE_DERIVED_INIT`.
    size_t struct_size;
    // 0 when nothing was ever observed here, which is not the same as unknown; all else is then 0 and none.
    int32_t observed;
    // What the harness is doing: GALLIVANT_STATE.
    int32_t state;
    // Whom it waits for: GALLIVANT_BLOCKED_ON.
    int32_t blocked_on;
    // Whether text waits in its input line: GALLIVANT_INPUT_BUFFER.
    int32_t input_buffer;
    // What a person is asked for: GALLIVANT_ASK.
    int32_t ask;
    // Why the state is not known: GALLIVANT_UNKNOWN_REASON; 0 where it is known.
    int32_t unknown_reason;
    // Since when the observation holds, wall clock in ms since 1970.
    gallivant_optional_u64 since_ms;
    // When this answer next changes by time alone, wall clock in ms since 1970; absent where time alone changes
    // nothing.
    gallivant_optional_u64 valid_until_ms;
    // The writer's reason for a known state, the word of `unknown_reason` for an unknown one.
    gallivant_str reason;
    // How it ended.
    gallivant_str exit;
    // The harness's name, e.g. `claude` or `codex`.
    gallivant_str harness;
    // The token of the session that wrote the record.
    gallivant_str evidence_incarnation;
    // The record's stamp: when it was written or last confirmed, wall clock in ms since 1970.
    gallivant_optional_u64 observed_at_ms;
    // The record's ownership sequence.
    gallivant_optional_u64 ownership_sequence;
    // How often the observation has changed.
    gallivant_optional_u64 transition_sequence;
} gallivant_harness_state_derived;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_DERIVED_INIT \
    { sizeof(gallivant_harness_state_derived), 0, 0, 0, 0, 0, 0, { 0, 0 }, { 0, 0 }, { NULL, 0 }, \
      { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } }

// One record as it stands on disk.
typedef struct gallivant_harness_state_record {
    // Set by `GALLIVANT_HARNESS_STATE_RECORD_INIT`.
    size_t struct_size;
    // 0 when there is no record, or none that can be read; all else is then 0 and none.
    int32_t present;
    // What the harness is doing: GALLIVANT_STATE.
    int32_t state;
    // Whom it waits for: GALLIVANT_BLOCKED_ON.
    int32_t blocked_on;
    // Whether text waits in its input line: GALLIVANT_INPUT_BUFFER.
    int32_t input_buffer;
    // What a person is asked for: GALLIVANT_ASK.
    int32_t ask;
    // The word for the state as it stands, also one that this release does not know.
    gallivant_str state_word;
    // The word for whom it waits for, likewise.
    gallivant_str blocked_on_word;
    // The word for its input line, likewise.
    gallivant_str input_buffer_word;
    // The word for what is asked, likewise.
    gallivant_str ask_word;
    // Which format and version.
    gallivant_str schema;
    // The agent's name, as its writer gave it.
    gallivant_str agent;
    // The harness's name.
    gallivant_str harness;
    // Why.
    gallivant_str reason;
    // How it ended.
    gallivant_str exit;
    // The pty session in which the harness runs.
    gallivant_str pty_session;
    // The token of the session that wrote it; empty in records from before tokens.
    gallivant_str incarnation;
    // The ownership sequence; 0 in records from before sequences.
    uint64_t seq;
    // When the present observation began, wall clock in ms since 1970.
    uint64_t since_ms;
    // When the record was written or last confirmed, wall clock in ms since 1970.
    uint64_t written_at_ms;
    // How often the observation has changed.
    uint64_t transitions;
    // Whether its writer added the extension object: 1 if so, 0 if not; what follows is then 0 and none.
    int32_t has_extension;
    // By what it is known: GALLIVANT_EVIDENCE.
    int32_t evidence;
    // The process id of the harness, as its own namespace counts; 0 where no process was attached. See
    // `gallivant_harness_state_snapshot_harness_process`.
    uint32_t harness_pid;
    // The word for the evidence as it stands, also one that this release does not know.
    gallivant_str evidence_word;
    // When what stands here happened, in ms since boot, the machine's sleep counted.
    gallivant_optional_u64 event_ms;
    // How many events came too late to be written.
    uint64_t late;
    // How many children run.
    uint64_t children;
} gallivant_harness_state_record;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_RECORD_INIT \
    { sizeof(gallivant_harness_state_record), 0, 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
      { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
      { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, { 0, 0 }, 0, 0 }

/* --------------------------------------------------------------------------
 * Harness state: probes, which say whether the session behind a live record still lives.
 */

// The session lease: a session holds a lock on `.harness-state.lease` for its life, and death releases it. There is no
// pid that could be reused.
#define GALLIVANT_PROBE_LEASE 1

// The process in `process`, by pid, start time, boot, pid namespace and host.
#define GALLIVANT_PROBE_PROCESS 2

// The answer in `liveness`, whatever session it is.
#define GALLIVANT_PROBE_FIXED 3

// What `callback` says.
#define GALLIVANT_PROBE_CALLBACK 4

// Says whether the session that wrote this record lives: one of the GALLIVANT_LIVENESS constants; any other number is
// indeterminate. `record` and its strings are valid during the call. The reader from which the call comes is in use.
typedef int32_t (*gallivant_harness_state_probe_callback)(void *user_data,
                                                          const gallivant_harness_state_record *record);

// How to find out whether a session lives.
//
// A probe is asked at most once in a read, and only where its answer decides: about a live record that names a pty
// session. Only "dead" makes the state unknown; "alive", "indeterminate" and an answer that takes longer than the budget
// of the options change nothing.
typedef struct gallivant_harness_state_probe {
    // Set by `GALLIVANT_HARNESS_STATE_PROBE_INIT`.
    size_t struct_size;
    // One of the GALLIVANT_PROBE constants.
    int32_t kind;
    // For `GALLIVANT_PROBE_FIXED`: one of the GALLIVANT_LIVENESS constants.
    int32_t liveness;
    // For `GALLIVANT_PROBE_PROCESS`.
    const gallivant_process *process;
    // For `GALLIVANT_PROBE_CALLBACK`.
    gallivant_harness_state_probe_callback callback;
    // Handed to the callback; may be NULL.
    void *user_data;
} gallivant_harness_state_probe;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_PROBE_INIT \
    { sizeof(gallivant_harness_state_probe), 0, 0, NULL, NULL, NULL }

/* --------------------------------------------------------------------------
 * Harness state: reading one agent's record. No lock is taken and nothing is created.
 */

// Reads one agent's record.
//
// Threads: one at a time; `GALLIVANT_HANDLE_BUSY` otherwise. Open one reader for each thread. Free it with
// `gallivant_harness_state_reader_free`.
typedef struct gallivant_harness_state_reader gallivant_harness_state_reader;

// Opens a reader on an agent's directory or on the record's own path, which need not exist yet. Touches no file.
// `options` may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path.
int32_t gallivant_harness_state_reader_open(const char *path,
                                            size_t path_length,
                                            const gallivant_harness_state_options *options,
                                            gallivant_harness_state_reader **reader,
                                            gallivant_error **error);

// Reads the record and says what may be concluded now. What cannot be read is an answer, unknown, and no error.
//
// `probe` may be NULL: then a live record is believed until it is stale. The strings of `derived` are valid until the
// next `gallivant_harness_state_reader_read` with this reader, or until the reader is freed.
//
// After the first time it costs four system calls (open, stat, read, close), and memory only where the record has
// changed. A probe that is asked costs its own.
int32_t gallivant_harness_state_reader_read(gallivant_harness_state_reader *reader,
                                            const gallivant_harness_state_probe *probe,
                                            gallivant_harness_state_derived *derived,
                                            gallivant_error **error);

// Frees the reader, and ends the strings of its last answer. NULL is allowed.
void gallivant_harness_state_reader_free(gallivant_harness_state_reader *reader);

/* --------------------------------------------------------------------------
 * Harness state: a record as it was found at one moment.
 */

/* In the place of a probe's answer: no probe was asked. */
#define GALLIVANT_NO_PROBE (-1)

// What a reader found at one moment. Concluding from it again, with another clock or another probe's answer, reads
// nothing.
//
// Threads: one at a time; `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_harness_state_snapshot_free`.
typedef struct gallivant_harness_state_snapshot gallivant_harness_state_snapshot;

// Reads the record once, to look at it as it stands and to conclude from it later.
int32_t gallivant_harness_state_reader_snapshot(gallivant_harness_state_reader *reader,
                                                gallivant_harness_state_snapshot **snapshot,
                                                gallivant_error **error);

// The record as it stands; its strings are valid until the snapshot is freed.
int32_t gallivant_harness_state_snapshot_record(const gallivant_harness_state_snapshot *snapshot,
                                                gallivant_harness_state_record *record,
                                                gallivant_error **error);

// Why there is no record although something stands in its place: one line for people, valid until the snapshot is
// freed. NULL where nothing is wrong.
const char *gallivant_harness_state_snapshot_damage(const gallivant_harness_state_snapshot *snapshot);

// Whether a probe's answer makes a difference at `now_ms` (see `gallivant_harness_state_snapshot_derive`): 1 if it
// does, 0 if not.
int32_t gallivant_harness_state_snapshot_wants_probe(const gallivant_harness_state_snapshot *snapshot,
                                                     uint64_t now_ms,
                                                     int32_t *wants,
                                                     gallivant_error **error);

// What may be concluded at `now_ms`: `GALLIVANT_DEFAULT` for the instant at which the snapshot was taken, else the
// wall clock in ms since 1970, as if nobody had set it since and the machine had not slept. With the reader's options and a probe's answer:
// one of the GALLIVANT_LIVENESS constants, or `GALLIVANT_NO_PROBE`.
//
// The strings of `derived` are valid until the next `gallivant_harness_state_snapshot_derive` with this snapshot, or
// until it is freed.
int32_t gallivant_harness_state_snapshot_derive(gallivant_harness_state_snapshot *snapshot,
                                                uint64_t now_ms,
                                                int32_t liveness,
                                                gallivant_harness_state_derived *derived,
                                                gallivant_error **error);

// Why that may be concluded, with `now_ms` and `liveness` as in `gallivant_harness_state_snapshot_derive`: which rows of the
// reading table were tried, each by its clause in docs/spec/harness-state.md, and which one decided.
//
// `json` becomes one JSON object with `state` `reason` `clause` `validUntilMs` `clock` `ageMs` `rows` `record` `damage`, in
// which the record's token is left out; `lines` some lines for people, whose wording may change. Each may be NULL where it
// is not wanted.
int32_t gallivant_harness_state_snapshot_explain(const gallivant_harness_state_snapshot *snapshot,
                                                 uint64_t now_ms,
                                                 int32_t liveness,
                                                 gallivant_text **json,
                                                 gallivant_text **lines,
                                                 gallivant_error **error);

// The process that the record names as the harness, for `GALLIVANT_PROBE_PROCESS`; NULL, with success, where it names none.
int32_t gallivant_harness_state_snapshot_harness_process(const gallivant_harness_state_snapshot *snapshot,
                                                         gallivant_process **process,
                                                         gallivant_error **error);

// Frees the snapshot and ends its strings. NULL is allowed.
void gallivant_harness_state_snapshot_free(gallivant_harness_state_snapshot *snapshot);

/* --------------------------------------------------------------------------
 * Harness state: every record below a directory, in one call and into memory of the caller.
 */

// Every record below a directory, read again and again. What stands unchanged is asked for by `stat` alone.
//
// Threads: any number at once; one reads at a time, and the others wait for it. Free it with
// `gallivant_harness_state_fleet_free`.
typedef struct gallivant_harness_state_fleet gallivant_harness_state_fleet;

// How far a fleet is looked for. Wherever bounds are asked for, NULL stands for the defaults.
typedef struct gallivant_harness_state_fleet_options {
    // Set by `GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT`.
    size_t struct_size;
    // How many levels of directories below the root are entered; 0 looks at the root alone. Default 8, at most 128.
    uint64_t max_depth;
    // How many records are read, at least 1. Default 100,000.
    uint64_t max_records;
    // How many directories are entered, whether they hold a record or not, at least 1. Default 200,000.
    uint64_t max_directories;
} gallivant_harness_state_fleet_options;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT \
    { sizeof(gallivant_harness_state_fleet_options), GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT }

// One agent of a fleet, and what may be concluded of it.
typedef struct gallivant_harness_state_seat {
    // Set by `GALLIVANT_HARNESS_STATE_SEAT_INIT`, and by the library in an array that it fills.
    size_t struct_size;
    // The agent's directory by its path below the root; `.` for the root itself, and for a watched record.
    gallivant_str path;
    // What may be concluded. It is the last member, so that it may grow.
    gallivant_harness_state_derived derived;
} gallivant_harness_state_seat;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_SEAT_INIT \
    { sizeof(gallivant_harness_state_seat), { NULL, 0 }, GALLIVANT_HARNESS_STATE_DERIVED_INIT }

// Memory of the caller into which a fleet is read. It may be used again for the next read, and is the caller's to free.
typedef struct gallivant_harness_state_fleet_buffer {
    // Set by `GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT`.
    size_t struct_size;
    // How large one seat is for this program. Set by the macro.
    size_t seat_size;
    // An array of so many seats, whatever they hold; NULL for none.
    gallivant_harness_state_seat *seats;
    // How many seats there is room for.
    size_t capacity;
    // Room for the texts of the seats; NULL for none.
    char *texts;
    // How many bytes.
    size_t texts_capacity;
} gallivant_harness_state_fleet_buffer;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT \
    { sizeof(gallivant_harness_state_fleet_buffer), sizeof(gallivant_harness_state_seat), NULL, 0, NULL, 0 }

// What a walk did not look at. Nothing of it hides anything else.
typedef struct gallivant_harness_state_left_out {
    // Directories below the last level that is entered.
    uint64_t too_deep;
    // Directories that were known and not entered when the number of records or of directories was reached.
    uint64_t too_many;
    // Directories that could not be listed or searched. Where the record in one can be read, it is.
    uint64_t unreadable;
    // Directories whose names are not UTF-8.
    uint64_t unnameable;
    // The first of the unreadable directories and why, in one line for people; no string where there is none.
    gallivant_str example;
} gallivant_harness_state_left_out;

// What a read of a fleet says besides its seats.
typedef struct gallivant_harness_state_fleet_summary {
    // Set by `GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT`.
    size_t struct_size;
    // How many records there are.
    size_t count;
    // How many of them are in the buffer: the first ones, each whole.
    size_t filled;
    // How many bytes the texts of all of them take, the example of `left_out` included.
    size_t texts_needed;
    // The instant at which the first of all the answers changes by time alone, wall clock in ms since 1970; absent where
    // time alone changes none. Of those too that are not in the buffer.
    gallivant_optional_u64 valid_until_ms;
    // What was not looked at.
    gallivant_harness_state_left_out left_out;
} gallivant_harness_state_fleet_summary;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT \
    { sizeof(gallivant_harness_state_fleet_summary), 0, 0, 0, { 0, 0 }, { 0, 0, 0, 0, { NULL, 0 } } }

// Opens a fleet below a directory, which need not exist yet. Touches no file. `bounds` and `options` may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path.
int32_t gallivant_harness_state_fleet_open(const char *root,
                                           size_t root_length,
                                           const gallivant_harness_state_fleet_options *bounds,
                                           const gallivant_harness_state_options *options,
                                           gallivant_harness_state_fleet **fleet,
                                           gallivant_error **error);

// Reads every record below the root, in the order of their paths, into `buffer`, which may hold any number of them or none.
// A record that cannot be read is a seat that is unknown; a root that does not exist has none.
//
// `summary` says how many there are and how much room they take. While `filled` is less than `count`, or `texts_needed` more
// than the buffer's, something did not fit: grow the buffer and call again, which asks the disk by `stat` only. Nothing is
// ever cut off inside a seat. Strings point into the buffer's texts and end in a zero byte; nothing is allocated for a
// record that stands unchanged.
//
// `probe` may be NULL, or be of the kind `GALLIVANT_PROBE_LEASE`, which asks the lease of each seat: some ten system calls
// for each live record. `buffer` may be NULL where only the summary is wanted.
//
// In a forked child the first read walks the whole tree again. In a fleet of more than 1,024 agents a record below an
// agent's own directory, where no directory was before, is found by the eighth read at the latest.
int32_t gallivant_harness_state_fleet_read(gallivant_harness_state_fleet *fleet,
                                           const gallivant_harness_state_probe *probe,
                                           const gallivant_harness_state_fleet_buffer *buffer,
                                           gallivant_harness_state_fleet_summary *summary,
                                           gallivant_error **error);

// Forgets what was found, so that the next read walks the whole tree again.
int32_t gallivant_harness_state_fleet_forget(gallivant_harness_state_fleet *fleet,
                                             gallivant_error **error);

// Frees the fleet. What was read into buffers stays. NULL is allowed.
void gallivant_harness_state_fleet_free(gallivant_harness_state_fleet *fleet);

/* --------------------------------------------------------------------------
 * Harness state: being told of changes of one record or of a fleet, as soon as they are there.
 *
 * There is no thread. A watch sleeps in the caller's own wait, or in an event loop that polls its descriptor.
 */

/* In the place of a timeout: wait without end. */
#define GALLIVANT_FOREVER UINT64_MAX

// The system notifies; nothing is looked at while nothing changes.
#define GALLIVANT_NOTICING_NOTIFIED 1

// By looking at an interval, because the platform or a file system does not notify.
#define GALLIVANT_NOTICING_POLLED_UNSUPPORTED 2

// By looking at an interval, because a limit of the system is reached (Linux: `fs.inotify.max_user_watches` and
// `max_user_instances`). What is watched already is still notified.
#define GALLIVANT_NOTICING_POLLED_LIMIT 3

// Tells what changes of one record or of a fleet.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise; only `gallivant_harness_state_watch_wake` may be called by any
// thread at any time. Free it with `gallivant_harness_state_watch_free`, which closes all that it opened.
typedef struct gallivant_harness_state_watch gallivant_harness_state_watch;

// How a watch notices and tells. Wherever it is asked for, NULL stands for the defaults.
typedef struct gallivant_harness_state_watch_options {
    // Set by `GALLIVANT_HARNESS_STATE_WATCH_OPTIONS_INIT`.
    size_t struct_size;
    // How often it looks where the system does not notify, in ms. Default 1 s, at least 10 ms.
    uint64_t poll_interval_ms;
    // How often a probe is asked whose answer nothing announces, in ms. Default 1 s, at least 10 ms.
    uint64_t probe_interval_ms;
    // How long it waits after the first sign of a change for more of them, so that a burst is told once, in ms. Default
    // 5 ms.
    uint64_t settle_ms;
} gallivant_harness_state_watch_options;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_WATCH_OPTIONS_INIT \
    { sizeof(gallivant_harness_state_watch_options), GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT }

// What has changed.
typedef struct gallivant_harness_state_change {
    // Set by `GALLIVANT_HARNESS_STATE_CHANGE_INIT`.
    size_t struct_size;
    // 1 where something is told; 0 where nothing is yet, and all else is then 0 and none.
    int32_t told;
    // How changes are noticed at the moment: GALLIVANT_NOTICING.
    int32_t noticing;
    // How many seats there are of which something else is to be concluded than was told last:
    // `gallivant_harness_state_watch_seat` lends them. It may be 0 where only the rest has changed.
    size_t count;
    // What a fleet's walk did not look at, as it is now.
    gallivant_harness_state_left_out left_out;
} gallivant_harness_state_change;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_CHANGE_INIT \
    { sizeof(gallivant_harness_state_change), 0, 0, 0, { 0, 0, 0, 0, { NULL, 0 } } }

// Watches one agent's record, by its directory or by the record's own path, which need not exist yet. `probe`, `watching`
// and `options` may be NULL.
//
// With a probe it also tells of the session's death. The system announces the release of a lease
// (`GALLIVANT_PROBE_LEASE`); any other probe is asked at each sign of a change and once in an interval. A callback and its
// `user_data` are used until the watch is freed, on whichever thread calls it.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path; `GALLIVANT_HARNESS_STATE_IO` where no
// descriptor to wait on can be had.
int32_t gallivant_harness_state_watch_record(const char *path,
                                             size_t path_length,
                                             const gallivant_harness_state_probe *probe,
                                             const gallivant_harness_state_watch_options *watching,
                                             const gallivant_harness_state_options *options,
                                             gallivant_harness_state_watch **watch,
                                             gallivant_error **error);

// Watches every record below a directory, which need not exist yet. `bounds`, `watching` and `options` may be NULL; `probe`
// may be NULL or of the kind `GALLIVANT_PROBE_LEASE`. Takes a kernel watch for each directory below the root: a root should
// hold agents and not their workspaces.
//
// Errors: as `gallivant_harness_state_watch_record`.
int32_t gallivant_harness_state_watch_fleet(const char *root,
                                            size_t root_length,
                                            const gallivant_harness_state_fleet_options *bounds,
                                            const gallivant_harness_state_probe *probe,
                                            const gallivant_harness_state_watch_options *watching,
                                            const gallivant_harness_state_options *options,
                                            gallivant_harness_state_watch **watch,
                                            gallivant_error **error);

// Waits for the next change, for at most `timeout_ms` (`GALLIVANT_FOREVER`: without end); nothing is told when the time is
// over. The first call tells what is there now, a fleet without records too. Signals do not end the wait.
//
// The seats of `change`, and its strings, are valid until the next `gallivant_harness_state_watch_next` or
// `gallivant_harness_state_watch_poll` with this watch, or until it is freed.
//
// Errors: `GALLIVANT_CANCELLED` after `gallivant_harness_state_watch_wake`; `GALLIVANT_HARNESS_STATE_INPUT` with reason
// `forked` in a forked child; `GALLIVANT_HARNESS_STATE_IO` where the system cannot wait. Nothing that changed is lost by an
// error: the next call tells it.
int32_t gallivant_harness_state_watch_next(gallivant_harness_state_watch *watch,
                                           uint64_t timeout_ms,
                                           gallivant_harness_state_change *change,
                                           gallivant_error **error);

// What has changed, without waiting: for event loops, when the descriptor is readable. Where nothing is told yet the
// descriptor is not readable any more, until it is time again. Otherwise as `gallivant_harness_state_watch_next`.
int32_t gallivant_harness_state_watch_poll(gallivant_harness_state_watch *watch,
                                           gallivant_harness_state_change *change,
                                           gallivant_error **error);

// One seat of the change that was told last, counted from 0 in the order of the paths. Where nothing stands there any more,
// nothing was observed.
//
// Errors: `GALLIVANT_INPUT` with reason `index` from `count` on.
int32_t gallivant_harness_state_watch_seat(gallivant_harness_state_watch *watch,
                                           size_t index,
                                           gallivant_harness_state_seat *seat,
                                           gallivant_error **error);

// A descriptor for `poll`, `select`, `epoll` and event loops that becomes readable when
// `gallivant_harness_state_watch_poll` should be called: a change, an answer that time alone changes, a probe that is due, a
// clock that was set, a wake. Call it once before the first wait. The descriptor is the watch's own: only poll it.
//
// -1 where there is none: on platforms without such descriptors, where only `gallivant_harness_state_watch_next` waits; in a
// forked child; while another call uses the watch; and where `watch` is NULL.
int32_t gallivant_harness_state_watch_descriptor(const gallivant_harness_state_watch *watch);

// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. From any thread. Does nothing where `watch` is
// NULL.
void gallivant_harness_state_watch_wake(const gallivant_harness_state_watch *watch);

// Frees the watch, closes its descriptors and ends the strings of its last change. NULL is allowed.
void gallivant_harness_state_watch_free(gallivant_harness_state_watch *watch);

/* --------------------------------------------------------------------------
 * Harness state: who writes, and what is seen.
 */

// Who claims, writes or starts a session.
typedef struct gallivant_harness_state_identity {
    // Set by `GALLIVANT_HARNESS_STATE_IDENTITY_INIT`.
    size_t struct_size;
    // The agent's name.
    gallivant_str agent;
    // The harness's name, e.g. `claude` or `codex`.
    gallivant_str harness;
    // The session's token, shared by all its writers; never empty. No string only where a session is started: then one
    // is minted.
    gallivant_str token;
    // The pty session in which the harness runs; no string where there is none, and then no live state can be
    // written. The empty string counts as one. A claim does not look at it.
    gallivant_str pty_session;
} gallivant_harness_state_identity;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_IDENTITY_INIT \
    { sizeof(gallivant_harness_state_identity), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

// What a writer sees. The six values are compared together when it is decided whether anything changed.
typedef struct gallivant_harness_state_observation {
    // Set by `GALLIVANT_HARNESS_STATE_OBSERVATION_INIT`.
    size_t struct_size;
    // What the harness is doing: GALLIVANT_STATE. The macro leaves it unknown, which cannot be written.
    int32_t state;
    // Whom it waits for: GALLIVANT_BLOCKED_ON. The macro says nobody. Unknown is accepted.
    int32_t blocked_on;
    // Whether text waits in its input line: GALLIVANT_INPUT_BUFFER. The macro says unknown.
    int32_t input_buffer;
    // What a person is asked for: GALLIVANT_ASK. The macro says nothing. Needs a person that it waits for.
    int32_t ask;
    // Why, in the writer's words. Empty differs from no string.
    gallivant_str reason;
    // How it ended, e.g. `exit 0` or `signal 9`. Accepted beside a live state.
    gallivant_str exit;
} gallivant_harness_state_observation;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_OBSERVATION_INIT \
    { sizeof(gallivant_harness_state_observation), GALLIVANT_STATE_UNKNOWN, GALLIVANT_BLOCKED_ON_NONE, \
      GALLIVANT_INPUT_BUFFER_UNKNOWN, GALLIVANT_ASK_NONE, { NULL, 0 }, { NULL, 0 } }

/* --------------------------------------------------------------------------
 * Harness state: what a write did.
 */

// What an observation or a heartbeat did. A refusal is an answer and not an error, and it is not a success.
typedef struct gallivant_harness_state_report {
    // Set by `GALLIVANT_HARNESS_STATE_REPORT_INIT`.
    size_t struct_size;
    // One of the GALLIVANT_OUTCOME constants.
    int32_t outcome;
    // Why an observation was refused: GALLIVANT_REFUSAL; 0 where it was not.
    int32_t refusal;
    // Why a heartbeat was skipped: GALLIVANT_SKIP; 0 where it was not.
    int32_t skip;
    // The record stands, but its sequence floor could not be raised: the status that says why; 0 otherwise.
    int32_t floor_failure;
    // The `errno` to it; 0 where there is none.
    int32_t floor_failure_os_error;
} gallivant_harness_state_report;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_REPORT_INIT \
    { sizeof(gallivant_harness_state_report), 0, 0, 0, 0, 0 }

/* --------------------------------------------------------------------------
 * Harness state: taking a seat.
 */

// Room for every minted token and its zero byte.
#define GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY 128

// A claim that has landed. Record and floor are on disk and durable, except where it says otherwise. Never changes.
//
// Threads: any number at once. Free it with `gallivant_harness_state_claim_result_free`.
typedef struct gallivant_harness_state_claim_result gallivant_harness_state_claim_result;

// Mints a session token, which is unique. Writes it into `buffer` with a zero byte behind it;
// `GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY` bytes always suffice. `host` may be NULL; `length` may be NULL.
//
// Errors: `GALLIVANT_INPUT` with reason `buffer` when the token does not fit.
int32_t gallivant_harness_state_mint_token(const gallivant_host *host,
                                           char *buffer,
                                           size_t capacity,
                                           size_t *length,
                                           gallivant_error **error);

// Takes the seat, whatever stands there: live records, unreadable bytes, foreign schemas. Creates the directory where
// it is missing. Not idempotent: the same token claiming twice gets two sequences. `options` may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_EMPTY_TOKEN`, `_SEQUENCE_EXHAUSTED`, `_BUSY`, `_LOCKING`, `_IO`. Nothing was written,
// except that after a failed sync of the directory the placeholder may stand.
int32_t gallivant_harness_state_claim(const char *directory,
                                      size_t directory_length,
                                      const gallivant_harness_state_identity *identity,
                                      const gallivant_harness_state_options *options,
                                      gallivant_harness_state_claim_result **claim,
                                      gallivant_error **error);

// Takes the seat for a session that no wrapper launched, if it is free for one: nothing stands there; the record's token
// is empty or carries a wrapperless prefix; an ending with an exit; a stale record. Where it is not free, `claim` becomes
// NULL, with success. Eligibility and claim are one step under the lock. `options` may be NULL.
//
// Errors: as `gallivant_harness_state_claim`, and `GALLIVANT_HARNESS_STATE_BAD_TOKEN` when the claimer's token carries no
// wrapperless prefix.
int32_t gallivant_harness_state_claim_wrapperless(const char *directory,
                                                  size_t directory_length,
                                                  const gallivant_harness_state_identity *identity,
                                                  const gallivant_harness_state_options *options,
                                                  gallivant_harness_state_claim_result **claim,
                                                  gallivant_error **error);

// The session's ownership sequence, which its writers adopt; 0 where `claim` is NULL, and never otherwise.
uint64_t gallivant_harness_state_claim_result_sequence(const gallivant_harness_state_claim_result *claim);

// Why the floor could not be raised, lent until the claim is freed; NULL where it was. The claim stands; the record alone
// carries its sequence.
const gallivant_error *gallivant_harness_state_claim_result_floor_failure(const gallivant_harness_state_claim_result *claim);

// What was wrong with something that stood in the floor's place and was no number: one line for people, valid until
// the claim is freed; NULL where nothing was.
const char *gallivant_harness_state_claim_result_floor_damage(const gallivant_harness_state_claim_result *claim);

// Why the sibling record `harness-context` could not be removed, lent until the claim is freed; NULL where it was, or was
// not there. The new session may be shown the old one's context.
const gallivant_error *gallivant_harness_state_claim_result_context_failure(const gallivant_harness_state_claim_result *claim);

// How many abandoned staged files the claim removed.
uint32_t gallivant_harness_state_claim_result_swept(const gallivant_harness_state_claim_result *claim);

// Frees the claim's result, which leaves the seat as it is. NULL is allowed.
void gallivant_harness_state_claim_result_free(gallivant_harness_state_claim_result *claim);

/* --------------------------------------------------------------------------
 * Harness state: writing what is seen.
 *
 * Every call that writes takes the lock, reads again, decides by the rules, and publishes in one step for every reader.
 */

// The child starts.
#define GALLIVANT_CHILD_STARTED 1

// The child does something.
#define GALLIVANT_CHILD_WORKING 2

// The child is done.
#define GALLIVANT_CHILD_STOPPED 3

// One session's voice in one agent's directory.
//
// Threads: any number at once. Free it with `gallivant_harness_state_writer_free`.
typedef struct gallivant_harness_state_writer gallivant_harness_state_writer;

// Opens a writer on an agent's directory, which need not exist yet. Touches no file. `options` may be NULL.
//
// `sequence` is the one that a claim answered, for a writer that adopts the claim. NULL makes a token-only writer, which
// writes where nobody has claimed, or where its own token stands.
//
// Errors: `GALLIVANT_HARNESS_STATE_EMPTY_TOKEN`.
int32_t gallivant_harness_state_writer_open(const char *directory,
                                            size_t directory_length,
                                            const gallivant_harness_state_identity *identity,
                                            const uint64_t *sequence,
                                            const gallivant_harness_state_options *options,
                                            gallivant_harness_state_writer **writer,
                                            gallivant_error **error);

// Records what is seen. When the outcome is landed, every reader sees it; an ending with an exit is then also durable,
// anything else may be lost with the machine's power. `report` may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_UNKNOWN_STATE`, `_UNFENCED`, `_UNKNOWN_ASK`, `_ASK_WITHOUT_HUMAN`, `_RESERVED_REASON`
// before anything is touched; `_BUSY`, `_LOCKING`, `_IO` with nothing written, except that after a failed sync the
// record may stand.
int32_t gallivant_harness_state_writer_observe(gallivant_harness_state_writer *writer,
                                               const gallivant_harness_state_observation *observation,
                                               gallivant_harness_state_report *report,
                                               gallivant_error **error);

// As `gallivant_harness_state_writer_observe`, unless the session's own ending with an exit stands: then nothing is
// written and the observation is refused as `GALLIVANT_REFUSAL_TERMINAL`.
int32_t gallivant_harness_state_writer_observe_unless_ended(gallivant_harness_state_writer *writer,
                                                            const gallivant_harness_state_observation *observation,
                                                            gallivant_harness_state_report *report,
                                                            gallivant_error **error);

// Records the end, with this exit, e.g. `exit 0` or `signal 9`; NULL for none. A repeat coalesces, another exit
// replaces. Durable when it lands with an exit. A plain `gallivant_harness_state_writer_observe` may follow and lands.
// `report` may be NULL.
//
// Errors: as `gallivant_harness_state_writer_observe`.
int32_t gallivant_harness_state_writer_ended(gallivant_harness_state_writer *writer,
                                             const char *exit,
                                             size_t exit_length,
                                             gallivant_harness_state_report *report,
                                             gallivant_error **error);

// Notes what became of a child of the session's, a subagent: one of the GALLIVANT_CHILD constants. The turn stays as it is;
// a reader that finds it over while children run answers `active` with reason `children`. Not synced. Where the session
// has observed nothing or has ended, and with the extension switched off, there is nothing to note. `report` may be NULL.
//
// Errors: as `gallivant_harness_state_writer_observe`; `GALLIVANT_HARNESS_STATE_INPUT` with reason `child` for an id that
// is empty or longer than 128 bytes.
int32_t gallivant_harness_state_writer_note_child(gallivant_harness_state_writer *writer,
                                                  const char *id,
                                                  size_t id_length,
                                                  int32_t step,
                                                  gallivant_harness_state_report *report,
                                                  gallivant_error **error);

// Makes the next landed observation a transition even if it says what stands, because what stands was interrupted. Touches
// no file.
int32_t gallivant_harness_state_writer_interrupt(gallivant_harness_state_writer *writer,
                                                 gallivant_error **error);

// Renews the stamp of the session's live record, whoever of the session wrote it, and keeps everything else as it
// stood. Where there is nothing to renew, it is skipped. Not synced. `report` may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_BUSY`, `_LOCKING`, `_IO` with nothing written.
int32_t gallivant_harness_state_writer_heartbeat(gallivant_harness_state_writer *writer,
                                                 gallivant_harness_state_report *report,
                                                 gallivant_error **error);

// The sequence that was adopted or resolved; absent before a token-only writer's first accepted call.
int32_t gallivant_harness_state_writer_sequence(const gallivant_harness_state_writer *writer,
                                                gallivant_optional_u64 *sequence,
                                                gallivant_error **error);

// Frees the writer, which writes nothing. NULL is allowed.
void gallivant_harness_state_writer_free(gallivant_harness_state_writer *writer);

/* --------------------------------------------------------------------------
 * Harness state: doing something only while the session owns the seat.
 *
 * Both forms hold the record's lock. Keep it for as short a time as possible: every other writer of the agent waits, and
 * hooks wait only 250 ms.
 */

// Holds the record's lock while the session owns the seat: no claim and no write lands until it is freed.
//
// Threads: any number at once. Free it with `gallivant_harness_state_ownership_free`, from any thread. In a forked child it
// holds nothing.
typedef struct gallivant_harness_state_ownership gallivant_harness_state_ownership;

// What is done under the lock. It must not write through any writer of the same agent, which would wait for the lock that
// this thread holds.
typedef void (*gallivant_harness_state_action)(void *user_data);

// Runs `action` under the lock while schema, token and sequence of the record are this session's, and sets `ran` to 1;
// where they are not, does not run it and sets `ran` to 0. `user_data` is handed to the action and may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_BUSY`, `_LOCKING`, `_IO`; the action has not run.
int32_t gallivant_harness_state_writer_with_current_ownership(gallivant_harness_state_writer *writer,
                                                              gallivant_harness_state_action action,
                                                              void *user_data,
                                                              int32_t *ran,
                                                              gallivant_error **error);

// Takes the lock while schema, token and sequence of the record are this session's; where they are not, `ownership`
// becomes NULL, with success.
//
// Errors: `GALLIVANT_HARNESS_STATE_BUSY`, `_LOCKING`, `_IO`.
int32_t gallivant_harness_state_writer_lock_current_ownership(gallivant_harness_state_writer *writer,
                                                              gallivant_harness_state_ownership **ownership,
                                                              gallivant_error **error);

// The sequence that was found to be the session's.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked` when it came through a fork: it holds nothing here.
int32_t gallivant_harness_state_ownership_sequence(const gallivant_harness_state_ownership *ownership,
                                                   uint64_t *sequence,
                                                   gallivant_error **error);

// Releases the lock. NULL is allowed. In a forked child it does nothing to the parent's lock.
void gallivant_harness_state_ownership_free(gallivant_harness_state_ownership *ownership);

/* --------------------------------------------------------------------------
 * Harness state: handing a session to its siblings through the environment.
 *
 * The variables are `GALLIVANT_AGENT_DIR`, `GALLIVANT_AGENT`, `GALLIVANT_HARNESS`, `GALLIVANT_SESSION_TOKEN`,
 * `GALLIVANT_SESSION_SEQ` and `GALLIVANT_PTY_SESSION`.
 */

// A session as a claimer hands it to its siblings. Never changes.
//
// Threads: any number at once. Free it with `gallivant_harness_state_environment_free`.
typedef struct gallivant_harness_state_environment gallivant_harness_state_environment;

// The environment of a session by its parts. `sequence` may be NULL for a token-only session.
//
// Errors: `GALLIVANT_INPUT` with reason `environment` when a value holds a zero byte, which no environment can.
int32_t gallivant_harness_state_environment_new(const char *directory,
                                                size_t directory_length,
                                                const gallivant_harness_state_identity *identity,
                                                const uint64_t *sequence,
                                                gallivant_harness_state_environment **environment,
                                                gallivant_error **error);

// Reads the session from an environment as `environ` and `execve` have it: strings `NAME=value`, NULL at the end. Where
// directory, agent, harness or token is missing or empty there is no session to speak for, and `environment` becomes
// NULL, with success.
//
// Errors: `GALLIVANT_INPUT` with reason `utf-8`; `GALLIVANT_HARNESS_STATE_INPUT` with reason `environment` when the
// sequence is no decimal number of 64 bits.
int32_t gallivant_harness_state_environment_from(const char *const *entries,
                                                 gallivant_harness_state_environment **environment,
                                                 gallivant_error **error);

// The variables to set, as strings `NAME=value` with NULL at the end, for `putenv` or `execve`. Valid until the environment
// is freed; NULL where `environment` is NULL.
const char *const *gallivant_harness_state_environment_entries(const gallivant_harness_state_environment *environment);

// The names of all variables, with NULL at the end, for programs that clear them before they start something of their
// own.
const char *const *gallivant_harness_state_environment_names(void);

// The agent's directory; valid until the environment is freed.
gallivant_str gallivant_harness_state_environment_directory(const gallivant_harness_state_environment *environment);

// Who writes. The strings are valid until the environment is freed.
int32_t gallivant_harness_state_environment_identity(const gallivant_harness_state_environment *environment,
                                                     gallivant_harness_state_identity *identity,
                                                     gallivant_error **error);

// The claimed sequence; absent for a token-only session.
int32_t gallivant_harness_state_environment_sequence(const gallivant_harness_state_environment *environment,
                                                     gallivant_optional_u64 *sequence,
                                                     gallivant_error **error);

// Opens a writer for the session that an environment describes. Touches no file. `options` may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_EMPTY_TOKEN`.
int32_t gallivant_harness_state_environment_open_writer(const gallivant_harness_state_environment *environment,
                                                        const gallivant_harness_state_options *options,
                                                        gallivant_harness_state_writer **writer,
                                                        gallivant_error **error);

// Frees the environment and ends its strings. NULL is allowed.
void gallivant_harness_state_environment_free(gallivant_harness_state_environment *environment);

/* --------------------------------------------------------------------------
 * Harness state: what a wrapper needs in one object, which mints, claims, leases, hands over, beats and ends.
 *
 * A session has no thread of its own; its caller drives it.
 */

// Nothing was due.
#define GALLIVANT_TICK_NOT_DUE 1

// The stamp was renewed.
#define GALLIVANT_TICK_RENEWED 2

// There was nothing of this session's to renew.
#define GALLIVANT_TICK_SKIPPED 3

// The attached harness process is provably gone, so nothing was renewed: end the session.
#define GALLIVANT_TICK_HARNESS_GONE 4

// A claimed session, alive for as long as its handle.
//
// Threads: any number at once. Free it with `gallivant_harness_state_session_free`.
typedef struct gallivant_harness_state_session gallivant_harness_state_session;

// What `gallivant_harness_state_session_heartbeat_if_due` did.
typedef struct gallivant_harness_state_tick {
    // Set by `GALLIVANT_HARNESS_STATE_TICK_INIT`.
    size_t struct_size;
    // One of the GALLIVANT_TICK constants.
    int32_t kind;
    // Why it was skipped: GALLIVANT_SKIP; 0 where it was not.
    int32_t skip;
    // For `GALLIVANT_TICK_NOT_DUE`: when the next heartbeat is due, wall clock in ms since 1970; else 0.
    uint64_t due_ms;
} gallivant_harness_state_tick;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_TICK_INIT { sizeof(gallivant_harness_state_tick), 0, 0, 0 }

// Claims the seat, with a minted token unless the identity has one, and takes the lease. Once it has returned, claim and
// floor are durable, and the lease is held if `gallivant_harness_state_session_holds_lease` says so. `options` may be NULL.
//
// Errors: as `gallivant_harness_state_claim`.
int32_t gallivant_harness_state_session_start(const char *directory,
                                              size_t directory_length,
                                              const gallivant_harness_state_identity *identity,
                                              const gallivant_harness_state_options *options,
                                              gallivant_harness_state_session **session,
                                              gallivant_error **error);

// The claim with which the session started, and what it could not do.
int32_t gallivant_harness_state_session_claim(const gallivant_harness_state_session *session,
                                              gallivant_harness_state_claim_result **claim,
                                              gallivant_error **error);

// The session's writer, which has adopted the claim. It lives on when the session is freed, without the lease.
int32_t gallivant_harness_state_session_writer(const gallivant_harness_state_session *session,
                                               gallivant_harness_state_writer **writer,
                                               gallivant_error **error);

// What to hand to the harness and its hooks.
//
// Errors: `GALLIVANT_INPUT` with reason `environment` when a value holds a zero byte, which no environment can.
int32_t gallivant_harness_state_session_environment(const gallivant_harness_state_session *session,
                                                    gallivant_harness_state_environment **environment,
                                                    gallivant_error **error);

// Names the harness process that was started for this session, and records `ready` if nothing has been observed since the
// claim and the session names a pty session. From then on no heartbeat is made for a dead harness. `process` receives
// what names the process and may be NULL.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `no-such-process` when the pid runs no process now; as
// `gallivant_harness_state_writer_observe`.
int32_t gallivant_harness_state_session_attach(gallivant_harness_state_session *session,
                                               uint32_t pid,
                                               gallivant_process **process,
                                               gallivant_error **error);

// The process that was attached; NULL, with success, where none was.
int32_t gallivant_harness_state_session_harness_process(const gallivant_harness_state_session *session,
                                                        gallivant_process **process,
                                                        gallivant_error **error);

// Renews the stamp when the refresh interval has passed since the session's last stamp, whoever of it wrote it. Call it as
// often as is convenient, once a second, say: between two due times it writes nothing, and looks only whether the attached
// harness still runs and whether another session has claimed. It also asks again for a lease that could not be had.
//
// Once another session has claimed the seat it gives the lease up and answers `GALLIVANT_TICK_SKIPPED` for good, with
// `GALLIVANT_SKIP_SUPERSEDED` (`GALLIVANT_SKIP_FOREIGN_TOKEN` where only the record tells): then end the harness, because
// nothing that it does is seen any more. `tick` may be NULL.
//
// Errors: as `gallivant_harness_state_writer_heartbeat`; `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked` in a forked
// child.
int32_t gallivant_harness_state_session_heartbeat_if_due(gallivant_harness_state_session *session,
                                                         gallivant_harness_state_tick *tick,
                                                         gallivant_error **error);

// Whether the session holds its lease: 1 if it does, 0 if not. Not while a superseded session that still lives holds it.
int32_t gallivant_harness_state_session_holds_lease(const gallivant_harness_state_session *session,
                                                    int32_t *holds,
                                                    gallivant_error **error);

// Ends the session with this exit, e.g. `exit 0` or `signal 9`, or NULL for none, and releases the lease. Durable when
// it lands with an exit. Afterwards no heartbeat does anything. The session's writers can still observe, and a plain
// `gallivant_harness_state_writer_observe` lands over the ending; what does not know better than the wrapper uses
// `gallivant_harness_state_writer_observe_unless_ended`. `report` may be NULL.
//
// Errors: as `gallivant_harness_state_writer_ended`; the lease is then still held.
int32_t gallivant_harness_state_session_end(gallivant_harness_state_session *session,
                                            const char *exit,
                                            size_t exit_length,
                                            gallivant_harness_state_report *report,
                                            gallivant_error **error);

// Releases the lease and frees the session. NULL is allowed. Writes nothing, exactly as the death of the process does: a
// reader with a lease probe then says that the session is dead. To say how it ended, call
// `gallivant_harness_state_session_end` first.
void gallivant_harness_state_session_free(gallivant_harness_state_session *session);

// The word for a GALLIVANT_TICK constant, such as `renewed`; `invalid` for any other number.
const char *gallivant_tick_name(int32_t tick);

/* --------------------------------------------------------------------------
 * Harness state: one hook call, from a harness's payload to the record.
 */

// The event was an observation; the report is the writer's answer.
#define GALLIVANT_HOOK_OBSERVED 1

// The event is no observation.
#define GALLIVANT_HOOK_IGNORED 2

// The event could not be understood or not be written.
#define GALLIVANT_HOOK_FAILED 3

// How long a hook process lives at most, in ms.
#define GALLIVANT_HARNESS_STATE_HOOK_DEADLINE_MS 1000

// What one hook call did. Never changes.
//
// Threads: any number at once. Free it with `gallivant_harness_state_hook_report_free`.
typedef struct gallivant_harness_state_hook_report gallivant_harness_state_hook_report;

// Observes one event of a harness. `harness` is its name (`claude`, `codex`, `opencode`, `gemini`), `payload` what it
// handed over, byte for byte: standard input of a hook, the last argument of Codex's notify program, what a plugin of
// OpenCode made of an event (`docs/guides/opencode.md`). `environment` is the session to speak for; without one (NULL)
// nothing changes and the observation is refused as `GALLIVANT_REFUSAL_IDENTITY_MISSING`. `options` may be NULL.
//
// Waits for the lock for at most 250 ms, or the options' wait where that is shorter. What could not be done is in
// `report`, and in `.harness-state.log` beside the record. A hook exits 0 and prints nothing in any case.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `unknown-harness` when the name is no harness's.
int32_t gallivant_harness_state_observe_hook(const char *harness,
                                             size_t harness_length,
                                             const char *payload,
                                             size_t payload_length,
                                             const gallivant_harness_state_environment *environment,
                                             const gallivant_harness_state_options *options,
                                             gallivant_harness_state_hook_report **report,
                                             gallivant_error **error);

// Writes a line into the log of an agent's directory, if there is one: for what went wrong around a hook, before or after
// `gallivant_harness_state_observe_hook`. A log that cannot be written is given up in silence. `options` may be NULL.
int32_t gallivant_harness_state_note(const char *directory,
                                     size_t directory_length,
                                     const char *entry,
                                     size_t entry_length,
                                     const gallivant_harness_state_options *options,
                                     gallivant_error **error);

// What came of the event: one of the GALLIVANT_HOOK constants; 0 where `report` is NULL.
int32_t gallivant_harness_state_hook_report_kind(const gallivant_harness_state_hook_report *report);

// The same in one stable word: an outcome's, a refusal's, an ignored event's, or an error's name. Empty where `report` is
// NULL.
const char *gallivant_harness_state_hook_report_word(const gallivant_harness_state_hook_report *report);

// The event's name, as far as the payload could be read; NULL where it could not.
const char *gallivant_harness_state_hook_report_event(const gallivant_harness_state_hook_report *report);

// Whether something in the payload was no Unicode and was replaced: 1 if so, 0 if not.
int32_t gallivant_harness_state_hook_report_lossy(const gallivant_harness_state_hook_report *report);

// What the write did, where the event was an observation; all 0 where it was not.
int32_t gallivant_harness_state_hook_report_written(const gallivant_harness_state_hook_report *report,
                                                    gallivant_harness_state_report *written,
                                                    gallivant_error **error);

// What failed, lent until the report is freed; NULL where nothing did.
const gallivant_error *gallivant_harness_state_hook_report_error(const gallivant_harness_state_hook_report *report);

// Frees the report and ends its strings. NULL is allowed.
void gallivant_harness_state_hook_report_free(gallivant_harness_state_hook_report *report);

/* --------------------------------------------------------------------------
 * Redaction: secrets and recognised credentials out of texts, JSON values and streams.
 */

// A text that comes in pieces. What comes out does not depend on how it was cut.
//
// Threads: one at a time. Free it with `gallivant_redaction_stream_free`.
typedef struct gallivant_redaction_stream gallivant_redaction_stream;

// Redacts by one set of secrets, which it copies. Never changes.
//
// Threads: any number at once. Free it with `gallivant_redactor_free`.
typedef struct gallivant_redactor gallivant_redactor;

// Builds a redactor for these secrets and for recognised credentials (keys and tokens by their form, the values of
// `Authorization` and `Bearer`, the user-info of URLs, PEM private keys). The bytes of a secret need not be UTF-8;
// `secrets` may be NULL where `count` is 0. Every secret counts, whatever its length.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `secret` when one is empty or no string, by its position.
int32_t gallivant_redactor_new(const gallivant_str *secrets,
                               size_t count,
                               gallivant_redactor **redactor,
                               gallivant_error **error);

// As `gallivant_redactor_new`, for the secrets alone.
int32_t gallivant_redactor_new_without_patterns(const gallivant_str *secrets,
                                                size_t count,
                                                gallivant_redactor **redactor,
                                                gallivant_error **error);

// Redacts a text. The text as a whole is looked at: a secret that begins in one call and ends in the next is found by
// a stream only.
int32_t gallivant_redactor_text(const gallivant_redactor *redactor,
                                const char *text,
                                size_t text_length,
                                gallivant_text **redacted,
                                gallivant_error **error);

// Redacts the strings and keys of a JSON value, at any depth. Members keep their order and numbers their digits. Where two
// keys of an object become equal, the later one gets `#2`, `#3` and so on behind it.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `shape` for what is not one JSON value.
int32_t gallivant_redactor_json(const gallivant_redactor *redactor,
                                const char *json,
                                size_t json_length,
                                gallivant_text **redacted,
                                gallivant_error **error);

// The most bytes that a stream of this redactor holds back; 0 where `redactor` is NULL.
uint64_t gallivant_redactor_most_held_back(const gallivant_redactor *redactor);

// Frees the redactor; its streams go on. NULL is allowed.
void gallivant_redactor_free(gallivant_redactor *redactor);

// Begins a text that comes in pieces.
int32_t gallivant_redaction_stream_open(const gallivant_redactor *redactor,
                                        gallivant_redaction_stream **stream,
                                        gallivant_error **error);

// Takes a piece, of any bytes. What is certain by now waits to be read: read until nothing is left before the next piece,
// or it adds up in memory.
int32_t gallivant_redaction_stream_push(const gallivant_redaction_stream *stream,
                                        const char *piece,
                                        size_t piece_length,
                                        gallivant_error **error);

// The text ends here: the rest waits to be read. Call it on every way out, since what was pushed and not finished is
// lost with the stream. The next piece begins another text.
int32_t gallivant_redaction_stream_finish(const gallivant_redaction_stream *stream,
                                          gallivant_error **error);

// Moves what waits into `buffer`, at most `capacity` bytes and without a zero byte behind them; `length` says how many,
// 0 when nothing waits.
int32_t gallivant_redaction_stream_read(const gallivant_redaction_stream *stream,
                                        char *buffer,
                                        size_t capacity,
                                        size_t *length,
                                        gallivant_error **error);

// Frees the stream, and with it what was not finished or not read. NULL is allowed.
void gallivant_redaction_stream_free(gallivant_redaction_stream *stream);

/* --------------------------------------------------------------------------
 * Testing: a host with a manual clock, fixed chance, and a disk that fails where a test says.
 *
 * For the tests of programs that use the library: to see what a reader shows when a record goes stale, and what a crash
 * between any two operations on the disk leaves behind.
 */

// What a testing host is made of.
typedef struct gallivant_testing_host_options {
    // Set by `GALLIVANT_TESTING_HOST_OPTIONS_INIT`.
    size_t struct_size;
    // Where the wall clock stands, in ms since 1970, until it is set; absent for the machine's own clock.
    gallivant_optional_u64 wall_ms;
    // The random values to give, in turn, and then counting up from the last; NULL for the machine's own.
    const uint64_t *random;
    // How many.
    size_t random_count;
    // A list of faults as JSON, such as `[{"on": "rename", "nth": 1, "do": "error", "errno": "EIO"}]` or
    // `[{"at": 7, "do": "crash"}]`, where a crash kills this very process; no string for no faults.
    gallivant_str faults_json;
} gallivant_testing_host_options;

/* Initialises one, as input or output. */
#define GALLIVANT_TESTING_HOST_OPTIONS_INIT \
    { sizeof(gallivant_testing_host_options), { 0, 0 }, NULL, 0, { NULL, 0 } }

// Makes a host over the real disk and the real process table. `options` may be NULL: then it only counts operations.
//
// Errors: `GALLIVANT_INPUT` when the list of faults cannot be used.
int32_t gallivant_testing_host_new(const gallivant_testing_host_options *options,
                                   gallivant_host **host,
                                   gallivant_error **error);

// Puts the wall clock there, in ms since 1970, as an operator or a time server does. The clocks by which a record with the
// extension object is judged go on, so that it grows no older: what is to grow old is let by
// `gallivant_testing_host_advance_ms`. Does nothing where the clock is the machine's own.
int32_t gallivant_testing_host_set_wall_ms(const gallivant_host *host,
                                           uint64_t wall_ms,
                                           gallivant_error **error);

// Lets this many ms pass on all clocks, or, where `ms` is negative, sets the wall clock back. Does nothing where the
// clock is the machine's own.
int32_t gallivant_testing_host_advance_ms(const gallivant_host *host,
                                          int64_t ms,
                                          gallivant_error **error);

// Replaces the faults by this list, as in `faults_json` of the options. Operations keep their numbers.
//
// Errors: `GALLIVANT_INPUT` when the list cannot be used; the faults are then as they were.
int32_t gallivant_testing_host_set_faults(const gallivant_host *host,
                                          const char *faults_json,
                                          size_t faults_json_length,
                                          gallivant_error **error);

// The storage operations so far, a line each, such as `3 /agents/a: rename .x.tmp-1 -> x`.
int32_t gallivant_testing_host_operations(const gallivant_host *host,
                                          gallivant_text **operations,
                                          gallivant_error **error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GALLIVANT_H */
