/* One hook call, from payload to record. */

#include "check.h"

static gallivant_harness_state_environment *environment_of(const char *directory, uint64_t sequence)
{
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_environment *environment = NULL;
    CHECK_OK(gallivant_harness_state_environment_new(TEXT(directory), &identity, &sequence, &environment, &error));
    return environment;
}

static gallivant_harness_state_hook_report *hook(const char *harness, const char *payload,
                                                 const gallivant_harness_state_environment *environment)
{
    gallivant_harness_state_hook_report *report = NULL;
    CHECK_OK(gallivant_harness_state_observe_hook(TEXT(harness), TEXT(payload), environment, NULL, &report, &error));
    return report;
}

static void hs_110_an_event_becomes_an_observation(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_environment *environment = environment_of(directory, claimed(directory, "tok", NULL));
    gallivant_harness_state_hook_report *report =
        hook("claude", "{\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"hi\"}", environment);
    gallivant_harness_state_report written = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK(gallivant_harness_state_hook_report_kind(report) == GALLIVANT_HOOK_OBSERVED);
    CHECK_TEXT(gallivant_harness_state_hook_report_word(report), "landed");
    CHECK_TEXT(gallivant_harness_state_hook_report_event(report), "UserPromptSubmit");
    CHECK(gallivant_harness_state_hook_report_lossy(report) == 0);
    CHECK(gallivant_harness_state_hook_report_error(report) == NULL);
    CHECK_OK(gallivant_harness_state_hook_report_written(report, &written, &error));
    CHECK(written.outcome == GALLIVANT_OUTCOME_LANDED && written.struct_size == sizeof written);
    gallivant_harness_state_hook_report_free(report);
    CHECK(derived_in(directory, NULL).state == GALLIVANT_STATE_ACTIVE);
    gallivant_harness_state_environment_free(environment);
}

static void hs_111_an_unknown_event_is_no_observation_and_no_error(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_environment *environment = environment_of(directory, claimed(directory, "tok", NULL));
    gallivant_harness_state_hook_report *report =
        hook("codex", "{\"hook_event_name\":\"Novel\\ud800\"}", environment);
    gallivant_harness_state_report written = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK(gallivant_harness_state_hook_report_kind(report) == GALLIVANT_HOOK_IGNORED);
    CHECK_TEXT(gallivant_harness_state_hook_report_word(report), "unknown-event");
    CHECK_TEXT(gallivant_harness_state_hook_report_event(report), "Novel\xef\xbf\xbd");
    CHECK(gallivant_harness_state_hook_report_lossy(report) == 1);
    written.outcome = 77;
    CHECK_OK(gallivant_harness_state_hook_report_written(report, &written, &error));
    CHECK(written.outcome == 0);
    gallivant_harness_state_hook_report_free(report);
    gallivant_harness_state_environment_free(environment);
}

static void hs_112_a_hook_without_a_session_changes_nothing(void)
{
    gallivant_harness_state_hook_report *report = hook("claude", "{\"hook_event_name\":\"Stop\"}", NULL);
    gallivant_harness_state_report written = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    CHECK_TEXT(gallivant_harness_state_hook_report_word(report), "identity-missing");
    CHECK_OK(gallivant_harness_state_hook_report_written(report, &written, &error));
    CHECK(written.outcome == GALLIVANT_OUTCOME_REFUSED);
    CHECK(written.refusal == GALLIVANT_REFUSAL_IDENTITY_MISSING);
    gallivant_harness_state_hook_report_free(report);
}

static void hs_115_what_a_hook_could_not_do_is_in_its_report_and_in_the_log(void)
{
    const char *directory = fresh_directory();
    gallivant_harness_state_environment *environment = environment_of(directory, claimed(directory, "tok", NULL));
    gallivant_harness_state_hook_report *report = hook("claude", "no JSON", environment);
    const gallivant_error *error = gallivant_harness_state_hook_report_error(report);
    CHECK(gallivant_harness_state_hook_report_kind(report) == GALLIVANT_HOOK_FAILED);
    CHECK_TEXT(gallivant_harness_state_hook_report_word(report), "HARNESS_STATE_INPUT");
    CHECK_TEXT(gallivant_harness_state_hook_report_event(report), NULL);
    CHECK(gallivant_error_code(error) == GALLIVANT_HARNESS_STATE_INPUT);
    CHECK(strlen(gallivant_error_message(error)) > 0);
    CHECK(strstr(content_of(directory, ".harness-state.log"), "HARNESS_STATE_INPUT") != NULL);
    gallivant_harness_state_hook_report_free(report);
    gallivant_harness_state_environment_free(environment);
}

static void hs_115_a_note_is_a_line_in_the_log(void)
{
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(5000);
    gallivant_harness_state_options options = options_with(host);
    CHECK_OK(gallivant_harness_state_note(TEXT(directory), TEXT("a hook\nwas late"), &options, &error));
    CHECK_TEXT(content_of(directory, ".harness-state.log"), "5000 a hook was late\n");
    CHECK_OK(gallivant_harness_state_note(TEXT(path_in(directory, "nowhere")), TEXT("lost"), NULL, &error));
    CHECK_TEXT(content_of(directory, "nowhere"), NULL);
    gallivant_host_free(host);
}

void suite_hook(void)
{
    RUN(hs_110_an_event_becomes_an_observation);
    RUN(hs_111_an_unknown_event_is_no_observation_and_no_error);
    RUN(hs_112_a_hook_without_a_session_changes_nothing);
    RUN(hs_115_what_a_hook_could_not_do_is_in_its_report_and_in_the_log);
    RUN(hs_115_a_note_is_a_line_in_the_log);
}
