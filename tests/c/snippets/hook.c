/* A harness's hook: the event comes on standard input, the session in the environment, and nothing goes out. */

#include <gallivant.h>
#include <stdio.h>

extern char **environ;

int main(void)
{
    static char payload[8 * 1024 * 1024];
    size_t length = fread(payload, 1, sizeof payload, stdin);
    gallivant_harness_state_environment *session = NULL;
    gallivant_harness_state_hook_report *report = NULL;

    if (gallivant_harness_state_environment_from((const char *const *)environ, &session, NULL) == GALLIVANT_OK)
        gallivant_harness_state_observe_hook("claude", 6, payload, length, session, NULL, &report, NULL);
    gallivant_harness_state_hook_report_free(report);
    gallivant_harness_state_environment_free(session);
    return 0;
}
