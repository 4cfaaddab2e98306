/* Redaction: texts, JSON values, and streams into a buffer of the caller. */

#include <stdlib.h>

#include "check.h"

static gallivant_redactor *redactor_of(const char *secret)
{
    gallivant_str secrets[] = {VIEW(secret)};
    gallivant_redactor *redactor = NULL;
    CHECK_OK(gallivant_redactor_new(secrets, 1, &redactor, &error));
    return redactor;
}

static void ex_red_01_texts_and_values_are_redacted(void)
{
    gallivant_redactor *redactor = redactor_of("hunter2!");
    gallivant_text *text = NULL;
    CHECK_OK(gallivant_redactor_text(redactor, TEXT("a hunter2! ghp_0123456789abcdef b"), &text, &error));
    CHECK_VIEW(gallivant_text_view(text), "a [redacted] [redacted] b");
    gallivant_text_free(text);
    CHECK_OK(gallivant_redactor_json(redactor, TEXT("{\"n\":9007199254740993,\"hunter2!\":[\"x hunter2!\",1.50]}"), &text,
                                     &error));
    CHECK_VIEW(gallivant_text_view(text), "{\"n\":9007199254740993,\"[redacted]\":[\"x [redacted]\",1.50]}");
    gallivant_text_free(text);
    text = NULL;
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "shape", gallivant_redactor_json(redactor, TEXT("{hunter2!"), &text, &error));
    CHECK(text == NULL);
    gallivant_redactor_free(redactor);
}

static void ex_red_02_patterns_may_be_left_out(void)
{
    gallivant_redactor *redactor = NULL;
    gallivant_text *text = NULL;
    CHECK_OK(gallivant_redactor_new_without_patterns(NULL, 0, &redactor, &error));
    CHECK_OK(gallivant_redactor_text(redactor, TEXT("ghp_0123456789abcdef"), &text, &error));
    CHECK_VIEW(gallivant_text_view(text), "ghp_0123456789abcdef");
    gallivant_text_free(text);
    gallivant_redactor_free(redactor);
}

/* Pushes a text in pieces of so many bytes, reads through a buffer of four, and checks what came out. */
static void check_stream(gallivant_redaction_stream *stream, const char *text, size_t piece, const char *wanted)
{
    char out[256];
    size_t written = 0, length = strlen(text);
    for (size_t at = 0; at <= length; at += piece) {
        size_t count = length - at < piece ? length - at : piece, got = 0;
        CHECK_OK(gallivant_redaction_stream_push(stream, text + at, count, &error));
        if (at + piece > length)
            CHECK_OK(gallivant_redaction_stream_finish(stream, &error));
        do {
            char buffer[4];
            CHECK_OK(gallivant_redaction_stream_read(stream, buffer, sizeof buffer, &got, &error));
            CHECK(got <= sizeof buffer && written + got < sizeof out);
            memcpy(out + written, buffer, got);
            written += got;
        } while (got > 0);
    }
    out[written] = 0;
    CHECK_TEXT(out, wanted);
}

static void ex_red_12_a_stream_gives_the_same_in_every_cutting(void)
{
    gallivant_redactor *redactor = redactor_of("first-line-of-it\nsecond-line-of-it");
    gallivant_redaction_stream *stream = NULL;
    CHECK(gallivant_redactor_most_held_back(redactor) == 2055 && gallivant_redactor_most_held_back(NULL) == 0);
    CHECK_OK(gallivant_redaction_stream_open(redactor, &stream, &error));
    gallivant_redactor_free(redactor); /* the stream goes on */
    for (size_t piece = 1; piece < 80; piece += 3)
        check_stream(stream, "a first-line-of-it\r\nsecond-line-of-it b\n  second-line-of-it\nBearer abc, sk-", piece,
                     "a [redacted] b\n  [redacted]\nBearer [redacted], sk-");
    gallivant_redaction_stream_free(stream);
}

static void ex_red_23_an_empty_secret_is_refused(void)
{
    gallivant_str secrets[] = {VIEW("hunter2!"), VIEW(""), {NULL, 0}};
    gallivant_redactor *redactor = NULL;
    gallivant_error *error = NULL;
    CHECK(gallivant_redactor_new(secrets, 2, &redactor, &error) == GALLIVANT_EXECUTION_INPUT);
    CHECK_TEXT(gallivant_error_reason(error), "secret");
    CHECK(strstr(gallivant_error_message(error), "position=`1`") != NULL);
    CHECK(strstr(gallivant_error_message(error), "hunter") == NULL);
    gallivant_error_free(error);
    secrets[1] = secrets[2];
    CHECK_FAILS(GALLIVANT_EXECUTION_INPUT, "secret", gallivant_redactor_new(secrets, 2, &redactor, &error));
    CHECK(redactor == NULL);
}

static void redaction_checks_its_arguments(void)
{
    gallivant_redactor *redactor = redactor_of("hunter2!");
    gallivant_redaction_stream *stream = NULL;
    gallivant_text *text = NULL;
    char buffer[4];
    size_t length = 0;
    REFUSES_NULL(gallivant_redactor_new(NULL, 1, &redactor, &error));
    REFUSES_NULL(gallivant_redactor_new(NULL, 0, NULL, &error));
    REFUSES_NULL(gallivant_redactor_text(NULL, TEXT("a"), &text, &error));
    REFUSES_NULL(gallivant_redactor_text(redactor, NULL, 1, &text, &error));
    REFUSES_NULL(gallivant_redactor_text(redactor, TEXT("a"), NULL, &error));
    REFUSES_UTF8(gallivant_redactor_text(redactor, TEXT(BAD), &text, &error));
    REFUSES_NULL(gallivant_redactor_json(NULL, TEXT("1"), &text, &error));
    REFUSES_NULL(gallivant_redactor_json(redactor, TEXT("1"), NULL, &error));
    REFUSES_UTF8(gallivant_redactor_json(redactor, TEXT(BAD), &text, &error));
    REFUSES_NULL(gallivant_redaction_stream_open(NULL, &stream, &error));
    REFUSES_NULL(gallivant_redaction_stream_open(redactor, NULL, &error));
    CHECK_OK(gallivant_redaction_stream_open(redactor, &stream, &error));
    REFUSES_NULL(gallivant_redaction_stream_push(NULL, TEXT("a"), &error));
    REFUSES_NULL(gallivant_redaction_stream_push(stream, NULL, 1, &error));
    CHECK_OK(gallivant_redaction_stream_push(stream, NULL, 0, &error));
    REFUSES_NULL(gallivant_redaction_stream_finish(NULL, &error));
    REFUSES_NULL(gallivant_redaction_stream_read(NULL, buffer, sizeof buffer, &length, &error));
    REFUSES_NULL(gallivant_redaction_stream_read(stream, NULL, sizeof buffer, &length, &error));
    REFUSES_NULL(gallivant_redaction_stream_read(stream, buffer, sizeof buffer, NULL, &error));
    gallivant_redaction_stream_free(stream);
    gallivant_redaction_stream_free(NULL);
    gallivant_redactor_free(redactor);
    gallivant_redactor_free(NULL);
}

void suite_redaction(void)
{
    RUN(ex_red_01_texts_and_values_are_redacted);
    RUN(ex_red_02_patterns_may_be_left_out);
    RUN(ex_red_12_a_stream_gives_the_same_in_every_cutting);
    RUN(ex_red_23_an_empty_secret_is_refused);
    RUN(redaction_checks_its_arguments);
}
