/* Lanes: how many tasks run at a time, the passes that are due, and dispatches that wait for a check of their account. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <time.h>

static const uint64_t start_ms = 1780000000000;
static const char submit_input[] = "{\"operationId\":\"op-1\",\"prompt\":\"do it\",\"reservationUsd\":0.5}";
static const char accepted[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}";

static void a_little(void)
{
    struct timespec pause = { 0, 10000000 };
    nanosleep(&pause, NULL);
}

static uint64_t next_of(const gallivant_execution_lane *lane)
{
    gallivant_optional_u64 task = { 77, 77 };
    CHECK_OK(gallivant_execution_lane_start_next(lane, &task, &error));
    CHECK(task.is_set == 0 || task.is_set == 1);
    return task.is_set ? task.value : UINT64_MAX;
}

static void ex_sch_25_a_lane_says_which_task_may_start_now(void)
{
    gallivant_execution_lane *lane = NULL;
    CHECK_OK(gallivant_execution_lane_new(3, 2, &lane, &error));
    CHECK(next_of(lane) == 0 && next_of(lane) == 1 && next_of(lane) == UINT64_MAX);
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_lane_end(lane, 2, &error));
    CHECK_OK(gallivant_execution_lane_end(lane, 0, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_lane_end(lane, 0, &error));
    CHECK(next_of(lane) == 2 && next_of(lane) == UINT64_MAX && !gallivant_execution_lane_is_done(lane));
    CHECK_OK(gallivant_execution_lane_end(lane, 1, &error));
    CHECK_OK(gallivant_execution_lane_end(lane, 2, &error));
    CHECK(gallivant_execution_lane_is_done(lane));
    gallivant_execution_lane_free(lane);
}

struct work {
    pthread_mutex_t mutex;
    int running, most;
    unsigned char done[12];
};

/* Ends once as many run as may, so that they run at one time however busy the machine is. */
static void work_on(void *user_data, uint64_t task)
{
    struct work *work = user_data;
    pthread_mutex_lock(&work->mutex);
    if (++work->running > work->most)
        work->most = work->running;
    for (int looks = 0; looks < 6000 && work->most < 4; looks++) {
        pthread_mutex_unlock(&work->mutex);
        a_little();
        pthread_mutex_lock(&work->mutex);
    }
    work->running--;
    work->done[task]++;
    pthread_mutex_unlock(&work->mutex);
}

static void ex_sch_25_at_most_so_many_run_at_a_time_and_each_runs_once(void)
{
    struct work work = { PTHREAD_MUTEX_INITIALIZER, 0, 0, { 0 } };
    CHECK_OK(gallivant_execution_lane_run(12, 4, work_on, &work, &error));
    CHECK(work.most == 4 && work.running == 0);
    for (int task = 0; task < 12; task++)
        CHECK(work.done[task] == 1);
    CHECK_OK(gallivant_execution_lane_run(0, 4, work_on, NULL, &error));
    for (uint64_t concurrency = 0; concurrency <= 65; concurrency += 65)
        CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "limits",
                    gallivant_execution_lane_run(12, concurrency, work_on, &work, &error));
    CHECK_FAILS(GALLIVANT_INPUT, "length", gallivant_execution_lane_run(SIZE_MAX, 4, work_on, &work, &error));
    CHECK(work.done[0] == 1);
}

/* Submits, and has it accepted. */
static void submitted(const gallivant_execution_boundary *boundary)
{
    gallivant_execution_step step = GALLIVANT_EXECUTION_STEP_INIT;
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    CHECK_OK(gallivant_execution_machine_start(machine, &step, &error));
    CHECK_OK(gallivant_execution_machine_reply(machine, step.id, TEXT(accepted), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE);
    gallivant_execution_machine_free(machine);
}

static void inspect(void *user_data, const gallivant_execution_call *call)
{
    static const char running[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\",\"state\":\"running\","
                                  "\"observedAt\":1780000020000,\"events\":[],\"costUsd\":0.125}";
    int *calls = user_data;
    (*calls)++;
    CHECK_OK(gallivant_execution_call_reply(call, TEXT(running), &error));
}

static void ex_sch_26_the_progress_lane_makes_a_pass_of_each_that_is_due(void)
{
    const char *directories[] = { fresh_directory(), fresh_directory(), fresh_directory() };
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_boundary *boundaries[3];
    const gallivant_execution_boundary *all[3];
    gallivant_execution_transport table = GALLIVANT_EXECUTION_TRANSPORT_INIT;
    const gallivant_execution_transport *tables[] = { &table, &table, NULL };
    gallivant_execution_progress *progress = NULL;
    int calls = 0;
    table.inspect = inspect;
    table.user_data = &calls;
    table.keeps_deadlines = 1;
    for (int at = 0; at < 3; at++)
        all[at] = boundaries[at] = boundary_in(directories[at], 20000, host, NULL);
    CHECK_OK(gallivant_execution_progress_lane_run(all, tables, 3, 4, NULL, &progress, &error));
    CHECK(gallivant_execution_progress_count(progress) == 0);
    gallivant_execution_progress_free(progress);

    submitted(boundaries[1]);
    submitted(boundaries[2]);
    CHECK_OK(gallivant_testing_host_advance_ms(host, 20000, &error));
    CHECK_OK(gallivant_execution_progress_lane_run(all, tables, 3, 1, NULL, &progress, &error));
    CHECK(gallivant_execution_progress_count(progress) == 2 && calls == 1);
    CHECK(gallivant_execution_progress_boundary(progress, 0) == 1 && gallivant_execution_progress_boundary(progress, 1) == 2);
    CHECK(strstr(gallivant_execution_progress_report(progress, 0).data, "\"called\":[\"inspect\"]") != NULL);
    CHECK(gallivant_execution_progress_failure(progress, 0) == NULL);
    /* Without a table its calls fail, which is an answer of the provider's side and no failure of the pass. */
    CHECK(strstr(gallivant_execution_progress_report(progress, 1).data, "\"code\":\"EXECUTION_IO\"") != NULL);
    CHECK(gallivant_execution_progress_report(progress, 2).data == NULL);
    CHECK(gallivant_execution_progress_failure(progress, 2) == NULL && gallivant_execution_progress_boundary(progress, 2) == 0);
    gallivant_execution_progress_free(progress);

    /* A pass that cannot be made is told, and the others are made. */
    CHECK_OK(gallivant_testing_host_advance_ms(host, 20000, &error));
    write_file(directories[2], "execution.json", "{");
    CHECK_OK(gallivant_execution_progress_lane_run(all, tables, 3, 4, NULL, &progress, &error));
    CHECK(gallivant_execution_progress_count(progress) == 2 && calls == 2);
    CHECK(gallivant_execution_progress_failure(progress, 0) == NULL);
    CHECK(gallivant_error_code(gallivant_execution_progress_failure(progress, 1)) == GALLIVANT_EXECUTION_PROTOCOL);
    CHECK(gallivant_execution_progress_report(progress, 1).data == NULL);
    gallivant_execution_progress_free(progress);
    for (int at = 0; at < 3; at++)
        gallivant_execution_boundary_free(boundaries[at]);
    gallivant_host_free(host);
}

static gallivant_execution_scope scope_of(const char *account)
{
    gallivant_execution_scope scope = { VIEW("p"), VIEW(account) };
    return scope;
}

static gallivant_execution_refresh *begun(const gallivant_execution_health_store *store, const char *account)
{
    gallivant_execution_scope scope = scope_of(account);
    gallivant_execution_refresh *refresh = NULL;
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    return refresh;
}

static void ended(gallivant_execution_refresh *refresh, int ok)
{
    gallivant_execution_probe_result result = GALLIVANT_EXECUTION_PROBE_RESULT_INIT;
    result.ok = ok;
    result.code = VIEW("auth");
    result.remedy = VIEW("sign in again");
    CHECK_OK(gallivant_execution_refresh_record(refresh, &result, NULL, &error));
    gallivant_execution_refresh_free(refresh);
}

static gallivant_execution_health_store *fresh_store(void)
{
    gallivant_execution_health_store *store = NULL;
    CHECK_OK(gallivant_execution_health_store_open(TEXT(fresh_directory()), NULL, NULL, &store, &error));
    return store;
}

static uint64_t retry_of(const gallivant_execution_dispatch_lane *lane)
{
    gallivant_optional_u64 dispatch = { 77, 77 };
    CHECK_OK(gallivant_execution_dispatch_lane_retry_next(lane, &dispatch, &error));
    return dispatch.is_set ? dispatch.value : UINT64_MAX;
}

static void ex_sch_29_a_dispatch_is_told_once_after_its_own_refresh(void)
{
    gallivant_execution_health_store *store = fresh_store();
    gallivant_execution_scope scopes[] = { scope_of("well"), scope_of("none"), scope_of("ill"), scope_of("well"), scope_of("late") };
    gallivant_execution_refresh *well = begun(store, "well"), *ill = begun(store, "ill"), *late = begun(store, "late");
    gallivant_execution_dispatch_lane *lane = NULL;
    CHECK_OK(gallivant_execution_dispatch_lane_new(store, scopes, 5, 1, &lane, &error));
    gallivant_execution_health_store_free(store);
    CHECK(retry_of(lane) == UINT64_MAX && gallivant_execution_dispatch_lane_is_waiting(lane));
    ended(well, 1);
    ended(ill, 0);
    CHECK(retry_of(lane) == 0);
    /* The only slot is held. */
    CHECK(retry_of(lane) == UINT64_MAX && gallivant_execution_dispatch_lane_is_waiting(lane));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_dispatch_lane_end(lane, 3, &error));
    CHECK_OK(gallivant_execution_dispatch_lane_end(lane, 0, &error));
    CHECK(retry_of(lane) == 3);
    CHECK_OK(gallivant_execution_dispatch_lane_end(lane, 3, &error));
    CHECK(retry_of(lane) == UINT64_MAX && gallivant_execution_dispatch_lane_is_waiting(lane));
    gallivant_execution_dispatch_lane_give_up(lane);
    CHECK(!gallivant_execution_dispatch_lane_is_waiting(lane));
    ended(late, 1);
    CHECK(retry_of(lane) == UINT64_MAX);
    gallivant_execution_dispatch_lane_free(lane);
}

struct retries {
    pthread_mutex_t mutex;
    unsigned char retried[4];
};

static void retry(void *user_data, uint64_t dispatch)
{
    struct retries *retries = user_data;
    pthread_mutex_lock(&retries->mutex);
    retries->retried[dispatch]++;
    pthread_mutex_unlock(&retries->mutex);
}

struct ending {
    gallivant_execution_refresh *refresh;
    long after_ms;
};

static void *end_later(void *user_data)
{
    struct ending *ending = user_data;
    struct timespec pause = { ending->after_ms / 1000, ending->after_ms % 1000 * 1000000 };
    nanosleep(&pause, NULL);
    ended(ending->refresh, 1);
    return NULL;
}

static void ex_sch_31_the_driver_retries_what_has_authority_and_leaves_the_rest(void)
{
    gallivant_execution_health_store *store = fresh_store();
    gallivant_execution_scope scopes[] = { scope_of("none"), scope_of("well"), scope_of("ill"), scope_of("well") };
    struct retries retries = { PTHREAD_MUTEX_INITIALIZER, { 0 } };
    struct ending ending = { NULL, 10 };
    gallivant_execution_abort_token *token = NULL;
    gallivant_execution_refresh *refresh = NULL;
    int32_t is_retried[] = { 7, 7, 7, 7 };
    ended(begun(store, "ill"), 0);
    /* On a busy machine the refresh may be over before anybody waits; then the next one takes longer. */
    for (int tries = 0; is_retried[1] != 1 && tries < 10; tries++, ending.after_ms *= 2) {
        pthread_t thread;
        ending.refresh = begun(store, "well");
        CHECK(pthread_create(&thread, NULL, end_later, &ending) == 0);
        CHECK_OK(gallivant_execution_dispatch_lane_run(store, scopes, 4, 2, GALLIVANT_FOREVER, NULL, retry, &retries, is_retried,
                                                       &error));
        CHECK(pthread_join(thread, NULL) == 0);
    }
    for (int at = 0; at < 4; at++)
        CHECK(is_retried[at] == at % 2 && retries.retried[at] == at % 2);

    /* Neither the end of the wait nor a token that has fired brings authority. */
    refresh = begun(store, "well");
    CHECK_OK(gallivant_execution_dispatch_lane_run(store, &scopes[1], 1, 2, 5, NULL, retry, &retries, is_retried, &error));
    CHECK(is_retried[0] == 0);
    CHECK_OK(gallivant_execution_abort_token_new(&token, &error));
    gallivant_execution_abort_token_abort(token);
    CHECK_OK(gallivant_execution_dispatch_lane_run(store, &scopes[1], 1, 2, GALLIVANT_FOREVER, token, retry, &retries,
                                                   is_retried, &error));
    CHECK(is_retried[0] == 0 && retries.retried[0] == 0);
    gallivant_execution_abort_token_free(token);
    gallivant_execution_refresh_free(refresh);
    gallivant_execution_health_store_free(store);
}

static void what_cannot_be_used_is_refused_and_outputs_stay(void)
{
    gallivant_execution_health_store *store = fresh_store();
    gallivant_execution_boundary *boundary = boundary_in(fresh_directory(), 20000, NULL, NULL);
    const gallivant_execution_boundary *boundaries[] = { boundary, NULL };
    gallivant_execution_transport table = GALLIVANT_EXECUTION_TRANSPORT_INIT;
    const gallivant_execution_transport *tables[] = { &table, &table };
    gallivant_execution_scope scope = scope_of("me");
    gallivant_execution_lane *lane = NULL;
    gallivant_execution_dispatch_lane *dispatches = NULL;
    gallivant_execution_progress *progress = NULL;
    gallivant_optional_u64 number = { 77, 77 };
    int32_t is_retried = 77;
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "limits", gallivant_execution_lane_new(1, 0, &lane, &error));
    REFUSES_NULL(gallivant_execution_lane_new(1, 1, NULL, &error));
    REFUSES_NULL(gallivant_execution_lane_start_next(NULL, &number, &error));
    REFUSES_NULL(gallivant_execution_lane_end(NULL, 0, &error));
    REFUSES_NULL(gallivant_execution_lane_run(1, 1, NULL, NULL, &error));
    REFUSES_NULL(gallivant_execution_progress_lane_run(NULL, tables, 1, 1, NULL, &progress, &error));
    REFUSES_NULL(gallivant_execution_progress_lane_run(boundaries, NULL, 1, 1, NULL, &progress, &error));
    REFUSES_NULL(gallivant_execution_progress_lane_run(boundaries, tables, 2, 1, NULL, &progress, &error));
    REFUSES_NULL(gallivant_execution_progress_lane_run(boundaries, tables, 1, 1, NULL, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "limits",
                gallivant_execution_progress_lane_run(boundaries, tables, 1, 65, NULL, &progress, &error));
    table.struct_size = 8;
    REFUSES_SIZE(gallivant_execution_progress_lane_run(boundaries, tables, 1, 1, NULL, &progress, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_new(NULL, &scope, 1, 1, &dispatches, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_new(store, NULL, 1, 1, &dispatches, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_new(store, &scope, 1, 1, NULL, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "limits",
                gallivant_execution_dispatch_lane_new(store, &scope, 1, 0, &dispatches, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_retry_next(NULL, &number, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_end(NULL, 0, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_run(store, &scope, 1, 1, 0, NULL, NULL, NULL, &is_retried, &error));
    REFUSES_NULL(gallivant_execution_dispatch_lane_run(store, &scope, 1, 1, 0, NULL, retry, NULL, NULL, &error));
    CHECK(lane == NULL && dispatches == NULL && progress == NULL && number.value == 77 && is_retried == 77);
    CHECK(!gallivant_execution_lane_is_done(NULL) && !gallivant_execution_dispatch_lane_is_waiting(NULL));
    CHECK(gallivant_execution_progress_count(NULL) == 0 && gallivant_execution_progress_failure(NULL, 0) == NULL);
    gallivant_execution_dispatch_lane_give_up(NULL);
    gallivant_execution_lane_free(NULL);
    gallivant_execution_dispatch_lane_free(NULL);
    gallivant_execution_progress_free(NULL);
    gallivant_execution_boundary_free(boundary);
    gallivant_execution_health_store_free(store);
}

void suite_lanes(void)
{
    RUN(ex_sch_25_a_lane_says_which_task_may_start_now);
    RUN(ex_sch_25_at_most_so_many_run_at_a_time_and_each_runs_once);
    RUN(ex_sch_26_the_progress_lane_makes_a_pass_of_each_that_is_due);
    RUN(ex_sch_29_a_dispatch_is_told_once_after_its_own_refresh);
    RUN(ex_sch_31_the_driver_retries_what_has_authority_and_leaves_the_rest);
    RUN(what_cannot_be_used_is_refused_and_outputs_stay);
}
