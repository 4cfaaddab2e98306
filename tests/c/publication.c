/* A run's result to a pull request: the raw steps of the machine, and the ports that this machine answers. */

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

/* SHA-256 of "one\n", of "two\n", and of the list of commands as its source says it. */
#define ONE "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
#define TWO "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
#define COMMANDS "28d66a48c26afcf6eec940be29045360eedfa3f8e644f5664a09b3d327beaa85"

static const uint64_t start_ms = 1780000000000;

static gallivant_execution_step step;

/* A repository with one commit at a task branch, its bare remote, and what a boundary is told of them. */
typedef struct {
    char place[512], head[64], input[2048];
    gallivant_host *host;
    gallivant_execution_boundary *boundary;
} field;

static int git(const field *field, const char *commands)
{
    char line[2048];
    snprintf(line, sizeof line,
             "cd '%s' && export GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org "
             "GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org && { %s; } >/dev/null 2>&1",
             field->place, commands);
    return system(line) == 0;
}

static void feed(gallivant_execution_machine *machine, const char *reply)
{
    CHECK_OK(gallivant_execution_machine_reply(machine, step.id, TEXT(reply), &step, &error));
}

static gallivant_execution_machine *started(const field *field, const char *method, const char *input)
{
    gallivant_execution_step fresh = GALLIVANT_EXECUTION_STEP_INIT;
    gallivant_execution_machine *machine = called(field->boundary, method, input);
    step = fresh;
    CHECK_OK(gallivant_execution_machine_start(machine, &step, &error));
    return machine;
}

/* A task whose `run-1` is collected and may be published. */
static field collected(void)
{
    static const char ended[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\",\"state\":\"succeeded\",\"observedAt\":%llu,"
                                "\"completedAt\":%llu,\"events\":[],\"costUsd\":0.125}";
    static const char result[] =
        "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\",\"inputHead\":\"%s\",\"completedAt\":%llu,"
        "\"outcome\":{\"finished\":true,\"ok\":true,\"cost\":0.125,\"denials\":[]},\"repo\":\"org/repo\",\"branch\":\"task/1\","
        "\"pr\":{\"title\":\"A title\",\"body\":\"A body\"},\"files\":[{\"path\":\"README\",\"beforeHash\":\"" ONE
        "\",\"afterHash\":\"" TWO "\",\"text\":\"two\\n\"}]}";
    static const char plan[] =
        "{\"runId\":\"run-1\",\"repo\":\"org/repo\",\"origin\":\"%s/origin.git\",\"branch\":\"task/1\",\"base\":\"main\","
        "\"author\":{\"name\":\"A Coordinator\",\"email\":\"coordinator@example.org\"},"
        "\"verification\":{\"commands\":[\"grep -q two README\"],\"source\":\"[\\\"grep -q two README\\\"]\","
        "\"approvedHash\":\"" COMMANDS "\"},\"checkout\":\"%s/checkout\",\"scratch\":\"%s/scratch\"}";
    field field;
    char text[2048];
    snprintf(field.place, sizeof field.place, "%s", fresh_directory());
    CHECK(git(&field, "mkdir scratch && git init -q --bare --initial-branch=main origin.git && git init -q --initial-branch=main "
                      "checkout && here=$PWD && cd checkout && printf 'one\\n' >README && git add -A && git commit -q -m first && git "
                      "remote add origin \"$here/origin.git\" && git push -q origin main && git checkout -q -b task/1 && git "
                      "rev-parse HEAD | tr -d '\\n' | tee ../revision"));
    const char *head = content_of(field.place, "revision");
    CHECK(head != NULL && strlen(head) == 40);
    snprintf(field.head, sizeof field.head, "%s", head != NULL ? head : "");
    snprintf(field.input, sizeof field.input, plan, field.place, field.place, field.place);

    field.host = host_at(start_ms);
    field.boundary = boundary_in(path_in(field.place, "task"), 20000, field.host, NULL);
    snprintf(text, sizeof text,
             "{\"operationId\":\"op-1\",\"runId\":\"run-1\",\"prompt\":\"do it\",\"reservationUsd\":0.5,\"inputHead\":\"%s\"}", field.head);
    gallivant_execution_machine *machine = started(&field, "submit", text);
    feed(machine, "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}");
    gallivant_execution_machine_free(machine);
    machine = started(&field, "reconcile", "{\"force\":true}");
    snprintf(text, sizeof text, ended, (unsigned long long)start_ms, (unsigned long long)start_ms);
    feed(machine, text);
    CHECK_VIEW(step.method, "collect");
    snprintf(text, sizeof text, result, field.head, (unsigned long long)start_ms);
    feed(machine, text);
    CHECK(step.kind == GALLIVANT_STEP_DONE && strstr(step.outcome_json.data, "\"error\":null") != NULL);
    gallivant_execution_machine_free(machine);
    return field;
}

static void done_with(field *field)
{
    gallivant_execution_boundary_free(field->boundary);
    gallivant_host_free(field->host);
}

/* Answers what is a program's own; 0 for what the library answers. */
static int own(gallivant_execution_machine *machine, int *pull_requests)
{
    if (strcmp(step.method.data, "entryStopped") == 0)
        feed(machine, "{\"stopped\":false}");
    else if (strcmp(step.method.data, "findPullRequest") == 0)
        feed(machine, *pull_requests ? "{\"number\":7}" : "null");
    else if (strcmp(step.method.data, "createPullRequest") == 0) {
        ++*pull_requests;
        feed(machine, "{\"number\":7}");
    } else
        return 0;
    return 1;
}

static void ex_art_33_a_program_in_c_publishes_a_result_once(void)
{
    field field = collected();
    gallivant_publication_ports *ports = NULL;
    gallivant_text *reply = NULL;
    int pull_requests = 0, answered = 0;
    CHECK_OK(gallivant_publication_ports_open(field.boundary, TEXT(field.input), NULL, &ports, &error));
    for (int again = 0; again < 2; again++) {
        gallivant_execution_machine *machine = started(&field, "reconcileExecutionResult", field.input);
        while (step.kind == GALLIVANT_STEP_CALL) {
            if (own(machine, &pull_requests))
                continue;
            CHECK_OK(gallivant_publication_ports_answer(ports, step.port, step.method.data, step.method.length,
                                                        step.input_json.data, step.input_json.length, &reply, &error));
            if (reply == NULL)
                break;
            answered++;
            feed(machine, gallivant_text_view(reply).data);
            gallivant_text_free(reply);
            reply = NULL;
        }
        if (step.failure != NULL)
            printf("%s\n", gallivant_error_message(step.failure));
        CHECK(step.kind == GALLIVANT_STEP_DONE);
        const char *outcome = step.outcome_json.data != NULL ? step.outcome_json.data : "";
        if (strstr(outcome, "\"verification-sandbox-unavailable\"") != NULL) {
            printf("no sandbox works on this machine: the block was checked instead\n");
            CHECK(pull_requests == 0);
        } else {
            CHECK(strstr(outcome, "\"status\":\"published\"") != NULL && pull_requests == 1);
            CHECK(git(&field, "test \"$(git -C origin.git rev-parse task/1)\" = \"$(git -C checkout rev-parse HEAD)\""));
        }
        gallivant_execution_machine_free(machine);
    }
    /* One commit, and nothing of it is asked a second time. */
    CHECK(git(&field, "test \"$(git -C checkout rev-parse HEAD^)\" = \"$(cat revision)\""));
    CHECK(git(&field, "grep -qx two checkout/README && test -z \"$(ls scratch)\""));
    CHECK(answered > 3);
    gallivant_publication_ports_free(ports);
    done_with(&field);
}

static void ex_can_49_a_stop_before_the_push_refuses(void)
{
    field field = collected();
    gallivant_execution_machine *machine = started(&field, "cancel", "{\"reason\":\"enough\"}");
    if (step.kind == GALLIVANT_STEP_CALL)
        feed(machine, "{\"confirmed\":true}");
    gallivant_execution_machine_free(machine);
    machine = started(&field, "reconcileExecutionResult", field.input);
    int pull_requests = 0;
    while (step.kind == GALLIVANT_STEP_CALL && own(machine, &pull_requests))
        continue;
    CHECK_TEXT(gallivant_step_name(step.kind), "failed");
    CHECK(gallivant_error_code(step.failure) == GALLIVANT_EXECUTION_FENCED && pull_requests == 0);
    gallivant_execution_machine_free(machine);
    CHECK(git(&field, "! git -C origin.git rev-parse --verify -q task/1"));
    done_with(&field);
}

static void ports_refuse_what_they_cannot_answer(void)
{
    field field = collected();
    gallivant_publication_ports *ports = NULL;
    gallivant_text *reply = NULL;
    REFUSES_NULL(gallivant_publication_ports_open(NULL, TEXT(field.input), NULL, &ports, &error));
    REFUSES_NULL(gallivant_publication_ports_open(field.boundary, TEXT(field.input), NULL, NULL, &error));
    REFUSES_UTF8(gallivant_publication_ports_open(field.boundary, TEXT(BAD), NULL, &ports, &error));
    CHECK(gallivant_publication_ports_open(field.boundary, TEXT("{}"), NULL, &ports, NULL) == GALLIVANT_EXECUTION_INPUT);
    CHECK(ports == NULL);
    CHECK_OK(gallivant_publication_ports_open(field.boundary, TEXT(field.input), NULL, &ports, &error));
    REFUSES_NULL(gallivant_publication_ports_answer(NULL, GALLIVANT_PORT_GIT, TEXT("state"), TEXT("{}"), &reply, &error));
    REFUSES_NULL(gallivant_publication_ports_answer(ports, GALLIVANT_PORT_GIT, TEXT("state"), TEXT("{}"), NULL, &error));
    REFUSES_UTF8(gallivant_publication_ports_answer(ports, GALLIVANT_PORT_GIT, TEXT(BAD), TEXT("{}"), &reply, &error));
    REFUSES_CONSTANT(gallivant_publication_ports_answer(ports, 99, TEXT("state"), TEXT("{}"), &reply, &error));
    CHECK(gallivant_publication_ports_answer(ports, GALLIVANT_PORT_PUBLISHER, TEXT("findPullRequest"), TEXT("{}"), &reply, NULL) ==
          GALLIVANT_EXECUTION_IO);
    CHECK(reply == NULL);
    gallivant_publication_ports_free(ports);
    gallivant_publication_ports_free(NULL);
    done_with(&field);
}

void suite_publication(void)
{
    RUN(ex_art_33_a_program_in_c_publishes_a_result_once);
    RUN(ex_can_49_a_stop_before_the_push_refuses);
    RUN(ports_refuse_what_they_cannot_answer);
}
