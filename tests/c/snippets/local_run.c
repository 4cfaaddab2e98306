/* A local run: a process of this machine, stopped if it takes too long, and settled. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

static const char options[] =
    "{\"taskId\":\"task-7\",\"provider\":\"shell\",\"account\":\"me\",\"health\":\"external\",\"runner\":{},"
    "\"capabilities\":{\"provider\":\"shell\",\"transport\":\"process\",\"location\":\"local\","
    "\"newDispatch\":{\"available\":true,\"reason\":null},"
    "\"authentication\":{\"scheme\":\"none\",\"secretNames\":[]},"
    "\"environments\":{\"required\":false,\"allowed\":null},\"models\":\"native\","
    "\"policies\":{\"required\":false,\"allowed\":[]},\"preparation\":null,\"continuation\":\"native\","
    "\"observability\":\"events\",\"cancel\":true,\"interrupt\":true,"
    "\"cost\":{\"reports\":true,\"hardCap\":false},\"qualification\":null}}";

static const char work[] =
    "{\"runId\":\"run-1\",\"prompt\":\"say it\",\"spec\":{\"argv\":[\"/bin/sh\",\"-c\",\"echo done\"],\"cwd\":\"/\","
    "\"env\":{\"PATH\":\"/usr/bin:/bin\"}}}";
static const char stop[] = "{\"runId\":\"run-1\",\"reason\":\"it takes too long\",\"killAfterMs\":10000}";

static int32_t run(gallivant_execution_boundary *boundary, gallivant_text **outcome, gallivant_error **error)
{
    gallivant_text *told = NULL;
    int32_t is_gone = 0;
    int32_t status = gallivant_execution_local_run_start(boundary, work, strlen(work), NULL, &told, error);
    gallivant_text_free(told);
    if (status == GALLIVANT_OK)
        status = gallivant_execution_local_run_wait_for_kill(boundary, "run-1", 5, 60000, NULL, &is_gone, error);
    if (status == GALLIVANT_OK && !is_gone) {
        told = NULL;
        status = gallivant_execution_local_run_kill(boundary, stop, strlen(stop), NULL, &told, error);
        gallivant_text_free(told);
        if (status == GALLIVANT_OK)
            status = gallivant_execution_local_run_wait_for_kill(boundary, "run-1", 5, 30000, NULL, &is_gone, error);
    }
    if (status == GALLIVANT_OK)
        status = gallivant_execution_local_run_settle(boundary, "run-1", 5, NULL, outcome, error);
    return status;
}

int main(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : ".";
    gallivant_execution_boundary *boundary = NULL;
    gallivant_text *outcome = NULL;
    gallivant_error *error = NULL;
    int32_t status =
        gallivant_execution_boundary_open(root, strlen(root), options, strlen(options), NULL, NULL, &boundary, &error);
    if (status == GALLIVANT_OK)
        status = run(boundary, &outcome, &error);
    if (outcome != NULL)
        printf("%s\n", gallivant_text_view(outcome).data);
    if (error != NULL)
        fprintf(stderr, "%s: %s\n", gallivant_error_name(error), gallivant_error_message(error));
    gallivant_text_free(outcome);
    gallivant_error_free(error);
    gallivant_execution_boundary_free(boundary);
    return status == GALLIVANT_OK ? 0 : 1;
}
