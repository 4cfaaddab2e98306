/* The driver over a table of callbacks: replies, failures, deadlines, aborts, threads. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static const char submit_input[] = "{\"operationId\":\"op-1\",\"prompt\":\"do it\",\"reservationUsd\":0.5}";
static const char accepted[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}";

typedef struct {
    gallivant_execution_boundary *boundary; /* what a method frees */
    gallivant_execution_abort_token *token; /* what a method fires */
    pthread_t thread;
    atomic_int calls, has_returned, may_return;
    int was_cancelled, right;
} provider;

static void pause_ms(long ms)
{
    struct timespec moment = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&moment, NULL);
}

static void replies(void *user_data, const gallivant_execution_call *call)
{
    provider *provider = user_data;
    gallivant_execution_failure late = GALLIVANT_EXECUTION_FAILURE_INIT;
    const char *limits = gallivant_execution_call_limits(call).data;
    gallivant_str method = gallivant_execution_call_method(call);
    provider->calls++;
    provider->thread = pthread_self();
    provider->right = strcmp(method.data, "submit") == 0 && method.length == 6 &&
                      strstr(gallivant_execution_call_input(call).data, "\"prompt\":\"do it\"") != NULL &&
                      strstr(limits, "\"deadlineMs\":20000") != NULL && gallivant_execution_call_deadline_at_ms(call) > 0 &&
                      !gallivant_execution_call_is_cancelled(call);
    gallivant_execution_call_sending(call);
    provider->right &= gallivant_execution_call_reply(call, TEXT(accepted), NULL) == GALLIVANT_OK;
    /* What is said first counts. */
    provider->right &= gallivant_execution_call_reply(call, TEXT("{}"), NULL) == GALLIVANT_EXECUTION_INPUT;
    provider->right &= gallivant_execution_call_fail(call, &late, NULL) == GALLIVANT_EXECUTION_INPUT;
}

static void says_nothing(void *user_data, const gallivant_execution_call *call)
{
    (void)call;
    ((provider *)user_data)->calls++;
}

static void refuses(void *user_data, const gallivant_execution_call *call)
{
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    gallivant_execution_dispatch_not_sent_error(TEXT("no-token"), TEXT("no token"), &failure, NULL);
    ((provider *)user_data)->calls++;
    if (((provider *)user_data)->may_return)
        gallivant_execution_call_sending(call);
    gallivant_execution_call_fail(call, &failure, NULL);
}

static void never_ends(void *user_data, const gallivant_execution_call *call)
{
    provider *provider = user_data;
    provider->calls++;
    while (!provider->may_return)
        pause_ms(1);
    provider->was_cancelled = gallivant_execution_call_is_cancelled(call);
    provider->right = gallivant_execution_call_reply(call, TEXT(accepted), NULL) == GALLIVANT_OK;
    provider->has_returned = 1;
}

static void fires_and_waits(void *user_data, const gallivant_execution_call *call)
{
    provider *provider = user_data;
    provider->calls++;
    provider->thread = pthread_self();
    gallivant_execution_abort_token_abort(provider->token);
    while (!gallivant_execution_call_is_cancelled(call))
        pause_ms(1);
    gallivant_execution_call_reply(call, TEXT(accepted), NULL);
}

static void waits_for_its_deadline(void *user_data, const gallivant_execution_call *call)
{
    ((provider *)user_data)->calls++;
    while (!gallivant_execution_call_is_cancelled(call))
        pause_ms(1);
    gallivant_execution_call_reply(call, TEXT(accepted), NULL);
}

static void frees_the_boundary(void *user_data, const gallivant_execution_call *call)
{
    provider *provider = user_data;
    provider->calls++;
    gallivant_execution_boundary_free(provider->boundary);
    provider->was_cancelled = gallivant_execution_call_is_cancelled(call);
    gallivant_execution_call_reply(call, TEXT(accepted), NULL);
}

static gallivant_execution_transport table_of(gallivant_execution_method submit, provider *provider)
{
    gallivant_execution_transport table = GALLIVANT_EXECUTION_TRANSPORT_INIT;
    table.user_data = provider;
    table.submit = submit;
    return table;
}

static void ex_tra_35_a_table_of_callbacks_is_driven_to_the_end(void)
{
    for (int keeps_deadlines = 0; keeps_deadlines < 2; keeps_deadlines++) {
        gallivant_execution_boundary *boundary = boundary_in(fresh_directory(), 20000, NULL, NULL);
        provider provider = { 0 };
        gallivant_execution_transport table = table_of(replies, &provider);
        gallivant_text *outcome = NULL;
        table.keeps_deadlines = keeps_deadlines;
        for (int again = 0; again < 2; again++) {
            gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
            CHECK_OK(gallivant_execution_drive(machine, &table, NULL, &outcome, &error));
            const char *json = outcome != NULL ? gallivant_text_view(outcome).data : "";
            CHECK(strstr(json, again ? "\"reused\":true" : "\"reused\":false") != NULL);
            gallivant_text_free(outcome);
            outcome = NULL;
            /* It is done. */
            CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "reply",
                        gallivant_execution_drive(machine, &table, NULL, &outcome, &error));
            gallivant_execution_machine_free(machine);
        }
        CHECK(provider.right && provider.calls == 1 && outcome == NULL);
        CHECK(!pthread_equal(provider.thread, pthread_self()) == !keeps_deadlines);
        gallivant_execution_boundary_free(boundary);
    }
}

/* Drives one submit in a task of its own; its failure is checked. */
static void fails_with(int32_t status, const char *reason, uint64_t deadline_ms, const gallivant_execution_transport *table,
                       const gallivant_execution_abort_token *token)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, deadline_ms, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    gallivant_text *outcome = NULL, *unresolved = NULL;
    CHECK_FAILS(status, reason, gallivant_execution_drive(machine, table, token, &outcome, &error));
    CHECK(outcome == NULL);
    CHECK_OK(gallivant_execution_unresolved(TEXT(directory), NULL, &unresolved, &error));
    int is_open = unresolved != NULL && strstr(gallivant_text_view(unresolved).data, "op-1") != NULL;
    CHECK(is_open == (status == GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN));
    gallivant_text_free(unresolved);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void ex_tra_34_a_method_that_does_not_succeed_has_failed(void)
{
    provider provider = { 0 };
    gallivant_execution_transport table = table_of(says_nothing, &provider);
    fails_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "io", 20000, &table, NULL);
    table.submit = NULL;
    fails_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "io", 20000, &table, NULL);
    CHECK(provider.calls == 1);
}

static void ex_tra_29_not_sent_is_honest_before_sending_only(void)
{
    provider provider = { 0 };
    gallivant_execution_transport table = table_of(refuses, &provider);
    fails_with(GALLIVANT_EXECUTION_DISPATCH_REFUSED, "dispatch-refused", 20000, &table, NULL);
    provider.may_return = 1;
    fails_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "io", 20000, &table, NULL);
    CHECK(provider.calls == 2);
}

static void ex_tra_05_a_method_that_never_ends_is_left_alone(void)
{
    provider *provider = calloc(1, sizeof *provider);
    gallivant_execution_transport table = table_of(never_ends, provider);
    fails_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "deadline", 1, &table, NULL);
    CHECK(provider->calls == 1 && !provider->has_returned);
    /* Its call is good until it returns. */
    provider->may_return = 1;
    while (!provider->has_returned)
        pause_ms(1);
    CHECK(provider->was_cancelled && provider->right);
    /* The thread has still to end, which frees what it was lent. */
    pause_ms(50);
    free(provider);
}

static void ex_tra_04_the_callers_token_ends_the_call(void)
{
    for (int keeps_deadlines = 0; keeps_deadlines < 2; keeps_deadlines++) {
        provider provider = { 0 };
        gallivant_execution_transport table = table_of(fires_and_waits, &provider);
        table.keeps_deadlines = keeps_deadlines;
        CHECK_OK(gallivant_execution_abort_token_new(&provider.token, &error));
        fails_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "aborted", 20000, &table, provider.token);
        CHECK(provider.calls == 1 && !pthread_equal(provider.thread, pthread_self()) == !keeps_deadlines);
        gallivant_execution_abort_token_free(provider.token);
    }
}

static void ex_tra_03_a_method_that_keeps_its_deadline_learns_of_it(void)
{
    provider provider = { 0 };
    gallivant_execution_transport table = table_of(waits_for_its_deadline, &provider);
    table.keeps_deadlines = 1;
    fails_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "deadline", 20, &table, NULL);
    CHECK(provider.calls == 1);
}

static void ex_bnd_36_a_boundary_that_is_freed_meanwhile_ends_the_drive(void)
{
    provider provider = { 0 };
    gallivant_execution_transport table = table_of(frees_the_boundary, &provider);
    gallivant_text *outcome = NULL;
    provider.boundary = boundary_in(fresh_directory(), 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(provider.boundary, "submit", submit_input);
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "reply", gallivant_execution_drive(machine, &table, NULL, &outcome, &error));
    CHECK(provider.calls == 1 && provider.was_cancelled && outcome == NULL);
    gallivant_execution_machine_free(machine);
}

static void a_machine_that_has_begun_is_not_driven_and_stays(void)
{
    gallivant_execution_boundary *boundary = boundary_in(fresh_directory(), 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    gallivant_execution_step step = GALLIVANT_EXECUTION_STEP_INIT;
    provider provider = { 0 };
    gallivant_execution_transport table = table_of(replies, &provider), short_table = table;
    gallivant_text *outcome = NULL;
    short_table.struct_size = 8;
    REFUSES_NULL(gallivant_execution_drive(NULL, &table, NULL, &outcome, &error));
    REFUSES_NULL(gallivant_execution_drive(machine, NULL, NULL, &outcome, &error));
    REFUSES_NULL(gallivant_execution_drive(machine, &table, NULL, NULL, &error));
    REFUSES_SIZE(gallivant_execution_drive(machine, &short_table, NULL, &outcome, &error));
    CHECK_OK(gallivant_execution_machine_start(machine, &step, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "reply", gallivant_execution_drive(machine, &table, NULL, &outcome, &error));
    CHECK_OK(gallivant_execution_machine_reply(machine, step.id, TEXT(accepted), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE && provider.calls == 0);
    gallivant_execution_machine_free(machine);

    machine = called(boundary, "inspect", "{}");
    CHECK_OK(gallivant_execution_drive(machine, &table, NULL, &outcome, &error));
    CHECK(outcome != NULL && strstr(gallivant_text_view(outcome).data, "job-1") != NULL && provider.calls == 0);
    gallivant_text_free(outcome);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void no_call_says_nothing(void)
{
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    CHECK_VIEW(gallivant_execution_call_method(NULL), NULL);
    CHECK_VIEW(gallivant_execution_call_input(NULL), NULL);
    CHECK_VIEW(gallivant_execution_call_limits(NULL), NULL);
    CHECK(gallivant_execution_call_deadline_at_ms(NULL) == 0 && gallivant_execution_call_is_cancelled(NULL) == 0);
    gallivant_execution_call_sending(NULL);
    REFUSES_NULL(gallivant_execution_call_reply(NULL, TEXT("{}"), &error));
    REFUSES_NULL(gallivant_execution_call_fail(NULL, &failure, &error));
}

void suite_execution_drive(void)
{
    RUN(ex_tra_35_a_table_of_callbacks_is_driven_to_the_end);
    RUN(ex_tra_34_a_method_that_does_not_succeed_has_failed);
    RUN(ex_tra_29_not_sent_is_honest_before_sending_only);
    RUN(ex_tra_05_a_method_that_never_ends_is_left_alone);
    RUN(ex_tra_04_the_callers_token_ends_the_call);
    RUN(ex_tra_03_a_method_that_keeps_its_deadline_learns_of_it);
    RUN(ex_bnd_36_a_boundary_that_is_freed_meanwhile_ends_the_drive);
    RUN(a_machine_that_has_begun_is_not_driven_and_stays);
    RUN(no_call_says_nothing);
}
