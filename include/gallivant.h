/*
 * libgallivant: crash-safe on-disk state for coordinators of coding agents. The C interface.
 *
 * CONVENTIONS
 *
 * Names. Everything begins with `gallivant_` or `GALLIVANT_`, then the domain (`harness_state`, `idempotency`, `journal`,
 * `execution`) or a type that needs none, then the type, then the verb.
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
 * the caller. Bodies and answers are bytes of any kind: `const void *` and length, and out as `gallivant_bytes`. Names and
 * words that a function answers for a constant live for ever and are never NULL.
 *
 * Structs whose first member is `struct_size` have a macro `..._INIT`: begin with it, also for outputs. Later releases
 * append members; the size tells the library which ones the program knows.
 *
 * Ownership. A function whose output is `type **` makes a handle that the caller owns and frees with the one function
 * that the type's comment names. Handles may be freed in any order: what one needs of another stays alive. Freeing an
 * execution boundary ends its machines, whose handles still stand and are freed like all others. A handle that is lent, as
 * part of another, is a pointer to const and lives as long as that one. Memory comes from the library and goes back to it,
 * never through `free`.
 *
 * Threads. Each handle's comment says by how many threads it may be used at once. A handle for one thread at a time may
 * change threads between calls; a call that finds it in use answers `GALLIVANT_HANDLE_BUSY` and has done nothing.
 * Freeing a handle while a call uses it is a bug of the caller. The library has no threads of its own, but for those on
 * which `gallivant_execution_drive` runs the methods of a transport that does not keep its deadlines, and on which lanes run tasks.
 *
 * Callbacks run on the calling thread, inside the call, but for those methods and tasks. They return normally: no `longjmp`, no C++
 * exception, no thread cancellation may pass through the library.
 *
 * Forks. Handles may be used in a forked child, except that locks, leases and watches stay with the parent: a guard,
 * session or watch that came through a fork answers `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked`, and freeing it is
 * harmless. So do stores of claims and all that comes from them, which answer `GALLIVANT_IDEMPOTENCY_FORKED`, and replays,
 * machines and health stores, which answer `GALLIVANT_EXECUTION_INPUT` with reason `forked`. A child of a process that had several
 * threads may only call `exec` and the like, as always.
 *
 * The library prints nothing, installs no signal handler and keeps no configuration. Of the environment it reads by itself
 * `GALLIVANT_SUPERVISE`, where the supervisor of local runs is, `TMPDIR`, where a sandbox is proved, and `PATH`, where it starts
 * a program that has no path. A bug that would have been a crash of the library is answered as `GALLIVANT_INTERNAL`.
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

// The caller's own signal ended a wait: `gallivant_harness_state_watch_wake`, `gallivant_replay_wake`.
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

// A runtime without the shared intake service, or a capability of a foreign registry.
#define GALLIVANT_EXECUTION_DEPENDENCY 207

// A result is missing, incomplete, too large, foreign, contradictory or not publishable.
#define GALLIVANT_EXECUTION_RESULT 208

// A publication step is in progress.
#define GALLIVANT_EXECUTION_PUBLICATION_BUSY 209

// It is not proved that the verification sandbox is ready.
#define GALLIVANT_EXECUTION_VERIFICATION_SANDBOX 210

// A dispatch was refused before anything of it was sent, which is proved.
#define GALLIVANT_EXECUTION_DISPATCH_REFUSED 211

// It is not known whether the provider owns the operation.
#define GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN 212

// Another operation of the task has unknown acceptance.
#define GALLIVANT_EXECUTION_UNRESOLVED 213

// The current run is live.
#define GALLIVANT_EXECUTION_ACTIVE 214

// The input contradicts what the ledger holds.
#define GALLIVANT_EXECUTION_CONFLICT 215

// A stop forbids dispatch.
#define GALLIVANT_EXECUTION_FENCED 216

// The choice is not supported.
#define GALLIVANT_EXECUTION_CAPABILITY 217

// A receipt is missing, foreign, or does not match.
#define GALLIVANT_EXECUTION_PREPARATION 218

// The allowance or a limit of turns does not permit the dispatch.
#define GALLIVANT_EXECUTION_ALLOWANCE 219

// There is no fresh success of the health check.
#define GALLIVANT_EXECUTION_HEALTH 220

// The ledger belongs to another task, provider or account, or there is no session to continue.
#define GALLIVANT_EXECUTION_OWNERSHIP 221

// Somebody else held the task's lock until the wait ended.
#define GALLIVANT_EXECUTION_BUSY 222

// A call did not end in its time.
#define GALLIVANT_EXECUTION_DEADLINE 223

// The key belongs to a create with another body.
#define GALLIVANT_IDEMPOTENCY_KEY_REUSED 300

// A key that is no key.
#define GALLIVANT_IDEMPOTENCY_KEY_INVALID 301

// An operation or a scope that is none.
#define GALLIVANT_IDEMPOTENCY_SCOPE_INVALID 302

// The first create with the key still runs.
#define GALLIVANT_IDEMPOTENCY_IN_PROGRESS 303

// A reservation that somebody else has taken over, or that has ended.
#define GALLIVANT_IDEMPOTENCY_CLAIM_LOST 304

// An answer above the limit.
#define GALLIVANT_IDEMPOTENCY_ANSWER_TOO_LARGE 305

// The store cannot be opened, read or written.
#define GALLIVANT_IDEMPOTENCY_STORE_UNAVAILABLE 306

// A file system on which a store cannot exclude.
#define GALLIVANT_IDEMPOTENCY_STORE_UNSUPPORTED 307

// Bytes of the store make no sense.
#define GALLIVANT_IDEMPOTENCY_STORE_CORRUPT 308

// The store is of another version.
#define GALLIVANT_IDEMPOTENCY_STORE_VERSION 309

// Somebody else was writing until the deadline.
#define GALLIVANT_IDEMPOTENCY_BUSY 310

// A store that came through a fork.
#define GALLIVANT_IDEMPOTENCY_FORKED 311

// A malformed argument or an option out of range.
#define GALLIVANT_IDEMPOTENCY_INPUT 312

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
 * Strings and bytes.
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

// Bytes of any kind as pointer and length; no zero byte follows. Valid as long as their owner says, see there.
//
// A null `data` is no bytes at all, which is not the empty bytes.
typedef struct gallivant_bytes {
    // The first byte; null for no bytes.
    const uint8_t *data;
    // How many bytes.
    size_t length;
} gallivant_bytes;

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

// The file that an operator has to look at, where the error is about one; NULL where it is not.
const char *gallivant_error_file(const gallivant_error *error);

// The id of what somebody else made, where a create has lost to another one that has completed; no string where there is
// none.
gallivant_str gallivant_error_resource(const gallivant_error *error);

// The id of the run that the error is about; no string where it is about none.
gallivant_str gallivant_error_run_id(const gallivant_error *error);

// The id of the operation that the error is about; no string where it is about none.
gallivant_str gallivant_error_operation_id(const gallivant_error *error);

// Frees the error. NULL is allowed. Errors that belong to another result are pointers to const and are freed with it.
void gallivant_error_free(gallivant_error *error);

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

/* In the place of a timeout: wait without end. */
#define GALLIVANT_FOREVER UINT64_MAX

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
    // How many threads walk a tree of which nothing is known yet, the calling one among them. Default 1, at most 64. They
    // call nothing of the program's, and the others have ended once the call returns. A watch has no use for them.
    uint64_t threads;
} gallivant_harness_state_fleet_options;

/* Initialises one, as input or output. */
#define GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT \
    { sizeof(gallivant_harness_state_fleet_options), GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, \
      GALLIVANT_DEFAULT }

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

// Reads every record below a directory once and keeps nothing: for a program that reads and ends, or looks so seldom that
// most has changed. All arguments are as with `gallivant_harness_state_fleet_open` and `gallivant_harness_state_fleet_read`,
// and so is what it answers; but a call with a larger buffer reads the disk again, and may find more. Memory grows in blocks
// of some hundred records.
//
// Errors: `GALLIVANT_HARNESS_STATE_INPUT` with reason `path` for the empty path.
int32_t gallivant_harness_state_fleet_read_once(const char *root,
                                                size_t root_length,
                                                const gallivant_harness_state_fleet_options *bounds,
                                                const gallivant_harness_state_options *options,
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
 * The journal of a run: what its provider or its process said, each event once, in an order that never changes. The words.
 *
 * A run has a directory. A *journal* takes in pages of events, durably and each once; a *projection* makes the public lines
 * of it; a *log reader* reads windows of them, and a *replay* follows them. The rules are in docs/spec/execution.md, section
 * EX-JRN, the files are described in docs/format/journal.md and docs/format/projection.md.
 */

// A new record holds the event.
#define GALLIVANT_PLACED_RECORDED 1

// A new gap stands for the event, because its record would have been too long.
#define GALLIVANT_PLACED_OVERSIZED 2

// The event was there already, in the journal or earlier in the page.
#define GALLIVANT_PLACED_KNOWN 3

// A line's text.
#define GALLIVANT_ROW_LINE 1

// Something is missing here.
#define GALLIVANT_ROW_GAP 2

// A row with a line.
#define GALLIVANT_FRAME_LINE 1

// A row that says that something is missing.
#define GALLIVANT_FRAME_GAP 2

// No row: nothing was told for 20 seconds, and the connection is kept open.
#define GALLIVANT_FRAME_HEARTBEAT 3

// The provider said so.
#define GALLIVANT_GAP_REASON_PROVIDER_GAP 1

// A crash took a record that was being written.
#define GALLIVANT_GAP_REASON_INTERRUPTED_APPEND 2

// The record, or the line, would have been too long.
#define GALLIVANT_GAP_REASON_OVERSIZED_RECORD 3

// An acknowledged record was damaged afterwards. Found by readers, never recorded.
#define GALLIVANT_GAP_REASON_CORRUPT_RECORD 4

// The raw output of a local run is gone.
#define GALLIVANT_GAP_REASON_LOCAL_OUTPUT_MISSING 5

// The raw output of a local run is shorter than what was read of it.
#define GALLIVANT_GAP_REASON_LOCAL_OUTPUT_TRUNCATED 6

// The raw output of a local run expired before it was taken in.
#define GALLIVANT_GAP_REASON_LOCAL_OUTPUT_EXPIRED 7

// What has to be redacted is not known any more.
#define GALLIVANT_GAP_REASON_REDACTION_MISSING 8

// The projection's index is missing.
#define GALLIVANT_GAP_REASON_INDEX_MISSING 9

// Retention took it.
#define GALLIVANT_GAP_REASON_RETAINED 10

// The word for a GALLIVANT_PLACED constant, such as `known`; `invalid` for any other number.
const char *gallivant_placed_name(int32_t placed);

// The word for a GALLIVANT_ROW constant, such as `gap`; `invalid` for any other number.
const char *gallivant_row_name(int32_t kind);

// The word for a GALLIVANT_FRAME constant, such as `line`, which is the event's name on the wire; `invalid` for any other
// number.
const char *gallivant_frame_name(int32_t event);

// The word for a GALLIVANT_GAP_REASON constant, such as `retained`, as it stands in the files; `invalid` for any other
// number.
const char *gallivant_gap_reason_name(int32_t reason);

/* --------------------------------------------------------------------------
 * The journal of a run: taking events in.
 *
 * A journal takes no lock. Whoever calls holds the lock that guards the run for as long as the call lasts. What another
 * process did between two calls is noticed and read again.
 */

// The journal of one run, as its one writer has it.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_journal_free`.
typedef struct gallivant_journal gallivant_journal;

// Whose journal it is. All of it is compared exactly, and none of it is redacted.
typedef struct gallivant_journal_owner {
    // Set by `GALLIVANT_JOURNAL_OWNER_INIT`.
    size_t struct_size;
    // The task.
    gallivant_str task_id;
    // The run, which has a directory of its own.
    gallivant_str run_id;
    // The provider, by its public name.
    gallivant_str provider;
    // The provider's job; no string where it has none.
    gallivant_str provider_job_id;
    // The provider's root turn; no string where there is none.
    gallivant_str turn_id;
} gallivant_journal_owner;

/* Initialises one, as input or output. */
#define GALLIVANT_JOURNAL_OWNER_INIT \
    { sizeof(gallivant_journal_owner), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

// Where one event of a page stands.
typedef struct gallivant_journal_placed {
    // Its number in the journal, which never changes.
    uint64_t sequence;
    // What that number holds: GALLIVANT_PLACED.
    int32_t how;
} gallivant_journal_placed;

// A place in a journal.
typedef struct gallivant_journal_position {
    // Bytes of `events.jsonl` before it.
    uint64_t offset;
    // The number of the last record before it; 0 where there is none.
    uint64_t sequence;
} gallivant_journal_position;

// What an append has come to.
typedef struct gallivant_journal_appended {
    // Set by `GALLIVANT_JOURNAL_APPENDED_INIT`.
    size_t struct_size;
    // How many events the page had.
    size_t count;
    // For how many of them there is a new record.
    size_t recorded;
    // For how many there is a new gap, because their records would have been too long.
    size_t oversized;
    // How many were there already.
    size_t known;
    // The end of the journal, all of it acknowledged.
    gallivant_journal_position end;
} gallivant_journal_appended;

/* Initialises one, as input or output. */
#define GALLIVANT_JOURNAL_APPENDED_INIT { sizeof(gallivant_journal_appended), 0, 0, 0, 0, { 0, 0 } }

// What a recovery found and did.
typedef struct gallivant_journal_recovered {
    // Set by `GALLIVANT_JOURNAL_RECOVERED_INIT`.
    size_t struct_size;
    // How many records of a pending batch were there and are acknowledged now.
    uint64_t kept;
    // 1 where a gap took the place of the first one that was not; 0 where not.
    int32_t gap;
    // The end of the journal.
    gallivant_journal_position end;
} gallivant_journal_recovered;

/* Initialises one, as input or output. */
#define GALLIVANT_JOURNAL_RECOVERED_INIT { sizeof(gallivant_journal_recovered), 0, 0, { 0, 0 } }

// Opens the journal in a run's directory, which exists. Nothing of it is read or written. Ids, types and data of events are
// redacted by `redactor`, which may be freed, before any byte of them is written. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
int32_t gallivant_journal_open(const char *directory,
                               size_t directory_length,
                               const gallivant_journal_owner *owner,
                               const gallivant_redactor *redactor,
                               const gallivant_host *host,
                               gallivant_journal **journal,
                               gallivant_error **error);

// Appends the events of a page that are not in the journal yet, each once, in the page's order.
//
// `events` is the text of a JSON array. An event is an object with the members `id` (a string: the provider's event id, a gap
// id or a byte id), `provenance` (`provider`, `local` or `boundary`), `type` (a string) and `data` (any value); and, where
// they are known, `providerSequence` (an integer from 0) and `timestamp` (ms since 1970). Numbers keep all their digits. A gap
// has `reason`, one of the words of GALLIVANT_GAP_REASON, in the place of `type` and `data`.
//
// Once it has returned, every event of the page is readable or a gap stands for it, durably, and a repetition of the page adds
// nothing. A batch that a crash left pending is recovered first.
//
// `placed` has room for `capacity` events and gets one for each event of the page, in its order; it may be NULL where
// `capacity` is 0, and then nothing is told of the single events. `appended` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `shape` or `event` for what is no page, and without one for an event that no
// record can hold; `GALLIVANT_INPUT` with reason `buffer` where there is some room for `placed` and not enough. Nothing was
// written then. `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for a journal that is damaged: all its files are as they were.
// `GALLIVANT_EXECUTION_IO`: repeating the page appends what is missing.
int32_t gallivant_journal_append(gallivant_journal *journal,
                                 const char *events,
                                 size_t events_length,
                                 gallivant_journal_placed *placed,
                                 size_t capacity,
                                 gallivant_journal_appended *appended,
                                 gallivant_error **error);

// Judges what stands on disk and finishes a batch that was left pending. Once it has returned nothing is pending. Where nothing
// was, it writes nothing. Every append does this first. `recovered` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for a journal that is damaged: every file is as it was.
// `GALLIVANT_EXECUTION_IO`: another recovery goes on where this one stopped.
int32_t gallivant_journal_recover(gallivant_journal *journal,
                                  gallivant_journal_recovered *recovered,
                                  gallivant_error **error);

// Frees the journal and closes its files. NULL is allowed.
void gallivant_journal_free(gallivant_journal *journal);

/* --------------------------------------------------------------------------
 * The public lines of a run, made from its journal: `job.log`, `job.idx` and `log-meta.json`.
 *
 * Whoever projects holds the lock that guards the run, as for the journal. Readers hold none.
 */

// Writes one run's lines.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_projection_free`.
typedef struct gallivant_projection gallivant_projection;

// What a projection holds.
typedef struct gallivant_projected {
    // Set by `GALLIVANT_PROJECTED_INIT`.
    size_t struct_size;
    // The oldest number that it has an entry for; above 1 where older ones were trimmed.
    uint64_t first;
    // The number of the entry that comes next.
    uint64_t next;
    // Bytes of `job.log`.
    uint64_t bytes;
} gallivant_projected;

/* Initialises one, as input or output. */
#define GALLIVANT_PROJECTED_INIT { sizeof(gallivant_projected), 0, 0, 0 }

// Opens the projection in a run's directory, which exists. Nothing is read or written. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
int32_t gallivant_projection_open(const char *directory,
                                  size_t directory_length,
                                  const gallivant_host *host,
                                  gallivant_projection **projection,
                                  gallivant_error **error);

// Writes a line for each record of the journal that is acknowledged and has none yet, durably. Where nothing is new, nothing
// is written. `projected` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for a journal or a `log-meta.json` that cannot be believed;
// `GALLIVANT_EXECUTION_IO`. What was projected before stays.
int32_t gallivant_projection_catch_up(gallivant_projection *projection,
                                      gallivant_projected *projected,
                                      gallivant_error **error);

// Drops whole old lines so that at most `keep_bytes` of `job.log` stay. The journal is not touched; rows keep their ids, and
// whoever asks for one that is gone sees a gap. `projected` may be NULL.
//
// Errors: as `gallivant_projection_catch_up`. After an error the projection may hold less than it should, and the next catching
// up writes that again.
int32_t gallivant_projection_trim(gallivant_projection *projection,
                                  uint64_t keep_bytes,
                                  gallivant_projected *projected,
                                  gallivant_error **error);

// Frees the projection. NULL is allowed.
void gallivant_projection_free(gallivant_projection *projection);

/* --------------------------------------------------------------------------
 * Windows of a run's public lines, into memory of the caller: the last ones, the ones before, the ones after.
 *
 * A reader takes no lock and writes nothing. What is read is the window, however long the log is.
 */

// The most rows of one window.
#define GALLIVANT_LOG_ROWS_CAPACITY 400

// The most bytes that the texts of one window take.
#define GALLIVANT_LOG_TEXTS_CAPACITY 262208

// Reads one run's lines.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_log_reader_free`.
typedef struct gallivant_log_reader gallivant_log_reader;

// One row of a window.
typedef struct gallivant_log_row {
    // Set by `GALLIVANT_LOG_ROW_INIT`, and by the library in an array that it fills.
    size_t struct_size;
    // What it shows: GALLIVANT_ROW.
    int32_t kind;
    // Why something is missing: GALLIVANT_GAP_REASON; 0 for a line, and for a gap of the journal itself, which needs none.
    int32_t reason;
    // What stands for it as a cursor, for ever; no string for a gap without a number.
    gallivant_str id;
    // The line's text, which may hold zero bytes; no string for a gap.
    gallivant_str text;
} gallivant_log_row;

/* Initialises one, as input or output. */
#define GALLIVANT_LOG_ROW_INIT { sizeof(gallivant_log_row), 0, 0, { NULL, 0 }, { NULL, 0 } }

// Memory of the caller into which a window is read. It may be used again for the next one, and is the caller's to free.
typedef struct gallivant_log_buffer {
    // Set by `GALLIVANT_LOG_BUFFER_INIT`.
    size_t struct_size;
    // How large one row is for this program. Set by the macro.
    size_t row_size;
    // An array of so many rows, whatever they hold; NULL for none.
    gallivant_log_row *rows;
    // How many rows there is room for; `GALLIVANT_LOG_ROWS_CAPACITY` is always enough.
    size_t capacity;
    // Room for the texts of the rows; NULL for none.
    char *texts;
    // How many bytes; `GALLIVANT_LOG_TEXTS_CAPACITY` is always enough.
    size_t texts_capacity;
} gallivant_log_buffer;

/* Initialises one, as input or output. */
#define GALLIVANT_LOG_BUFFER_INIT \
    { sizeof(gallivant_log_buffer), sizeof(gallivant_log_row), NULL, 0, NULL, 0 }

// Some rows that stand side by side, the oldest first.
typedef struct gallivant_log_window {
    // Set by `GALLIVANT_LOG_WINDOW_INIT`.
    size_t struct_size;
    // How many rows it has.
    size_t count;
    // How many of them are in the buffer: all, or none where something of the window did not fit.
    size_t filled;
    // How many bytes its texts take.
    size_t texts_needed;
    // The cursor for the next older window; no string where there is nothing older, and where the window did not fit.
    gallivant_str before;
    // The cursor for what follows; no string where the window holds no row with a number, and where it did not fit.
    gallivant_str after;
} gallivant_log_window;

/* Initialises one, as input or output. */
#define GALLIVANT_LOG_WINDOW_INIT { sizeof(gallivant_log_window), 0, 0, 0, { NULL, 0 }, { NULL, 0 } }

// Reads in a run's directory, which exists. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
int32_t gallivant_log_reader_open(const char *directory,
                                  size_t directory_length,
                                  const gallivant_host *host,
                                  gallivant_log_reader **reader,
                                  gallivant_error **error);

// The last rows.
//
// `buffer` may hold any number of rows or none, and may be NULL. Where `count` is more than its capacity, or `texts_needed` more
// than the capacity of its texts, nothing is written into it, and the window is kept: the next call of this function with
// this reader delivers that same window, whatever has been written meanwhile. Any other question drops it. Strings point
// into the buffer's texts and end in a zero byte.
//
// Errors: `GALLIVANT_EXECUTION_IO` for whatever is not a missing file; `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` for
// `log-meta.json`.
int32_t gallivant_log_reader_tail(gallivant_log_reader *reader,
                                  const gallivant_log_buffer *buffer,
                                  gallivant_log_window *window,
                                  gallivant_error **error);

// The rows just before the one with the id `before`, as a window's `before` says it. Otherwise as `gallivant_log_reader_tail`; a
// window that did not fit is delivered by the next call with the same id.
//
// Errors: as `gallivant_log_reader_tail`; `GALLIVANT_EXECUTION_INPUT` for an id that no row ever had.
int32_t gallivant_log_reader_history(gallivant_log_reader *reader,
                                     const char *before,
                                     size_t before_length,
                                     const gallivant_log_buffer *buffer,
                                     gallivant_log_window *window,
                                     gallivant_error **error);

// At most `limit` rows just after the one with the id `after`, as a window's `after` says it, and from the oldest row on where it
// is NULL. Otherwise as `gallivant_log_reader_tail`; a window that did not fit is delivered by the next call with the same id
// and limit.
//
// Errors: as `gallivant_log_reader_history`.
int32_t gallivant_log_reader_lines(gallivant_log_reader *reader,
                                   const char *after,
                                   size_t after_length,
                                   size_t limit,
                                   const gallivant_log_buffer *buffer,
                                   gallivant_log_window *window,
                                   gallivant_error **error);

// Frees the reader. What was read into buffers stays. NULL is allowed.
void gallivant_log_reader_free(gallivant_log_reader *reader);

/* --------------------------------------------------------------------------
 * All lines of a run and those to come, one frame at a time into a buffer of the caller.
 *
 * There is no thread. A replay sleeps in the caller's own wait, or in an event loop that polls its descriptor. A slow consumer
 * misses nothing and sees nothing twice: a row is read by its number, and what is read ahead is bounded.
 */

// The most bytes that the texts of one frame take.
#define GALLIVANT_REPLAY_FRAME_CAPACITY 65792

// The rows of one run, from just after a given one on, and those to come.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise; only `gallivant_replay_wake` may be called by any thread at any
// time. Free it with `gallivant_replay_free`.
typedef struct gallivant_replay gallivant_replay;

// One frame. Written as a server-sent event it is `id`, the word of `event`, and `data`: `gallivant_frame_to_sse` does that.
typedef struct gallivant_frame {
    // Set by `GALLIVANT_FRAME_INIT`.
    size_t struct_size;
    // What it is: GALLIVANT_FRAME; 0 where there is none, or it did not fit, and the strings are then none.
    int32_t event;
    // The row's id; no string for a heartbeat, and for a gap without a number, which move no cursor.
    gallivant_str id;
    // The row as one line of JSON, `{"id","kind","text"}` or `{"id","kind","reason"}`; empty for a heartbeat.
    gallivant_str data;
} gallivant_frame;

/* Initialises one, as input or output. */
#define GALLIVANT_FRAME_INIT { sizeof(gallivant_frame), 0, { NULL, 0 }, { NULL, 0 } }

// Replays what stands in a run's directory, which exists, from just after the row with the id `last_event_id` on, and from the
// oldest row on where it is NULL. Where that row or those after it are not retained, and where no row ever had the id, the
// first frame is a gap. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_IO`.
int32_t gallivant_replay_open(const char *directory,
                              size_t directory_length,
                              const char *last_event_id,
                              size_t last_event_id_length,
                              const gallivant_host *host,
                              gallivant_replay **replay,
                              gallivant_error **error);

// Waits for the next frame, for at most `timeout_ms` (`GALLIVANT_FOREVER`: without end). Signals do not end the wait. After 20
// seconds without a frame there is a heartbeat.
//
// The frame's strings are written into `buffer`, each with a zero byte behind it, and `needed` says how many bytes they take;
// `GALLIVANT_REPLAY_FRAME_CAPACITY` is enough. Where that is more than `capacity`, nothing is written and `event` is 0, and
// nothing is lost: the next `gallivant_replay_next` or `gallivant_replay_poll` tells the same frame. Where the time is over
// without a frame, `event` and `needed` are 0. `buffer` may be NULL where `capacity` is 0.
//
// Errors: `GALLIVANT_CANCELLED` after `gallivant_replay_wake`; `GALLIVANT_EXECUTION_INPUT` with reason `forked` in a forked child;
// `GALLIVANT_INPUT` with reason `closed`; `GALLIVANT_EXECUTION_IO`, and `_JOURNAL` and `_VERSION` for `log-meta.json`. No row is
// lost by an error.
int32_t gallivant_replay_next(gallivant_replay *replay,
                              uint64_t timeout_ms,
                              gallivant_frame *frame,
                              char *buffer,
                              size_t capacity,
                              size_t *needed,
                              gallivant_error **error);

// The next frame without waiting: for event loops, when the descriptor is readable. Call it until `needed` is 0 before the
// next wait: the descriptor tells of what is new, and not of what was read ahead or did not fit. Otherwise as
// `gallivant_replay_next`.
int32_t gallivant_replay_poll(gallivant_replay *replay,
                              gallivant_frame *frame,
                              char *buffer,
                              size_t capacity,
                              size_t *needed,
                              gallivant_error **error);

// The id to open with the next time: that of the last row that was told, and the one that this was opened with before the
// first; no string where that was none. A frame that did not fit was not told. It is there after `gallivant_replay_close` too.
//
// The string is valid until the next `gallivant_replay_resume_point` with this replay, or until it is freed.
int32_t gallivant_replay_resume_point(gallivant_replay *replay,
                                      gallivant_str *id,
                                      gallivant_error **error);

// A descriptor for `poll`, `select`, `epoll` and event loops that becomes readable when `gallivant_replay_poll` should be called:
// a change, a heartbeat that is due, a wake. Call it once before the first wait. The descriptor is the replay's own: only poll
// it.
//
// -1 where there is none: on platforms without such descriptors, where only `gallivant_replay_next` waits; in a forked child;
// once the replay is closed; while another call uses it; and where `replay` is NULL.
int32_t gallivant_replay_descriptor(const gallivant_replay *replay);

// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. From any thread. Does nothing where `replay` is NULL,
// and once it is closed.
void gallivant_replay_wake(const gallivant_replay *replay);

// Closes every descriptor and forgets what waits, before the handle is freed. Does nothing the second time. While another call
// uses the replay it answers `GALLIVANT_HANDLE_BUSY` and closes nothing: wake it first, and close when that call is back.
int32_t gallivant_replay_close(gallivant_replay *replay,
                               gallivant_error **error);

// Closes the replay and frees it, and ends the string of its resume point. NULL is allowed.
void gallivant_replay_free(gallivant_replay *replay);

/* --------------------------------------------------------------------------
 * A frame for a client, as the bytes of a server-sent event, and for the program itself, as a row. Routes and connections are
 * the program's.
 */

// Writes a frame as one server-sent event, with the empty line that ends it, for a response of `text/event-stream`. A line break
// of any kind in the data begins a field of its own, a heartbeat is a comment, and a frame without an id leaves the client's
// last event id alone.
//
// `length` says how many bytes that are, without the zero byte that is written behind them. Where it is less than `capacity` they
// are in `buffer`; elsewhere nothing was written: as `snprintf`, but that nothing is cut off. `buffer` may be NULL where
// `capacity` is 0. The frame's strings must not lie in `buffer`.
//
// Errors: `GALLIVANT_INPUT` with reason `constant` for a frame that is none.
int32_t gallivant_frame_to_sse(const gallivant_frame *frame,
                               char *buffer,
                               size_t capacity,
                               size_t *length,
                               gallivant_error **error);

// The row that a frame carries, for programs that show it and read no JSON. Its strings are written into `buffer`, each with a
// zero byte behind it, and `needed` says how many bytes they take; where that is more than `capacity`, nothing is written and
// the row's `kind` is 0. `buffer` may be NULL where `capacity` is 0. The frame's strings must not lie in `buffer`.
//
// Errors: `GALLIVANT_INPUT` with reason `constant` for a frame that is none; `GALLIVANT_EXECUTION_INPUT` with reason `shape` for
// one without a row, as a heartbeat is.
int32_t gallivant_frame_row(const gallivant_frame *frame,
                            gallivant_log_row *row,
                            char *buffer,
                            size_t capacity,
                            size_t *needed,
                            gallivant_error **error);

/* --------------------------------------------------------------------------
 * What is asked of a run's files: what its journal is worth, its collected result, and which runs keep raw output for too long.
 *
 * Nothing is opened for longer than the call, and nothing is written.
 */

// Something that is missing of a journal.
typedef struct gallivant_journal_gap {
    // Set by the library.
    size_t struct_size;
    // The first number that it stands for.
    uint64_t from;
    // The last one; one less than `from` where damaged bytes stand for no number.
    uint64_t to;
    // Where it begins in `events.jsonl`, in bytes.
    uint64_t bytes_from;
    // Where it ends, its newline included; equal to `bytes_from` where records are missing without a trace.
    uint64_t bytes_to;
    // Why: GALLIVANT_GAP_REASON. `GALLIVANT_GAP_REASON_CORRUPT_RECORD` where it was found, any other where it was recorded.
    int32_t reason;
} gallivant_journal_gap;

// Is called for each gap, in the file's order. `gap` is valid during the call.
typedef void (*gallivant_journal_gap_visitor)(void *user_data, const gallivant_journal_gap *gap);

// What a check has found.
typedef struct gallivant_journal_checked {
    // Set by `GALLIVANT_JOURNAL_CHECKED_INIT`.
    size_t struct_size;
    // What is acknowledged.
    gallivant_journal_position end;
    // How many good records there are that are no gaps.
    uint64_t records;
    // How many gaps are recorded or were found.
    uint64_t gaps;
    // How many records the batch has that waits behind the acknowledged bytes, which the next append recovers; 0 where none
    // does.
    uint64_t pending_records;
    // How many of them are there whole, from the first on.
    uint64_t pending_kept;
} gallivant_journal_checked;

/* Initialises one, as input or output. */
#define GALLIVANT_JOURNAL_CHECKED_INIT { sizeof(gallivant_journal_checked), { 0, 0 }, 0, 0, 0, 0 }

// Is called for each run, by its name below the root. `run` is valid during the call.
typedef void (*gallivant_journal_run_visitor)(void *user_data, gallivant_str run);

// Checks the journal in a run's directory. The acknowledged bytes are read once, in memory that does not depend on their
// number. A run that never recorded anything has an empty one. `visit` is called for every gap; it may be NULL where their
// number is enough. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_JOURNAL` and `_VERSION` as the journal refuses; `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no
// such directory; `GALLIVANT_EXECUTION_IO`. Gaps may have been visited before an error.
int32_t gallivant_journal_check(const char *directory,
                                size_t directory_length,
                                const gallivant_host *host,
                                gallivant_journal_gap_visitor visit,
                                void *user_data,
                                gallivant_journal_checked *checked,
                                gallivant_error **error);

// The view of a run's result as JSON, `{outcome, cost, artifacts, application, verification}`, without recognised credentials,
// text of files and raw diagnostics; NULL, with success, before there is a result. It needs no log. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such directory; `GALLIVANT_EXECUTION_VERSION` for a result of
// another package; `GALLIVANT_EXECUTION_IO` for whatever is not a missing file, and for one that is no JSON object.
int32_t gallivant_journal_read_run_result(const char *directory,
                                          size_t directory_length,
                                          const gallivant_host *host,
                                          gallivant_text **result,
                                          gallivant_error **error);

// Visits the runs below a root whose private raw output has expired and whose result is durable, in the order of their names,
// for the clean-up by hand of what an older package left: nothing is removed. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN` where there is no such root; `GALLIVANT_EXECUTION_IO`. No run was visited then.
int32_t gallivant_journal_retention_candidates(const char *root,
                                               size_t root_length,
                                               const gallivant_host *host,
                                               gallivant_journal_run_visitor visit,
                                               void *user_data,
                                               gallivant_error **error);

/* --------------------------------------------------------------------------
 * Idempotent creates: a create that is retried after a lost answer makes no second thing. The words.
 *
 * The caller sends a key with a create, and a store remembers on disk what that key stands for. The rules are in
 * docs/spec/idempotency.md, the file is described in docs/format/idempotency.md.
 */

// Make the thing, then end the reservation by exactly one of complete and release.
#define GALLIVANT_BEGIN_CREATE 1

// The thing was made: answer as the first create did.
#define GALLIVANT_BEGIN_REPLAY 2

// The thing is being made: wait with the ticket.
#define GALLIVANT_BEGIN_IN_PROGRESS 3

// Nobody knows whether the thing was made: find out, then settle.
#define GALLIVANT_BEGIN_UNKNOWN 4

// Nothing was known of the key.
#define GALLIVANT_HOW_FRESH 1

// The create had finished before.
#define GALLIVANT_HOW_REPLAYED 2

// After waiting for a create that ran.
#define GALLIVANT_HOW_WAITED 3

// The owner of the reservation was gone.
#define GALLIVANT_HOW_TAKEN_OVER 4

// The claim had lived its window.
#define GALLIVANT_HOW_EXPIRED 5

// The resource was reported to be gone.
#define GALLIVANT_HOW_RECREATED 6

// An unknown outcome was settled.
#define GALLIVANT_HOW_SETTLED 7

// Reserved, and nothing outside may exist.
#define GALLIVANT_CLAIM_STATE_RESERVED 1

// Reserved, and an effect may have happened.
#define GALLIVANT_CLAIM_STATE_MARKED 2

// Finished.
#define GALLIVANT_CLAIM_STATE_FINISHED 3

// The word for a GALLIVANT_BEGIN constant, such as `in_progress`; `invalid` for any other number.
const char *gallivant_begin_name(int32_t begin);

// The word for a GALLIVANT_HOW constant, such as `taken-over`; `invalid` for any other number.
const char *gallivant_how_name(int32_t how);

// The word for a GALLIVANT_CLAIM_STATE constant, such as `marked`; `invalid` for any other number.
const char *gallivant_claim_state_name(int32_t state);

/* --------------------------------------------------------------------------
 * Idempotent creates: what a claim is found by.
 */

// Names one claim. Claims of different operations, and of different scopes, have nothing to do with each other: `["a", "b"]`,
// `["ab"]` and `["a/b"]` are three scopes.
//
// The body alone is compared, so whatever else decides what is made belongs in the scope: a parent in the path, the
// principal on whose behalf it is made.
typedef struct gallivant_idempotency_name {
    // Set by `GALLIVANT_IDEMPOTENCY_NAME_INIT`.
    size_t struct_size;
    // The namespace of the key, such as `harnesses.create`: 1 to 255 bytes of UTF-8.
    gallivant_str operation;
    // Whom the key belongs to, outermost first, down to the narrowest owner of what is made: at least one part of 1 to
    // 255 bytes of UTF-8.
    const gallivant_str *scope;
    // How many parts.
    size_t scope_count;
    // The caller's key: 1 to 255 bytes of visible ASCII. Only its hash is kept.
    gallivant_str key;
} gallivant_idempotency_name;

/* Initialises one, as input or output. */
#define GALLIVANT_IDEMPOTENCY_NAME_INIT \
    { sizeof(gallivant_idempotency_name), { NULL, 0 }, NULL, 0, { NULL, 0 } }

/* --------------------------------------------------------------------------
 * Idempotent creates: the fingerprint of a body that comes in parts.
 */

// How long a fingerprint is, in bytes.
#define GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES 32

// The fingerprint of a body that is too large for memory, in the making: SHA-256 over exactly the bytes that were
// received. How they are cut makes no difference. There is no canonical form: `{"a":1}` and `{ "a": 1 }` are two bodies,
// so whoever retries resends the bytes that were sent first.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_idempotency_fingerprint_free`.
typedef struct gallivant_idempotency_fingerprint gallivant_idempotency_fingerprint;

// Begins a fingerprint, of the empty body so far.
int32_t gallivant_idempotency_fingerprint_new(gallivant_idempotency_fingerprint **fingerprint,
                                              gallivant_error **error);

// Adds the next bytes of the body. `part` may be NULL where `length` is 0.
int32_t gallivant_idempotency_fingerprint_update(gallivant_idempotency_fingerprint *fingerprint,
                                                 const void *part,
                                                 size_t length,
                                                 gallivant_error **error);

// Writes the fingerprint of everything that was added so far into `bytes`, which has room for
// `GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES`. More may be added afterwards.
int32_t gallivant_idempotency_fingerprint_bytes(const gallivant_idempotency_fingerprint *fingerprint,
                                                uint8_t *bytes,
                                                gallivant_error **error);

// Frees the fingerprint. NULL is allowed.
void gallivant_idempotency_fingerprint_free(gallivant_idempotency_fingerprint *fingerprint);

/* --------------------------------------------------------------------------
 * Idempotent creates: what a begin answers, and the handles that come with it.
 */

// A create that has finished: what it made, and how it answered. Never changes.
//
// Threads: any number at once. Free it with `gallivant_idempotency_claim_free`.
typedef struct gallivant_idempotency_claim gallivant_idempotency_claim;

// A key that is reserved for one create of this process. Make the thing, then call
// `gallivant_idempotency_reservation_complete`, or `gallivant_idempotency_reservation_release` where nothing outside can
// exist.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_idempotency_reservation_free`, which
// releases it where neither has been called, unless an effect was marked.
typedef struct gallivant_idempotency_reservation gallivant_idempotency_reservation;

// A create with the same key and body that runs in this or another process. Never changes.
//
// Threads: any number at once. Free it with `gallivant_idempotency_ticket_free`.
typedef struct gallivant_idempotency_ticket gallivant_idempotency_ticket;

// A create whose owner is gone after an effect was marked, or has not been heard of for too long. It stays so until it is
// settled, or until its owner ends it after all. Never changes.
//
// Threads: any number at once. Free it with `gallivant_idempotency_unknown_claim_free`.
typedef struct gallivant_idempotency_unknown_claim gallivant_idempotency_unknown_claim;

// What a create with this key and this body is to do. Exactly one of the four handles is not NULL, and it belongs to the
// caller. A call that writes a new answer over an old one frees nothing: free the old one's handle first, or afterwards
// by a copy of its pointer.
typedef struct gallivant_idempotency_begun {
    // Set by `GALLIVANT_IDEMPOTENCY_BEGUN_INIT`.
    size_t struct_size;
    // Which of the four it is: GALLIVANT_BEGIN.
    int32_t begin;
    // How it came about: GALLIVANT_HOW.
    int32_t how;
    // With `GALLIVANT_BEGIN_CREATE`.
    gallivant_idempotency_reservation *reservation;
    // With `GALLIVANT_BEGIN_REPLAY`.
    gallivant_idempotency_claim *claim;
    // With `GALLIVANT_BEGIN_IN_PROGRESS`.
    gallivant_idempotency_ticket *ticket;
    // With `GALLIVANT_BEGIN_UNKNOWN`.
    gallivant_idempotency_unknown_claim *unknown;
} gallivant_idempotency_begun;

/* Initialises one, as input or output. */
#define GALLIVANT_IDEMPOTENCY_BEGUN_INIT \
    { sizeof(gallivant_idempotency_begun), 0, 0, NULL, NULL, NULL, NULL }

/* --------------------------------------------------------------------------
 * Idempotent creates: the store, and asking it what a key means.
 */

// What stands on disk for a name, for whoever only looks. Never changes.
//
// Threads: any number at once. Free it with `gallivant_idempotency_inspection_free`.
typedef struct gallivant_idempotency_inspection gallivant_idempotency_inspection;

// The claims of all processes that open the same file.
//
// Threads: any number at once. Free it with `gallivant_idempotency_store_free`; reservations, claims and tickets go on
// without it.
typedef struct gallivant_idempotency_store gallivant_idempotency_store;

// How a store behaves. All processes that share a store should open it with the same. Wherever options are asked for, NULL
// stands for the defaults.
typedef struct gallivant_idempotency_store_options {
    // Set by `GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT`.
    size_t struct_size;
    // Where time, chance, facts about processes and the disk come from; NULL for the real machine.
    const gallivant_host *host;
    // How long a finished create is replayed, from its completion, in ms: 1 minute to 30 days. Default 24 hours.
    uint64_t window_ms;
    // After so long without `gallivant_idempotency_reservation_keep_alive` a reservation whose owner lives answers unknown,
    // in ms: 1 minute or more. Default 1 hour.
    uint64_t max_reservation_ms;
    // The largest answer that is saved, in bytes: at most 512 MiB. Default 1 MiB.
    uint64_t max_answer_bytes;
    // How long a call without a deadline of its own waits for another process's transaction, in ms. Default 5 seconds.
    uint64_t busy_ms;
} gallivant_idempotency_store_options;

/* Initialises one, as input or output. */
#define GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT \
    { sizeof(gallivant_idempotency_store_options), NULL, GALLIVANT_DEFAULT, GALLIVANT_DEFAULT, \
      GALLIVANT_DEFAULT, GALLIVANT_DEFAULT }

// What one call of a sweep did.
typedef struct gallivant_idempotency_swept {
    // Set by `GALLIVANT_IDEMPOTENCY_SWEPT_INIT`.
    size_t struct_size;
    // How many expired claims are gone.
    uint64_t removed;
    // 1 where there may be more, so that another call is worth while; 0 where not.
    int32_t has_more;
} gallivant_idempotency_swept;

/* Initialises one, as input or output. */
#define GALLIVANT_IDEMPOTENCY_SWEPT_INIT { sizeof(gallivant_idempotency_swept), 0, 0 }

// Opens the store in this file, or makes it where nothing is; its directory has to be there. Once this has returned, the
// file is durable, and only its owner may read it. `options` may be NULL.
//
// The file belongs to the SQLite inside this library. A program with a SQLite of its own must not open it: closing one
// copy's descriptor would drop the other one's locks.
//
// Errors: `GALLIVANT_IDEMPOTENCY_INPUT` with the option's name as reason; `_STORE_UNAVAILABLE` when it cannot be opened or
// written; `_STORE_UNSUPPORTED` on a file system whose locks do not exclude or that cannot share memory; `_STORE_CORRUPT` and
// `_STORE_VERSION`, which leave the file as it is; `_BUSY`. `gallivant_error_file` names the file.
int32_t gallivant_idempotency_store_open(const char *path,
                                         size_t path_length,
                                         const gallivant_idempotency_store_options *options,
                                         gallivant_idempotency_store **store,
                                         gallivant_error **error);

// Asks what the key means to a create with this body, exactly as it was received, and reserves the key where it is free;
// `body` may be NULL where its length is 0. Once `GALLIVANT_BEGIN_CREATE` has come back, the reservation is durable. Every
// other answer writes nothing.
//
// `deadline_ms` says how long to wait for another process's transaction, in ms; `GALLIVANT_DEFAULT` for the store's option.
// A create that runs is not waited for: `gallivant_idempotency_ticket_wait` does.
//
// Errors: `GALLIVANT_IDEMPOTENCY_KEY_REUSED` when the key belongs to another body; `_KEY_INVALID`, `_SCOPE_INVALID`, `_BUSY`;
// `_STORE_UNAVAILABLE`, `_STORE_CORRUPT`, `_STORE_VERSION`; `_FORKED` in a forked child. Nothing may be made after any of
// them.
int32_t gallivant_idempotency_store_begin(const gallivant_idempotency_store *store,
                                          const gallivant_idempotency_name *name,
                                          const void *body,
                                          size_t body_length,
                                          uint64_t deadline_ms,
                                          gallivant_idempotency_begun *begun,
                                          gallivant_error **error);

// As `gallivant_idempotency_store_begin`, with the fingerprint of the body: `GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES` bytes, by
// `gallivant_idempotency_fingerprint_bytes` or by any other means that takes SHA-256.
int32_t gallivant_idempotency_store_begin_fingerprinted(const gallivant_idempotency_store *store,
                                                        const gallivant_idempotency_name *name,
                                                        const uint8_t *fingerprint,
                                                        uint64_t deadline_ms,
                                                        gallivant_idempotency_begun *begun,
                                                        gallivant_error **error);

// What stands on disk for a name; NULL, with success, where nothing does, or what does has expired. Writes nothing, and
// waits for nobody.
//
// Errors: those of the name and of the store.
int32_t gallivant_idempotency_store_inspect(const gallivant_idempotency_store *store,
                                            const gallivant_idempotency_name *name,
                                            gallivant_idempotency_inspection **inspection,
                                            gallivant_error **error);

// How far the create is: GALLIVANT_CLAIM_STATE; 0 where `inspection` is NULL.
int32_t gallivant_idempotency_inspection_state(const gallivant_idempotency_inspection *inspection);

// The id of the thing that was made, valid until the inspection is freed; no string before it is.
gallivant_str gallivant_idempotency_inspection_resource(const gallivant_idempotency_inspection *inspection);

// The saved answer, valid until the inspection is freed; no bytes where there is none.
gallivant_bytes gallivant_idempotency_inspection_answer(const gallivant_idempotency_inspection *inspection);

// Frees the inspection and ends its strings and bytes. NULL is allowed.
void gallivant_idempotency_inspection_free(gallivant_idempotency_inspection *inspection);

// Removes finished claims that have expired: a bounded number a call, so that no create waits long behind it. Call it again
// while there are more, and now and then. `swept` may be NULL.
//
// Errors: those of the store.
int32_t gallivant_idempotency_store_sweep(const gallivant_idempotency_store *store,
                                          gallivant_idempotency_swept *swept,
                                          gallivant_error **error);

// Whether keyed creates are available now, for a server that advertises them: `GALLIVANT_OK` if so, else what a create would
// be refused with. Takes the store's write lock for a moment and writes nothing. A store that is only busy is available.
int32_t gallivant_idempotency_store_capability(const gallivant_idempotency_store *store,
                                               gallivant_error **error);

// Looks whether the machine has slept since the last look, which every judgement does too: for two minutes from now no owner
// is taken over for its age. Worth calling by whoever is told of a wake-up. Touches no disk. Does nothing where `store` is
// NULL.
void gallivant_idempotency_store_notice_sleep(const gallivant_idempotency_store *store);

// Frees the store. NULL is allowed. The file is closed with the last handle that needs it.
void gallivant_idempotency_store_free(gallivant_idempotency_store *store);

/* --------------------------------------------------------------------------
 * Idempotent creates: the right to make the thing, and how it ends.
 *
 * `deadline_ms` says how long a call waits for another process's transaction, in ms; `GALLIVANT_DEFAULT` for the store's
 * option.
 */

// Says what was made, by an id that is not empty, and how it was answered, in any bytes; `answer` may be NULL where its
// length is 0. Once this has returned, both are durable, and every repeat gets them.
//
// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the key over: nothing is changed, and
// `gallivant_error_resource` names what the winner made, once it has completed, so that the loser can undo its own.
// `_ANSWER_TOO_LARGE`, `_INPUT` with reason `resource`, `_BUSY`, `_STORE_UNAVAILABLE` and what else the store answers:
// the reservation is still held, and the call may be repeated.
int32_t gallivant_idempotency_reservation_complete(gallivant_idempotency_reservation *reservation,
                                                   const char *resource,
                                                   size_t resource_length,
                                                   const void *answer,
                                                   size_t answer_length,
                                                   uint64_t deadline_ms,
                                                   gallivant_error **error);

// Says that nothing outside exists: the next create with this key, and any body, may make the thing. Once this has
// returned, that is durable. It also ends a reservation whose effect was marked.
//
// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the key over, and nothing is changed; what the
// store answers: it is still held.
int32_t gallivant_idempotency_reservation_release(gallivant_idempotency_reservation *reservation,
                                                  uint64_t deadline_ms,
                                                  gallivant_error **error);

// Says that an effect which a retry could double may happen from now on. Once this has returned, that is durable: no
// freeing, crash or takeover releases the key any more, until it is completed, released or settled. It counts as
// `gallivant_idempotency_reservation_keep_alive`.
//
// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST`; what the store answers. After any of them the effect must not be started.
int32_t gallivant_idempotency_reservation_effect_starting(gallivant_idempotency_reservation *reservation,
                                                          uint64_t deadline_ms,
                                                          gallivant_error **error);

// Says that its owner is still at work, so that nobody who cannot prove it takes the key over for another two minutes.
// Once this has returned, that is durable.
//
// Errors: `GALLIVANT_IDEMPOTENCY_CLAIM_LOST`; what the store answers.
int32_t gallivant_idempotency_reservation_keep_alive(gallivant_idempotency_reservation *reservation,
                                                     uint64_t deadline_ms,
                                                     gallivant_error **error);

// Frees the reservation. Where it was neither completed nor released, it is released, waiting for the store for at most a
// second; after a marked effect its outcome is unknown instead, for whoever asks next. A release that fails is left to
// the end of this process. NULL is allowed.
void gallivant_idempotency_reservation_free(gallivant_idempotency_reservation *reservation);

/* --------------------------------------------------------------------------
 * Idempotent creates: a create that has finished, and what to do when its resource is gone.
 */

// The id of the thing that was made, valid until the claim is freed; no string where `claim` is NULL.
gallivant_str gallivant_idempotency_claim_resource(const gallivant_idempotency_claim *claim);

// The answer that the first create's caller got, byte for byte, valid until the claim is freed; no bytes where the thing
// was only found afterwards and no answer was saved, and where `claim` is NULL.
gallivant_bytes gallivant_idempotency_claim_answer(const gallivant_idempotency_claim *claim);

// When the create finished, in ms since 1970; 0 where `claim` is NULL.
uint64_t gallivant_idempotency_claim_completed_ms(const gallivant_idempotency_claim *claim);

// Whether the claim still stands as it was read: 1 if so, 0 if not. A resource that was not found is gone only if the claim
// still stands after the look. Writes nothing.
//
// Errors: those of the store.
int32_t gallivant_idempotency_claim_still_stands(const gallivant_idempotency_claim *claim,
                                                 int32_t *stands,
                                                 gallivant_error **error);

// Says that the resource is proved to be gone: the key names nothing any more, and exactly one of all who say so gets
// `GALLIVANT_BEGIN_CREATE`; the others wait for it. A claim that has been replaced meanwhile answers what replaced it. Once
// this has returned, the new reservation is durable. A read of the resource that failed or was denied proves nothing.
//
// Errors: as `gallivant_idempotency_store_begin`.
int32_t gallivant_idempotency_claim_recreate(const gallivant_idempotency_claim *claim,
                                             uint64_t deadline_ms,
                                             gallivant_idempotency_begun *begun,
                                             gallivant_error **error);

// Frees the claim, which leaves it as it is on disk, and ends its strings and bytes. NULL is allowed.
void gallivant_idempotency_claim_free(gallivant_idempotency_claim *claim);

/* --------------------------------------------------------------------------
 * Idempotent creates: a descriptor for event loops that wait for creates to end.
 *
 * There is no thread. One descriptor serves all tickets of a store: it wakes for every key, and whoever waits looks.
 */

// Tells of creates that end, in any process. It says where to look and never what is there, and it may be silent about an
// end: look at each ticket when its descriptor is readable, and when `gallivant_idempotency_ticket_next_look_ms` is over.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise. Free it with `gallivant_idempotency_changes_free`, which
// closes the descriptor.
typedef struct gallivant_idempotency_changes gallivant_idempotency_changes;

// Begins to tell of creates that end from now on. Look at the tickets once after it, so that no end falls in between.
int32_t gallivant_idempotency_store_changes(const gallivant_idempotency_store *store,
                                            gallivant_idempotency_changes **changes,
                                            gallivant_error **error);

// A descriptor for `poll`, `select`, `epoll` and event loops that becomes readable when a create has ended, or something
// else has happened to the store's directory. It is the handle's own: only poll it.
//
// -1 where there is none: where the system does not tell (a limit that is reached, other platforms), so that tickets are
// looked at when `gallivant_idempotency_ticket_next_look_ms` is over; in a forked child; while another call uses the handle;
// and where `changes` is NULL.
int32_t gallivant_idempotency_changes_descriptor(const gallivant_idempotency_changes *changes);

// Takes what was told, so that the descriptor is not readable any more until something new happens. Call it before the
// tickets are looked at, so that an end in between makes it readable again.
//
// Errors: `GALLIVANT_IDEMPOTENCY_FORKED` in a forked child; `GALLIVANT_IDEMPOTENCY_STORE_UNAVAILABLE` where the system cannot
// tell any more: open another one.
int32_t gallivant_idempotency_changes_drain(gallivant_idempotency_changes *changes,
                                            gallivant_error **error);

// Frees the handle and closes its descriptor. NULL is allowed.
void gallivant_idempotency_changes_free(gallivant_idempotency_changes *changes);

/* --------------------------------------------------------------------------
 * Idempotent creates: waiting for a create that runs.
 */

// Waits until the create ends, for at most `timeout_ms` (`GALLIVANT_FOREVER`: without end): `GALLIVANT_BEGIN_REPLAY` when it
// finished, `GALLIVANT_BEGIN_CREATE` when it was released or its owner is gone, `GALLIVANT_BEGIN_UNKNOWN` when its owner is
// gone after the mark. It wakes within milliseconds where the system tells of the end, and within 25 ms where not. Signals
// do not end the wait.
//
// Errors: `GALLIVANT_IDEMPOTENCY_IN_PROGRESS` when it still runs at the end of the time, and the ticket stays good; as
// `gallivant_idempotency_ticket_look`.
int32_t gallivant_idempotency_ticket_wait(const gallivant_idempotency_ticket *ticket,
                                          uint64_t timeout_ms,
                                          gallivant_idempotency_begun *begun,
                                          gallivant_error **error);

// Asks again, without waiting for the create: `GALLIVANT_BEGIN_IN_PROGRESS` with another ticket while it runs. For event
// loops, when the descriptor of `gallivant_idempotency_changes` is readable or
// `gallivant_idempotency_ticket_next_look_ms` is over.
//
// Errors: as `gallivant_idempotency_store_begin`; `GALLIVANT_IDEMPOTENCY_KEY_REUSED` also when the first create was released and
// the key now belongs to another body.
int32_t gallivant_idempotency_ticket_look(const gallivant_idempotency_ticket *ticket,
                                          uint64_t deadline_ms,
                                          gallivant_idempotency_begun *begun,
                                          gallivant_error **error);

// How long from now until the ticket should be looked at again at the latest, in ms: for the timeout of an event loop that
// polls the descriptor of `changes`, or that has none, where `changes` is NULL or without a descriptor. At least 1, at most
// 250; 0 where `ticket` is NULL.
uint64_t gallivant_idempotency_ticket_next_look_ms(const gallivant_idempotency_ticket *ticket,
                                                   const gallivant_idempotency_changes *changes);

// Frees the ticket, which leaves the create alone. NULL is allowed.
void gallivant_idempotency_ticket_free(gallivant_idempotency_ticket *ticket);

/* --------------------------------------------------------------------------
 * Idempotent creates: a create of which nobody knows whether it made its thing, and how that is settled.
 */

// Says that the thing exists, by an id that is not empty: the answer is `GALLIVANT_BEGIN_REPLAY` without a saved answer. Once
// this has returned, that is durable, and the former owner has lost. A claim that is not unknown any more answers what it
// is now.
//
// Errors: as `gallivant_idempotency_store_begin`; `GALLIVANT_IDEMPOTENCY_INPUT` with reason `resource` for an empty id.
int32_t gallivant_idempotency_unknown_claim_settle_found(const gallivant_idempotency_unknown_claim *claim,
                                                         const char *resource,
                                                         size_t resource_length,
                                                         uint64_t deadline_ms,
                                                         gallivant_idempotency_begun *begun,
                                                         gallivant_error **error);

// Says that the thing is proved not to exist: the answer is `GALLIVANT_BEGIN_CREATE`, unmarked. Once this has returned, that
// is durable, and the former owner has lost. A claim that is not unknown any more answers what it is now.
//
// Errors: as `gallivant_idempotency_store_begin`.
int32_t gallivant_idempotency_unknown_claim_settle_absent(const gallivant_idempotency_unknown_claim *claim,
                                                          uint64_t deadline_ms,
                                                          gallivant_idempotency_begun *begun,
                                                          gallivant_error **error);

// Frees the claim, which leaves it unknown. NULL is allowed.
void gallivant_idempotency_unknown_claim_free(gallivant_idempotency_unknown_claim *claim);

/* --------------------------------------------------------------------------
 * The execution layer: paid work is recorded, never doubled, never lost and never mistaken. The words.
 *
 * A task has a root, and a *boundary* whose calls are the only ones that write its files. A call of it is a *machine*, which
 * hands out what the provider's *transport* is to do and is fed what came of it: by the program itself, step by step, or by
 * `gallivant_execution_drive` over a table of callbacks. Inputs and outcomes are JSON texts, in which numbers keep their
 * digits. The rules are in docs/spec/execution.md, the files are described in docs/format/execution.md.
 */

// The version of the contract between a boundary and its host. (`GALLIVANT_EXECUTION_VERSION` is a status.)
#define GALLIVANT_EXECUTION_CONTRACT_VERSION 1

// The most bytes that a provider's page cursor has as JSON text.
#define GALLIVANT_EXECUTION_CURSOR_BYTES 4096

// The machine waits for the end of a call.
#define GALLIVANT_STEP_CALL 1

// The call of the boundary has returned.
#define GALLIVANT_STEP_DONE 2

// The call of the boundary has failed.
#define GALLIVANT_STEP_FAILED 3

// A method of the transport.
#define GALLIVANT_PORT_TRANSPORT 1

// A method of the process host.
#define GALLIVANT_PORT_PROCESS 2

// What a publication does with its checkout.
#define GALLIVANT_PORT_GIT 3

// A verification in its sandbox.
#define GALLIVANT_PORT_VERIFICATION 4

// A push, or a pull request.
#define GALLIVANT_PORT_PUBLISHER 5

// What the coordinator's own registry knows.
#define GALLIVANT_PORT_COORDINATOR 6

// The provider was not reached, or anything else.
#define GALLIVANT_FAILURE_IO 1

// The provider does not accept who asks.
#define GALLIVANT_FAILURE_AUTH 2

// The provider asks for patience.
#define GALLIVANT_FAILURE_RATE 3

// The provider's answer breaks its own contract.
#define GALLIVANT_FAILURE_PROTOCOL 4

// Nothing was sent, which is proved. Believed of `submit` and `continue` only, and only where nothing was being sent.
#define GALLIVANT_FAILURE_NOT_SENT 5

// A downloaded artifact of a completed turn is faulty, and will be so each time. Believed of `collect` only.
#define GALLIVANT_FAILURE_COLLECTION_VALIDATION 6

// The deadline of the call passed.
#define GALLIVANT_FAILURE_DEADLINE 7

// The caller's own signal ended the call.
#define GALLIVANT_FAILURE_ABORTED 8

// The next nano-dollar above: reported costs and reservations.
#define GALLIVANT_ROUND_UP 1

// The next nano-dollar below: budgets, caps, shares and what remains.
#define GALLIVANT_ROUND_DOWN 2

// No refresh was scheduled, so nothing was waited for.
#define GALLIVANT_JOINED_NOT_SCHEDULED 1

// The refresh is over: its result is saved, or it was given up. `gallivant_execution_health_store_authorize` tells which.
#define GALLIVANT_JOINED_OVER 2

// The refresh is still under way at the end of the wait.
#define GALLIVANT_JOINED_UNDER_WAY 3

// Accepted, and not begun.
#define GALLIVANT_PROVIDER_STATE_QUEUED 1

// What it runs in is being made.
#define GALLIVANT_PROVIDER_STATE_PROVISIONING 2

// It works.
#define GALLIVANT_PROVIDER_STATE_RUNNING 3

// It waits for an answer.
#define GALLIVANT_PROVIDER_STATE_WAITING_FOR_INPUT 4

// It has ended at the provider, and its result is still to be collected.
#define GALLIVANT_PROVIDER_STATE_RETRIEVING_RESULTS 5

// It has ended, and its root turn has succeeded.
#define GALLIVANT_PROVIDER_STATE_SUCCEEDED 6

// It has ended, and its root turn has failed.
#define GALLIVANT_PROVIDER_STATE_FAILED 7

// A stop was asked for and is not confirmed.
#define GALLIVANT_PROVIDER_STATE_CANCELLATION_REQUESTED 8

// It was stopped, which is confirmed.
#define GALLIVANT_PROVIDER_STATE_CANCELLED 9

// Nothing is known.
#define GALLIVANT_PROVIDER_STATE_STATUS_UNKNOWN 10

// The word for a GALLIVANT_STEP constant, such as `done`; `invalid` for any other number.
const char *gallivant_step_name(int32_t step);

// The word for a GALLIVANT_PORT constant, such as `transport`; `invalid` for any other number.
const char *gallivant_port_name(int32_t port);

// The word for a GALLIVANT_FAILURE constant, such as `not-sent`; `invalid` for any other number.
const char *gallivant_failure_name(int32_t kind);

// The constant for a word; 0 for any other. Case matters.
int32_t gallivant_failure_from_name(const char *name, size_t name_length);

// The word for a GALLIVANT_ROUND constant, such as `up`; `invalid` for any other number.
const char *gallivant_round_name(int32_t round);

// The word for a GALLIVANT_JOINED constant, such as `over`; `invalid` for any other number.
const char *gallivant_joined_name(int32_t joined);

// The word for a GALLIVANT_PROVIDER_STATE constant, such as `running`, as it stands in files and replies; `invalid` for any
// other number. The constants count from 1 in the specification's order.
const char *gallivant_provider_state_name(int32_t state);

// The constant for a word; 0 for any other. Case matters.
int32_t gallivant_provider_state_from_name(const char *name, size_t name_length);

/* --------------------------------------------------------------------------
 * Abort tokens: how a caller ends its own waits, from another thread.
 */

// Ends the waits of the calls that it was given to: for the task's lock, and for a method of the transport. It fires once and
// for good.
//
// Threads: any number at once. Free it with `gallivant_execution_abort_token_free`.
typedef struct gallivant_execution_abort_token gallivant_execution_abort_token;

// Makes a token that has not fired.
int32_t gallivant_execution_abort_token_new(gallivant_execution_abort_token **token,
                                            gallivant_error **error);

// Fires. May be called at any time and more than once. Does nothing where `token` is NULL.
void gallivant_execution_abort_token_abort(const gallivant_execution_abort_token *token);

// 1 where it has fired, else 0; 0 where `token` is NULL.
int32_t gallivant_execution_abort_token_is_aborted(const gallivant_execution_abort_token *token);

// Frees the token. NULL is allowed. Calls that have it go on, and nothing ends their waits any more.
void gallivant_execution_abort_token_free(gallivant_execution_abort_token *token);

/* --------------------------------------------------------------------------
 * How a method of a transport fails.
 */

// What a method has failed with. The message is redacted before it is saved, logged or returned.
typedef struct gallivant_execution_failure {
    // Set by `GALLIVANT_EXECUTION_FAILURE_INIT`.
    size_t struct_size;
    // One of the GALLIVANT_FAILURE constants; 0 counts as `GALLIVANT_FAILURE_IO`.
    int32_t kind;
    // The transport's words; no string for none.
    gallivant_str message;
    // The transport's own code, or the reason of a faulty artifact; no string or an empty one for none.
    gallivant_str code;
    // After how many milliseconds the provider wants to be asked again.
    gallivant_optional_u64 retry_after_ms;
} gallivant_execution_failure;

/* Initialises one, as input or output. */
#define GALLIVANT_EXECUTION_FAILURE_INIT \
    { sizeof(gallivant_execution_failure), 0, { NULL, 0 }, { NULL, 0 }, { 0, 0 } }

// Makes the failure of a submit or a continue that was refused before anything was sent. That is honest only before the
// transport has saved anything of its own for the operation and before its first request to the provider, set-up requests
// included. The strings stay the caller's and are read when the failure is fed.
int32_t gallivant_execution_dispatch_not_sent_error(const char *code,
                                                    size_t code_length,
                                                    const char *message,
                                                    size_t message_length,
                                                    gallivant_execution_failure *failure,
                                                    gallivant_error **error);

// Makes the failure of a collect whose downloaded artifact is faulty and will be so each time; `reason` says how. The strings
// stay the caller's and are read when the failure is fed.
int32_t gallivant_execution_collection_validation_error(const char *reason,
                                                        size_t reason_length,
                                                        const char *message,
                                                        size_t message_length,
                                                        gallivant_execution_failure *failure,
                                                        gallivant_error **error);

/* --------------------------------------------------------------------------
 * A running call of the boundary, step by step.
 *
 * The program starts the machine, carries out the call that it hands out, and feeds what came of it, until it is done. All that
 * has to be durable before a call is on disk before it is handed out. Freeing a machine, at any step, equals a crash there.
 */

// A call of a boundary.
//
// Threads: one at a time, `GALLIVANT_HANDLE_BUSY` otherwise; only `gallivant_execution_machine_is_cancelled` may be called by any
// thread at any time. Free it with `gallivant_execution_machine_free`.
typedef struct gallivant_execution_machine gallivant_execution_machine;

// What a step of a machine has come to. Its strings and its error are valid until the next step of the machine is taken or the
// machine is freed.
typedef struct gallivant_execution_step {
    // Set by `GALLIVANT_EXECUTION_STEP_INIT`.
    size_t struct_size;
    // One of the GALLIVANT_STEP constants.
    int32_t kind;
    // Of a call, whom it is for: one of the GALLIVANT_PORT constants.
    int32_t port;
    // Of a call, by which its end is fed back; unique within the process.
    uint64_t id;
    // Of a call, when it counts as failed, in ms since 1970 on the host's clock.
    uint64_t deadline_at_ms;
    // Of a call, which method, as in `recoverResponse`.
    gallivant_str method;
    // Of a call, the method's input, a JSON object.
    gallivant_str input_json;
    // Of `GALLIVANT_STEP_DONE`, what the call of the boundary gives, as JSON text.
    gallivant_str outcome_json;
    // Of `GALLIVANT_STEP_FAILED`, the error of the call of the boundary; else NULL. It is lent.
    const gallivant_error *failure;
} gallivant_execution_step;

/* Initialises one, as input or output. */
#define GALLIVANT_EXECUTION_STEP_INIT \
    { sizeof(gallivant_execution_step), 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL }

// Begins. The wait for the task's lock is here and nowhere else.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `reply` where it has begun. That the call of the boundary has failed is a step
// and no error.
int32_t gallivant_execution_machine_start(gallivant_execution_machine *machine,
                                          gallivant_execution_step *step,
                                          gallivant_error **error);

// The method of the call with this id has returned this JSON text, whose digits are kept. A reply that comes at the deadline
// or later is dropped unread, and the call counts as failed.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `reply` where no such call is outstanding; nothing has changed then, and the
// outstanding call, if there is one, stays outstanding. So too in a forked child, with reason `forked`, and once the boundary was
// freed.
int32_t gallivant_execution_machine_reply(gallivant_execution_machine *machine,
                                          uint64_t id,
                                          const char *reply_json,
                                          size_t reply_json_length,
                                          gallivant_execution_step *step,
                                          gallivant_error **error);

// The method of the call with this id has failed.
//
// Errors: as `gallivant_execution_machine_reply`.
int32_t gallivant_execution_machine_fail(gallivant_execution_machine *machine,
                                         uint64_t id,
                                         const gallivant_execution_failure *failure,
                                         gallivant_execution_step *step,
                                         gallivant_error **error);

// The call with this id has not ended at its deadline. Give its method 1,000 ms to end before this is fed, and leave it alone
// then.
//
// Errors: as `gallivant_execution_machine_reply`.
int32_t gallivant_execution_machine_deadline(gallivant_execution_machine *machine,
                                             uint64_t id,
                                             gallivant_execution_step *step,
                                             gallivant_error **error);

// The caller has given the call with this id up; otherwise as `gallivant_execution_machine_deadline`.
//
// Errors: as `gallivant_execution_machine_reply`.
int32_t gallivant_execution_machine_abort(gallivant_execution_machine *machine,
                                          uint64_t id,
                                          gallivant_execution_step *step,
                                          gallivant_error **error);

// The transport is about to send, or to save something of its own, for the call with this id: from now on
// `GALLIVANT_FAILURE_NOT_SENT` is not believed of it. The step that was lent last stays valid.
//
// Errors: as `gallivant_execution_machine_reply`.
int32_t gallivant_execution_machine_sending(gallivant_execution_machine *machine,
                                            uint64_t id,
                                            gallivant_error **error);

// 1 where the method of the call that was handed out last should end: its deadline or abort was fed, or the boundary was freed.
// Else 0, and where `machine` is NULL.
int32_t gallivant_execution_machine_is_cancelled(const gallivant_execution_machine *machine);

// Frees the machine. NULL is allowed. Where it is not done this equals a crash at the step where it stands: its locks are
// released and nothing is written.
void gallivant_execution_machine_free(gallivant_execution_machine *machine);

/* --------------------------------------------------------------------------
 * What providers can do: the registry of capability records, each with what carries its dispatches out.
 */

// The records of all providers, those that are shipped included; nothing of it is on disk. Records are never removed.
//
// Threads: any number at once. Free it with `gallivant_execution_registry_free`, also while boundaries made of it are in use.
typedef struct gallivant_execution_registry gallivant_execution_registry;

// Makes a registry with the shipped records, none of which has an adapter yet.
//
// Errors: none that a released library gives.
int32_t gallivant_execution_registry_new(gallivant_execution_registry **registry,
                                         gallivant_error **error);

// Adds a record, which is JSON text. `adapter_json` is `{"methods": [names]}` of a transport, or `{"render", "configure",
// "minimumVersion"}` of a runner; NULL for a record that cannot be dispatched to. `secrets` are values that are known to be
// secret, and may be NULL where `secret_count` is 0; none is kept.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for a malformed text and an adapter that does not fit the record;
// `GALLIVANT_EXECUTION_CAPABILITY` for a name that is registered, with reason `unavailable` for an available record without an
// adapter, with reason `preparation` for a local preparation that lacks a part, with reason `secret` for a record that holds a
// secret. The registry is as it was then.
int32_t gallivant_execution_registry_register(const gallivant_execution_registry *registry,
                                              const char *record_json,
                                              size_t record_json_length,
                                              const char *adapter_json,
                                              size_t adapter_json_length,
                                              const gallivant_str *secrets,
                                              size_t secret_count,
                                              gallivant_error **error);

// Gives an adapter to a record that has none, such as a shipped one; the rest as `gallivant_execution_registry_register`.
//
// Errors: as that; `GALLIVANT_EXECUTION_CAPABILITY` with reason `unavailable` for a name that is not registered, and without one
// for a record that has its adapter.
int32_t gallivant_execution_registry_attach(const gallivant_execution_registry *registry,
                                            const char *provider,
                                            size_t provider_length,
                                            const char *adapter_json,
                                            size_t adapter_json_length,
                                            const gallivant_str *secrets,
                                            size_t secret_count,
                                            gallivant_error **error);

// The record of a provider as it stands now, as JSON text; all records as a JSON array where `provider` is NULL. It is a copy
// and holds names of secrets, never values.
//
// Errors: `GALLIVANT_EXECUTION_CAPABILITY` with reason `unavailable` for a name that is not registered.
int32_t gallivant_execution_registry_capabilities(const gallivant_execution_registry *registry,
                                                  const char *provider,
                                                  size_t provider_length,
                                                  gallivant_text **records_json,
                                                  gallivant_error **error);

// Frees the registry. NULL is allowed.
void gallivant_execution_registry_free(gallivant_execution_registry *registry);

/* --------------------------------------------------------------------------
 * The points of the execution layer at which a test may fail it.
 */

// A point at which a test may fail the library, such as `intent-saved` or `persist:execution.json`: 0 goes on, anything else
// makes the write report an I/O error. A pause is an answer that takes its time, a crash is one that does not return. It is
// called by whichever thread makes a call of the boundary or the health store that has it; the boundary's machine is in use then,
// and it must not free the boundary, which waits for that very step. `point` is valid during the call.
typedef int32_t (*gallivant_execution_point)(void *user_data, gallivant_str point);

/* --------------------------------------------------------------------------
 * Accounts of providers, as arguments and as answers.
 */

// The accounts whose check was due when they were asked for. Never changes.
//
// Threads: any number at once. Free it with `gallivant_execution_due_scopes_free`.
typedef struct gallivant_execution_due_scopes gallivant_execution_due_scopes;

// An account of a provider. Neither name may be empty.
typedef struct gallivant_execution_scope {
    // The provider.
    gallivant_str provider;
    // The account.
    gallivant_str account;
} gallivant_execution_scope;

// How many accounts are due; 0 where `due` is NULL.
uint64_t gallivant_execution_due_scopes_count(const gallivant_execution_due_scopes *due);

// One of the accounts, counted from 0. Its names are valid until `due` is freed.
//
// Errors: `GALLIVANT_INPUT` with reason `index`.
int32_t gallivant_execution_due_scopes_at(const gallivant_execution_due_scopes *due,
                                          size_t index,
                                          gallivant_execution_scope *scope,
                                          gallivant_error **error);

// Frees the list. NULL is allowed.
void gallivant_execution_due_scopes_free(gallivant_execution_due_scopes *due);

/* --------------------------------------------------------------------------
 * The refresh of an account's health: what a check has shown, and who has begun one.
 */

// A refresh that was scheduled: whoever has it runs the check, and records what it has shown.
//
// Threads: any number at once. Free it with `gallivant_execution_refresh_free`, which gives it up where nothing was recorded.
typedef struct gallivant_execution_refresh gallivant_execution_refresh;

// What a check of an account has shown.
typedef struct gallivant_execution_probe_result {
    // Set by `GALLIVANT_EXECUTION_PROBE_RESULT_INIT`.
    size_t struct_size;
    // Not 0 where the account can be worked with.
    int32_t ok;
    // Of a failure, what failed, as a word; not empty.
    gallivant_str code;
    // Of a failure, what to do about it, in one sentence: the remedy of every dispatch that it refuses; not empty.
    gallivant_str remedy;
    // What the check has seen, as JSON text; no string for nothing. Nothing is decided by it.
    gallivant_str evidence_json;
    // Of a failure, after how many milliseconds the provider wants to be asked again.
    gallivant_optional_u64 retry_after_ms;
} gallivant_execution_probe_result;

/* Initialises one, as input or output. */
#define GALLIVANT_EXECUTION_PROBE_RESULT_INIT \
    { sizeof(gallivant_execution_probe_result), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { 0, 0 } }

// Whose health is to be checked. Its names are valid until `refresh` is freed.
//
// Errors: none but those of NULL.
int32_t gallivant_execution_refresh_scope(const gallivant_execution_refresh *refresh,
                                          gallivant_execution_scope *scope,
                                          gallivant_error **error);

// Saves what the check has shown and ends the refresh, as `gallivant_execution_health_store_record`. Those who wait for the refresh
// go on after the record is on disk.
//
// Errors: as that; `GALLIVANT_EXECUTION_INPUT` with reason `closed` where the refresh is over.
int32_t gallivant_execution_refresh_record(const gallivant_execution_refresh *refresh,
                                           const gallivant_execution_probe_result *result,
                                           gallivant_text **record_json,
                                           gallivant_error **error);

// Frees the refresh. NULL is allowed. Where nothing was recorded it is given up: the account stays without authority, and its check
// is due.
void gallivant_execution_refresh_free(gallivant_execution_refresh *refresh);

/* --------------------------------------------------------------------------
 * The health of providers' accounts on disk: who may be dispatched to, whose check is due, and who waits for one.
 *
 * Nothing here checks an account: the program does, and says what the check has shown. What authorises a dispatch is the files
 * alone, for every process; that a refresh is under way is known in the process that began it.
 */

// Health records below one directory, and the refreshes that were begun through it.
//
// Threads: any number at once. Free it with `gallivant_execution_health_store_free`, also while boundaries, lanes and refreshes
// of it are in use. In a forked child its calls answer `GALLIVANT_EXECUTION_INPUT` with reason `forked`; open a fresh one there.
typedef struct gallivant_execution_health_store gallivant_execution_health_store;

// What a health store is made of. Wherever it is asked for, NULL stands for the defaults.
typedef struct gallivant_execution_health_options {
    // Set by `GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT`.
    size_t struct_size;
    // A JSON object of limits, of which `healthRefreshMs`, `progressMs`, `backoffMaxMs` and `lockWaitMs` count here; no string
    // for the defaults.
    gallivant_str limits_json;
    // Whose health is wanted, besides those of whom there is a record: without one they are due. May be NULL where there are
    // none.
    const gallivant_execution_scope *scopes;
    // How many scopes.
    size_t scope_count;
    // Values that appear in no record; may be NULL where there are none.
    const gallivant_str *secrets;
    // How many secrets.
    size_t secret_count;
    // For tests: the number from 0 to 1 that stands for chance in the delays after failures, read when the store is opened; NULL
    // for the host's chance.
    const double *jitter;
    // For tests: called at `persist:<name>` before each record; NULL for nobody.
    gallivant_execution_point at_point;
    // Handed to `at_point`; may be NULL. It has to live as long as the store and what was made of it.
    void *user_data;
} gallivant_execution_health_options;

/* Initialises one, as input or output. */
#define GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT \
    { sizeof(gallivant_execution_health_options), { NULL, 0 }, NULL, 0, NULL, 0, NULL, NULL, NULL }

// Makes the store of the records in the directory `root`, which is created with the first of them and is no task's root. Creates
// no file, and reads none. `options` and `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for a scope with an empty name, with reason `limits` for those, with reason `secret` for a
// secret that cannot be searched for.
int32_t gallivant_execution_health_store_open(const char *root,
                                              size_t root_length,
                                              const gallivant_execution_health_options *options,
                                              const gallivant_host *host,
                                              gallivant_execution_health_store **store,
                                              gallivant_error **error);

// Wants the health of one more account: without a record it is due from now on.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for an empty name.
int32_t gallivant_execution_health_store_want(const gallivant_execution_health_store *store,
                                              const gallivant_execution_scope *scope,
                                              gallivant_error **error);

// Whether a dispatch to this account is authorised now: 1 by a saved success that still counts and no refresh that is under way,
// else 0. Never checks, never writes, takes no lock.
//
// Errors: `GALLIVANT_EXECUTION_VERSION` with reason `health` for the record of another package, `GALLIVANT_EXECUTION_HEALTH` with
// reason `shape` for what is none, `GALLIVANT_EXECUTION_IO`; `GALLIVANT_EXECUTION_INPUT` for an empty name.
int32_t gallivant_execution_health_store_authorize(const gallivant_execution_health_store *store,
                                                   const gallivant_execution_scope *scope,
                                                   int32_t *is_authorized,
                                                   gallivant_error **error);

// What is recorded of this account, as JSON text; `record_json` becomes NULL where nothing is. Never checks, never writes, takes
// no lock.
//
// Errors: as `gallivant_execution_health_store_authorize`.
int32_t gallivant_execution_health_store_status(const gallivant_execution_health_store *store,
                                                const gallivant_execution_scope *scope,
                                                gallivant_text **record_json,
                                                gallivant_error **error);

// The accounts whose check is due now: those that have a record whose time is over, and those that are wanted and have none; without
// those of which a refresh is under way. A record of another package's version is left to that one. Reads every record, takes no
// lock.
//
// Errors: `GALLIVANT_EXECUTION_IO`.
int32_t gallivant_execution_health_store_due(const gallivant_execution_health_store *store,
                                             gallivant_execution_due_scopes **due,
                                             gallivant_error **error);

// Schedules the refresh of an account, due or not; `refresh` becomes NULL where one is under way already. The account's authority
// has ended once this has returned, on disk and in this process, and comes back with a recorded success only: so begin first, and
// start what dispatches after that.
//
// Errors: those of `gallivant_execution_health_store_authorize` but for a record that makes no sense; `GALLIVANT_EXECUTION_BUSY`;
// `GALLIVANT_EXECUTION_CAPABILITY` with reason `locking`. Nothing is scheduled then.
int32_t gallivant_execution_health_store_begin(const gallivant_execution_health_store *store,
                                               const gallivant_execution_scope *scope,
                                               gallivant_execution_refresh **refresh,
                                               gallivant_error **error);

// Saves what a check has shown, and ends the account's refresh if one is under way. The record is on disk, file and directory, once
// this has returned; it is what `record_json` gets, which may be NULL. Of code, remedy and evidence no secret is kept.
//
// Errors: those of `gallivant_execution_health_store_begin`; `GALLIVANT_EXECUTION_INPUT` too for a failure without a code or a
// remedy, for evidence that is no JSON or too long. The record is as it was then, or, with `GALLIVANT_EXECUTION_IO`, the new one; a
// refresh has ended without a result, but where the argument was refused.
int32_t gallivant_execution_health_store_record(const gallivant_execution_health_store *store,
                                                const gallivant_execution_scope *scope,
                                                const gallivant_execution_probe_result *result,
                                                gallivant_text **record_json,
                                                gallivant_error **error);

// 1 where a refresh of this account is under way in this process, else 0, and for what is no scope.
int32_t gallivant_execution_health_store_scheduled(const gallivant_execution_health_store *store,
                                                   const gallivant_execution_scope *scope);

// Waits until the refresh that is scheduled for this account is over, for at most so many ms (`GALLIVANT_FOREVER` for without end), or
// until the token fires, which may be NULL. Starts none, and waits for none that begins later. `joined` gets one of the
// GALLIVANT_JOINED constants.
//
// Errors: `GALLIVANT_INPUT` for what is no scope.
int32_t gallivant_execution_health_store_join_scheduled(const gallivant_execution_health_store *store,
                                                        const gallivant_execution_scope *scope,
                                                        uint64_t timeout_ms,
                                                        const gallivant_execution_abort_token *token,
                                                        int32_t *joined,
                                                        gallivant_error **error);

// Frees the store. NULL is allowed. What was made of it goes on.
void gallivant_execution_health_store_free(gallivant_execution_health_store *store);

/* --------------------------------------------------------------------------
 * The boundary of one task: the object whose calls are the only ones that write its files.
 */

// The boundary of one task, owned by one task, one provider and one account.
//
// Two boundaries of one root, in one process or in several, exclude each other by the task's lock: their calls give the same
// results as calls that are made one after another.
//
// Threads: any number at once. Free it with `gallivant_execution_boundary_free`, which ends its machines.
typedef struct gallivant_execution_boundary gallivant_execution_boundary;

// What a boundary takes from its host program besides its options. But for `health` all of it is for tests.
typedef struct gallivant_execution_ports {
    // Set by `GALLIVANT_EXECUTION_PORTS_INIT`.
    size_t struct_size;
    // The number from 0 to 1 that stands for chance in every delay, read when the boundary is opened; NULL for the host's
    // chance.
    const double *jitter;
    // Called at each point; NULL for nobody.
    gallivant_execution_point at_point;
    // Handed to `at_point`; may be NULL. It has to live as long as the boundary and its machines.
    void *user_data;
    // The health store that vouches for the account before a dispatch, in the place of the options' `health`; NULL for what
    // these say. The boundary keeps what it needs of it, so that it may be freed meanwhile.
    const gallivant_execution_health_store *health;
} gallivant_execution_ports;

/* Initialises one, as input or output. */
#define GALLIVANT_EXECUTION_PORTS_INIT { sizeof(gallivant_execution_ports), NULL, NULL, NULL, NULL }

// Makes the boundary of the task whose files are in the directory `root`. Creates no file and calls nobody. `ports` and `host`
// may be NULL.
//
// The options are a JSON object: `taskId`, `provider`, `account`, `capabilities`; `transport`, as `{"methods": [names]}`, or
// `runner`, as `true` for a process host of yours or as an object with the options of the built-in one; and if wanted
// `budgetUsd`, `limits`, `secrets`, `health` (a record, or `"external"`), `intakeDeadlineAt` and `sandboxRequired`.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` that names the member, with reasons `shape`, `limits` and `secret`;
// `GALLIVANT_EXECUTION_CAPABILITY` for an adapter that lacks what the record promises; `GALLIVANT_EXECUTION_VERSION` for the
// health record of another package.
int32_t gallivant_execution_boundary_open(const char *root,
                                          size_t root_length,
                                          const char *options_json,
                                          size_t options_json_length,
                                          const gallivant_execution_ports *ports,
                                          const gallivant_host *host,
                                          gallivant_execution_boundary **boundary,
                                          gallivant_error **error);

// Makes the boundary of a task as its own files have it: for the provider, the account and the transport kind that its ledger
// records, or else the job record of its current local run, with the record and the adapter of `registry`. What the options,
// which are those of `gallivant_execution_boundary_open`, say of these counts only for a root in which nothing is saved. Creates
// no file and calls nobody. `ports` and `host` may be NULL.
//
// Errors: as `gallivant_execution_boundary_open`; `GALLIVANT_EXECUTION_CAPABILITY` with reason `unavailable` where the saved
// provider is not registered or has no adapter; `GALLIVANT_EXECUTION_DEPENDENCY` where its record is of another transport kind;
// those of a ledger that is damaged or of another package.
int32_t gallivant_execution_runner(const char *root,
                                   size_t root_length,
                                   const char *options_json,
                                   size_t options_json_length,
                                   const gallivant_execution_registry *registry,
                                   const gallivant_execution_ports *ports,
                                   const gallivant_host *host,
                                   gallivant_execution_boundary **boundary,
                                   gallivant_error **error);

// Calls a method by its name, and gives the machine of that call, which has still to be started or driven. `submit`,
// `continue`, `prepare`, `recoverResponse`, `startup`, `reconcile`, `collect`, `cancel`, `requestCancel`, `preparationStop`,
// `timeoutStop`, `adopt`, `settleAbsent` and `reconcileExecutionResult` do nothing before that. Those of `gallivant_execution_boundary_read` have read when
// this returns, and their machine is done in its first step.
//
// `input_json` is a JSON object, and NULL is an empty one. `token` ends the wait for the task's lock and may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for a name that is none and for an argument of the wrong shape, and those of a method that
// reads.
int32_t gallivant_execution_boundary_call(const gallivant_execution_boundary *boundary,
                                          const char *method,
                                          size_t method_length,
                                          const char *input_json,
                                          size_t input_json_length,
                                          const gallivant_execution_abort_token *token,
                                          gallivant_execution_machine **machine,
                                          gallivant_error **error);

// Calls a method that only reads, and gives its answer as JSON text: `inspect`, `outcome`, `preparationStatus`,
// `judgePreparation`, `capabilities`, `dirOf`, `read`, `current`, `check`, `resultView`, `isDue`, `healthStatus`, and of local runs
// `isGone` and `lookForKill`. Their input is `{"runId": …}` where they take one; `lookForKill` takes how many `looks` there were
// before, and gives `{"gone", "killDue", "pauseMs"}`. It takes no lock, writes nothing and calls nobody.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for any other name, and with reason `reply` for a method that has to be started; those of
// the method.
int32_t gallivant_execution_boundary_read(const gallivant_execution_boundary *boundary,
                                          const char *method,
                                          size_t method_length,
                                          const char *input_json,
                                          size_t input_json_length,
                                          gallivant_text **answer,
                                          gallivant_error **error);

// Frees the boundary. NULL is allowed. Its machines end as by a crash, wherever they stand: their locks are released, nothing is
// written, and their further steps are refused. Waits for a step that another thread is taking.
void gallivant_execution_boundary_free(gallivant_execution_boundary *boundary);

/* --------------------------------------------------------------------------
 * The ports of a publication that this machine can answer.
 *
 * A program that publishes calls `reconcileExecutionResult` by `gallivant_execution_boundary_call` and takes the raw steps. It
 * answers what is its own, pull requests and the registry, and has the rest answered here.
 */

// A checkout, this system's sandbox, and a push by the program `git`.
//
// Threads: any number at once. Free it with `gallivant_publication_ports_free`.
typedef struct gallivant_publication_ports gallivant_publication_ports;

// Makes the ports of a boundary's publications. `input_json` is the input of `reconcileExecutionResult` with `checkout` and
// `scratch` besides, which are paths, and if wanted `runtime`, `environment` and `git` (docs/guides/publish-a-result.md). `token`
// ends a command that runs, and may be NULL. Nothing is read yet.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` that names the member; `GALLIVANT_EXECUTION_CONFLICT` for commands whose source is not the
// approved one.
int32_t gallivant_publication_ports_open(const gallivant_execution_boundary *boundary,
                                         const char *input_json,
                                         size_t input_json_length,
                                         const gallivant_execution_abort_token *token,
                                         gallivant_publication_ports **ports,
                                         gallivant_error **error);

// Answers a call of a machine, by the members of its step: everything of `GALLIVANT_PORT_GIT` and `GALLIVANT_PORT_VERIFICATION`, and
// `push` of `GALLIVANT_PORT_PUBLISHER`. The answer is fed by `gallivant_execution_machine_reply`, and an error by
// `gallivant_execution_machine_fail`. Blocks for as long as that takes, which for commands is minutes.
//
// Errors: `GALLIVANT_EXECUTION_IO` where it failed, and where the call is the program's own to answer; `GALLIVANT_INPUT` with
// reason `constant` for a number that is no port.
int32_t gallivant_publication_ports_answer(const gallivant_publication_ports *ports,
                                           int32_t port,
                                           const char *method,
                                           size_t method_length,
                                           const char *input_json,
                                           size_t input_json_length,
                                           gallivant_text **reply_json,
                                           gallivant_error **error);

// Frees the ports. NULL is allowed.
void gallivant_publication_ports_free(gallivant_publication_ports *ports);

/* --------------------------------------------------------------------------
 * A transport as a table of callbacks: the program's own code, which reaches the provider.
 */

// One call of a method, lent to it until it returns.
//
// Threads: any number at once.
typedef struct gallivant_execution_call gallivant_execution_call;

// A method. It says how it has ended by `gallivant_execution_call_reply` or `gallivant_execution_call_fail`, once, and returns
// soon after `gallivant_execution_call_is_cancelled` has become 1; what it says then is not read. Where it says nothing it has
// failed with `GALLIVANT_FAILURE_IO`. It starts no timer and no loop of its own, makes one try, and leaves retries to the
// boundary.
typedef void (*gallivant_execution_method)(void *user_data, const gallivant_execution_call *call);

// The methods of a transport. The options of the boundary list those that it has; where such a one is NULL here its calls fail.
//
// Each method runs on a thread beside the driver's, one at a time, and is left alone where it has not returned 1,000 ms after
// its deadline or the caller's abort. `user_data` has to live until every method has returned, that one too.
typedef struct gallivant_execution_transport {
    // Set by `GALLIVANT_EXECUTION_TRANSPORT_INIT`.
    size_t struct_size;
    // Handed to every method; may be NULL.
    void *user_data;
    // Not 0 where every method returns by itself at its deadline. It then runs on the thread that drives, and there is no other
    // thread.
    int32_t keeps_deadlines;
    // A boundary and a grant for intake, without a paid submit.
    gallivant_execution_method prepare;
    // A new job.
    gallivant_execution_method submit;
    // What a job does.
    gallivant_execution_method inspect;
    // Another turn of a session: `continue`, which C has for itself.
    gallivant_execution_method continue_run;
    // A job's result.
    gallivant_execution_method collect;
    // The end of a job.
    gallivant_execution_method cancel;
    // The job of a saved intent, if it is there.
    gallivant_execution_method lookup;
    // The acknowledgement of an answer whose reply was lost.
    gallivant_execution_method recover_response;
} gallivant_execution_transport;

/* Initialises one, as input or output. */
#define GALLIVANT_EXECUTION_TRANSPORT_INIT \
    { sizeof(gallivant_execution_transport), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

// Which method it is, as in `recoverResponse`. Valid until the method returns; no string where `request` is NULL.
gallivant_str gallivant_execution_call_method(const gallivant_execution_call *request);

// The input, a JSON object with exactly the members of the contract, byte for byte. Valid until the method returns; no string
// where `request` is NULL.
gallivant_str gallivant_execution_call_input(const gallivant_execution_call *request);

// The limits in force, a JSON object. Valid until the method returns; no string where `request` is NULL.
gallivant_str gallivant_execution_call_limits(const gallivant_execution_call *request);

// When the call counts as failed, in ms since 1970 on the boundary's clock; 0 where `request` is NULL.
uint64_t gallivant_execution_call_deadline_at_ms(const gallivant_execution_call *request);

// To be called just before the first request to the provider, or the first record of the transport's own: from now on
// `GALLIVANT_FAILURE_NOT_SENT` is not believed of this call. Does nothing where `request` is NULL.
void gallivant_execution_call_sending(const gallivant_execution_call *request);

// 1 where the method should end: the deadline has come, the caller has given the call up, or the boundary was freed. Else 0,
// and where `request` is NULL.
int32_t gallivant_execution_call_is_cancelled(const gallivant_execution_call *request);

// The method has succeeded, with this JSON text: an object, or `null` where the method may answer so. Its digits are kept.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `reply` where the method has said how it has ended; the first counts.
int32_t gallivant_execution_call_reply(const gallivant_execution_call *request,
                                       const char *reply_json,
                                       size_t reply_json_length,
                                       gallivant_error **error);

// The method has failed.
//
// Errors: as `gallivant_execution_call_reply`.
int32_t gallivant_execution_call_fail(const gallivant_execution_call *request,
                                      const gallivant_execution_failure *failure,
                                      gallivant_error **error);

/* --------------------------------------------------------------------------
 * A machine to its end, over a table of callbacks.
 */

// Drives a machine that has not begun to its end, and gives what the call of the boundary gives, as JSON text. The machine is
// done then. `token` ends the call that is outstanding and may be NULL; the wait for the task's lock has the token with which
// the machine was made, which may be the same.
//
// A method that has not ended 1,000 ms after its deadline, or after the abort, is left alone. Freeing the boundary meanwhile, on
// another thread, ends the call as a crash does.
//
// Errors: those of the boundary's call. `GALLIVANT_EXECUTION_INPUT` with reason `reply` where the machine has begun, and where the
// boundary was freed.
int32_t gallivant_execution_drive(gallivant_execution_machine *machine,
                                  const gallivant_execution_transport *transport,
                                  const gallivant_execution_abort_token *token,
                                  gallivant_text **outcome_json,
                                  gallivant_error **error);

/* --------------------------------------------------------------------------
 * Lanes: many tasks, at most so many at a time, and the passes of the boundaries that are due.
 *
 * A lane by its steps starts nothing: it says which task may start now, and is told when one has ended. A lane that runs calls the
 * program's function on the calling thread and on threads that end with the call.
 */

// Which of its tasks, numbered from 0, may start now.
//
// Threads: any number at once. Free it with `gallivant_execution_lane_free`.
typedef struct gallivant_execution_lane gallivant_execution_lane;

// What the passes of a lane have come to. Never changes.
//
// Threads: any number at once. Free it with `gallivant_execution_progress_free`.
typedef struct gallivant_execution_progress gallivant_execution_progress;

// Does the task with this number, counted from 0. Several run at one time, each on a thread of its own.
typedef void (*gallivant_execution_task)(void *user_data, uint64_t task);

// A lane over so many tasks, of which at most `concurrency` run at one time: from 1 to 64.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`.
int32_t gallivant_execution_lane_new(size_t tasks,
                                     uint64_t concurrency,
                                     gallivant_execution_lane **lane,
                                     gallivant_error **error);

// The task that starts now, in the order of their numbers; absent while every slot is held, and once all have started. The caller
// starts it, and says when it has ended.
//
// Errors: none but those of NULL.
int32_t gallivant_execution_lane_start_next(const gallivant_execution_lane *lane,
                                            gallivant_optional_u64 *task,
                                            gallivant_error **error);

// A task has ended, well or not: its slot is free.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for a task that does not run. Nothing has changed then.
int32_t gallivant_execution_lane_end(const gallivant_execution_lane *lane,
                                     size_t task,
                                     gallivant_error **error);

// 1 where every task has started and ended, else 0, and where `lane` is NULL.
int32_t gallivant_execution_lane_is_done(const gallivant_execution_lane *lane);

// Frees the lane. NULL is allowed.
void gallivant_execution_lane_free(gallivant_execution_lane *lane);

// Does every task, numbered from 0, at most `concurrency` at a time (1 to 64), and returns when all have ended. `task` is called on the
// calling thread and on others beside it, of which there may be fewer where threads are short; what a task comes to, it leaves
// behind `user_data`, which may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`, and `GALLIVANT_INPUT` with reason `length` for more tasks than memory has
// room for; nothing has run then.
int32_t gallivant_execution_lane_run(size_t tasks,
                                     uint64_t concurrency,
                                     gallivant_execution_task task,
                                     void *user_data,
                                     gallivant_error **error);

// Runs one pass of each boundary that is due, at most `concurrency` at a time (1 to 64), and gives what they came to, in the order of
// the boundaries. When a pass is due, the boundary's ledger says, and nothing else. A pass that is slow or fails holds its one slot
// and nothing of another task's.
//
// `transports` has a table for each boundary, by which its pass is driven; NULL where the library carries out everything, as the
// built-in process host does. The tables are called by several threads, each for its own boundary. `token` ends the calls that are
// outstanding and the waits for locks, and may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`; nothing has run then. That a pass has failed stands in `progress`.
int32_t gallivant_execution_progress_lane_run(const gallivant_execution_boundary *const *boundaries,
                                              const gallivant_execution_transport *const *transports,
                                              size_t count,
                                              uint64_t concurrency,
                                              const gallivant_execution_abort_token *token,
                                              gallivant_execution_progress **progress,
                                              gallivant_error **error);

// How many passes were run; 0 where `progress` is NULL.
uint64_t gallivant_execution_progress_count(const gallivant_execution_progress *progress);

// Whose pass it was: which of the boundaries, counted from 0. 0 too where there is no pass of this number.
uint64_t gallivant_execution_progress_boundary(const gallivant_execution_progress *progress,
                                               size_t index);

// The report of a pass, as JSON text, valid until `progress` is freed; no string where the pass has failed, and where there is none
// of this number.
gallivant_str gallivant_execution_progress_report(const gallivant_execution_progress *progress,
                                                  size_t index);

// Why there was no pass, lent until `progress` is freed; NULL where there was one, and where there is none of this number.
const gallivant_error *gallivant_execution_progress_failure(const gallivant_execution_progress *progress,
                                                            size_t index);

// Frees what the passes have come to. NULL is allowed.
void gallivant_execution_progress_free(gallivant_execution_progress *progress);

/* --------------------------------------------------------------------------
 * Dispatches that were refused by health, once more after the refresh that was scheduled already.
 */

// Dispatches, numbered from 0, and the refreshes that they wait for. It begins no refresh and starts nothing.
//
// Threads: any number at once. Free it with `gallivant_execution_dispatch_lane_free`.
typedef struct gallivant_execution_dispatch_lane gallivant_execution_dispatch_lane;

// Joins, for each dispatch, the refresh that is scheduled now for its account; `scopes` has the account of each. Those without one stay
// refused. At most `concurrency` retries run at one time: from 1 to 64.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`.
int32_t gallivant_execution_dispatch_lane_new(const gallivant_execution_health_store *store,
                                              const gallivant_execution_scope *scopes,
                                              size_t count,
                                              uint64_t concurrency,
                                              gallivant_execution_dispatch_lane **lane,
                                              gallivant_error **error);

// The dispatch that is to be retried now: the first of those whose refresh is over and has left its account with authority, as far as a
// slot is free. Absent where there is nothing to start now; `gallivant_execution_dispatch_lane_is_waiting` says whether there may be
// later. The retry is the program's own dispatch with all its checks. Each is told once. Reads records.
//
// Errors: none but those of NULL.
int32_t gallivant_execution_dispatch_lane_retry_next(const gallivant_execution_dispatch_lane *lane,
                                                     gallivant_optional_u64 *dispatch,
                                                     gallivant_error **error);

// A retry has ended, well or not.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for a dispatch that does not run. Nothing has changed then.
int32_t gallivant_execution_dispatch_lane_end(const gallivant_execution_dispatch_lane *lane,
                                              size_t dispatch,
                                              gallivant_error **error);

// 1 where a dispatch waits for its refresh or for a slot, else 0, and where `lane` is NULL.
int32_t gallivant_execution_dispatch_lane_is_waiting(const gallivant_execution_dispatch_lane *lane);

// Waits no longer: the dispatches whose refresh is still under way stay refused. Does nothing where `lane` is NULL.
void gallivant_execution_dispatch_lane_give_up(const gallivant_execution_dispatch_lane *lane);

// Frees the lane. NULL is allowed.
void gallivant_execution_dispatch_lane_free(gallivant_execution_dispatch_lane *lane);

// Retries each dispatch once after the refresh that is scheduled for its account, at most `concurrency` at a time (1 to 64). Returns when
// all have ended, and waits for refreshes no longer than so many ms (`GALLIVANT_FOREVER` for without end), or until the token fires,
// which may be NULL. `retry` is called on the calling thread and on others beside it, with the number of the dispatch; what it comes
// to, it leaves behind `user_data`, which may be NULL.
//
// `is_retried` has room for a number for each dispatch: 1 where it was retried, 0 where it stays refused and as it was.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `limits`; nothing has run then.
int32_t gallivant_execution_dispatch_lane_run(const gallivant_execution_health_store *store,
                                              const gallivant_execution_scope *scopes,
                                              size_t count,
                                              uint64_t concurrency,
                                              uint64_t timeout_ms,
                                              const gallivant_execution_abort_token *token,
                                              gallivant_execution_task retry,
                                              void *user_data,
                                              int32_t *is_retried,
                                              gallivant_error **error);

/* --------------------------------------------------------------------------
 * Local runs in calls that block: start, watch, stop and settle a harness process of this machine.
 *
 * They are for boundaries with the built-in process host, whose machines hand out no call, and do what the methods of the same names
 * do by `gallivant_execution_boundary_call`. No lock is held between two of them, nor while one waits for a tree to go.
 */

// Starts a run, and gives its job record, which names the process: it is on disk before the process does anything. `input_json` is
// that of a `submit`, and may leave out `operationId`. `token` ends the wait for the task's lock and may be NULL, here and below.
//
// Errors: those of `submit`; `GALLIVANT_EXECUTION_INPUT` for a boundary without the built-in process host, here and below.
int32_t gallivant_execution_local_run_start(const gallivant_execution_boundary *boundary,
                                            const char *input_json,
                                            size_t input_json_length,
                                            const gallivant_execution_abort_token *token,
                                            gallivant_text **job_json,
                                            gallivant_error **error);

// Starts a further turn of the current run's session, with the input of a `continue`, and gives its outcome.
//
// Errors: those of `continue`.
int32_t gallivant_execution_local_run_resume(const gallivant_execution_boundary *boundary,
                                             const char *input_json,
                                             size_t input_json_length,
                                             const gallivant_execution_abort_token *token,
                                             gallivant_text **outcome_json,
                                             gallivant_error **error);

// The job record that `latest-run` names; `job_json` becomes NULL where there is none. Reads.
//
// Errors: `GALLIVANT_EXECUTION_IO`; `GALLIVANT_EXECUTION_VERSION`.
int32_t gallivant_execution_local_run_current(const gallivant_execution_boundary *boundary,
                                              gallivant_text **job_json,
                                              gallivant_error **error);

// The job record of a run; `job_json` becomes NULL where there is none. Reads.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for what is no run id; `GALLIVANT_EXECUTION_IO`; `GALLIVANT_EXECUTION_VERSION`.
int32_t gallivant_execution_local_run_read(const gallivant_execution_boundary *boundary,
                                           const char *run_id,
                                           size_t run_id_length,
                                           gallivant_text **job_json,
                                           gallivant_error **error);

// The public lines of a run behind the row with the id `after`, which may be NULL for the oldest that is kept: at most `limit`, and at
// most 400, as a JSON object `{"rows", "before", "after"}`. To follow a run without JSON open a `gallivant_log_reader` in its directory.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for what is no run id; those of `gallivant_log_reader_lines`.
int32_t gallivant_execution_local_run_lines(const gallivant_execution_boundary *boundary,
                                            const char *run_id,
                                            size_t run_id_length,
                                            const char *after,
                                            size_t after_length,
                                            size_t limit,
                                            gallivant_text **window_json,
                                            gallivant_error **error);

// The directory in which the files of a run are, whether they are there or not.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` for what is no run id.
int32_t gallivant_execution_local_run_dir_of(const gallivant_execution_boundary *boundary,
                                             const char *run_id,
                                             size_t run_id_length,
                                             gallivant_text **path,
                                             gallivant_error **error);

// One pass, due or not, and its report: looks at the tree, kills what is due, settles what has ended, takes output in.
//
// Errors: those of `reconcile`.
int32_t gallivant_execution_local_run_pass(const gallivant_execution_boundary *boundary,
                                           const gallivant_execution_abort_token *token,
                                           gallivant_text **report_json,
                                           gallivant_error **error);

// The outcome of a run that has ended, settled by this call if it was not; `outcome_json` becomes NULL while something of its tree lives.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN`, and those of `reconcile`.
int32_t gallivant_execution_local_run_settle(const gallivant_execution_boundary *boundary,
                                             const char *run_id,
                                             size_t run_id_length,
                                             const gallivant_execution_abort_token *token,
                                             gallivant_text **outcome_json,
                                             gallivant_error **error);

// Stops the whole tree of a run, and gives `{"confirmed", "terminal"?}`. Once it has returned the stop is on disk and the first signal is
// sent; what is left `killAfterMs` later a pass kills, or `gallivant_execution_local_run_wait_for_kill`. `input_json` has `runId`,
// `reason`, and if wanted `killAfterMs`, which else is the limit of that name.
//
// Errors: those of `cancel`.
int32_t gallivant_execution_local_run_kill(const gallivant_execution_boundary *boundary,
                                           const char *input_json,
                                           size_t input_json_length,
                                           const gallivant_execution_abort_token *token,
                                           gallivant_text **outcome_json,
                                           gallivant_error **error);

// Waits until the whole tree of a run is gone: `is_gone` becomes 1 then, and 0 once so many ms have passed (`GALLIVANT_FOREVER` for without
// end) or the token has fired. What a stop has left is killed when its time comes, and never because this wait is over; without a
// stop nobody is signalled. The wait holds no lock, and other calls of the boundary go on meanwhile.
//
// Errors: `GALLIVANT_EXECUTION_UNKNOWN_RUN`, `GALLIVANT_EXECUTION_IO`, and those of `reconcile` but `GALLIVANT_EXECUTION_BUSY`.
int32_t gallivant_execution_local_run_wait_for_kill(const gallivant_execution_boundary *boundary,
                                                    const char *run_id,
                                                    size_t run_id_length,
                                                    uint64_t timeout_ms,
                                                    const gallivant_execution_abort_token *token,
                                                    int32_t *is_gone,
                                                    gallivant_error **error);

/* --------------------------------------------------------------------------
 * What needs no boundary: the pure functions, the limits, what is unresolved, and amounts as integers.
 */

// Calls a pure function by its name, with a JSON object of arguments, and gives its value as JSON text: `checkCursor`, `gapId`,
// `idempotencyKey`, `cancellationKey`, `runId`, `replayKey`, `backoff`, `intakeReservation`, `money`, `crc32c`, `sanitize`,
// `validateManifest`, `publicTextCheck`, `executionLive`, `unsubmittedInitialDispatch`, `healthAuthorize`, `checkTransport`,
// `fittingEvents`.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` that names the argument, or the function where there is none of this name, and those of the
// function.
int32_t gallivant_execution_function(const char *name,
                                     size_t name_length,
                                     const char *args_json,
                                     size_t args_json_length,
                                     gallivant_text **value_json,
                                     gallivant_error **error);

// Refuses a runtime in which the layer cannot work: `contract_version` is that of the contract for which the runtime was built, 0
// for none, and `has_intake` is not 0 where it has the shared intake service.
//
// Errors: `GALLIVANT_EXECUTION_DEPENDENCY`; the message tells what is missing, and both versions.
int32_t gallivant_execution_assert_dependency(uint64_t contract_version,
                                              int32_t has_intake,
                                              gallivant_error **error);

// Every limit of a boundary, in order, as a JSON array of `{"name", "default", "min", "max"}`.
int32_t gallivant_execution_limits(gallivant_text **limits_json, gallivant_error **error);

// Every operation of a task's root whose acceptance is unknown, as a JSON array of `{"taskId", "provider", "account",
// "operationId", "runId", "idempotencyKey", "intentAt", "remedy"}`. Reads one file and takes no lock. A root without a ledger has
// none. `host` may be NULL.
//
// Errors: `GALLIVANT_EXECUTION_VERSION`; `GALLIVANT_EXECUTION_PROTOCOL` with reason `ledger`; `GALLIVANT_EXECUTION_IO`.
int32_t gallivant_execution_unresolved(const char *root,
                                       size_t root_length,
                                       const gallivant_host *host,
                                       gallivant_text **operations_json,
                                       gallivant_error **error);

// The nano-dollars of an amount of US dollars, which is the text of a JSON number as it stands in inputs, outcomes and files;
// `round` is what becomes of a rest, one of the GALLIVANT_ROUND constants. No floating-point number is on the way.
//
// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `number` for a text that is no JSON number, and for less than 0 or more than
// 9,000,000,000.
int32_t gallivant_execution_nanos(const char *amount,
                                  size_t amount_length,
                                  int32_t round,
                                  int64_t *nanos,
                                  gallivant_error **error);

/* --------------------------------------------------------------------------
 * Verification: whether the sandbox works here.
 */

// Checks that results could be verified on this machine: probes its sandbox in throw-away directories, with the empty environment
// and an empty commit. Runs no code of a repository and leaves nothing on disk. Gives the evidence, `{"driver", "probe"}`, as JSON
// text, for your own records.
//
// `scratch` is an existing directory for the throw-away directories, and may be NULL for that of the system. `runtime` is an
// installation that commands may read later, and `runtime_programs` the directory of its programs; both may be NULL. `token`
// and `host` may be NULL. Takes as long as a dozen processes, and some ten seconds where the probe hangs.
//
// Errors: `GALLIVANT_EXECUTION_VERIFICATION_SANDBOX` for whatever is not a proof, whose remedy says what this system lacks;
// `GALLIVANT_EXECUTION_INPUT` for one of the two of a runtime alone.
int32_t gallivant_sandbox_readiness(const char *scratch,
                                    size_t scratch_length,
                                    const char *runtime,
                                    size_t runtime_length,
                                    const char *runtime_programs,
                                    size_t runtime_programs_length,
                                    const gallivant_execution_abort_token *token,
                                    const gallivant_host *host,
                                    gallivant_text **evidence_json,
                                    gallivant_error **error);

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
    // Another name of the machine; no string for its own. Processes under different names prove nothing of each other.
    gallivant_str machine;
    // Another identity of the boot; no string for its own. Another boot proves the death of a process.
    gallivant_str boot;
} gallivant_testing_host_options;

/* Initialises one, as input or output. */
#define GALLIVANT_TESTING_HOST_OPTIONS_INIT \
    { sizeof(gallivant_testing_host_options), { 0, 0 }, NULL, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

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

// Puts all clocks by which something is stamped and judged there: the wall clock to `wall_ms`, in ms since 1970, the machine
// having slept for `slept_ms` in all. Does nothing where the clock is the machine's own.
int32_t gallivant_testing_host_stand_at(const gallivant_host *host,
                                        uint64_t wall_ms,
                                        uint64_t slept_ms,
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
