/* A small test harness: checks that count, fresh directories, and the calls that most tests begin with. */

#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gallivant.h>

/* One check. A failed one is printed and the test goes on. */
#define CHECK(condition) check_that((condition) != 0, __FILE__, __LINE__, #condition)

/* Two strings that end in a zero byte; NULL equals NULL. */
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), __FILE__, __LINE__, #got)

/* A view and the string that it should hold, byte for byte; NULL for no string. */
#define CHECK_VIEW(got, wanted) check_view((got), (wanted), __FILE__, __LINE__, #got)

/* A call that uses `&error` and has to succeed; its message is printed where it does not. */
#define CHECK_OK(call)                                                      \
    do {                                                                    \
        gallivant_error *error = NULL;                                      \
        int32_t status_ = (call);                                           \
        check_status(status_, GALLIVANT_OK, error, __FILE__, __LINE__, #call); \
        gallivant_error_free(error);                                        \
    } while (0)

/* A call that uses `&error` and has to fail with this status and reason; NULL for no reason. */
#define CHECK_FAILS(status, reason, call)                                   \
    do {                                                                    \
        gallivant_error *error = NULL;                                      \
        int32_t status_ = (call);                                           \
        check_status(status_, (status), error, __FILE__, __LINE__, #call);  \
        check_text(gallivant_error_reason(error), (reason), __FILE__, __LINE__, #call); \
        gallivant_error_free(error);                                        \
    } while (0)

/* A call that gets NULL where it must not, or something else that cannot be used. */
#define REFUSES_NULL(call) CHECK_FAILS(GALLIVANT_INPUT, "null-pointer", call)
#define REFUSES_UTF8(call) CHECK_FAILS(GALLIVANT_INPUT, "utf-8", call)
#define REFUSES_SIZE(call) CHECK_FAILS(GALLIVANT_INPUT, "struct-size", call)
#define REFUSES_CONSTANT(call) CHECK_FAILS(GALLIVANT_INPUT, "constant", call)

/* Pointer and length of a string, as two arguments or as a view. */
#define TEXT(string) (string), strlen(string)
#define VIEW(string) gallivant_str_from(string)

/* Bytes that are no UTF-8. */
#define BAD "a\xff\xfe"

#define RUN(test) check_run(#test, test)

void check_that(int holds, const char *file, int line, const char *what);
void check_text(const char *got, const char *wanted, const char *file, int line, const char *what);
void check_view(gallivant_str got, const char *wanted, const char *file, int line, const char *what);
void check_status(int32_t got, int32_t wanted, const gallivant_error *error, const char *file, int line,
                  const char *what);
void check_run(const char *name, void (*test)(void));

/* The path of a new, empty directory. All are removed at the end. */
const char *fresh_directory(void);

/* `directory/name`, valid for the next 15 paths. */
const char *path_in(const char *directory, const char *name);

/* The content of a file, valid until the next call; NULL where it cannot be read. */
const char *content_of(const char *directory, const char *name);
void write_file(const char *directory, const char *name, const char *content);

/* A host whose clock stands at this time. */
gallivant_host *host_at(uint64_t wall_ms);

/* Options with this host, under which records carry no extension. */
gallivant_harness_state_options options_with(const gallivant_host *host);

/* The identity of a codex session of the agent `host.worker` in the pty session `worker`. */
gallivant_harness_state_identity identity_of(const char *token);

/* An observation of this state, and one that waits for a person who is asked for this. */
gallivant_harness_state_observation seen(int32_t state);
gallivant_harness_state_observation asking(int32_t ask);

/* A writer of that session; with a sequence above 0 it adopts it. */
gallivant_harness_state_writer *writer_on(const char *directory, const char *token, uint64_t sequence,
                                          const gallivant_harness_state_options *options);

/* Claims, and answers the sequence. */
uint64_t claimed(const char *directory, const char *token, const gallivant_harness_state_options *options);

/* What a new reader concludes; the strings are gone. */
gallivant_harness_state_derived derived_in(const char *directory, const gallivant_harness_state_options *options);

/* A store of claims in `directory/idempotency.db`. */
gallivant_idempotency_store *claims_in(const char *directory, const gallivant_idempotency_store_options *options);

/* The key in the operation `things.create` and the scope `org`, `ws`. */
gallivant_idempotency_name named(const char *key);

/* What a begin with this key and this body answers; all NULL where it fails, which is a failed check. */
gallivant_idempotency_begun begun_with(const gallivant_idempotency_store *store, const char *key, const char *body);

/* Completes with this resource and the answer `made`, and frees the reservation. */
void completed(gallivant_idempotency_begun begun, const char *resource);

/* Frees whichever handle is there. */
void free_begun(gallivant_idempotency_begun begun);

/* The journal of `run-1` in a run's directory, with the real machine where `host` is NULL. */
gallivant_journal *journal_in(const char *directory, const gallivant_host *host);

/* Appends so many events from this number on, `e<number>` with the text `text <number>`, and projects them. */
void lines_said(const char *directory, unsigned first, unsigned count);

/* Drops old lines down to so many bytes; the first number that is left. */
uint64_t trimmed(const char *directory, uint64_t keep_bytes);

/* The boundary of a task at a remote provider, with the deadline and the ports given; NULL for the real machine and for none. */
gallivant_execution_boundary *boundary_in(const char *directory, uint64_t deadline_ms, const gallivant_host *host,
                                          const gallivant_execution_ports *ports);

/* The machine of a call, which has still to be started. */
gallivant_execution_machine *called(const gallivant_execution_boundary *boundary, const char *method, const char *input);

/* Ends a forked child, with status 0 where it found everything right. */
void end_child(int right);

/* The suites, one a file. */
void suite_basics(void);
void suite_inputs(void);
void suite_claim(void);
void suite_writer(void);
void suite_reader(void);
void suite_fleet(void);
void suite_watch(void);
void suite_extension(void);
void suite_ownership(void);
void suite_environment(void);
void suite_session(void);
void suite_hook(void);
void suite_handles(void);
void suite_idempotency(void);
void suite_idempotency_waiting(void);
void suite_idempotency_handles(void);
void suite_testing(void);
void suite_redaction(void);
void suite_verification(void);
void suite_publication(void);
void suite_journal(void);
void suite_journal_looks(void);
void suite_log_reader(void);
void suite_replay(void);
void suite_replay_waiting(void);
void suite_execution(void);
void suite_execution_handles(void);
void suite_execution_drive(void);
void suite_health(void);
void suite_lanes(void);
void suite_local_runs(void);
void suite_codes(void);

#endif
