/* The test harness, see check.h. */

#define _GNU_SOURCE
#include "check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *running;
static int failed_checks;
static int passed, failed;
static char root[64];
static size_t directories;

void check_that(int holds, const char *file, int line, const char *what)
{
    if (!holds) {
        failed_checks++;
        fprintf(stderr, "%s:%d: in %s: %s does not hold\n", file, line, running, what);
    }
}

void check_text(const char *got, const char *wanted, const char *file, int line, const char *what)
{
    int same = got == wanted || (got != NULL && wanted != NULL && strcmp(got, wanted) == 0);
    check_that(same, file, line, what);
    if (!same)
        fprintf(stderr, "    wanted `%s`, got `%s`\n", wanted ? wanted : "NULL", got ? got : "NULL");
}

void check_view(gallivant_str got, const char *wanted, const char *file, int line, const char *what)
{
    check_that(got.length == (wanted ? strlen(wanted) : 0), file, line, what);
    check_text(got.data, wanted, file, line, what);
}

void check_status(int32_t got, int32_t wanted, const gallivant_error *error, const char *file, int line,
                  const char *what)
{
    check_that(got == wanted, file, line, what);
    if (got != wanted)
        fprintf(stderr, "    wanted %s, got %s: %s\n", gallivant_status_name(wanted), gallivant_status_name(got),
                gallivant_error_message(error));
    /* The detail says the same as the status, and is there exactly when the call failed. */
    check_that(gallivant_error_code(error) == got, file, line, what);
    check_that((error != NULL) == (got != GALLIVANT_OK), file, line, what);
}

void check_run(const char *name, void (*test)(void))
{
    running = name;
    failed_checks = 0;
    test();
    if (failed_checks == 0)
        passed++;
    else
        failed++;
    printf("%s %s\n", failed_checks == 0 ? "ok  " : "FAIL", name);
}

const char *fresh_directory(void)
{
    static char paths[512][96];
    if (directories == sizeof paths / sizeof *paths)
        abort();
    char *path = paths[directories];
    snprintf(path, sizeof paths[0], "%s/%zu", root, ++directories);
    if (mkdir(path, 0700) != 0)
        abort();
    return path;
}

const char *path_in(const char *directory, const char *name)
{
    static char paths[16][256];
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

const char *content_of(const char *directory, const char *name)
{
    static char content[65536];
    FILE *file = fopen(path_in(directory, name), "rb");
    if (file == NULL)
        return NULL;
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    return content;
}

void write_file(const char *directory, const char *name, const char *content)
{
    FILE *file = fopen(path_in(directory, name), "wb");
    if (file == NULL || fwrite(content, 1, strlen(content), file) != strlen(content) || fclose(file) != 0)
        abort();
}

gallivant_host *host_at(uint64_t wall_ms)
{
    gallivant_testing_host_options options = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_host *host = NULL;
    options.wall_ms.value = wall_ms;
    options.wall_ms.is_set = 1;
    CHECK_OK(gallivant_testing_host_new(&options, &host, &error));
    return host;
}

gallivant_harness_state_options options_with(const gallivant_host *host)
{
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    options.host = host;
    /* Tests set the wall clock, and a record with the extension is judged by clocks that nobody sets. */
    options.extension = 0;
    return options;
}

gallivant_harness_state_identity identity_of(const char *token)
{
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    identity.agent = VIEW("host.worker");
    identity.harness = VIEW("codex");
    identity.token = VIEW(token);
    identity.pty_session = VIEW("worker");
    return identity;
}

gallivant_harness_state_observation seen(int32_t state)
{
    gallivant_harness_state_observation observation = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    observation.state = state;
    return observation;
}

gallivant_harness_state_observation asking(int32_t ask)
{
    gallivant_harness_state_observation observation = seen(GALLIVANT_STATE_ACTIVE);
    observation.blocked_on = GALLIVANT_BLOCKED_ON_HUMAN;
    observation.ask = ask;
    return observation;
}

gallivant_harness_state_writer *writer_on(const char *directory, const char *token, uint64_t sequence,
                                          const gallivant_harness_state_options *options)
{
    gallivant_harness_state_identity identity = identity_of(token);
    gallivant_harness_state_writer *writer = NULL;
    CHECK_OK(gallivant_harness_state_writer_open(TEXT(directory), &identity, sequence > 0 ? &sequence : NULL,
                                                 options, &writer, &error));
    return writer;
}

uint64_t claimed(const char *directory, const char *token, const gallivant_harness_state_options *options)
{
    gallivant_harness_state_identity identity = identity_of(token);
    gallivant_harness_state_claim_result *claim = NULL;
    CHECK_OK(gallivant_harness_state_claim(TEXT(directory), &identity, options, &claim, &error));
    uint64_t sequence = gallivant_harness_state_claim_result_sequence(claim);
    gallivant_harness_state_claim_result_free(claim);
    return sequence;
}

gallivant_harness_state_derived derived_in(const char *directory, const gallivant_harness_state_options *options)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_reader *reader = NULL;
    CHECK_OK(gallivant_harness_state_reader_open(TEXT(directory), options, &reader, &error));
    CHECK_OK(gallivant_harness_state_reader_read(reader, NULL, &derived, &error));
    gallivant_harness_state_reader_free(reader);
    derived.reason = derived.exit = derived.harness = derived.evidence_incarnation = VIEW(NULL);
    return derived;
}

gallivant_idempotency_store *claims_in(const char *directory, const gallivant_idempotency_store_options *options)
{
    gallivant_idempotency_store *store = NULL;
    CHECK_OK(gallivant_idempotency_store_open(TEXT(path_in(directory, "idempotency.db")), options, &store, &error));
    return store;
}

gallivant_idempotency_name named(const char *key)
{
    static gallivant_str scope[2];
    gallivant_idempotency_name name = GALLIVANT_IDEMPOTENCY_NAME_INIT;
    scope[0] = VIEW("org");
    scope[1] = VIEW("ws");
    name.operation = VIEW("things.create");
    name.scope = scope;
    name.scope_count = 2;
    name.key = VIEW(key);
    return name;
}

gallivant_idempotency_begun begun_with(const gallivant_idempotency_store *store, const char *key, const char *body)
{
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = named(key);
    CHECK_OK(gallivant_idempotency_store_begin(store, &name, TEXT(body), GALLIVANT_DEFAULT, &begun, &error));
    return begun;
}

void completed(gallivant_idempotency_begun begun, const char *resource)
{
    CHECK_OK(gallivant_idempotency_reservation_complete(begun.reservation, TEXT(resource), TEXT("made"),
                                                        GALLIVANT_DEFAULT, &error));
    free_begun(begun);
}

void free_begun(gallivant_idempotency_begun begun)
{
    gallivant_idempotency_reservation_free(begun.reservation);
    gallivant_idempotency_claim_free(begun.claim);
    gallivant_idempotency_ticket_free(begun.ticket);
    gallivant_idempotency_unknown_claim_free(begun.unknown);
}

gallivant_journal *journal_in(const char *directory, const gallivant_host *host)
{
    gallivant_journal_owner owner = GALLIVANT_JOURNAL_OWNER_INIT;
    gallivant_str secrets[] = { VIEW("hunter2!") };
    gallivant_redactor *redactor = NULL;
    gallivant_journal *journal = NULL;
    owner.task_id = VIEW("t-1");
    owner.run_id = VIEW("run-1");
    owner.provider = VIEW("prov");
    owner.provider_job_id = VIEW("job-1");
    CHECK_OK(gallivant_redactor_new(secrets, 1, &redactor, &error));
    CHECK_OK(gallivant_journal_open(TEXT(directory), &owner, redactor, host, &journal, &error));
    gallivant_redactor_free(redactor);
    return journal;
}

void lines_said(const char *directory, unsigned first, unsigned count)
{
    char *page = malloc(96 * (size_t)count + 3);
    size_t length = 0;
    gallivant_journal *journal = journal_in(directory, NULL);
    gallivant_projection *projection = NULL;
    if (page == NULL)
        abort();
    for (unsigned at = first; at < first + count; at++)
        length += (size_t)sprintf(page + length,
                                  "%c{\"id\":\"e%u\",\"provenance\":\"provider\",\"type\":\"output\",\"data\":\"text %u\"}",
                                  at == first ? '[' : ',', at, at);
    length += (size_t)sprintf(page + length, "]");
    CHECK_OK(gallivant_journal_append(journal, page, length, NULL, 0, NULL, &error));
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    CHECK_OK(gallivant_projection_catch_up(projection, NULL, &error));
    gallivant_projection_free(projection);
    gallivant_journal_free(journal);
    free(page);
}

uint64_t trimmed(const char *directory, uint64_t keep_bytes)
{
    gallivant_projected projected = GALLIVANT_PROJECTED_INIT;
    gallivant_projection *projection = NULL;
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    CHECK_OK(gallivant_projection_trim(projection, keep_bytes, &projected, &error));
    gallivant_projection_free(projection);
    return projected.first;
}

gallivant_execution_boundary *boundary_in(const char *directory, uint64_t deadline_ms, const gallivant_host *host,
                                          const gallivant_execution_ports *ports)
{
    static const char form[] =
        "{\"taskId\":\"task\",\"provider\":\"p\",\"account\":\"me\",\"budgetUsd\":8,\"health\":\"external\","
        "\"limits\":{\"deadlineMs\":%llu,\"lockWaitMs\":100},"
        "\"transport\":{\"methods\":[\"submit\",\"inspect\",\"continue\",\"collect\",\"cancel\",\"lookup\"]},"
        "\"capabilities\":{\"provider\":\"p\",\"transport\":\"rest\",\"location\":\"remote\","
        "\"newDispatch\":{\"available\":true,\"reason\":null},"
        "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
        "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"refused\","
        "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"native\","
        "\"observability\":\"events\",\"cancel\":true,\"interrupt\":false,"
        "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}}";
    char options[2048];
    gallivant_execution_boundary *boundary = NULL;
    snprintf(options, sizeof options, form, (unsigned long long)deadline_ms);
    CHECK_OK(gallivant_execution_boundary_open(TEXT(directory), TEXT(options), ports, host, &boundary, &error));
    return boundary;
}

gallivant_execution_machine *called(const gallivant_execution_boundary *boundary, const char *method, const char *input)
{
    gallivant_execution_machine *machine = NULL;
    CHECK_OK(gallivant_execution_boundary_call(boundary, TEXT(method), TEXT(input), NULL, &machine, &error));
    return machine;
}

void end_child(int right)
{
    /* By another program, because what a child keeps of its parent's stores, and must not free, is no loss. */
    execlp(right ? "true" : "false", right ? "true" : "false", (char *)NULL);
    _exit(2);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

int main(void)
{
    strcpy(root, "/tmp/gallivant-c-XXXXXX");
    if (mkdtemp(root) == NULL)
        abort();
    suite_basics();
    suite_inputs();
    suite_claim();
    suite_writer();
    suite_reader();
    suite_fleet();
    suite_watch();
    suite_extension();
    suite_ownership();
    suite_environment();
    suite_session();
    suite_hook();
    suite_handles();
    suite_idempotency();
    suite_idempotency_waiting();
    suite_idempotency_handles();
    suite_testing();
    suite_redaction();
    suite_verification();
    suite_journal();
    suite_journal_looks();
    suite_log_reader();
    suite_replay();
    suite_replay_waiting();
    suite_execution();
    suite_execution_handles();
    suite_execution_drive();
    suite_health();
    suite_lanes();
    suite_local_runs();
    suite_codes();
    suite_publication();
    nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
