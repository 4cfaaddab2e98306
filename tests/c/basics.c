/* Versions, statuses, errors, words, strings and texts. */

#include "check.h"

#include <errno.h>

static void versions_of_header_and_library_agree(void)
{
    CHECK_TEXT(gallivant_version(), GALLIVANT_VERSION);
    CHECK(gallivant_version_number() == GALLIVANT_VERSION_NUMBER);
    CHECK(gallivant_abi_version() == GALLIVANT_ABI_VERSION);
}

static void a_status_has_name_word_kind_remedy_and_page(void)
{
    CHECK_TEXT(gallivant_status_name(GALLIVANT_HARNESS_STATE_BUSY), "HARNESS_STATE_BUSY");
    CHECK_TEXT(gallivant_status_word(GALLIVANT_HARNESS_STATE_ASK_WITHOUT_HUMAN), "ask-without-human");
    CHECK(gallivant_status_kind(GALLIVANT_HARNESS_STATE_BUSY) == GALLIVANT_KIND_BUSY);
    CHECK_TEXT(gallivant_kind_name(GALLIVANT_KIND_BUSY), "busy");
    CHECK(strlen(gallivant_status_remedy(GALLIVANT_HARNESS_STATE_BUSY)) > 0);
    CHECK(strstr(gallivant_status_page(GALLIVANT_HARNESS_STATE_BUSY), "HARNESS_STATE_BUSY") != NULL);
    CHECK_TEXT(gallivant_status_name(GALLIVANT_OK), "OK");
    CHECK_TEXT(gallivant_status_word(GALLIVANT_OK), "ok");
    CHECK(gallivant_status_kind(GALLIVANT_OK) == 0);
    CHECK_TEXT(gallivant_status_remedy(GALLIVANT_OK), "");
}

static void numbers_that_are_no_constants_have_a_name_too(void)
{
    int32_t numbers[] = { -1, 77, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int32_t number = numbers[i];
        CHECK_TEXT(gallivant_status_name(number), "invalid");
        CHECK_TEXT(gallivant_status_word(number), "invalid");
        CHECK_TEXT(gallivant_status_remedy(number), "invalid");
        CHECK_TEXT(gallivant_status_page(number), "invalid");
        CHECK(gallivant_status_kind(number) == 0);
        CHECK_TEXT(gallivant_kind_name(number), "invalid");
        CHECK_TEXT(gallivant_state_name(number), "invalid");
        CHECK_TEXT(gallivant_blocked_on_name(number), "invalid");
        CHECK_TEXT(gallivant_input_buffer_name(number), "invalid");
        CHECK_TEXT(gallivant_ask_name(number), "invalid");
        CHECK_TEXT(gallivant_unknown_reason_name(number), "invalid");
        CHECK_TEXT(gallivant_evidence_name(number), "invalid");
        CHECK_TEXT(gallivant_outcome_name(number), "invalid");
        CHECK_TEXT(gallivant_refusal_name(number), "invalid");
        CHECK_TEXT(gallivant_skip_name(number), "invalid");
        CHECK_TEXT(gallivant_tick_name(number), "invalid");
        CHECK_TEXT(gallivant_liveness_name(number), "invalid");
    }
}

static void words_go_both_ways_and_case_matters(void)
{
    CHECK_TEXT(gallivant_state_name(GALLIVANT_STATE_ACTIVE), "active");
    CHECK(gallivant_state_from_name(TEXT("active")) == GALLIVANT_STATE_ACTIVE);
    CHECK(gallivant_state_from_name(TEXT("Active")) == GALLIVANT_STATE_UNKNOWN);
    CHECK(gallivant_state_from_name("actively", 6) == GALLIVANT_STATE_ACTIVE);
    CHECK_TEXT(gallivant_evidence_name(GALLIVANT_EVIDENCE_SCREEN), "screen");
    CHECK(gallivant_evidence_from_name(TEXT("hook")) == GALLIVANT_EVIDENCE_HOOK);
    CHECK_TEXT(gallivant_blocked_on_name(GALLIVANT_BLOCKED_ON_HUMAN), "human");
    CHECK(gallivant_blocked_on_from_name(TEXT("human")) == GALLIVANT_BLOCKED_ON_HUMAN);
    CHECK_TEXT(gallivant_input_buffer_name(GALLIVANT_INPUT_BUFFER_NONEMPTY), "nonempty");
    CHECK(gallivant_input_buffer_from_name(TEXT("nonempty")) == GALLIVANT_INPUT_BUFFER_NONEMPTY);
    CHECK_TEXT(gallivant_ask_name(GALLIVANT_ASK_REVIEW), "review");
    CHECK(gallivant_ask_from_name(TEXT("review")) == GALLIVANT_ASK_REVIEW);
    CHECK(gallivant_state_from_name(NULL, 0) == GALLIVANT_STATE_UNKNOWN);
    CHECK(gallivant_state_from_name(NULL, 7) == GALLIVANT_STATE_UNKNOWN);
    CHECK(gallivant_blocked_on_from_name(TEXT(BAD)) == GALLIVANT_BLOCKED_ON_UNKNOWN);
    CHECK(gallivant_input_buffer_from_name(NULL, 0) == GALLIVANT_INPUT_BUFFER_UNKNOWN);
    CHECK(gallivant_ask_from_name(NULL, 0) == GALLIVANT_ASK_UNKNOWN);
    CHECK_TEXT(gallivant_unknown_reason_name(GALLIVANT_UNKNOWN_REASON_STALE), "stale");
    CHECK_TEXT(gallivant_outcome_name(GALLIVANT_OUTCOME_SKIPPED), "skipped");
    CHECK_TEXT(gallivant_refusal_name(GALLIVANT_REFUSAL_IDENTITY_MISSING), "identity-missing");
    CHECK_TEXT(gallivant_skip_name(GALLIVANT_SKIP_FOREIGN_TOKEN), "foreign-token");
    CHECK_TEXT(gallivant_tick_name(GALLIVANT_TICK_HARNESS_GONE), "harness-gone");
    CHECK_TEXT(gallivant_liveness_name(GALLIVANT_LIVENESS_INDETERMINATE), "indeterminate");
}

static void an_error_tells_everything_about_a_failed_call(void)
{
    const char *directory = fresh_directory();
    write_file(directory, "file", "in the way");
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_claim_result *claim = NULL;
    gallivant_error *error = NULL;
    int32_t status = gallivant_harness_state_claim(TEXT(path_in(directory, "file/agent")), &identity, NULL, &claim,
                                                   &error);
    CHECK(status == GALLIVANT_HARNESS_STATE_IO);
    CHECK(claim == NULL);
    CHECK(gallivant_error_code(error) == status);
    CHECK_TEXT(gallivant_error_name(error), "HARNESS_STATE_IO");
    CHECK(gallivant_error_kind(error) == GALLIVANT_KIND_UNAVAILABLE);
    CHECK_TEXT(gallivant_error_reason(error), NULL);
    CHECK(strstr(gallivant_error_message(error), "file/agent") != NULL);
    CHECK(strchr(gallivant_error_message(error), '\n') == NULL);
    CHECK_TEXT(gallivant_error_remedy(error), gallivant_status_remedy(status));
    CHECK(gallivant_error_os_error(error) == ENOTDIR);
    gallivant_error_free(error);
}

static void no_error_is_an_error_that_says_nothing(void)
{
    CHECK(gallivant_error_code(NULL) == GALLIVANT_OK);
    CHECK_TEXT(gallivant_error_name(NULL), "OK");
    CHECK(gallivant_error_kind(NULL) == 0);
    CHECK_TEXT(gallivant_error_reason(NULL), NULL);
    CHECK_TEXT(gallivant_error_message(NULL), "");
    CHECK_TEXT(gallivant_error_remedy(NULL), "");
    CHECK(gallivant_error_os_error(NULL) == 0);
    gallivant_error_free(NULL);
}

static void a_success_leaves_the_place_of_the_error_alone(void)
{
    int mark;
    gallivant_error *error = (gallivant_error *)(void *)&mark;
    gallivant_host *host = NULL;
    CHECK(gallivant_testing_host_new(NULL, &host, &error) == GALLIVANT_OK);
    CHECK((void *)error == (void *)&mark);
    gallivant_host_free(host);
}

static void views_of_strings(void)
{
    CHECK_VIEW(gallivant_str_from("text"), "text");
    CHECK_VIEW(gallivant_str_from(""), "");
    CHECK_VIEW(gallivant_str_from(NULL), NULL);
}

static void texts_are_owned_by_their_handle(void)
{
    gallivant_host *host = host_at(1);
    gallivant_text *text = NULL;
    CHECK_OK(gallivant_testing_host_operations(host, &text, &error));
    gallivant_host_free(host);
    CHECK_VIEW(gallivant_text_view(text), "");
    gallivant_text_free(text);
    CHECK_VIEW(gallivant_text_view(NULL), NULL);
    gallivant_text_free(NULL);
}

static void hs_08_a_minted_token_fits_the_callers_buffer(void)
{
    char token[GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY];
    char other[GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY];
    size_t length = 0;
    CHECK_OK(gallivant_harness_state_mint_token(NULL, token, sizeof token, &length, &error));
    CHECK_OK(gallivant_harness_state_mint_token(NULL, other, sizeof other, NULL, &error));
    CHECK(length > 0 && length == strlen(token));
    CHECK(strcmp(token, other) != 0);
    CHECK(strncmp(token, "claude-session-", 15) != 0);

    length = 99;
    memset(token, 'x', sizeof token);
    CHECK_FAILS(GALLIVANT_INPUT, "buffer", gallivant_harness_state_mint_token(NULL, token, 8, &length, &error));
    CHECK(length == 99 && token[0] == 'x');
    REFUSES_NULL(gallivant_harness_state_mint_token(NULL, NULL, 8, &length, &error));
    CHECK(gallivant_harness_state_mint_token(NULL, NULL, 8, &length, NULL) == GALLIVANT_INPUT);
}

static void a_process_is_named_for_ever(void)
{
    gallivant_process_identity self = GALLIVANT_PROCESS_IDENTITY_INIT;
    gallivant_process *process = NULL, *again = NULL, *nobody = NULL;
    int32_t liveness = -1;
    CHECK_OK(gallivant_process_identify(NULL, 1, &process, &error));
    CHECK(process != NULL);
    CHECK_OK(gallivant_process_describe(process, &self, &error));
    CHECK(self.pid == 1 && self.struct_size == sizeof self);
    CHECK(self.boot.data != NULL && self.pid_namespace.data != NULL && self.host.data != NULL);
    CHECK_OK(gallivant_process_liveness(process, NULL, &liveness, &error));
    CHECK(liveness == GALLIVANT_LIVENESS_ALIVE);

    /* Another start time is another process: this one is gone. */
    self.start++;
    CHECK_OK(gallivant_process_new(&self, &again, &error));
    gallivant_process_free(process);
    CHECK_OK(gallivant_process_liveness(again, NULL, &liveness, &error));
    CHECK(liveness == GALLIVANT_LIVENESS_DEAD);
    CHECK_OK(gallivant_process_identify(NULL, 0, &nobody, &error));
    CHECK(nobody == NULL);

    REFUSES_NULL(gallivant_process_identify(NULL, 1, NULL, &error));
    REFUSES_NULL(gallivant_process_describe(NULL, &self, &error));
    REFUSES_NULL(gallivant_process_describe(again, NULL, &error));
    REFUSES_NULL(gallivant_process_liveness(NULL, NULL, &liveness, &error));
    REFUSES_NULL(gallivant_process_liveness(again, NULL, NULL, &error));
    self.boot = self.pid_namespace = self.host = VIEW("");
    REFUSES_NULL(gallivant_process_new(NULL, &nobody, &error));
    REFUSES_NULL(gallivant_process_new(&self, NULL, &error));
    self.boot = VIEW(BAD);
    REFUSES_UTF8(gallivant_process_new(&self, &nobody, &error));
    self.boot = VIEW("");
    self.pid_namespace = VIEW(NULL);
    REFUSES_NULL(gallivant_process_new(&self, &nobody, &error));
    self.struct_size--;
    REFUSES_SIZE(gallivant_process_new(&self, &nobody, &error));
    REFUSES_SIZE(gallivant_process_describe(again, &self, &error));
    CHECK(nobody == NULL);
    gallivant_process_free(again);
    gallivant_process_free(NULL);
}

void suite_basics(void)
{
    RUN(versions_of_header_and_library_agree);
    RUN(a_status_has_name_word_kind_remedy_and_page);
    RUN(numbers_that_are_no_constants_have_a_name_too);
    RUN(words_go_both_ways_and_case_matters);
    RUN(an_error_tells_everything_about_a_failed_call);
    RUN(no_error_is_an_error_that_says_nothing);
    RUN(a_success_leaves_the_place_of_the_error_alone);
    RUN(views_of_strings);
    RUN(texts_are_owned_by_their_handle);
    RUN(hs_08_a_minted_token_fits_the_callers_buffer);
    RUN(a_process_is_named_for_ever);
}
