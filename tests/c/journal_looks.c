/* What is asked of a run's files: what its journal is worth, its result, and whose raw output has expired. */

#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static gallivant_journal_gap gaps[8];
static size_t gap_count;

static void keep_gap(void *user_data, const gallivant_journal_gap *gap)
{
    CHECK(user_data == gaps && gap->struct_size == sizeof *gap);
    if (gap_count < 8)
        gaps[gap_count] = *gap;
    gap_count++;
}

static gallivant_journal_checked checked_in(const char *directory)
{
    gallivant_journal_checked checked = GALLIVANT_JOURNAL_CHECKED_INIT;
    gap_count = 0;
    CHECK_OK(gallivant_journal_check(TEXT(directory), NULL, keep_gap, gaps, &checked, &error));
    CHECK(checked.struct_size == sizeof checked && checked.gaps == gap_count);
    return checked;
}

static void ex_jrn_84_a_check_counts_records_and_visits_every_gap_by_its_bytes(void)
{
    const char *directory = fresh_directory();
    static char log[65536];
    gallivant_journal *journal = NULL;
    gallivant_journal_checked checked = checked_in(directory);
    CHECK(checked.end.sequence == 0 && checked.end.offset == 0 && checked.records == 0 && gap_count == 0);
    lines_said(directory, 1, 5);
    journal = journal_in(directory, NULL);
    CHECK_OK(gallivant_journal_append(journal, TEXT("[{\"id\":\"g\",\"provenance\":\"boundary\",\"reason\":\"provider-gap\"}]"),
                                      NULL, 0, NULL, &error));
    gallivant_journal_free(journal);
    checked = checked_in(directory);
    CHECK(checked.end.sequence == 6 && checked.records == 5 && gap_count == 1 && checked.pending_records == 0);
    CHECK(gaps[0].reason == GALLIVANT_GAP_REASON_PROVIDER_GAP && gaps[0].from == 6 && gaps[0].to == 6);
    CHECK(gaps[0].bytes_to == checked.end.offset && gaps[0].bytes_from < gaps[0].bytes_to);
    /* Damage in the third line is found there and hides no other. */
    strcpy(log, content_of(directory, "events.jsonl"));
    char *third = strchr(strchr(log, '\n') + 1, '\n') + 1;
    third[40] ^= 1;
    write_file(directory, "events.jsonl", log);
    checked = checked_in(directory);
    CHECK(checked.records == 4 && gap_count == 2 && gaps[0].reason == GALLIVANT_GAP_REASON_CORRUPT_RECORD);
    CHECK(gaps[0].from == 3 && gaps[0].to == 3 && gaps[0].bytes_from == (uint64_t)(third - log));
    CHECK(gaps[0].bytes_to == (uint64_t)(strchr(third, '\n') + 1 - log));
    /* Without a visitor they are counted. */
    CHECK_OK(gallivant_journal_check(TEXT(directory), NULL, NULL, NULL, &checked, &error));
    CHECK(checked.gaps == 2);
    CHECK_TEXT(content_of(directory, "events.jsonl"), log);
    write_file(directory, "events.jsonl", "short");
    CHECK_FAILS(GALLIVANT_EXECUTION_JOURNAL, "short",
                gallivant_journal_check(TEXT(directory), NULL, NULL, NULL, &checked, &error));
    CHECK(checked.gaps == 2);
}

static void ex_jrn_56_a_result_is_shown_without_credentials(void)
{
    const char *directory = fresh_directory();
    gallivant_text *result = NULL;
    CHECK_OK(gallivant_journal_read_run_result(TEXT(directory), NULL, &result, &error));
    CHECK(result == NULL);
    write_file(directory, "result.json",
               "{\"version\":1,\"outcome\":{\"n\":9007199254740993,\"denials\":[\"a ghp_abcdefghijklmnopqrstuvwxyz0123456789\"]}}");
    CHECK_OK(gallivant_journal_read_run_result(TEXT(directory), NULL, &result, &error));
    CHECK_VIEW(gallivant_text_view(result), "{\"outcome\":{\"n\":9007199254740993,\"denials\":[\"a [redacted]\"]},\"cost\":null,"
                                            "\"artifacts\":null,\"application\":null,\"verification\":null}");
    gallivant_text_free(result);
    result = NULL;
    write_file(directory, "result.json", "{\"version\":9}");
    CHECK_FAILS(GALLIVANT_EXECUTION_VERSION, "result",
                gallivant_journal_read_run_result(TEXT(directory), NULL, &result, &error));
    write_file(directory, "result.json", "no JSON");
    CHECK_FAILS(GALLIVANT_EXECUTION_IO, NULL, gallivant_journal_read_run_result(TEXT(directory), NULL, &result, &error));
    CHECK(result == NULL);
}

static void keep_run(void *user_data, gallivant_str run)
{
    char *runs = user_data;
    CHECK(run.data[run.length] == '\0');
    strcat(runs, run.data);
    strcat(runs, " ");
}

static void ex_jrn_52_expired_raw_output_is_listed_and_left_alone(void)
{
    const char *root = fresh_directory();
    gallivant_host *host = host_at(2000000000000);
    char runs[256] = "";
    const char *const names[] = { "run-b", "run-a", "run-c" };
    for (int at = 0; at < 3; at++) {
        const char *run = path_in(root, names[at]);
        CHECK(mkdir(run, 0700) == 0);
        write_file(run, "provider.log", "x\n");
        write_file(run, "sensitive-redactions.json", at == 2 ? "{\"version\":1,\"expiresAt\":2000000000001}"
                                                             : "{\"version\":1,\"expiresAt\":2000000000000}");
        write_file(run, "result.json", "{\"version\":1}");
    }
    CHECK_OK(gallivant_journal_retention_candidates(TEXT(root), host, keep_run, runs, &error));
    CHECK_TEXT(runs, "run-a run-b ");
    CHECK_OK(gallivant_testing_host_advance_ms(host, 1, &error));
    runs[0] = '\0';
    CHECK_OK(gallivant_journal_retention_candidates(TEXT(root), host, keep_run, runs, &error));
    CHECK_TEXT(runs, "run-a run-b run-c ");
    CHECK_TEXT(content_of(path_in(root, "run-a"), "provider.log"), "x\n");
    gallivant_host_free(host);
}

static void what_looking_refuses(void)
{
    const char *directory = fresh_directory(), *nowhere = path_in(directory, "nowhere");
    gallivant_journal_checked checked = GALLIVANT_JOURNAL_CHECKED_INIT;
    gallivant_text *result = NULL;
    char runs[16] = "";
    REFUSES_NULL(gallivant_journal_check(NULL, 0, NULL, NULL, NULL, &checked, &error));
    REFUSES_NULL(gallivant_journal_check(TEXT(directory), NULL, NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_journal_check(TEXT(BAD), NULL, NULL, NULL, &checked, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_journal_check(TEXT(nowhere), NULL, NULL, NULL, &checked, &error));
    checked.struct_size = 8;
    REFUSES_SIZE(gallivant_journal_check(TEXT(directory), NULL, NULL, NULL, &checked, &error));
    REFUSES_NULL(gallivant_journal_read_run_result(NULL, 0, NULL, &result, &error));
    REFUSES_NULL(gallivant_journal_read_run_result(TEXT(directory), NULL, NULL, &error));
    REFUSES_UTF8(gallivant_journal_read_run_result(TEXT(BAD), NULL, &result, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_journal_read_run_result(TEXT(nowhere), NULL, &result, &error));
    REFUSES_NULL(gallivant_journal_retention_candidates(NULL, 0, NULL, keep_run, runs, &error));
    REFUSES_NULL(gallivant_journal_retention_candidates(TEXT(directory), NULL, NULL, runs, &error));
    REFUSES_UTF8(gallivant_journal_retention_candidates(TEXT(BAD), NULL, keep_run, runs, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_journal_retention_candidates(TEXT(nowhere), NULL, keep_run, runs, &error));
    CHECK(result == NULL && runs[0] == '\0');
}

static void every_word_of_a_journal_has_a_name(void)
{
    CHECK_TEXT(gallivant_placed_name(GALLIVANT_PLACED_OVERSIZED), "oversized");
    CHECK_TEXT(gallivant_row_name(GALLIVANT_ROW_GAP), "gap");
    CHECK_TEXT(gallivant_frame_name(GALLIVANT_FRAME_HEARTBEAT), "heartbeat");
    CHECK_TEXT(gallivant_gap_reason_name(GALLIVANT_GAP_REASON_INDEX_MISSING), "index-missing");
    CHECK_TEXT(gallivant_gap_reason_name(0), "invalid");
}

void suite_journal_looks(void)
{
    RUN(ex_jrn_84_a_check_counts_records_and_visits_every_gap_by_its_bytes);
    RUN(ex_jrn_56_a_result_is_shown_without_credentials);
    RUN(ex_jrn_52_expired_raw_output_is_listed_and_left_alone);
    RUN(what_looking_refuses);
    RUN(every_word_of_a_journal_has_a_name);
}
