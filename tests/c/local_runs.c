/* Local runs: a shell script in the place of a harness, started, watched, stopped and settled. */

#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Longer than anything here takes on a busy machine. */
static const uint64_t patience_ms = 120000;
static const char stubborn[] = "trap '' TERM; echo $$ > pid.new; mv pid.new pid; while true; do sleep 0.05; done";

static gallivant_execution_boundary *runs_in(const char *directory, const char *runner)
{
    static const char form[] =
        "{\"taskId\":\"t-1\",\"provider\":\"prov\",\"account\":\"acct\",\"health\":\"external\",\"runner\":%s,"
        "\"limits\":{\"lockWaitMs\":5000},"
        "\"capabilities\":{\"provider\":\"prov\",\"transport\":\"process\",\"location\":\"local\","
        "\"newDispatch\":{\"available\":true,\"reason\":null},"
        "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
        "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"native\","
        "\"policies\":{\"required\":true,\"allowed\":[\"safe\"]},\"preparation\":null,\"continuation\":\"native\","
        "\"observability\":\"events\",\"cancel\":true,\"interrupt\":true,"
        "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}}";
    char options[2048];
    gallivant_execution_boundary *boundary = NULL;
    snprintf(options, sizeof options, form, runner);
    CHECK_OK(gallivant_execution_boundary_open(TEXT(path_in(directory, "task")), TEXT(options), NULL, NULL, &boundary, &error));
    return boundary;
}

static const char *script(const char *directory, const char *text)
{
    static char input[1024];
    snprintf(input, sizeof input,
             "{\"operationId\":\"op-1\",\"runId\":\"run-1\",\"prompt\":\"do it\",\"policy\":\"safe\",\"spec\":{\"argv\":"
             "[\"/bin/sh\",\"-c\",\"%s\"],\"cwd\":\"%s\",\"env\":{\"PATH\":\"/usr/bin:/bin\"}}}",
             text, directory);
    return input;
}

static void started(const gallivant_execution_boundary *boundary, const char *directory, const char *text)
{
    gallivant_text *job = NULL;
    CHECK_OK(gallivant_execution_local_run_start(boundary, TEXT(script(directory, text)), NULL, &job, &error));
    CHECK(job != NULL && strstr(gallivant_text_view(job).data, "\"process\":") != NULL);
    gallivant_text_free(job);
}

static int gone(const gallivant_execution_boundary *boundary, uint64_t timeout_ms)
{
    int32_t is_gone = 77;
    CHECK_OK(gallivant_execution_local_run_wait_for_kill(boundary, TEXT("run-1"), timeout_ms, NULL, &is_gone, &error));
    return is_gone;
}

static void stopped(const gallivant_execution_boundary *boundary, unsigned kill_after_ms)
{
    char input[128];
    gallivant_text *outcome = NULL;
    snprintf(input, sizeof input, "{\"runId\":\"run-1\",\"reason\":\"enough\",\"killAfterMs\":%u}", kill_after_ms);
    CHECK_OK(gallivant_execution_local_run_kill(boundary, TEXT(input), NULL, &outcome, &error));
    CHECK(strstr(gallivant_text_view(outcome).data, "\"confirmed\":false") != NULL);
    gallivant_text_free(outcome);
}

static void passed(const gallivant_execution_boundary *boundary)
{
    gallivant_text *report = NULL;
    CHECK_OK(gallivant_execution_local_run_pass(boundary, NULL, &report, &error));
    gallivant_text_free(report);
}

/* The script's process, once it has said which it is. */
static pid_t pid_in(const char *directory)
{
    struct timespec pause = { 0, 5000000 };
    const char *pid = NULL;
    for (int looks = 0; looks < 24000 && (pid = content_of(directory, "pid")) == NULL; looks++)
        nanosleep(&pause, NULL);
    CHECK(pid != NULL);
    return pid == NULL ? 0 : (pid_t)atoi(pid);
}

static void ex_bnd_24_a_run_is_started_read_and_settled(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = runs_in(directory, "{}");
    gallivant_text *job = (void *)boundary, *current = NULL, *path = NULL, *outcome = NULL, *again = NULL, *lines = NULL;
    CHECK_OK(gallivant_execution_local_run_current(boundary, &job, &error));
    CHECK(job == NULL);
    started(boundary, directory, "echo said; exit 3");
    CHECK_OK(gallivant_execution_local_run_dir_of(boundary, TEXT("run-1"), &path, &error));
    CHECK_VIEW(gallivant_text_view(path), path_in(directory, "task/run-1"));
    CHECK(gone(boundary, patience_ms) == 1);
    CHECK_OK(gallivant_execution_local_run_settle(boundary, TEXT("run-1"), NULL, &outcome, &error));
    CHECK(strstr(gallivant_text_view(outcome).data, "\"ok\":false") != NULL);
    CHECK(strstr(gallivant_text_view(outcome).data, "\"exit\":3") != NULL);
    CHECK_OK(gallivant_execution_local_run_settle(boundary, TEXT("run-1"), NULL, &again, &error));
    CHECK_VIEW(gallivant_text_view(again), gallivant_text_view(outcome).data);
    for (int pass = 0; pass < 3; pass++)
        passed(boundary);
    CHECK_OK(gallivant_execution_local_run_current(boundary, &current, &error));
    CHECK_OK(gallivant_execution_local_run_read(boundary, TEXT("run-1"), &job, &error));
    CHECK_VIEW(gallivant_text_view(job), gallivant_text_view(current).data);
    CHECK_OK(gallivant_execution_local_run_lines(boundary, TEXT("run-1"), NULL, 0, 400, &lines, &error));
    CHECK(strstr(gallivant_text_view(lines).data, "said") != NULL);
    gallivant_text_free(lines);
    lines = NULL;
    /* Behind the last row there is nothing. */
    CHECK_OK(gallivant_execution_local_run_lines(boundary, TEXT("run-1"), NULL, 0, 0, &lines, &error));
    CHECK(strstr(gallivant_text_view(lines).data, "said") == NULL);
    gallivant_text_free(lines);
    gallivant_text_free(job);
    gallivant_text_free(current);
    gallivant_text_free(path);
    gallivant_text_free(outcome);
    gallivant_text_free(again);
    gallivant_execution_boundary_free(boundary);
}

static void ex_loc_20_a_session_is_resumed_by_a_further_turn(void)
{
    static const char form[] =
        "{\"operationId\":\"op-%d\",\"runId\":\"run-%d\",\"prompt\":\"go on\",\"policy\":\"safe\",\"spec\":{\"harness\":"
        "\"codex\",\"argv\":[\"/bin/sh\",\"-c\",\"cat said\"],\"cwd\":\"%s\",\"env\":{\"PATH\":\"/usr/bin:/bin\"}}}";
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = runs_in(directory, "{}");
    gallivant_text *told = NULL;
    char input[1024], run[16];
    int32_t is_gone = 0;
    write_file(directory, "said", "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n{\"type\":\"turn.completed\"}\n");
    for (int turn = 1; turn <= 2; turn++) {
        snprintf(input, sizeof input, form, turn, turn, directory);
        snprintf(run, sizeof run, "run-%d", turn);
        if (turn == 1)
            CHECK_OK(gallivant_execution_local_run_start(boundary, TEXT(input), NULL, &told, &error));
        else
            CHECK_OK(gallivant_execution_local_run_resume(boundary, TEXT(input), NULL, &told, &error));
        CHECK(strstr(gallivant_text_view(told).data, run) != NULL);
        gallivant_text_free(told);
        CHECK_OK(gallivant_execution_local_run_wait_for_kill(boundary, TEXT(run), patience_ms, NULL, &is_gone, &error));
        CHECK(is_gone == 1);
        told = NULL;
        CHECK_OK(gallivant_execution_local_run_settle(boundary, TEXT(run), NULL, &told, &error));
        CHECK(strstr(gallivant_text_view(told).data, "\"ok\":true") != NULL);
        gallivant_text_free(told);
        told = NULL;
    }
    CHECK(strstr(content_of(directory, "task/execution.json"), "\"sessionId\":\"t-1\"") != NULL);
    gallivant_execution_boundary_free(boundary);
}

static void ex_bnd_29_and_30_a_stubborn_tree_is_killed_when_it_is_due(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = runs_in(directory, "{}");
    gallivant_text *outcome = (void *)boundary;
    started(boundary, directory, stubborn);
    pid_t pid = pid_in(directory);
    CHECK_OK(gallivant_execution_local_run_settle(boundary, TEXT("run-1"), NULL, &outcome, &error));
    CHECK(outcome == NULL);
    /* Without a stop nobody is signalled. */
    CHECK(gone(boundary, 50) == 0 && kill(pid, 0) == 0);
    stopped(boundary, 100);
    CHECK(kill(pid, 0) == 0);
    CHECK(gone(boundary, patience_ms) == 1);
    CHECK(kill(pid, 0) == -1 && errno == ESRCH);
    gallivant_execution_boundary_free(boundary);
}

struct waiting {
    gallivant_execution_boundary *boundary;
    gallivant_execution_abort_token *token;
    int32_t is_gone;
};

static void *wait_for_it(void *user_data)
{
    struct waiting *waiting = user_data;
    waiting->is_gone = 77;
    int32_t status = gallivant_execution_local_run_wait_for_kill(waiting->boundary, TEXT("run-1"), GALLIVANT_FOREVER,
                                                                 waiting->token, &waiting->is_gone, NULL);
    return status == GALLIVANT_OK ? waiting : NULL;
}

static void ex_loc_19_a_wait_holds_no_lock_and_ends_by_its_token(void)
{
    const char *directory = fresh_directory();
    struct waiting waiting = { runs_in(directory, "{}"), NULL, 77 };
    struct timespec pause = { 0, 30000000 };
    pthread_t thread;
    void *right = NULL;
    started(waiting.boundary, directory, stubborn);
    pid_in(directory);
    CHECK_OK(gallivant_execution_abort_token_new(&waiting.token, &error));
    CHECK(pthread_create(&thread, NULL, wait_for_it, &waiting) == 0);
    nanosleep(&pause, NULL);
    passed(waiting.boundary);
    gallivant_execution_abort_token_abort(waiting.token);
    CHECK(pthread_join(thread, &right) == 0 && right == &waiting && waiting.is_gone == 0);
    gallivant_execution_abort_token_free(waiting.token);
    waiting.token = NULL;

    CHECK(pthread_create(&thread, NULL, wait_for_it, &waiting) == 0);
    nanosleep(&pause, NULL);
    stopped(waiting.boundary, 0);
    CHECK(pthread_join(thread, &right) == 0 && right == &waiting && waiting.is_gone == 1);
    gallivant_execution_boundary_free(waiting.boundary);
}

static void ex_bnd_30_the_looks_of_a_wait_are_there_for_programs_that_sleep_themselves(void)
{
    static const char *const pauses[] = { "\"pauseMs\":2}", "\"pauseMs\":4}", "\"pauseMs\":8}" };
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = runs_in(directory, "{}");
    gallivant_text *look = NULL;
    char input[64];
    started(boundary, directory, stubborn);
    pid_in(directory);
    for (int looks = 0; looks < 3; looks++) {
        snprintf(input, sizeof input, "{\"runId\":\"run-1\",\"looks\":%d}", looks);
        CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("lookForKill"), TEXT(input), &look, &error));
        CHECK(strstr(gallivant_text_view(look).data, "{\"gone\":false,\"killDue\":false") != NULL);
        CHECK(strstr(gallivant_text_view(look).data, pauses[looks]) != NULL);
        gallivant_text_free(look);
    }
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("lookForKill"), TEXT("{\"runId\":\"run-1\",\"looks\":99}"), &look,
                                               &error));
    CHECK(strstr(gallivant_text_view(look).data, "\"pauseMs\":100}") != NULL);
    gallivant_text_free(look);
    stopped(boundary, 0);
    CHECK(gone(boundary, patience_ms) == 1);
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("lookForKill"), TEXT("{\"runId\":\"run-1\",\"looks\":0}"), &look,
                                               &error));
    CHECK(strstr(gallivant_text_view(look).data, "{\"gone\":true,\"killDue\":false") != NULL);
    gallivant_text_free(look);
    gallivant_execution_boundary_free(boundary);
}

static void what_cannot_be_used_is_refused_and_outputs_stay(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = runs_in(directory, "{}"), *own = runs_in(directory, "true");
    gallivant_execution_boundary *nowhere = runs_in(directory, "{\"supervisor\":\"/nowhere\"}");
    gallivant_text *text = NULL;
    int32_t is_gone = 77;
    REFUSES_NULL(gallivant_execution_local_run_start(NULL, TEXT("{}"), NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_start(boundary, NULL, 0, NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_start(boundary, TEXT("{}"), NULL, NULL, &error));
    REFUSES_UTF8(gallivant_execution_local_run_start(boundary, TEXT(BAD), NULL, &text, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape",
                gallivant_execution_local_run_start(boundary, TEXT("[]"), NULL, &text, &error));
    /* A process host of the program's own is asked by the program: by the raw steps. */
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_execution_local_run_start(own, TEXT(script(directory, "true")), NULL, &text, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, "unavailable",
                gallivant_execution_local_run_start(nowhere, TEXT(script(directory, "true")), NULL, &text, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_execution_local_run_resume(boundary, TEXT(script(directory, "true")), NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_resume(boundary, NULL, 0, NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_current(boundary, NULL, &error));
    REFUSES_NULL(gallivant_execution_local_run_read(boundary, NULL, 0, &text, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_local_run_read(boundary, TEXT("../run"), &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_lines(boundary, NULL, 0, NULL, 0, 1, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_lines(boundary, TEXT("run-1"), NULL, 0, 1, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_local_run_dir_of(boundary, TEXT(""), &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_pass(boundary, NULL, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_execution_local_run_settle(boundary, TEXT("run-9"), NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_kill(boundary, NULL, 0, NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_local_run_wait_for_kill(boundary, TEXT("run-1"), 0, NULL, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_execution_local_run_wait_for_kill(boundary, TEXT("run-9"), 0, NULL, &is_gone, &error));
    CHECK(text == NULL && is_gone == 77);
    gallivant_execution_boundary_free(nowhere);
    gallivant_execution_boundary_free(own);
    gallivant_execution_boundary_free(boundary);
}

void suite_local_runs(void)
{
    RUN(ex_bnd_24_a_run_is_started_read_and_settled);
    RUN(ex_loc_20_a_session_is_resumed_by_a_further_turn);
    RUN(ex_bnd_29_and_30_a_stubborn_tree_is_killed_when_it_is_due);
    RUN(ex_loc_19_a_wait_holds_no_lock_and_ends_by_its_token);
    RUN(ex_bnd_30_the_looks_of_a_wait_are_there_for_programs_that_sleep_themselves);
    RUN(what_cannot_be_used_is_refused_and_outputs_stay);
}
