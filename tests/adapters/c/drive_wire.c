/* The lines of the protocol: JSON objects whose members are passed on as the texts that they came as. See drive.h. */

#define _GNU_SOURCE
#include "drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *wire_memory(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        abort();
    return memory;
}

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

/* The end of a string whose quotation mark is at `at`. */
static const char *end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

/* The end of the value that begins at `at`: the comma or bracket behind it, or the end of the text. */
static const char *end_of_value(const char *at, const char *end)
{
    int level = 0;
    while (at < end) {
        if (*at == '"') {
            at = end_of_string(at, end);
            continue;
        }
        if (*at == '{' || *at == '[')
            level++;
        else if ((*at == '}' || *at == ']') && level-- == 0)
            break;
        else if (*at == ',' && level == 0)
            break;
        at++;
    }
    while (at > end || is_space(at[-1]))
        at--;
    return at;
}

static int find(piece object, const char *key, piece *found)
{
    const char *end = object.at + object.length, *at = skip_space(object.at, end);
    int is_found = 0;
    if (at == end || *at != '{')
        return 0;
    for (at = skip_space(at + 1, end); at < end && *at == '"';) {
        const char *name = at + 1, *name_end = end_of_string(at, end) - 1;
        at = skip_space(name_end + 1, end);
        if (at == end || *at != ':')
            return 0;
        at = skip_space(at + 1, end);
        const char *behind = end_of_value(at, end);
        if ((size_t)(name_end - name) == strlen(key) && memcmp(name, key, strlen(key)) == 0) {
            found->at = at;
            found->length = (size_t)(behind - at);
            is_found = 1;
        }
        at = skip_space(behind, end);
        if (at < end && *at == ',')
            at = skip_space(at + 1, end);
    }
    return is_found;
}

piece wire_member(piece object, const char *key)
{
    piece found = { "null", 4 };
    find(object, key, &found);
    return found;
}

int wire_has(piece object, const char *key)
{
    piece found;
    return find(object, key, &found);
}

char *wire_string(piece object, const char *key)
{
    piece text = wire_member(object, key);
    json_value *value = json_parse(text.at, text.length);
    piece string = { NULL, 0 };
    if (value != NULL && value->kind == JSON_STRING) {
        string.at = value->text;
        string.length = value->length;
    }
    char *copy = string.at != NULL ? wire_copy(string) : NULL;
    json_free(value);
    return copy;
}

uint64_t wire_integer(piece object, const char *key, uint64_t otherwise)
{
    piece text = wire_member(object, key);
    json_value *value = json_parse(text.at, text.length);
    uint64_t integer = value != NULL && value->kind == JSON_INTEGER ? value->integer : otherwise;
    json_free(value);
    return integer;
}

char *wire_copy(piece text)
{
    char *copy = wire_memory(text.length + 1);
    memcpy(copy, text.at, text.length);
    return copy;
}

char *wire_compact(piece text)
{
    char *copy = wire_memory(text.length + 1), *to = copy;
    const char *end = text.at + text.length;
    for (const char *at = text.at; at < end;) {
        const char *behind = *at == '"' ? end_of_string(at, end) : at + 1;
        if (!is_space(*at)) {
            memcpy(to, at, (size_t)(behind - at));
            to += behind - at;
        }
        at = behind;
    }
    return copy;
}

void say(json_out *line)
{
    json_write_raw(line, "}\n");
    /* A runner that has gone reads nothing any more, and closes standard input too. */
    flockfile(stdout);
    fwrite(line->text, 1, line->length, stdout);
    fflush(stdout);
    funlockfile(stdout);
    free(line->text);
}

void say_number(const char *what, uint64_t number)
{
    json_out line = { NULL, 0, 0 };
    json_write_raw(&line, "{");
    json_write_key(&line, what);
    json_write_integer(&line, number);
    say(&line);
}

void say_ok(const char *id, gallivant_str value)
{
    json_out line = { NULL, 0, 0 };
    json_write_raw(&line, "{\"done\":");
    json_write_raw(&line, id);
    json_write_key(&line, "ok");
    json_write_raw(&line, value.data);
    say(&line);
}

static void write_text(json_out *line, const char *key, gallivant_str text)
{
    json_write_key(line, key);
    if (text.data == NULL)
        json_write_raw(line, "null");
    else
        json_write_string(line, text.data, text.length);
}

void say_error(const char *id, const gallivant_error *error)
{
    json_out line = { NULL, 0, 0 };
    json_write_raw(&line, "{\"done\":");
    json_write_raw(&line, id);
    json_write_key(&line, "error");
    json_write_raw(&line, "{");
    write_text(&line, "code", gallivant_str_from(gallivant_error_name(error)));
    write_text(&line, "reason", gallivant_str_from(gallivant_error_reason(error)));
    write_text(&line, "remedy", gallivant_str_from(gallivant_error_remedy(error)));
    write_text(&line, "message", gallivant_str_from(gallivant_error_message(error)));
    write_text(&line, "runId", gallivant_error_run_id(error));
    write_text(&line, "operationId", gallivant_error_operation_id(error));
    json_write_raw(&line, "}");
    say(&line);
}

void say_wrong(const char *id, const char *message)
{
    json_out line = { NULL, 0, 0 };
    json_write_raw(&line, "{\"done\":");
    json_write_raw(&line, id);
    json_write_raw(&line, ",\"error\":{\"code\":\"EXECUTION_INPUT\",\"message\":");
    json_write_string(&line, message, strlen(message));
    json_write_raw(&line, "}");
    say(&line);
}
