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
    static char paths[256][96];
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
    suite_testing();
    suite_redaction();
    nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
