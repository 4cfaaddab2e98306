/* The execution layer: what its handles refuse, what freeing one means, tokens, points, threads, forks. */

#define _GNU_SOURCE
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static const char submit_input[] = "{\"operationId\":\"op-1\",\"prompt\":\"do it\",\"reservationUsd\":0.5}";
static const char accepted[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}";

static gallivant_execution_step step;

static uint64_t started(gallivant_execution_machine *machine)
{
    gallivant_execution_step fresh = GALLIVANT_EXECUTION_STEP_INIT;
    step = fresh;
    CHECK_OK(gallivant_execution_machine_start(machine, &step, &error));
    return step.id;
}

static void ex_bnd_36_freeing_a_boundary_ends_its_machines_as_a_crash_does(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *first = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_boundary *second = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(first, "submit", submit_input);
    gallivant_execution_machine *other = called(second, "submit", submit_input);
    uint64_t id = started(machine);
    /* The task's lock is held while a call is outstanding. */
    CHECK(started(other) == 0 && gallivant_error_code(step.failure) == GALLIVANT_EXECUTION_BUSY);
    gallivant_execution_machine_free(other);
    gallivant_execution_boundary_free(first);
    CHECK(gallivant_execution_machine_is_cancelled(machine));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "reply",
                gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error));
    other = called(second, "submit", submit_input);
    CHECK(started(other) == 0 && gallivant_error_code(step.failure) == GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN);
    gallivant_execution_machine_free(other);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(second);
}

static void ex_bnd_36_freeing_a_machine_releases_the_lock_and_writes_nothing(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    char before[4096];
    CHECK(started(machine) > 0);
    strncpy(before, content_of(directory, "execution.json"), sizeof before - 1);
    before[sizeof before - 1] = '\0';
    gallivant_execution_machine_free(machine);
    CHECK_TEXT(content_of(directory, "execution.json"), before);
    machine = called(boundary, "reconcile", "{\"force\":true}");
    CHECK(started(machine) > 0);
    CHECK_VIEW(step.method, "lookup");
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void ex_bnd_41_a_token_ends_the_wait_for_the_lock(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_abort_token *token = NULL;
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input), *other = NULL;
    CHECK_OK(gallivant_execution_abort_token_new(&token, &error));
    CHECK(!gallivant_execution_abort_token_is_aborted(token));
    CHECK(started(machine) > 0);
    CHECK_OK(gallivant_execution_boundary_call(boundary, TEXT("submit"), TEXT(submit_input), token, &other, &error));
    gallivant_execution_abort_token_abort(token);
    gallivant_execution_abort_token_abort(NULL);
    CHECK(gallivant_execution_abort_token_is_aborted(token) && !gallivant_execution_abort_token_is_aborted(NULL));
    gallivant_execution_abort_token_free(token);
    CHECK(started(other) == 0 && gallivant_error_code(step.failure) == GALLIVANT_EXECUTION_BUSY);
    CHECK_TEXT(gallivant_error_reason(step.failure), "aborted");
    gallivant_execution_machine_free(other);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

typedef struct {
    gallivant_execution_machine *machine;
    const char *failing;
    int points;
    int32_t status;
} watcher;

/* Fails at a point, and calls the machine from which it is called. */
static int32_t watch(void *user_data, gallivant_str point)
{
    watcher *watcher = user_data;
    gallivant_execution_step own = GALLIVANT_EXECUTION_STEP_INIT;
    watcher->points++;
    watcher->status = gallivant_execution_machine_deadline(watcher->machine, 1, &own, NULL);
    return strcmp(point.data, watcher->failing) == 0 && strlen(point.data) == point.length;
}

static void ex_sea_04_a_point_fails_a_write_and_finds_the_machine_in_use(void)
{
    const char *directory = fresh_directory();
    watcher watcher = { NULL, "persist:execution.json", 0, 0 };
    gallivant_execution_ports ports = GALLIVANT_EXECUTION_PORTS_INIT;
    ports.at_point = watch;
    ports.user_data = &watcher;
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, &ports);
    watcher.machine = called(boundary, "submit", submit_input);
    CHECK(started(watcher.machine) == 0 && gallivant_error_code(step.failure) == GALLIVANT_EXECUTION_IO);
    CHECK(watcher.points > 0 && watcher.status == GALLIVANT_HANDLE_BUSY);
    CHECK(content_of(directory, "execution.json") == NULL);
    gallivant_execution_machine_free(watcher.machine);
    watcher.failing = "nowhere";
    watcher.machine = called(boundary, "submit", submit_input);
    CHECK(started(watcher.machine) > 0);
    gallivant_execution_machine_free(watcher.machine);
    gallivant_execution_boundary_free(boundary);
}

static void ex_sea_02_fixed_jitter_makes_the_delays_known(void)
{
    static const double jitters[] = { 0, 1 };
    static const char *const delays[] = { "\"nextAttemptAt\":1780000005000", "\"nextAttemptAt\":1780000010000" };
    for (int at = 0; at < 2; at++) {
        gallivant_host *host = host_at(1780000000000);
        gallivant_execution_ports ports = GALLIVANT_EXECUTION_PORTS_INIT;
        gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
        gallivant_text *answer = NULL;
        ports.jitter = &jitters[at];
        gallivant_execution_boundary *boundary = boundary_in(fresh_directory(), 20000, host, &ports);
        gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
        CHECK_OK(gallivant_execution_machine_fail(machine, started(machine), &failure, &step, &error));
        CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("inspect"), NULL, 0, &answer, &error));
        CHECK(strstr(gallivant_text_view(answer).data, delays[at]) != NULL);
        gallivant_text_free(answer);
        gallivant_execution_machine_free(machine);
        gallivant_execution_boundary_free(boundary);
        gallivant_host_free(host);
    }
}

static void what_cannot_be_used_is_refused_and_outputs_stay(void)
{
    gallivant_execution_boundary *boundary = boundary_in(fresh_directory(), 20000, NULL, NULL), *none = NULL;
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input), *no_machine = NULL;
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT, wrong = failure;
    gallivant_execution_ports ports = GALLIVANT_EXECUTION_PORTS_INIT;
    gallivant_execution_step short_step = GALLIVANT_EXECUTION_STEP_INIT;
    gallivant_text *text = NULL;
    int64_t nanos = 7;
    ports.struct_size = short_step.struct_size = 8;

    REFUSES_NULL(gallivant_execution_boundary_open(NULL, 0, TEXT("{}"), NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_execution_boundary_open(TEXT("/tmp"), NULL, 0, NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_execution_boundary_open(TEXT("/tmp"), TEXT("{}"), NULL, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_execution_boundary_open(TEXT(BAD), TEXT("{}"), NULL, NULL, &none, &error));
    REFUSES_SIZE(gallivant_execution_boundary_open(TEXT("/tmp"), TEXT("{}"), &ports, NULL, &none, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape",
                gallivant_execution_boundary_open(TEXT("/tmp"), TEXT("null"), NULL, NULL, &none, &error));
    REFUSES_NULL(gallivant_execution_boundary_call(NULL, TEXT("submit"), NULL, 0, NULL, &no_machine, &error));
    REFUSES_NULL(gallivant_execution_boundary_call(boundary, NULL, 0, NULL, 0, NULL, &no_machine, &error));
    REFUSES_NULL(gallivant_execution_boundary_call(boundary, TEXT("submit"), NULL, 0, NULL, NULL, &error));
    REFUSES_UTF8(gallivant_execution_boundary_call(boundary, TEXT("submit"), TEXT(BAD), NULL, &no_machine, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_execution_boundary_call(boundary, TEXT("sumbit"), NULL, 0, NULL, &no_machine, &error));
    REFUSES_NULL(gallivant_execution_boundary_read(NULL, TEXT("inspect"), NULL, 0, &text, &error));
    REFUSES_NULL(gallivant_execution_boundary_read(boundary, TEXT("inspect"), NULL, 0, NULL, &error));
    REFUSES_NULL(gallivant_execution_machine_start(NULL, &step, &error));
    REFUSES_NULL(gallivant_execution_machine_start(machine, NULL, &error));
    REFUSES_SIZE(gallivant_execution_machine_start(machine, &short_step, &error));
    /* Nothing of this has begun it. */
    uint64_t id = started(machine);
    REFUSES_NULL(gallivant_execution_machine_reply(NULL, id, TEXT("{}"), &step, &error));
    REFUSES_NULL(gallivant_execution_machine_reply(machine, id, NULL, 0, &step, &error));
    REFUSES_NULL(gallivant_execution_machine_reply(machine, id, TEXT("{}"), NULL, &error));
    REFUSES_UTF8(gallivant_execution_machine_reply(machine, id, TEXT(BAD), &step, &error));
    REFUSES_NULL(gallivant_execution_machine_fail(machine, id, NULL, &step, &error));
    wrong.kind = 99;
    REFUSES_CONSTANT(gallivant_execution_machine_fail(machine, id, &wrong, &step, &error));
    wrong = failure;
    wrong.message = VIEW(BAD);
    REFUSES_UTF8(gallivant_execution_machine_fail(machine, id, &wrong, &step, &error));
    REFUSES_NULL(gallivant_execution_machine_sending(NULL, id, &error));
    REFUSES_NULL(gallivant_execution_dispatch_not_sent_error(NULL, 0, TEXT("m"), &failure, &error));
    REFUSES_NULL(gallivant_execution_dispatch_not_sent_error(TEXT("c"), TEXT("m"), NULL, &error));
    REFUSES_UTF8(gallivant_execution_collection_validation_error(TEXT("c"), TEXT(BAD), &failure, &error));
    REFUSES_NULL(gallivant_execution_abort_token_new(NULL, &error));
    REFUSES_NULL(gallivant_execution_function(NULL, 0, TEXT("{}"), &text, &error));
    REFUSES_NULL(gallivant_execution_limits(NULL, &error));
    REFUSES_NULL(gallivant_execution_unresolved(NULL, 0, NULL, &text, &error));
    REFUSES_NULL(gallivant_execution_nanos(NULL, 0, GALLIVANT_ROUND_UP, &nanos, &error));
    REFUSES_NULL(gallivant_execution_nanos(TEXT("1"), GALLIVANT_ROUND_UP, NULL, &error));
    CHECK(none == NULL && no_machine == NULL && text == NULL && nanos == 7 && failure.kind == 0);
    CHECK(!gallivant_execution_machine_is_cancelled(NULL));
    gallivant_execution_machine_free(NULL);
    gallivant_execution_boundary_free(NULL);
    gallivant_execution_abort_token_free(NULL);

    CHECK_VIEW(step.method, "submit");
    CHECK_OK(gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void a_forked_child_is_told_that_the_machine_is_its_parents(void)
{
    gallivant_execution_boundary *boundary = boundary_in(fresh_directory(), 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    uint64_t id = started(machine);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        gallivant_error *error = NULL;
        int refused = gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error) ==
                          GALLIVANT_EXECUTION_INPUT &&
                      strcmp(gallivant_error_reason(error), "forked") == 0;
        gallivant_error_free(error);
        gallivant_execution_machine_free(machine);
        gallivant_execution_boundary_free(boundary);
        end_child(refused);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    /* Freed in the child, they are what they were here. */
    CHECK_OK(gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void ex_bnd_19_a_runner_is_the_one_that_the_files_and_the_registry_name(void)
{
    static const char record[] =
        "{\"provider\":\"p\",\"transport\":\"rest\",\"location\":\"remote\","
        "\"newDispatch\":{\"available\":true,\"reason\":null},"
        "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
        "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"refused\","
        "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"none\","
        "\"observability\":\"events\",\"cancel\":false,\"interrupt\":false,"
        "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}";
    static const char methods[] = "{\"methods\":[\"submit\",\"inspect\",\"collect\",\"cancel\",\"lookup\",\"continue\"]}";
    /* What the options say of the provider does not count for a root that names one. */
    static const char options[] =
        "{\"taskId\":\"task\",\"provider\":\"elsewhere\",\"account\":\"nobody\",\"budgetUsd\":8,\"health\":\"external\","
        "\"runner\":true,\"capabilities\":{\"provider\":\"elsewhere\",\"transport\":\"local\",\"location\":\"local\","
        "\"newDispatch\":{\"available\":true,\"reason\":null},"
        "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
        "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"refused\","
        "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"none\","
        "\"observability\":\"none\",\"cancel\":true,\"interrupt\":false,"
        "\"cost\":{\"reports\":false,\"hardCap\":false},\"qualification\":null}}";
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    CHECK(started(machine) > 0);
    CHECK_OK(gallivant_execution_machine_reply(machine, step.id, TEXT(accepted), &step, &error));
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);

    gallivant_execution_registry *registry = NULL;
    gallivant_text *text = NULL;
    CHECK_OK(gallivant_execution_registry_new(&registry, &error));
    boundary = NULL;
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, "unavailable",
                gallivant_execution_runner(TEXT(directory), TEXT(options), registry, NULL, NULL, &boundary, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, "unavailable",
                gallivant_execution_registry_capabilities(registry, TEXT("p"), &text, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, "unavailable",
                gallivant_execution_registry_register(registry, TEXT(record), NULL, 0, NULL, 0, &error));
    gallivant_str secrets[] = { VIEW("rest") };
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, "secret",
                gallivant_execution_registry_register(registry, TEXT(record), TEXT(methods), secrets, 1, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_execution_registry_register(registry, TEXT(record), TEXT("{\"methods\":7}"), NULL, 0, &error));
    CHECK_OK(gallivant_execution_registry_register(registry, TEXT(record), TEXT(methods), NULL, 0, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, NULL,
                gallivant_execution_registry_register(registry, TEXT(record), TEXT(methods), NULL, 0, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_CAPABILITY, NULL,
                gallivant_execution_registry_attach(registry, TEXT("p"), TEXT(methods), NULL, 0, &error));
    CHECK_OK(gallivant_execution_registry_capabilities(registry, TEXT("p"), &text, &error));
    CHECK(strstr(gallivant_text_view(text).data, "\"transport\":\"rest\"") != NULL);
    gallivant_text_free(text);
    CHECK_OK(gallivant_execution_registry_capabilities(registry, NULL, 0, &text, &error));
    CHECK(gallivant_text_view(text).data[0] == '[');
    gallivant_text_free(text);
    CHECK_OK(gallivant_execution_runner(TEXT(directory), TEXT(options), registry, NULL, NULL, &boundary, &error));
    gallivant_execution_registry_free(registry);
    gallivant_execution_registry_free(NULL);
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("inspect"), NULL, 0, &text, &error));
    CHECK(strstr(gallivant_text_view(text).data, "\"provider\":\"p\",\"account\":\"me\"") != NULL);
    gallivant_text_free(text);
    machine = called(boundary, "reconcile", "{\"force\":true}");
    CHECK(started(machine) > 0);
    CHECK_VIEW(step.method, "inspect");
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

void suite_execution_handles(void)
{
    RUN(ex_bnd_36_freeing_a_boundary_ends_its_machines_as_a_crash_does);
    RUN(ex_bnd_36_freeing_a_machine_releases_the_lock_and_writes_nothing);
    RUN(ex_bnd_41_a_token_ends_the_wait_for_the_lock);
    RUN(ex_sea_04_a_point_fails_a_write_and_finds_the_machine_in_use);
    RUN(ex_sea_02_fixed_jitter_makes_the_delays_known);
    RUN(what_cannot_be_used_is_refused_and_outputs_stay);
    RUN(a_forked_child_is_told_that_the_machine_is_its_parents);
    RUN(ex_bnd_19_a_runner_is_the_one_that_the_files_and_the_registry_name);
}
