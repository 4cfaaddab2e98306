/* The journal of a run: pages of events out of JSON, each once, and their public lines. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENT(id, data) "{\"id\":\"" id "\",\"provenance\":\"provider\",\"type\":\"output\",\"data\":" data "}"

static gallivant_journal_placed places[8];
static gallivant_journal_appended appended;

static void append(gallivant_journal *journal, const char *page)
{
    gallivant_journal_appended fresh = GALLIVANT_JOURNAL_APPENDED_INIT;
    appended = fresh;
    memset(places, 0x55, sizeof places);
    CHECK_OK(gallivant_journal_append(journal, TEXT(page), places, 8, &appended, &error));
}

static void ex_jrn_06_every_event_of_a_page_is_recorded_once(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    append(journal, "[" EVENT("a", "1") "," EVENT("b", "2") "," EVENT("a", "3") "]");
    CHECK(appended.struct_size == sizeof appended && appended.count == 3);
    CHECK(appended.recorded == 2 && appended.known == 1 && appended.oversized == 0 && appended.end.sequence == 2);
    CHECK(places[0].sequence == 1 && places[0].how == GALLIVANT_PLACED_RECORDED);
    CHECK(places[1].sequence == 2 && places[1].how == GALLIVANT_PLACED_RECORDED);
    CHECK(places[2].sequence == 1 && places[2].how == GALLIVANT_PLACED_KNOWN);
    CHECK(places[3].how == 0x55555555);
    CHECK(appended.end.offset == strlen(content_of(directory, "events.jsonl")));
    gallivant_journal_free(journal);
    /* After a restart too, and for whoever wants no answer. */
    journal = journal_in(directory, NULL);
    append(journal, "[" EVENT("c", "3") "," EVENT("b", "2") "]");
    CHECK(places[0].sequence == 3 && places[1].sequence == 2 && places[1].how == GALLIVANT_PLACED_KNOWN);
    CHECK_OK(gallivant_journal_append(journal, TEXT("[" EVENT("d", "4") "]"), NULL, 0, NULL, &error));
    append(journal, "[]");
    CHECK(appended.count == 0 && appended.end.sequence == 4);
    gallivant_journal_free(journal);
}

static void ex_jrn_04_numbers_keep_their_digits_and_data_its_form(void)
{
    const char *directory = fresh_directory(), *log;
    gallivant_journal *journal = journal_in(directory, NULL);
    append(journal, "[{\"id\":\"a\",\"provenance\":\"local\",\"providerSequence\":18446744073709551617,"
                    "\"timestamp\":1779999940000,\"type\":\"t\",\"data\":{\"b\":9007199254740993,\"a\":[1.50,null]}}]");
    log = content_of(directory, "events.jsonl");
    CHECK(strstr(log, "\"providerSequence\":18446744073709551617,\"provenance\":\"local\",\"timestamp\":1779999940000,"
                      "\"type\":\"t\",\"data\":{\"b\":9007199254740993,\"a\":[1.50,null]}") != NULL);
    gallivant_journal_free(journal);
}

static void ex_jrn_08_an_event_that_is_too_long_becomes_a_gap(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    static char page[70200] = "[" EVENT("a", "1") ",{\"id\":\"b\",\"provenance\":\"local\",\"type\":\"t\",\"data\":\"";
    size_t length = strlen(page);
    memset(page + length, 'x', 70000);
    strcpy(page + length + 70000, "\"}]");
    append(journal, page);
    CHECK(appended.recorded == 1 && appended.oversized == 1 && places[1].how == GALLIVANT_PLACED_OVERSIZED);
    CHECK(strstr(content_of(directory, "events.jsonl"), "\"type\":\"gap\",\"data\":{\"reason\":\"oversized-record\"}") != NULL);
    gallivant_journal_free(journal);
}

static void ex_jrn_09_nothing_reaches_the_disk_unredacted(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    append(journal, "[" EVENT("id hunter2!", "[\"x hunter2!\",\"ghp_0123456789abcdefghijklmnopqrstuvwxyz\"]") "]");
    CHECK(strstr(content_of(directory, "events.jsonl"), "\"data\":[\"x [redacted]\",\"[redacted]\"]") != NULL);
    CHECK(strstr(content_of(directory, "events.jsonl"), "hunter2!") == NULL);
    CHECK(strstr(content_of(directory, "journal.json"), "hunter2!") == NULL);
    /* The key is that of the exact id: it is known again. */
    append(journal, "[" EVENT("id hunter2!", "0") "]");
    CHECK(places[0].how == GALLIVANT_PLACED_KNOWN && places[0].sequence == 1);
    gallivant_journal_free(journal);
}

static void ex_jrn_10_a_gap_has_a_reason_of_the_table(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    for (int32_t reason = GALLIVANT_GAP_REASON_PROVIDER_GAP; reason <= GALLIVANT_GAP_REASON_RETAINED; reason++) {
        char page[128];
        snprintf(page, sizeof page, "[{\"id\":\"gap-%d\",\"provenance\":\"boundary\",\"reason\":\"%s\"}]", reason,
                 gallivant_gap_reason_name(reason));
        append(journal, page);
        CHECK(places[0].sequence == (uint64_t)reason);
    }
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "event",
                gallivant_journal_append(journal, TEXT("[{\"id\":\"g\",\"provenance\":\"local\",\"reason\":\"made-up\"}]"), NULL,
                                         0, NULL, &error));
    gallivant_journal_free(journal);
}

/* Appends in a child that dies at this operation; whether it lived to the end. */
static int append_and_die(const char *directory, const char *page, int operation)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        char faults[64];
        gallivant_testing_host_options given = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
        gallivant_host *host = NULL;
        snprintf(faults, sizeof faults, "[{\"at\": %d, \"do\": \"crash\"}]", operation);
        given.faults_json = VIEW(faults);
        gallivant_testing_host_new(&given, &host, NULL);
        gallivant_journal *journal = journal_in(directory, host);
        int32_t done = gallivant_journal_append(journal, TEXT(page), NULL, 0, NULL, NULL);
        end_child(done == GALLIVANT_OK);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status);
}

static void ex_jrn_13_whatever_an_append_dies_at_is_recovered(void)
{
    const char *page = "[" EVENT("a", "1") "," EVENT("b", "2") "," EVENT("c", "3") "]";
    int lived = 0, pending = 0;
    for (int operation = 1; !lived && operation < 100; operation++) {
        const char *directory = fresh_directory();
        gallivant_journal_recovered recovered = GALLIVANT_JOURNAL_RECOVERED_INIT;
        lived = append_and_die(directory, page, operation);
        gallivant_journal *journal = journal_in(directory, NULL);
        CHECK_OK(gallivant_journal_recover(journal, &recovered, &error));
        CHECK(recovered.struct_size == sizeof recovered && recovered.kept + (uint64_t)recovered.gap <= recovered.end.sequence);
        CHECK(lived ? recovered.kept == 0 && recovered.end.sequence == 3 : recovered.end.sequence <= 3);
        pending += recovered.kept == 3;
        CHECK_OK(gallivant_journal_recover(journal, NULL, &error));
        append(journal, page);
        /* A gap stands for the record that the crash took, and its event is known by it. */
        CHECK(appended.end.sequence == 3 && appended.known == recovered.end.sequence);
        gallivant_journal_free(journal);
    }
    CHECK(lived && pending > 0);
}

static void ex_jrn_20_a_damaged_journal_is_refused_and_left_as_it_is(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    char before[4096];
    append(journal, "[" EVENT("a", "1") "," EVENT("b", "2") "]");
    CHECK(truncate(path_in(directory, "events.jsonl"), 20) == 0);
    strcpy(before, content_of(directory, "journal.json"));
    CHECK_FAILS(GALLIVANT_EXECUTION_JOURNAL, "short", gallivant_journal_recover(journal, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_JOURNAL, "short",
                gallivant_journal_append(journal, TEXT("[" EVENT("c", "3") "]"), places, 8, &appended, &error));
    CHECK_TEXT(content_of(directory, "journal.json"), before);
    CHECK(strlen(content_of(directory, "events.jsonl")) == 20);
    write_file(directory, "journal.json", "{\"version\":7}");
    CHECK_FAILS(GALLIVANT_EXECUTION_VERSION, "journal", gallivant_journal_recover(journal, NULL, &error));
    gallivant_journal_free(journal);
}

static void ex_jrn_25_lines_are_made_from_the_journal_and_trimmed(void)
{
    const char *directory = fresh_directory();
    gallivant_projected projected = GALLIVANT_PROJECTED_INIT;
    gallivant_projection *projection = NULL;
    lines_said(directory, 1, 50);
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    CHECK_OK(gallivant_projection_catch_up(projection, &projected, &error));
    CHECK(projected.struct_size == sizeof projected && projected.first == 1 && projected.next == 51);
    CHECK(projected.bytes == strlen(content_of(directory, "job.log")));
    CHECK_OK(gallivant_projection_trim(projection, 500, &projected, &error));
    CHECK(projected.first > 1 && projected.next == 51 && projected.bytes <= 500);
    CHECK_OK(gallivant_projection_trim(projection, 500, NULL, &error));
    CHECK(strncmp(content_of(directory, "events.jsonl"), "{\"version\":1", 12) == 0);
    write_file(directory, "log-meta.json", "{\"version\":7}");
    CHECK_FAILS(GALLIVANT_EXECUTION_VERSION, "log-meta", gallivant_projection_catch_up(projection, NULL, &error));
    gallivant_projection_free(projection);
}

/* Whether the last operations of a host stage under a name of this process. */
static int stages_as_this_process(const gallivant_host *host)
{
    gallivant_text *operations = NULL;
    char digits[16], name[64];
    size_t first = sizeof digits - 1;
    digits[first] = 0;
    /* In 36 digits, as all numbers in staged names. */
    for (long pid = (long)getpid(); pid > 0; pid /= 36)
        digits[--first] = "0123456789abcdefghijklmnopqrstuvwxyz"[pid % 36];
    snprintf(name, sizeof name, ".journal.json.tmp-%s-", digits + first);
    int right = gallivant_testing_host_operations(host, &operations, NULL) == GALLIVANT_OK;
    right = right && strstr(gallivant_text_view(operations).data, name) != NULL;
    gallivant_text_free(operations);
    return right;
}

static void a_forked_child_goes_on_with_its_journal_under_names_of_its_own(void)
{
    const char *directory = fresh_directory();
    int status = -1;
    gallivant_host *host = host_at(2000000000000);
    gallivant_projection *projection = NULL;
    gallivant_journal *journal = journal_in(directory, host);
    append(journal, "[" EVENT("a", "1") "]");
    CHECK(stages_as_this_process(host));
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    CHECK_OK(gallivant_projection_catch_up(projection, NULL, &error));
    pid_t child = fork();
    if (child == 0) {
        int right = !stages_as_this_process(host) &&
                    gallivant_journal_append(journal, TEXT("[" EVENT("b", "2") "]"), NULL, 0, NULL, NULL) == GALLIVANT_OK &&
                    stages_as_this_process(host) && gallivant_projection_catch_up(projection, NULL, NULL) == GALLIVANT_OK;
        gallivant_journal_free(journal);
        gallivant_projection_free(projection);
        end_child(right);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    append(journal, "[" EVENT("b", "2") "," EVENT("c", "3") "]");
    CHECK(places[0].how == GALLIVANT_PLACED_KNOWN && places[1].sequence == 3);
    gallivant_projected projected = GALLIVANT_PROJECTED_INIT;
    CHECK_OK(gallivant_projection_catch_up(projection, &projected, &error));
    CHECK(projected.next == 4);
    gallivant_projection_free(projection);
    gallivant_journal_free(journal);
    gallivant_host_free(host);
}

#define SHARED 40

struct share {
    gallivant_journal *journal;
    char name;
    int busy, wrong;
};

/* Appends events of its own to a journal that another thread uses too. */
static void *append_share(void *user_data)
{
    struct share *share = user_data;
    for (int at = 0; at < SHARED;) {
        char page[96];
        int length = snprintf(page, sizeof page, "[{\"id\":\"%c%d\",\"provenance\":\"local\",\"type\":\"t\"}]", share->name, at);
        int32_t status = gallivant_journal_append(share->journal, page, (size_t)length, NULL, 0, NULL, NULL);
        at += status == GALLIVANT_OK;
        share->busy += status == GALLIVANT_HANDLE_BUSY;
        share->wrong += status != GALLIVANT_OK && status != GALLIVANT_HANDLE_BUSY;
    }
    return NULL;
}

static void two_threads_with_one_journal_are_told_that_it_is_busy(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    struct share shares[2] = { { journal, 'a', 0, 0 }, { journal, 'b', 0, 0 } };
    pthread_t threads[2];
    for (int at = 0; at < 2; at++)
        CHECK(pthread_create(&threads[at], NULL, append_share, &shares[at]) == 0);
    for (int at = 0; at < 2; at++)
        CHECK(pthread_join(threads[at], NULL) == 0);
    CHECK(shares[0].wrong == 0 && shares[1].wrong == 0 && shares[0].busy + shares[1].busy > 0);
    append(journal, "[]");
    CHECK(appended.end.sequence == (uint64_t)2 * SHARED);
    gallivant_journal_free(journal);
}

static void what_is_no_page_is_refused_and_nothing_is_written(void)
{
    const char *directory = fresh_directory();
    gallivant_journal *journal = journal_in(directory, NULL);
    gallivant_journal_appended answer = GALLIVANT_JOURNAL_APPENDED_INIT;
    const char *good = "[" EVENT("a", "1") "," EVENT("b", "2") "]";
    answer.count = 77;
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape", gallivant_journal_append(journal, TEXT("{}"), NULL, 0, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape", gallivant_journal_append(journal, TEXT("["), NULL, 0, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "event", gallivant_journal_append(journal, TEXT("[1]"), NULL, 0, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_journal_append(journal, TEXT("[" EVENT("a", "1") "," EVENT("", "1") "]"), NULL, 0, NULL, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "buffer", gallivant_journal_append(journal, TEXT(good), places, 1, &answer, &error));
    REFUSES_NULL(gallivant_journal_append(NULL, TEXT(good), places, 8, &answer, &error));
    REFUSES_NULL(gallivant_journal_append(journal, NULL, 0, places, 8, &answer, &error));
    REFUSES_NULL(gallivant_journal_append(journal, TEXT(good), NULL, 8, &answer, &error));
    REFUSES_UTF8(gallivant_journal_append(journal, TEXT(BAD), places, 8, &answer, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "length",
                gallivant_journal_append(journal, TEXT(good), places, SIZE_MAX / 4, &answer, &error));
    answer.struct_size = 8;
    REFUSES_SIZE(gallivant_journal_append(journal, TEXT(good), places, 8, &answer, &error));
    CHECK(answer.count == 77 && content_of(directory, "events.jsonl") == NULL);
    gallivant_journal_recovered recovered = GALLIVANT_JOURNAL_RECOVERED_INIT;
    recovered.struct_size = 8;
    REFUSES_SIZE(gallivant_journal_recover(journal, &recovered, &error));
    REFUSES_NULL(gallivant_journal_recover(NULL, NULL, &error));
    gallivant_journal_free(journal);
    gallivant_journal_free(NULL);
}

static void what_opening_refuses(void)
{
    const char *directory = fresh_directory(), *nowhere = path_in(directory, "nowhere");
    gallivant_journal_owner owner = GALLIVANT_JOURNAL_OWNER_INIT;
    gallivant_redactor *redactor = NULL;
    gallivant_journal *journal = NULL;
    gallivant_projection *projection = NULL;
    CHECK_OK(gallivant_redactor_new(NULL, 0, &redactor, &error));
    REFUSES_NULL(gallivant_journal_open(TEXT(directory), &owner, redactor, NULL, &journal, &error));
    owner.task_id = owner.run_id = owner.provider = VIEW("x");
    REFUSES_NULL(gallivant_journal_open(NULL, 0, &owner, redactor, NULL, &journal, &error));
    REFUSES_NULL(gallivant_journal_open(TEXT(directory), NULL, redactor, NULL, &journal, &error));
    REFUSES_NULL(gallivant_journal_open(TEXT(directory), &owner, NULL, NULL, &journal, &error));
    REFUSES_NULL(gallivant_journal_open(TEXT(directory), &owner, redactor, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_journal_open(TEXT(BAD), &owner, redactor, NULL, &journal, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_journal_open(TEXT(nowhere), &owner, redactor, NULL, &journal, &error));
    gallivant_error *unknown = NULL;
    CHECK(gallivant_journal_open(TEXT(nowhere), &owner, redactor, NULL, &journal, &unknown) ==
          GALLIVANT_EXECUTION_UNKNOWN_RUN);
    CHECK_VIEW(gallivant_error_run_id(unknown), "x");
    CHECK_VIEW(gallivant_error_operation_id(unknown), NULL);
    CHECK_VIEW(gallivant_error_resource(unknown), NULL);
    gallivant_error_free(unknown);
    CHECK_VIEW(gallivant_error_run_id(NULL), NULL);
    CHECK_VIEW(gallivant_error_operation_id(NULL), NULL);
    owner.turn_id = VIEW(BAD);
    REFUSES_UTF8(gallivant_journal_open(TEXT(directory), &owner, redactor, NULL, &journal, &error));
    owner.struct_size = 8;
    REFUSES_SIZE(gallivant_journal_open(TEXT(directory), &owner, redactor, NULL, &journal, &error));
    REFUSES_NULL(gallivant_projection_open(NULL, 0, NULL, &projection, &error));
    REFUSES_NULL(gallivant_projection_open(TEXT(directory), NULL, NULL, &error));
    REFUSES_UTF8(gallivant_projection_open(TEXT(BAD), NULL, &projection, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_projection_open(TEXT(nowhere), NULL, &projection, &error));
    CHECK(journal == NULL && projection == NULL);
    gallivant_projected projected = GALLIVANT_PROJECTED_INIT;
    CHECK_OK(gallivant_projection_open(TEXT(directory), NULL, &projection, &error));
    REFUSES_NULL(gallivant_projection_catch_up(NULL, &projected, &error));
    REFUSES_NULL(gallivant_projection_trim(NULL, 0, &projected, &error));
    projected.struct_size = 8;
    REFUSES_SIZE(gallivant_projection_catch_up(projection, &projected, &error));
    REFUSES_SIZE(gallivant_projection_trim(projection, 0, &projected, &error));
    gallivant_projection_free(projection);
    gallivant_projection_free(NULL);
    gallivant_redactor_free(redactor);
}

void suite_journal(void)
{
    RUN(ex_jrn_06_every_event_of_a_page_is_recorded_once);
    RUN(ex_jrn_04_numbers_keep_their_digits_and_data_its_form);
    RUN(ex_jrn_08_an_event_that_is_too_long_becomes_a_gap);
    RUN(ex_jrn_09_nothing_reaches_the_disk_unredacted);
    RUN(ex_jrn_10_a_gap_has_a_reason_of_the_table);
    RUN(ex_jrn_13_whatever_an_append_dies_at_is_recovered);
    RUN(ex_jrn_20_a_damaged_journal_is_refused_and_left_as_it_is);
    RUN(ex_jrn_25_lines_are_made_from_the_journal_and_trimmed);
    RUN(a_forked_child_goes_on_with_its_journal_under_names_of_its_own);
    RUN(two_threads_with_one_journal_are_told_that_it_is_busy);
    RUN(what_is_no_page_is_refused_and_nothing_is_written);
    RUN(what_opening_refuses);
}
