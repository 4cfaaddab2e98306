/* The adapter's JSON, by itself: what it reads, what it refuses, and that what it writes reads back. */

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(int holds, const char *what)
{
    if (holds) {
        passed++;
    } else {
        failed++;
        fprintf(stderr, "does not hold: %s\n", what);
    }
}

static void reads(const char *text, json_kind kind)
{
    json_value *value = json_parse(text, strlen(text));
    check(value != NULL && value->kind == kind, text);
    json_free(value);
}

static void refuses(const char *text)
{
    json_value *value = json_parse(text, strlen(text));
    check(value == NULL, text);
    json_free(value);
}

static void reads_string(const char *text, const char *wanted, size_t length)
{
    json_value *value = json_parse(text, strlen(text));
    check(value != NULL && value->kind == JSON_STRING && value->length == length &&
              memcmp(value->text, wanted, length + 1) == 0,
          text);
    json_free(value);
}

static void writes_and_reads_back(const char *text, size_t length, const char *wanted)
{
    json_out out = { NULL, 0, 0 };
    json_write_string(&out, text, length);
    check(strcmp(out.text, wanted) == 0, wanted);
    reads_string(out.text, text, length);
    free(out.text);
}

int main(void)
{
    reads("null", JSON_NULL);
    reads(" true ", JSON_TRUE);
    reads("false\n", JSON_FALSE);
    reads("18446744073709551615", JSON_INTEGER);
    reads("18446744073709551616", JSON_OTHER_NUMBER);
    reads("-1", JSON_OTHER_NUMBER);
    reads("1.5", JSON_OTHER_NUMBER);
    reads("[]", JSON_ARRAY);
    reads("[1, [2], {}]", JSON_ARRAY);
    reads("{ }", JSON_OBJECT);
    refuses("");
    refuses("nul");
    refuses("{\"a\"}");
    refuses("{\"a\":}");
    refuses("{\"a\":1,}");
    refuses("[1 2]");
    refuses("[1");
    refuses("{} {}");
    refuses("\"open");
    refuses("\"\\x\"");
    refuses("\"\\ud800\"");
    refuses("\"\\udc00\"");
    refuses("\"\\ud800\\u0041\"");
    refuses("\"\\u12g4\"");
    refuses("\"\n\"");
    reads_string("\"\\u0041\\n\\/\\\"\"", "A\n/\"", 4);
    reads_string("\"\\u0000x\"", "\0x", 2);
    reads_string("\"\\uD83D\\udC26\"", "\xf0\x9f\x90\xa6", 4);
    reads_string("\"\xc3\xa4\"", "\xc3\xa4", 2);
    writes_and_reads_back("\xf0\x9f\x90\xa6", 4, "\"\\ud83d\\udc26\"");
    writes_and_reads_back("\xc3\xa4\xe2\x82\xac", 5, "\"\\u00e4\\u20ac\"");
    writes_and_reads_back("a\0\"\\\n\x7f", 6, "\"a\\u0000\\\"\\\\\\u000a\\u007f\"");

    const char *document = "{\"a\":1,\"b\":\"x\",\"a\":18446744073709551615,\"c\":null}";
    json_value *object = json_parse(document, strlen(document));
    check(json_integer(object, "a") != NULL && *json_integer(object, "a") == UINT64_MAX, "the last of a doubled key");
    check(json_string(object, "b") != NULL && json_string(object, "a") == NULL, "a member of the kind");
    check(json_member(object, "c") != NULL && json_integer(object, "c") == NULL, "null is a member");
    check(json_member(object, "d") == NULL && json_member(NULL, "a") == NULL, "no member");
    json_free(object);

    char deep[2000];
    memset(deep, '[', sizeof deep);
    check(json_parse(deep, sizeof deep) == NULL, "too deep");
    json_out out = { NULL, 0, 0 };
    json_write_raw(&out, "{");
    json_write_key(&out, "a");
    json_write_integer(&out, UINT64_MAX);
    json_write_key(&out, "b");
    json_write_raw(&out, "null}");
    check(strcmp(out.text, "{\"a\":18446744073709551615,\"b\":null}") == 0, "an object");
    free(out.text);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
