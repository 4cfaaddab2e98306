/* The execution layer by its raw steps: what a machine hands out, what it is fed, and what is on disk meanwhile. */

#include "check.h"

#include <stdio.h>

static const uint64_t start_ms = 1780000000000;
static const char submit_input[] = "{\"operationId\":\"op-1\",\"prompt\":\"do it\",\"reservationUsd\":0.5}";
static const char accepted[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}";

static gallivant_execution_step step;

static int holds(gallivant_str text, const char *part)
{
    return text.data != NULL && strstr(text.data, part) != NULL;
}

static int on_disk(const char *directory, const char *part)
{
    const char *ledger = content_of(directory, "execution.json");
    return ledger != NULL && strstr(ledger, part) != NULL;
}

/* Starts it; the id of the call that it hands out, 0 where there is none. */
static uint64_t started(gallivant_execution_machine *machine)
{
    gallivant_execution_step fresh = GALLIVANT_EXECUTION_STEP_INIT;
    step = fresh;
    CHECK_OK(gallivant_execution_machine_start(machine, &step, &error));
    return step.id;
}

/* What a call of the boundary failed with. */
static void failed_with(int32_t status, const char *reason)
{
    CHECK_TEXT(gallivant_step_name(step.kind), "failed");
    CHECK(gallivant_error_code(step.failure) == status);
    CHECK_TEXT(gallivant_error_reason(step.failure), reason);
}

static gallivant_execution_failure failing(int32_t kind)
{
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    failure.kind = kind;
    failure.message = VIEW("said the provider");
    return failure;
}

static void ex_bnd_39_a_machine_hands_out_a_call_and_is_fed_its_end(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, host, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    CHECK(content_of(directory, "execution.json") == NULL);
    uint64_t id = started(machine);
    CHECK(step.kind == GALLIVANT_STEP_CALL && step.port == GALLIVANT_PORT_TRANSPORT && id > 0);
    CHECK(step.deadline_at_ms == start_ms + 20000 && step.failure == NULL && step.outcome_json.data == NULL);
    CHECK_VIEW(step.method, "submit");
    CHECK(holds(step.input_json, "\"operationId\":\"op-1\"") && holds(step.input_json, "\"idempotencyKey\":\"gx-"));
    /* The intent is durable before the call is handed out. */
    CHECK(on_disk(directory, "\"unknown\""));
    CHECK_OK(gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE && step.id == 0 && step.method.data == NULL);
    CHECK(holds(step.outcome_json, "\"acceptance\":\"accepted\"") && holds(step.outcome_json, "\"reused\":false"));
    gallivant_execution_machine_free(machine);

    machine = called(boundary, "submit", submit_input);
    CHECK(started(machine) == 0 && holds(step.outcome_json, "\"reused\":true"));
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
    gallivant_host_free(host);
}

static void ex_bnd_42_what_belongs_to_no_outstanding_call_changes_nothing(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    gallivant_execution_step other = GALLIVANT_EXECUTION_STEP_INIT;
    gallivant_execution_failure failure = failing(GALLIVANT_FAILURE_IO);
    other.id = 77;
#define REFUSES_STEP(call) CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "reply", call)
    REFUSES_STEP(gallivant_execution_machine_reply(machine, 1, TEXT(accepted), &other, &error));
    REFUSES_STEP(gallivant_execution_machine_sending(machine, 1, &error));
    uint64_t id = started(machine);
    REFUSES_STEP(gallivant_execution_machine_start(machine, &other, &error));
    REFUSES_STEP(gallivant_execution_machine_reply(machine, id + 1, TEXT(accepted), &other, &error));
    REFUSES_STEP(gallivant_execution_machine_fail(machine, id + 1, &failure, &other, &error));
    REFUSES_STEP(gallivant_execution_machine_deadline(machine, id + 1, &other, &error));
    REFUSES_STEP(gallivant_execution_machine_abort(machine, id + 1, &other, &error));
    REFUSES_STEP(gallivant_execution_machine_sending(machine, id + 1, &error));
    CHECK(other.id == 77 && other.kind == 0 && !gallivant_execution_machine_is_cancelled(machine));
    /* The step that was lent is as it was. */
    CHECK_VIEW(step.method, "submit");
    CHECK_OK(gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE);
    REFUSES_STEP(gallivant_execution_machine_reply(machine, id, TEXT(accepted), &other, &error));
    REFUSES_STEP(gallivant_execution_machine_start(machine, &other, &error));
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void ex_bnd_41_deadlines_and_aborts_end_a_call_whose_reply_is_not_read(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_boundary *boundary = boundary_in(directory, 5000, host, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    uint64_t id = started(machine);
    CHECK(!gallivant_execution_machine_is_cancelled(machine));
    CHECK_OK(gallivant_testing_host_advance_ms(host, 5000, &error));
    CHECK_OK(gallivant_execution_machine_reply(machine, id, TEXT(accepted), &step, &error));
    failed_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "deadline");
    CHECK_VIEW(gallivant_error_operation_id(step.failure), "op-1");
    CHECK(gallivant_execution_machine_is_cancelled(machine));
    CHECK(!on_disk(directory, "job-1"));
    gallivant_execution_machine_free(machine);

    machine = called(boundary, "reconcile", "{\"force\":true}");
    id = started(machine);
    CHECK_VIEW(step.method, "lookup");
    CHECK_OK(gallivant_execution_machine_deadline(machine, id, &step, &error));
    CHECK(holds(step.outcome_json, "\"EXECUTION_DEADLINE\""));
    gallivant_execution_machine_free(machine);

    machine = called(boundary, "reconcile", "{\"force\":true}");
    id = started(machine);
    CHECK_OK(gallivant_execution_machine_abort(machine, id, &step, &error));
    CHECK(gallivant_execution_machine_is_cancelled(machine));
    CHECK(holds(step.outcome_json, "\"aborted\""));
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
    gallivant_host_free(host);
}

static void ex_tra_29_not_sent_is_believed_until_something_is_being_sent(void)
{
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    CHECK_OK(gallivant_execution_dispatch_not_sent_error(TEXT("no-token"), TEXT("no token is configured"), &failure, &error));
    CHECK(failure.kind == GALLIVANT_FAILURE_NOT_SENT && failure.struct_size == sizeof failure);
    for (int sends = 0; sends < 2; sends++) {
        const char *directory = fresh_directory();
        gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
        gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
        uint64_t id = started(machine);
        if (sends)
            CHECK_OK(gallivant_execution_machine_sending(machine, id, &error));
        CHECK_VIEW(step.method, "submit");
        CHECK_OK(gallivant_execution_machine_fail(machine, id, &failure, &step, &error));
        if (sends)
            failed_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "io");
        else
            failed_with(GALLIVANT_EXECUTION_DISPATCH_REFUSED, "dispatch-refused");
        CHECK(on_disk(directory, "\"no-token\"") == !sends);
        gallivant_execution_machine_free(machine);
        gallivant_execution_boundary_free(boundary);
    }
}

/* Submits, and ends the job at its provider; its collection comes next. */
static uint64_t collecting(gallivant_execution_boundary *boundary, gallivant_execution_machine **machine)
{
    static const char ended[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\",\"state\":\"succeeded\",\"observedAt\":%llu,"
                                "\"completedAt\":%llu,\"events\":[],\"costUsd\":0.125}";
    char observation[256];
    *machine = called(boundary, "submit", submit_input);
    CHECK_OK(gallivant_execution_machine_reply(*machine, started(*machine), TEXT(accepted), &step, &error));
    gallivant_execution_machine_free(*machine);
    *machine = called(boundary, "reconcile", "{\"force\":true}");
    uint64_t id = started(*machine);
    CHECK_VIEW(step.method, "inspect");
    snprintf(observation, sizeof observation, ended, (unsigned long long)start_ms, (unsigned long long)start_ms);
    CHECK_OK(gallivant_execution_machine_reply(*machine, id, TEXT(observation), &step, &error));
    CHECK_VIEW(step.method, "collect");
    return step.id;
}

static void ex_tra_30_a_faulty_artifact_is_told_with_its_reason(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, host, NULL);
    gallivant_execution_machine *machine = NULL;
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    gallivant_text *answer = NULL;
    uint64_t id = collecting(boundary, &machine);
    CHECK_OK(gallivant_execution_collection_validation_error(TEXT("checksum"), TEXT("the archive is damaged"), &failure,
                                                             &error));
    CHECK(failure.kind == GALLIVANT_FAILURE_COLLECTION_VALIDATION);
    CHECK_OK(gallivant_execution_machine_fail(machine, id, &failure, &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE);
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("inspect"), NULL, 0, &answer, &error));
    CHECK(holds(gallivant_text_view(answer), "\"resultRejected\":true"));
    gallivant_text_free(answer);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
    gallivant_host_free(host);
}

static void ex_obs_33_a_result_that_is_not_there_yet_is_asked_for_again(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, host, NULL);
    gallivant_execution_machine *machine = NULL;
    uint64_t id = collecting(boundary, &machine);
    CHECK_OK(gallivant_execution_machine_reply(machine, id, TEXT("null"), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE && holds(step.outcome_json, "EXECUTION_RESULT"));
    CHECK(holds(step.outcome_json, "\"missing\"") && holds(step.outcome_json, "\"retrieving-results\""));
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
    gallivant_host_free(host);
}

static void ex_bnd_46_foreign_numbers_keep_their_digits(void)
{
    static const char reply[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\",\"cursor\":12345678901234567891}";
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    CHECK_OK(gallivant_execution_machine_reply(machine, started(machine), TEXT(reply), &step, &error));
    CHECK(step.kind == GALLIVANT_STEP_DONE && on_disk(directory, "12345678901234567891"));
    gallivant_execution_machine_free(machine);
    machine = called(boundary, "reconcile", "{\"force\":true}");
    started(machine);
    CHECK(holds(step.input_json, "\"cursor\":12345678901234567891"));
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

static void ex_bnd_20_methods_that_read_answer_at_once(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_text *answer = NULL;
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("inspect"), NULL, 0, &answer, &error));
    CHECK(holds(gallivant_text_view(answer), "\"runId\":null") && holds(gallivant_text_view(answer), "\"taskId\":\"task\""));
    gallivant_text_free(answer);
    CHECK_OK(gallivant_execution_boundary_read(boundary, TEXT("dirOf"), TEXT("{\"runId\":\"run-1\"}"), &answer, &error));
    CHECK(holds(gallivant_text_view(answer), "run-1"));
    gallivant_text_free(answer);
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "reply",
                gallivant_execution_boundary_read(boundary, TEXT("submit"), TEXT(submit_input), &answer, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_execution_boundary_read(boundary, TEXT("Inspect"), NULL, 0, &answer, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape",
                gallivant_execution_boundary_read(boundary, TEXT("inspect"), TEXT("[]"), &answer, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_UNKNOWN_RUN, NULL,
                gallivant_execution_boundary_read(boundary, TEXT("outcome"), TEXT("{\"runId\":\"run-1\"}"), &answer, &error));
    gallivant_execution_machine *machine = called(boundary, "capabilities", "{}");
    CHECK(started(machine) == 0 && step.kind == GALLIVANT_STEP_DONE && holds(step.outcome_json, "\"transport\":\"rest\""));
    gallivant_execution_machine_free(machine);
    CHECK(content_of(directory, "execution.lock") == NULL);
    gallivant_execution_boundary_free(boundary);
}

static void ex_upg_04_unresolved_work_is_listed_with_what_to_do(void)
{
    const char *directory = fresh_directory();
    gallivant_execution_failure failure = failing(0);
    gallivant_text *operations = NULL;
    CHECK_OK(gallivant_execution_unresolved(TEXT(directory), NULL, &operations, &error));
    CHECK_VIEW(gallivant_text_view(operations), "[]");
    gallivant_text_free(operations);
    gallivant_execution_boundary *boundary = boundary_in(directory, 20000, NULL, NULL);
    gallivant_execution_machine *machine = called(boundary, "submit", submit_input);
    CHECK_OK(gallivant_execution_machine_fail(machine, started(machine), &failure, &step, &error));
    failed_with(GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN, "io");
    CHECK_OK(gallivant_execution_unresolved(TEXT(directory), NULL, &operations, &error));
    gallivant_str list = gallivant_text_view(operations);
    CHECK(holds(list, "\"operationId\":\"op-1\"") && holds(list, "\"idempotencyKey\":\"gx-") && holds(list, "\"remedy\":\""));
    CHECK(holds(list, "\"taskId\":\"task\"") && holds(list, "\"intentAt\":"));
    gallivant_text_free(operations);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
}

/* What a pure function answers; an empty text where it fails, which is a failed check. */
static const char *value_of(const char *name, const char *args)
{
    static char value[256];
    gallivant_text *text = NULL;
    CHECK_OK(gallivant_execution_function(TEXT(name), TEXT(args), &text, &error));
    snprintf(value, sizeof value, "%s", text != NULL ? gallivant_text_view(text).data : "");
    gallivant_text_free(text);
    return value;
}

static void ex_sea_15_the_pure_functions_go_by_their_names(void)
{
    gallivant_text *text = NULL;
    CHECK_TEXT(value_of("money", "{\"amount\":\"0.1\",\"round\":\"up\"}"), "{\"nano\":\"100000000\",\"usd\":\"0.1\"}");
    CHECK_TEXT(value_of("checkCursor", "{\"cursor\":\"\\ud800\"}"), "{\"valid\":false,\"bytes\":0}");
    CHECK_TEXT(value_of("executionLive", "{\"value\":{}}"), "true");
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_function(TEXT("mony"), TEXT("{}"), &text, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL, gallivant_execution_function(TEXT("money"), TEXT("{"), &text, &error));
    CHECK(text == NULL);
}

/* The check of a transport step by step: what is asked, and what is found in what was seen of it. */
static void ex_tra_07_the_check_of_a_transport_asks_and_judges(void)
{
    static const char form[] =
        "{\"methods\":[\"submit\",\"inspect\",\"collect\"],\"subject\":{\"taskId\":\"t\",\"provider\":\"p\","
        "\"account\":\"me\",\"nonce\":\"n\",\"capabilities\":{\"provider\":\"p\",\"transport\":\"rest\",\"location\":\"remote\","
        "\"newDispatch\":{\"available\":true,\"reason\":null},"
        "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
        "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"refused\","
        "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"native\","
        "\"observability\":\"events\",\"cancel\":true,\"interrupt\":false,"
        "\"cost\":{\"reports\":true,\"hardCap\":false}}},\"seen\":[%s]}";
    /* Two jobs for one call, another request after it, and a connection that stays. */
    static const char seen[] =
        "{\"before\":{\"requests\":0,\"jobs\":0,\"cancellations\":0,\"openHandles\":0},"
        "\"after\":{\"requests\":2,\"jobs\":2,\"cancellations\":0,\"openHandles\":1},"
        "\"quiet\":{\"requests\":3,\"jobs\":2,\"cancellations\":0,\"openHandles\":1},\"askedAt\":1780000000000,"
        "\"endedAt\":1780000000050,\"sending\":true,\"end\":{\"failed\":{\"kind\":\"io\",\"message\":\"reset\"}}}";
    char args[2048];
    gallivant_text *text = NULL;
    snprintf(args, sizeof args, form, "");
    CHECK_OK(gallivant_execution_function(TEXT("checkTransport"), TEXT(args), &text, &error));
    CHECK(holds(gallivant_text_view(text), "\"method\":\"submit\"") && holds(gallivant_text_view(text), "\"quietMs\":250"));
    gallivant_text_free(text);
    snprintf(args, sizeof args, form, seen);
    CHECK_OK(gallivant_execution_function(TEXT("checkTransport"), TEXT(args), &text, &error));
    CHECK(holds(gallivant_text_view(text), "\"clause\":\"EX-TRA-26\"") && holds(gallivant_text_view(text), "requests=`1`"));
    CHECK(holds(gallivant_text_view(text), "handles=`1`"));
    CHECK(holds(gallivant_text_view(text), "said=`reset`"));
    gallivant_text_free(text);
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, NULL,
                gallivant_execution_function(TEXT("checkTransport"), TEXT("{\"methods\":[]}"), &text, &error));
}

static void ex_cost_21_an_amount_is_an_integer_of_nano_dollars(void)
{
    int64_t nanos = -7;
    CHECK_OK(gallivant_execution_nanos(TEXT("0.1"), GALLIVANT_ROUND_UP, &nanos, &error));
    CHECK(nanos == 100000000);
    CHECK_OK(gallivant_execution_nanos(TEXT("1e-10"), GALLIVANT_ROUND_UP, &nanos, &error));
    CHECK(nanos == 1);
    CHECK_OK(gallivant_execution_nanos(TEXT("1e-10"), GALLIVANT_ROUND_DOWN, &nanos, &error));
    CHECK(nanos == 0);
    CHECK_OK(gallivant_execution_nanos(TEXT("8999999999.999999999"), GALLIVANT_ROUND_DOWN, &nanos, &error));
    CHECK(nanos == INT64_C(8999999999999999999));
    static const char *const no_amounts[] = { "-0.1", "9000000000.1", "\"1\"", "", "1 " };
    for (size_t at = 0; at < sizeof no_amounts / sizeof *no_amounts; at++)
        CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "number",
                    gallivant_execution_nanos(TEXT(no_amounts[at]), GALLIVANT_ROUND_UP, &nanos, &error));
    REFUSES_CONSTANT(gallivant_execution_nanos(TEXT("1"), 0, &nanos, &error));
    CHECK(nanos == INT64_C(8999999999999999999));
}

static void ex_bnd_01_the_words_and_limits_are_those_of_the_specification(void)
{
    gallivant_text *limits = NULL;
    CHECK_OK(gallivant_execution_limits(&limits, &error));
    CHECK(holds(gallivant_text_view(limits), "{\"name\":\"deadlineMs\",\"default\":20000,\"min\":1,\"max\":120000}"));
    gallivant_text_free(limits);
    CHECK_TEXT(gallivant_provider_state_name(GALLIVANT_PROVIDER_STATE_WAITING_FOR_INPUT), "waiting-for-input");
    CHECK(gallivant_provider_state_from_name(TEXT("status-unknown")) == GALLIVANT_PROVIDER_STATE_STATUS_UNKNOWN);
    CHECK(gallivant_provider_state_from_name(TEXT("Running")) == 0);
    CHECK_TEXT(gallivant_failure_name(GALLIVANT_FAILURE_NOT_SENT), "not-sent");
    CHECK(gallivant_failure_from_name(TEXT("rate")) == GALLIVANT_FAILURE_RATE);
    CHECK(gallivant_failure_from_name(NULL, 0) == 0);
    CHECK_TEXT(gallivant_port_name(GALLIVANT_PORT_PROCESS), "process");
    CHECK_TEXT(gallivant_step_name(GALLIVANT_STEP_DONE), "done");
    CHECK_TEXT(gallivant_round_name(GALLIVANT_ROUND_DOWN), "down");
}

static void ex_cap_26_a_runtime_of_another_contract_or_without_intake_is_refused(void)
{
    CHECK_OK(gallivant_execution_assert_dependency(GALLIVANT_EXECUTION_CONTRACT_VERSION, 1, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_DEPENDENCY, NULL, gallivant_execution_assert_dependency(0, 1, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_DEPENDENCY, NULL,
                gallivant_execution_assert_dependency(GALLIVANT_EXECUTION_CONTRACT_VERSION + 1, 1, &error));
    CHECK_FAILS(GALLIVANT_EXECUTION_DEPENDENCY, NULL,
                gallivant_execution_assert_dependency(GALLIVANT_EXECUTION_CONTRACT_VERSION, 0, &error));
}

static void ex_jrn_34_a_queue_that_makes_no_sense_refuses_a_new_intent(void)
{
    static const char options[] =
        "{\"taskId\":\"task\",\"provider\":\"p\",\"account\":\"me\",\"health\":\"external\",\"runner\":true,"
        "\"capabilities\":{\"provider\":\"p\",\"transport\":\"cli\",\"location\":\"local\","
        "\"newDispatch\":{\"available\":true,\"reason\":null},"
        "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
        "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"native\","
        "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"native\","
        "\"observability\":\"events\",\"cancel\":true,\"interrupt\":false,"
        "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}}";
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(start_ms);
    gallivant_execution_boundary *boundary = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/local-output-queue.json", directory);
    FILE *queue = fopen(path, "w");
    CHECK(queue != NULL && fputs("{\"version\":1,\"runs\":\"none\"}", queue) >= 0 && fclose(queue) == 0);
    CHECK_OK(gallivant_execution_boundary_open(TEXT(directory), TEXT(options), NULL, host, &boundary, &error));
    gallivant_execution_machine *machine = called(boundary, "submit", "{\"operationId\":\"op-1\",\"prompt\":\"do it\"}");
    CHECK(started(machine) == 0);
    failed_with(GALLIVANT_EXECUTION_QUEUE, "output-state");
    CHECK(content_of(directory, "execution.json") == NULL);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
    gallivant_host_free(host);
}

void suite_execution(void)
{
    RUN(ex_bnd_39_a_machine_hands_out_a_call_and_is_fed_its_end);
    RUN(ex_bnd_42_what_belongs_to_no_outstanding_call_changes_nothing);
    RUN(ex_bnd_41_deadlines_and_aborts_end_a_call_whose_reply_is_not_read);
    RUN(ex_tra_29_not_sent_is_believed_until_something_is_being_sent);
    RUN(ex_tra_30_a_faulty_artifact_is_told_with_its_reason);
    RUN(ex_obs_33_a_result_that_is_not_there_yet_is_asked_for_again);
    RUN(ex_jrn_34_a_queue_that_makes_no_sense_refuses_a_new_intent);
    RUN(ex_bnd_46_foreign_numbers_keep_their_digits);
    RUN(ex_bnd_20_methods_that_read_answer_at_once);
    RUN(ex_upg_04_unresolved_work_is_listed_with_what_to_do);
    RUN(ex_sea_15_the_pure_functions_go_by_their_names);
    RUN(ex_tra_07_the_check_of_a_transport_asks_and_judges);
    RUN(ex_cost_21_an_amount_is_an_integer_of_nano_dollars);
    RUN(ex_bnd_01_the_words_and_limits_are_those_of_the_specification);
    RUN(ex_cap_26_a_runtime_of_another_contract_or_without_intake_is_refused);
}
