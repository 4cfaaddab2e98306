/* A call of a boundary in the program's own loop: the machine hands out what is to be done and is fed what came of it. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

static const char options[] =
    "{\"taskId\":\"task-7\",\"provider\":\"acme\",\"account\":\"team\",\"budgetUsd\":8,\"health\":\"external\","
    "\"transport\":{\"methods\":[\"submit\",\"inspect\",\"collect\"]},"
    "\"capabilities\":{\"provider\":\"acme\",\"transport\":\"rest\",\"location\":\"remote\","
    "\"newDispatch\":{\"available\":true,\"reason\":null},"
    "\"authentication\":{\"scheme\":\"bearer\",\"secretNames\":[]},"
    "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"refused\","
    "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"none\","
    "\"observability\":\"states\",\"cancel\":false,\"interrupt\":false,"
    "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}}";

/* Asks the provider; a program of yours sends here and comes back when the answer is there. */
static const char *ask_the_provider(gallivant_str method, gallivant_str input, uint64_t deadline_at_ms)
{
    printf("%s until %llu: %zu bytes\n", method.data, (unsigned long long)deadline_at_ms, input.length);
    return "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}";
}

static int32_t run(gallivant_execution_machine *machine, gallivant_error **error)
{
    gallivant_execution_step step = GALLIVANT_EXECUTION_STEP_INIT;
    int32_t status = gallivant_execution_machine_start(machine, &step, error);
    while (status == GALLIVANT_OK && step.kind == GALLIVANT_STEP_CALL) {
        uint64_t id = step.id;
        status = gallivant_execution_machine_sending(machine, id, error);
        if (status != GALLIVANT_OK)
            break;
        const char *reply = ask_the_provider(step.method, step.input_json, step.deadline_at_ms);
        if (reply != NULL)
            status = gallivant_execution_machine_reply(machine, id, reply, strlen(reply), &step, error);
        else
            status = gallivant_execution_machine_deadline(machine, id, &step, error);
    }
    if (status != GALLIVANT_OK)
        return status;
    if (step.kind == GALLIVANT_STEP_DONE)
        printf("done: %s\n", step.outcome_json.data);
    else
        printf("failed: %s\n", gallivant_error_message(step.failure));
    return gallivant_error_code(step.failure);
}

int main(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : ".";
    static const char input[] = "{\"operationId\":\"op-1\",\"prompt\":\"mend the build\",\"reservationUsd\":0.5}";
    gallivant_execution_boundary *boundary = NULL;
    gallivant_execution_machine *machine = NULL;
    gallivant_error *error = NULL;
    int32_t status =
        gallivant_execution_boundary_open(root, strlen(root), options, strlen(options), NULL, NULL, &boundary, &error);
    if (status == GALLIVANT_OK)
        status = gallivant_execution_boundary_call(boundary, "submit", 6, input, strlen(input), NULL, &machine, &error);
    if (status == GALLIVANT_OK)
        status = run(machine, &error);
    if (error != NULL)
        fprintf(stderr, "%s: %s\n", gallivant_error_name(error), gallivant_error_message(error));
    gallivant_error_free(error);
    gallivant_execution_machine_free(machine);
    gallivant_execution_boundary_free(boundary);
    return status == GALLIVANT_OK ? 0 : 1;
}
