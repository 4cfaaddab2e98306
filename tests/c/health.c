/* The health of providers' accounts: who may be dispatched to, whose check is due, and what a check leaves. */

#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t start_ms = 1780000000000;
static const char submit_input[] = "{\"operationId\":\"op-1\",\"prompt\":\"do it\",\"reservationUsd\":0.5}";

/* That of the boundary in check.c, and another of the same provider. */
static gallivant_execution_scope mine(void)
{
    gallivant_execution_scope scope = { VIEW("p"), VIEW("me") };
    return scope;
}

static gallivant_execution_scope another(void)
{
    gallivant_execution_scope scope = { VIEW("p"), VIEW("you") };
    return scope;
}

static gallivant_execution_probe_result success(void)
{
    gallivant_execution_probe_result result = GALLIVANT_EXECUTION_PROBE_RESULT_INIT;
    result.ok = 1;
    return result;
}

static gallivant_execution_probe_result failure(const char *code, const char *remedy)
{
    gallivant_execution_probe_result result = GALLIVANT_EXECUTION_PROBE_RESULT_INIT;
    result.code = VIEW(code);
    result.remedy = VIEW(remedy);
    return result;
}

/* A store that wants the health of `mine`, with the longest delays after failures. */
static gallivant_execution_health_store *store_in(const char *directory, const gallivant_host *host)
{
    static const double jitter = 1;
    gallivant_execution_health_options options = GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT;
    gallivant_execution_scope scope = mine();
    gallivant_str secrets[] = { VIEW("hunter2!") };
    gallivant_execution_health_store *store = NULL;
    options.limits_json = VIEW("{\"healthRefreshMs\":60000,\"lockWaitMs\":100}");
    options.scopes = &scope;
    options.scope_count = 1;
    options.secrets = secrets;
    options.secret_count = 1;
    options.jitter = &jitter;
    CHECK_OK(gallivant_execution_health_store_open(TEXT(directory), &options, host, &store, &error));
    return store;
}

static int authorized(const gallivant_execution_health_store *store, gallivant_execution_scope scope)
{
    int32_t is_authorized = 77;
    CHECK_OK(gallivant_execution_health_store_authorize(store, &scope, &is_authorized, &error));
    CHECK(is_authorized == 0 || is_authorized == 1);
    return is_authorized;
}

/* How many accounts are due; `account` is that of the first. */
static uint64_t due(const gallivant_execution_health_store *store, const char *account)
{
    gallivant_execution_due_scopes *scopes = NULL;
    gallivant_execution_scope scope;
    CHECK_OK(gallivant_execution_health_store_due(store, &scopes, &error));
    uint64_t count = gallivant_execution_due_scopes_count(scopes);
    if (count > 0) {
        CHECK_OK(gallivant_execution_due_scopes_at(scopes, 0, &scope, &error));
        CHECK_VIEW(scope.provider, "p");
        CHECK_VIEW(scope.account, account);
    }
    CHECK_FAILS(GALLIVANT_INPUT, "index", gallivant_execution_due_scopes_at(scopes, (size_t)count, &scope, &error));
    gallivant_execution_due_scopes_free(scopes);
    return count;
}

static void recorded(const gallivant_execution_health_store *store, gallivant_execution_scope scope,
                     gallivant_execution_probe_result result, const char *part)
{
    gallivant_text *record = NULL;
    CHECK_OK(gallivant_execution_health_store_record(store, &scope, &result, &record, &error));
    CHECK(strstr(gallivant_text_view(record).data, part) != NULL);
    gallivant_text_free(record);
}

static void ex_sch_11_a_success_authorises_until_it_is_due_again(void)
{
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_health_store *store = store_in(fresh_directory(), host);
    CHECK(!authorized(store, mine()) && due(store, "me") == 1);
    recorded(store, mine(), success(), "\"ok\":true,\"checkedAt\":1780000000000,\"nextAttemptAt\":1780000060000");
    CHECK(authorized(store, mine()) && !authorized(store, another()) && due(store, NULL) == 0);
    CHECK_OK(gallivant_testing_host_advance_ms(host, 59999, &error));
    CHECK(authorized(store, mine()));
    CHECK_OK(gallivant_testing_host_advance_ms(host, 1, &error));
    CHECK(!authorized(store, mine()) && due(store, "me") == 1);
    gallivant_execution_health_store_free(store);
    gallivant_host_free(host);
}

static void ex_sch_09_accounts_are_independent_and_may_be_wanted_later(void)
{
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_health_store *store = store_in(fresh_directory(), host);
    gallivant_execution_scope other = another(), nobody = { VIEW("p"), VIEW("") };
    recorded(store, mine(), success(), "\"account\":\"me\"");
    CHECK_OK(gallivant_execution_health_store_want(store, &other, &error));
    CHECK(due(store, "you") == 1 && authorized(store, mine()) && !authorized(store, other));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_health_store_want(store, &nobody, &error));
    gallivant_execution_health_store_free(store);
    gallivant_host_free(host);
}

static void ex_sch_15_a_failure_keeps_code_and_remedy_and_no_secret(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_health_store *store = store_in(directory, host);
    gallivant_execution_scope scope = mine();
    gallivant_execution_probe_result result = failure("auth", "sign in again, not as hunter2!");
    gallivant_text *record = NULL;
    CHECK_OK(gallivant_execution_health_store_status(store, &scope, &record, &error));
    CHECK(record == NULL);
    result.evidence_json = VIEW("{\"said\":\"hunter2!\",\"n\":12345678901234567890}");
    recorded(store, scope, result, "\"failures\":1");
    result.retry_after_ms.value = 200000;
    result.retry_after_ms.is_set = 1;
    recorded(store, scope, result, "\"nextAttemptAt\":1780000200000,\"failures\":2,\"code\":\"auth\"");
    CHECK_OK(gallivant_execution_health_store_status(store, &scope, &record, &error));
    gallivant_str text = gallivant_text_view(record);
    CHECK(strstr(text.data, "\"n\":12345678901234567890") != NULL && strstr(text.data, "sign in again") != NULL);
    CHECK(strstr(text.data, "hunter2!") == NULL);
    gallivant_text_free(record);

    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                (result = failure("auth", ""), gallivant_execution_health_store_record(store, &scope, &result, NULL, &error)));
    result = success();
    result.evidence_json = VIEW("{");
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape",
                gallivant_execution_health_store_record(store, &scope, &result, NULL, &error));
    gallivant_execution_health_store_free(store);
    gallivant_host_free(host);
}

static void ex_sch_13_a_refresh_ends_authority_until_its_result_is_saved(void)
{
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_health_store *store = store_in(fresh_directory(), host);
    gallivant_execution_scope scope = mine(), seen = another();
    gallivant_execution_probe_result result = success();
    gallivant_execution_refresh *refresh = NULL, *second = (void *)&scope;
    recorded(store, scope, result, "\"ok\":true");
    CHECK(!gallivant_execution_health_store_scheduled(store, &scope));
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    CHECK(refresh != NULL && gallivant_execution_health_store_scheduled(store, &scope) && !authorized(store, scope));
    CHECK_OK(gallivant_execution_refresh_scope(refresh, &seen, &error));
    CHECK_VIEW(seen.account, "me");
    /* One at a time. */
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &second, &error));
    CHECK(second == NULL && due(store, NULL) == 0);
    CHECK_OK(gallivant_execution_refresh_record(refresh, &result, NULL, &error));
    CHECK(authorized(store, scope) && !gallivant_execution_health_store_scheduled(store, &scope));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "closed",
                gallivant_execution_refresh_record(refresh, &result, NULL, &error));
    gallivant_execution_refresh_free(refresh);
    CHECK(authorized(store, scope));

    /* Given up, it is as if none had run: without authority, and due. */
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    gallivant_execution_health_store_free(store);
    gallivant_execution_refresh_free(refresh);
    gallivant_host_free(host);
}

static void ex_sch_13_what_is_given_up_is_due(void)
{
    gallivant_execution_health_store *store = store_in(fresh_directory(), NULL);
    gallivant_execution_scope scope = mine();
    gallivant_execution_refresh *refresh = NULL;
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    CHECK(due(store, NULL) == 0);
    gallivant_execution_refresh_free(refresh);
    CHECK(!authorized(store, scope) && due(store, "me") == 1);
    gallivant_execution_health_store_free(store);
}

struct ending {
    gallivant_execution_refresh *refresh;
    long after_ms;
};

static void *end_later(void *user_data)
{
    struct ending *ending = user_data;
    struct timespec pause = { ending->after_ms / 1000, ending->after_ms % 1000 * 1000000 };
    gallivant_execution_probe_result result = success();
    nanosleep(&pause, NULL);
    return gallivant_execution_refresh_record(ending->refresh, &result, NULL, NULL) == GALLIVANT_OK ? ending : NULL;
}

static int32_t joined_in(const gallivant_execution_health_store *store, uint64_t timeout_ms,
                         const gallivant_execution_abort_token *token)
{
    gallivant_execution_scope scope = mine();
    int32_t joined = 0;
    CHECK_OK(gallivant_execution_health_store_join_scheduled(store, &scope, timeout_ms, token, &joined, &error));
    return joined;
}

static void ex_sch_29_a_scheduled_refresh_is_waited_for_and_none_is_started(void)
{
    gallivant_execution_health_store *store = store_in(fresh_directory(), NULL);
    gallivant_execution_scope scope = mine();
    gallivant_execution_abort_token *token = NULL;
    struct ending ending = { NULL, 20 };
    pthread_t thread;
    int32_t joined = 0;
    CHECK(joined_in(store, GALLIVANT_FOREVER, NULL) == GALLIVANT_JOINED_NOT_SCHEDULED);
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &ending.refresh, &error));
    CHECK(joined_in(store, 5, NULL) == GALLIVANT_JOINED_UNDER_WAY);
    CHECK_OK(gallivant_execution_abort_token_new(&token, &error));
    gallivant_execution_abort_token_abort(token);
    CHECK(joined_in(store, GALLIVANT_FOREVER, token) == GALLIVANT_JOINED_UNDER_WAY);
    gallivant_execution_abort_token_free(token);
    gallivant_execution_refresh_free(ending.refresh);

    /* On a busy machine it may be over before anybody waits; then the next one takes longer. */
    for (int tries = 0; joined != GALLIVANT_JOINED_OVER && tries < 10; tries++, ending.after_ms *= 2) {
        void *right = NULL;
        CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &ending.refresh, &error));
        CHECK(pthread_create(&thread, NULL, end_later, &ending) == 0);
        joined = joined_in(store, GALLIVANT_FOREVER, NULL);
        CHECK(joined != GALLIVANT_JOINED_OVER || authorized(store, scope));
        CHECK(pthread_join(thread, &right) == 0 && right == &ending);
        gallivant_execution_refresh_free(ending.refresh);
    }
    CHECK(joined == GALLIVANT_JOINED_OVER);
    CHECK_TEXT(gallivant_joined_name(GALLIVANT_JOINED_UNDER_WAY), "under-way");
    CHECK_TEXT(gallivant_joined_name(99), "invalid");
    gallivant_execution_health_store_free(store);
}

/* Submits once, and is refused by health with a remedy that says this. */
static int refused(const gallivant_execution_boundary *boundary, const char *remedy)
{
    gallivant_execution_step step = GALLIVANT_EXECUTION_STEP_INIT;
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    CHECK_OK(gallivant_execution_machine_start(machine, &step, &error));
    int is_refused = step.kind == GALLIVANT_STEP_FAILED && gallivant_error_code(step.failure) == GALLIVANT_EXECUTION_HEALTH &&
                     strstr(gallivant_error_remedy(step.failure), remedy) != NULL;
    gallivant_execution_machine_free(machine);
    return is_refused;
}

static void ex_sch_16_a_boundary_asks_its_store_before_it_dispatches(void)
{
    const char *directory = fresh_directory(), *task = fresh_directory();
    gallivant_execution_health_store *store = store_in(directory, NULL);
    gallivant_execution_ports ports = GALLIVANT_EXECUTION_PORTS_INIT;
    gallivant_execution_scope scope = mine();
    gallivant_execution_refresh *refresh = NULL;
    gallivant_execution_probe_result result = success();
    gallivant_text *status = NULL;
    /* In the place of the options' word `external`. */
    ports.health = store;
    gallivant_execution_boundary *boundary = boundary_in(task, 20000, NULL, &ports);
    CHECK(refused(boundary, "do what the health record says") && content_of(task, "execution.json") == NULL);
    recorded(store, scope, failure("auth", "sign in again"), "\"ok\":false");
    CHECK(refused(boundary, "sign in again"));
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("healthStatus"), NULL, 0, &status, &error));
    CHECK(strstr(gallivant_text_view(status).data, "\"code\":\"auth\"") != NULL);
    gallivant_text_free(status);
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    CHECK(refused(boundary, "wait for the result of the health check"));
    gallivant_execution_health_store_free(store);
    CHECK_OK(gallivant_execution_refresh_record(refresh, &result, NULL, &error));
    gallivant_execution_refresh_free(refresh);
    /* The intent is on disk, and the machine ends here as by a crash. */
    CHECK(!refused(boundary, "") && content_of(task, "execution.json") != NULL);
    gallivant_execution_boundary_free(boundary);
}

static void ex_sch_10_a_record_of_another_package_and_what_is_none_are_told(void)
{
    /* SHA-256 of ["p","me"]. */
    static const char name[] = "f7aba9d2be811dfcb0fbe78765c89a61f6b7ccbd2ed71e3827b2f64e9c4a537f.json";
    const char *directory = fresh_directory();
    gallivant_execution_health_store *store = store_in(directory, NULL);
    gallivant_execution_scope scope = mine();
    gallivant_execution_refresh *refresh = (void *)directory;
    gallivant_text *record = NULL;
    int32_t is_authorized = 77;
    recorded(store, scope, success(), "\"ok\":true");
    CHECK(content_of(directory, name) != NULL);
    write_file(directory, name, "{\"version\":1}");
    CHECK_FAILS(GALLIVANT_EXECUTION_HEALTH, "shape",
                gallivant_execution_health_store_authorize(store, &scope, &is_authorized, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_HEALTH, "shape",
                gallivant_execution_health_store_status(store, &scope, &record, &error));
    /* The check that runs anew writes it anew. */
    CHECK(due(store, "me") == 1);
    write_file(directory, name, "{\"version\":2}");
    CHECK_FAILS(GALLIVANT_EXECUTION_VERSION, "health",
                gallivant_execution_health_store_authorize(store, &scope, &is_authorized, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_VERSION, "health",
                gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    CHECK(due(store, NULL) == 0 && is_authorized == 77 && record == NULL && refresh == (void *)directory);
    CHECK_TEXT(content_of(directory, name), "{\"version\":2}");
    gallivant_execution_health_store_free(store);
}

static int32_t fail(void *user_data, gallivant_str point)
{
    int *points = user_data;
    *points += strncmp(point.data, "persist:", 8) == 0;
    return 1;
}

static void ex_sea_04_a_point_fails_the_record_and_the_refresh_is_over(void)
{
    int points = 0;
    gallivant_execution_health_options options = GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT;
    gallivant_execution_health_store *store = NULL;
    gallivant_execution_scope scope = mine();
    gallivant_execution_probe_result result = success();
    gallivant_execution_refresh *refresh = NULL;
    gallivant_text *record = NULL;
    options.at_point = fail;
    options.user_data = &points;
    CHECK_OK(gallivant_execution_health_store_open(TEXT(fresh_directory()), &options, NULL, &store, &error));
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_IO, NULL, gallivant_execution_refresh_record(refresh, &result, &record, &error));
    CHECK(points == 1 && record == NULL && !authorized(store, scope));
    CHECK(!gallivant_execution_health_store_scheduled(store, &scope));
    gallivant_execution_refresh_free(refresh);
    gallivant_execution_health_store_free(store);
}

static void a_forked_child_opens_a_store_of_its_own(void)
{
    gallivant_execution_health_store *store = store_in(fresh_directory(), NULL);
    gallivant_execution_scope scope = mine();
    gallivant_execution_probe_result result = success();
    gallivant_execution_refresh *refresh = NULL;
    int status = -1;
    CHECK_OK(gallivant_execution_health_store_begin(store, &scope, &refresh, &error));
    pid_t child = fork();
    if (child == 0) {
        gallivant_error *error = NULL;
        int32_t is_authorized = 77;
        int refused = gallivant_execution_health_store_authorize(store, &scope, &is_authorized, &error) ==
                          GALLIVANT_EXECUTION_INPUT &&
                      strcmp(gallivant_error_reason(error), "forked") == 0 &&
                      !gallivant_execution_health_store_scheduled(store, &scope);
        gallivant_error_free(error);
        gallivant_execution_refresh_free(refresh);
        gallivant_execution_health_store_free(store);
        end_child(refused && is_authorized == 77);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    /* What the child has freed is under way here. */
    CHECK(gallivant_execution_health_store_scheduled(store, &scope));
    CHECK_OK(gallivant_execution_refresh_record(refresh, &result, NULL, &error));
    CHECK(authorized(store, scope));
    gallivant_execution_refresh_free(refresh);
    gallivant_execution_health_store_free(store);
}

static void what_cannot_be_used_is_refused_and_outputs_stay(void)
{
    gallivant_execution_health_store *store = store_in(fresh_directory(), NULL), *none = NULL;
    gallivant_execution_health_options options = GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT, wrong = options;
    gallivant_execution_scope scope = mine(), bad = { VIEW("p"), VIEW(BAD) }, nothing = { VIEW(NULL), VIEW("me") };
    gallivant_execution_probe_result result = success();
    gallivant_execution_refresh *refresh = NULL;
    gallivant_execution_due_scopes *scopes = NULL;
    gallivant_str secrets[] = { VIEW("") };
    int32_t number = 77;

    REFUSES_NULL(gallivant_execution_health_store_open(NULL, 0, NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_execution_health_store_open(TEXT("/tmp"), NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_execution_health_store_open(TEXT(BAD), NULL, NULL, &none, &error));
    wrong.struct_size = 8;
    REFUSES_SIZE(gallivant_execution_health_store_open(TEXT("/tmp"), &wrong, NULL, &none, &error));
    wrong = options;
    wrong.limits_json = VIEW("{\"healthRefreshMs\":1}");
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "limits",
                gallivant_execution_health_store_open(TEXT("/tmp"), &wrong, NULL, &none, &error));
    wrong = options;
    wrong.scope_count = 1;
    REFUSES_NULL(gallivant_execution_health_store_open(TEXT("/tmp"), &wrong, NULL, &none, &error));
    wrong = options;
    wrong.secrets = secrets;
    wrong.secret_count = 1;
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "secret",
                gallivant_execution_health_store_open(TEXT("/tmp"), &wrong, NULL, &none, &error));
    REFUSES_NULL(gallivant_execution_health_store_want(NULL, &scope, &error));
    REFUSES_NULL(gallivant_execution_health_store_want(store, NULL, &error));
    REFUSES_NULL(gallivant_execution_health_store_want(store, &nothing, &error));
    REFUSES_UTF8(gallivant_execution_health_store_want(store, &bad, &error));
    REFUSES_NULL(gallivant_execution_health_store_authorize(NULL, &scope, &number, &error));
    REFUSES_NULL(gallivant_execution_health_store_authorize(store, &scope, NULL, &error));
    REFUSES_NULL(gallivant_execution_health_store_status(store, &scope, NULL, &error));
    REFUSES_NULL(gallivant_execution_health_store_due(store, NULL, &error));
    REFUSES_NULL(gallivant_execution_health_store_due(NULL, &scopes, &error));
    REFUSES_NULL(gallivant_execution_health_store_begin(store, &scope, NULL, &error));
    REFUSES_NULL(gallivant_execution_health_store_record(store, &scope, NULL, NULL, &error));
    result.struct_size = 8;
    REFUSES_SIZE(gallivant_execution_health_store_record(store, &scope, &result, NULL, &error));
    REFUSES_NULL(gallivant_execution_health_store_join_scheduled(store, &scope, 0, NULL, NULL, &error));
    REFUSES_NULL(gallivant_execution_refresh_record(NULL, &result, NULL, &error));
    REFUSES_NULL(gallivant_execution_refresh_scope(NULL, &scope, &error));
    REFUSES_NULL(gallivant_execution_due_scopes_at(NULL, 0, &scope, &error));
    CHECK(none == NULL && refresh == NULL && scopes == NULL && number == 77);
    /* Nothing of this has scheduled anything. */
    CHECK(!gallivant_execution_health_store_scheduled(store, &scope));
    CHECK(!gallivant_execution_health_store_scheduled(store, NULL) && !gallivant_execution_health_store_scheduled(NULL, &scope));
    CHECK(gallivant_execution_due_scopes_count(NULL) == 0);
    gallivant_execution_due_scopes_free(NULL);
    gallivant_execution_refresh_free(NULL);
    gallivant_execution_health_store_free(NULL);
    gallivant_execution_health_store_free(store);
}

void suite_health(void)
{
    RUN(ex_sch_11_a_success_authorises_until_it_is_due_again);
    RUN(ex_sch_09_accounts_are_independent_and_may_be_wanted_later);
    RUN(ex_sch_15_a_failure_keeps_code_and_remedy_and_no_secret);
    RUN(ex_sch_13_a_refresh_ends_authority_until_its_result_is_saved);
    RUN(ex_sch_13_what_is_given_up_is_due);
    RUN(ex_sch_29_a_scheduled_refresh_is_waited_for_and_none_is_started);
    RUN(ex_sch_16_a_boundary_asks_its_store_before_it_dispatches);
    RUN(ex_sch_10_a_record_of_another_package_and_what_is_none_are_told);
    RUN(ex_sea_04_a_point_fails_the_record_and_the_refresh_is_over);
    RUN(a_forked_child_opens_a_store_of_its_own);
    RUN(what_cannot_be_used_is_refused_and_outputs_stay);
}
