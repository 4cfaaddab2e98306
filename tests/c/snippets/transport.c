/* A transport: the program's own code that reaches a provider, and a boundary that dispatches each operation once. */

#define _GNU_SOURCE
#include <gallivant.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The provider, a service elsewhere, which keeps the key of the job that it has made. */
typedef struct {
    const char *token;
    int is_line_down;
    char key[128];
} service;

static const char options[] =
    "{\"taskId\":\"task-7\",\"provider\":\"acme\",\"account\":\"team\",\"budgetUsd\":8,\"health\":\"external\","
    "\"transport\":{\"methods\":[\"submit\",\"inspect\",\"collect\",\"lookup\"]},"
    "\"capabilities\":{\"provider\":\"acme\",\"transport\":\"rest\",\"location\":\"remote\","
    "\"newDispatch\":{\"available\":true,\"reason\":null},"
    "\"authentication\":{\"scheme\":\"bearer\",\"secretNames\":[]},"
    "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"refused\","
    "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"none\","
    "\"observability\":\"states\",\"cancel\":false,\"interrupt\":false,"
    "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}}";

/* A plain text of the input; a program of yours has a JSON library for that. */
static void text_of(gallivant_str input, const char *key, char *text, size_t capacity)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *found = strstr(input.data, quoted);
    snprintf(text, capacity, "%.*s", found ? (int)strcspn(found + strlen(quoted), "\"") : 0,
             found ? found + strlen(quoted) : "");
}

static void fail(const gallivant_execution_call *call, int32_t kind, const char *message)
{
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    failure.kind = kind;
    failure.message = gallivant_str_from(message);
    gallivant_execution_call_fail(call, &failure, NULL);
}

static void submit(void *user_data, const gallivant_execution_call *call)
{
    service *service = user_data;
    static const char job[] = "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\"}";
    if (service->token == NULL) {
        /* Nothing was sent and nothing was saved: this alone may be called so. */
        fail(call, GALLIVANT_FAILURE_NOT_SENT, "no token is configured");
        return;
    }
    /* Just before the first request. From here on nobody can prove that nothing was sent. */
    gallivant_execution_call_sending(call);
    text_of(gallivant_execution_call_input(call), "idempotencyKey", service->key, sizeof service->key);
    if (service->is_line_down)
        fail(call, GALLIVANT_FAILURE_IO, "the connection was lost");
    else
        gallivant_execution_call_reply(call, job, strlen(job), NULL);
}

/* What the job of a key does; null where none is found, or where that is not certain. */
static void observe(const service *service, const gallivant_execution_call *call, int is_found)
{
    char observation[256] = "null";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (is_found && service->key[0] != '\0')
        snprintf(observation, sizeof observation,
                 "{\"providerJobId\":\"job-1\",\"turnId\":\"turn-1\",\"state\":\"running\",\"observedAt\":%llu,\"events\":[]}",
                 (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000);
    gallivant_execution_call_reply(call, observation, strlen(observation), NULL);
}

static void inspect(void *user_data, const gallivant_execution_call *call)
{
    observe(user_data, call, 1);
}

static void lookup(void *user_data, const gallivant_execution_call *call)
{
    const service *service = user_data;
    char key[128];
    text_of(gallivant_execution_call_input(call), "idempotencyKey", key, sizeof key);
    observe(service, call, strcmp(key, service->key) == 0);
}

static void collect(void *user_data, const gallivant_execution_call *call)
{
    (void)user_data;
    /* Not available yet. */
    gallivant_execution_call_reply(call, "null", 4, NULL);
}

/* Calls a method of the boundary and drives it; what it gives is printed. */
static int32_t run(gallivant_execution_boundary *boundary, const gallivant_execution_transport *transport, const char *method,
                   const char *input)
{
    gallivant_execution_machine *machine = NULL;
    gallivant_text *outcome = NULL;
    gallivant_error *error = NULL;
    int32_t status = gallivant_execution_boundary_call(boundary, method, strlen(method), input, strlen(input), NULL,
                                                       &machine, &error);
    if (status == GALLIVANT_OK)
        status = gallivant_execution_drive(machine, transport, NULL, &outcome, &error);
    if (status == GALLIVANT_OK)
        printf("%s: %.60s...\n", method, gallivant_text_view(outcome).data);
    else
        printf("%s: %s; %s\n", method, gallivant_error_name(error), gallivant_error_remedy(error));
    gallivant_error_free(error);
    gallivant_text_free(outcome);
    gallivant_execution_machine_free(machine);
    return status;
}

int main(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : ".";
    static const char input[] = "{\"operationId\":\"op-1\",\"prompt\":\"mend the build\",\"reservationUsd\":0.5}";
    service service = { NULL, 1, "" };
    gallivant_execution_transport transport = GALLIVANT_EXECUTION_TRANSPORT_INIT;
    gallivant_execution_boundary *boundary = NULL;
    gallivant_text *unresolved = NULL;
    gallivant_error *error = NULL;
    transport.user_data = &service;
    transport.submit = submit;
    transport.inspect = inspect;
    transport.collect = collect;
    transport.lookup = lookup;
    if (gallivant_execution_boundary_open(root, strlen(root), options, strlen(options), NULL, NULL, &boundary, &error)) {
        fprintf(stderr, "%s\n", gallivant_error_message(error));
        gallivant_error_free(error);
        return 1;
    }
    /* Refused, and nothing is left of it: the same operation may run later. */
    int right = run(boundary, &transport, "submit", input) == GALLIVANT_EXECUTION_DISPATCH_REFUSED;
    service.token = "s3cret";
    /* The job is made, and its reply is lost: nothing is sent again, however often it is asked for. */
    right &= run(boundary, &transport, "submit", input) == GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN;
    right &= run(boundary, &transport, "submit", input) == GALLIVANT_EXECUTION_ACCEPTANCE_UNKNOWN;
    if (gallivant_execution_unresolved(root, strlen(root), NULL, &unresolved, NULL) == GALLIVANT_OK)
        printf("unresolved: %s\n", gallivant_text_view(unresolved).data);
    /* A pass looks the job up by its key. */
    right &= run(boundary, &transport, "reconcile", "{\"force\":true}") == GALLIVANT_OK;
    right &= run(boundary, &transport, "submit", input) == GALLIVANT_OK;
    gallivant_text_free(unresolved);
    gallivant_execution_boundary_free(boundary);
    return right ? 0 : 1;
}
