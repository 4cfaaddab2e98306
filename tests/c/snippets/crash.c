/* A crash test of one's own: the process dies at one storage operation after another, and a reader looks at what is left. */

#define _POSIX_C_SOURCE 200809L
#include <gallivant.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is tested. Dies at the operation of this number; exits once it has fewer. */
static void claim_and_die(const char *directory, int operation)
{
    char faults[64];
    gallivant_testing_host_options given = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_claim_result *claim = NULL;
    gallivant_host *host = NULL;
    snprintf(faults, sizeof faults, "[{\"at\": %d, \"do\": \"crash\"}]", operation);
    given.faults_json = gallivant_str_from(faults);
    identity.agent = identity.harness = identity.token = gallivant_str_from("test");
    if (gallivant_testing_host_new(&given, &host, NULL) == GALLIVANT_OK) {
        options.host = host;
        gallivant_harness_state_claim(directory, strlen(directory), &identity, &options, &claim, NULL);
    }
    gallivant_harness_state_claim_result_free(claim);
    gallivant_host_free(host);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    gallivant_harness_state_derived left = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_reader *reader = NULL;
    int status = 0;
    if (gallivant_harness_state_reader_open(directory, strlen(directory), NULL, &reader, NULL))
        return 1;
    for (int operation = 1; operation == 1 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); operation++) {
        pid_t child = fork();
        if (child == 0)
            claim_and_die(directory, operation);
        waitpid(child, &status, 0);
        if (gallivant_harness_state_reader_read(reader, NULL, &left, NULL) ||
            left.unknown_reason == GALLIVANT_UNKNOWN_REASON_MALFORMED_RECORD)
            return 1;
    }
    gallivant_harness_state_reader_free(reader);
    return 0;
}
