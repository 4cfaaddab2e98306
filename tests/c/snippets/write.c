/* A wrapper's writes: claim a seat, say what is seen, say how it ended. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

static int report(const char *what, gallivant_error *error)
{
    fprintf(stderr, "cannot %s: %s (%s)\n", what, gallivant_error_message(error), gallivant_error_name(error));
    gallivant_error_free(error);
    return 1;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_observation seen = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    gallivant_harness_state_report answer = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_harness_state_session *session = NULL;
    gallivant_harness_state_writer *writer = NULL;
    gallivant_error *error = NULL;

    identity.agent = gallivant_str_from("worker");
    identity.harness = gallivant_str_from("claude");
    identity.pty_session = gallivant_str_from("worker");
    if (gallivant_harness_state_session_start(directory, strlen(directory), &identity, NULL, &session, &error))
        return report("start", error);
    if (gallivant_harness_state_session_writer(session, &writer, &error))
        return report("open the writer", error);

    seen.state = GALLIVANT_STATE_ACTIVE;
    seen.blocked_on = GALLIVANT_BLOCKED_ON_HUMAN;
    seen.ask = GALLIVANT_ASK_PERMISSION;
    if (gallivant_harness_state_writer_observe(writer, &seen, &answer, &error))
        return report("observe", error);
    if (answer.outcome == GALLIVANT_OUTCOME_REFUSED)
        printf("refused: %s\n", gallivant_refusal_name(answer.refusal));

    if (gallivant_harness_state_session_end(session, "exit 0", 6, &answer, &error))
        return report("end", error);
    gallivant_harness_state_session_free(session);
    gallivant_harness_state_writer_free(writer);
    return 0;
}
