/* See json.h. */

#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Documents of the protocol are flat; a deeper one is refused before it can fill the stack. */
enum { MOST_LEVELS = 64 };

typedef struct {
    const char *at, *end;
    int level;
} reader;

static json_value *read_value(reader *in);

static void *grown(void *memory, size_t size)
{
    void *more = realloc(memory, size);
    if (more == NULL)
        abort();
    return more;
}

static json_value *new_value(json_kind kind)
{
    json_value *value = grown(NULL, sizeof *value);
    memset(value, 0, sizeof *value);
    value->kind = kind;
    return value;
}

void json_free(json_value *value)
{
    while (value != NULL) {
        json_value *next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
        value = next;
    }
}

static void skip_space(reader *in)
{
    while (in->at < in->end && strchr(" \t\r\n", *in->at) != NULL && *in->at != '\0')
        in->at++;
}

static int take(reader *in, char wanted)
{
    skip_space(in);
    if (in->at == in->end || *in->at != wanted)
        return 0;
    in->at++;
    return 1;
}

static int take_word(reader *in, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
        return 0;
    in->at += length;
    return 1;
}

/* Four hexadecimal digits; -1 where they are none. */
static long read_hex(reader *in)
{
    long number = 0;
    if (in->end - in->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = *in->at++;
        const char *digit = c >= 'A' && c <= 'F' ? strchr(digits, c - 'A' + 'a') : strchr(digits, c);
        if (digit == NULL || *digit == '\0')
            return -1;
        number = number * 16 + (digit - digits);
    }
    return number;
}

/* The code point after `\u`; a high surrogate takes the low one that follows with it; -1 for a lone one. */
static long read_escaped(reader *in)
{
    long high = read_hex(in);
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || !take_word(in, "\\u"))
        return -1;
    long low = read_hex(in);
    if (low < 0xdc00 || low > 0xdfff)
        return -1;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static size_t encode(long point, char *to)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const int first[] = { 0, 0xc0, 0xe0, 0xf0 };
    to[0] = (char)(first[more] | (point >> (6 * more)));
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | ((point >> (6 * (more - i))) & 0x3f));
    return more + 1;
}

/* Reads a string whose quotation mark is next; NULL where it is none. */
static char *read_string(reader *in, size_t *length)
{
    if (!take(in, '"'))
        return NULL;
    /* No escape is shorter than what it stands for. */
    char *text = grown(NULL, (size_t)(in->end - in->at) + 1);
    size_t size = 0;
    while (in->at < in->end) {
        char c = *in->at++;
        if (c == '"') {
            text[size] = '\0';
            *length = size;
            return text;
        }
        if ((unsigned char)c < 0x20)
            break;
        if (c != '\\') {
            text[size++] = c;
            continue;
        }
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        c = in->at < in->end ? *in->at++ : '\0';
        const char *name = c == '\0' ? NULL : strchr(names, c);
        if (name != NULL) {
            text[size++] = values[name - names];
            continue;
        }
        long point = c == 'u' ? read_escaped(in) : -1;
        if (point < 0)
            break;
        size += encode(point, text + size);
    }
    free(text);
    return NULL;
}

static json_value *read_number(reader *in)
{
    const char *start = in->at;
    int whole = 1;
    uint64_t number = 0;
    while (in->at < in->end && *in->at != '\0' && strchr("+-.eE0123456789", *in->at) != NULL) {
        char c = *in->at++;
        uint64_t digit = (uint64_t)(c - '0');
        whole = whole && c >= '0' && c <= '9' && number <= (UINT64_MAX - digit) / 10;
        number = whole ? number * 10 + digit : 0;
    }
    if (in->at == start)
        return NULL;
    json_value *value = new_value(whole ? JSON_INTEGER : JSON_OTHER_NUMBER);
    value->integer = number;
    return value;
}

/* Reads what stands between the brackets of an array or object. */
static json_value *read_inside(reader *in, json_kind kind, char close)
{
    json_value *value = new_value(kind), **place = &value->first;
    if (take(in, close))
        return value;
    do {
        char *key = NULL;
        size_t key_length = 0;
        if (kind == JSON_OBJECT && ((key = read_string(in, &key_length)) == NULL || !take(in, ':'))) {
            free(key);
            break;
        }
        *place = read_value(in);
        if (*place == NULL) {
            free(key);
            break;
        }
        (*place)->key = key;
        (*place)->key_length = key_length;
        place = &(*place)->next;
        if (take(in, close))
            return value;
    } while (take(in, ','));
    json_free(value);
    return NULL;
}

static json_value *read_value(reader *in)
{
    json_value *value = NULL;
    skip_space(in);
    if (in->at == in->end || in->level == MOST_LEVELS)
        return NULL;
    in->level++;
    if (*in->at == '"') {
        size_t length = 0;
        char *text = read_string(in, &length);
        if (text != NULL) {
            value = new_value(JSON_STRING);
            value->text = text;
            value->length = length;
        }
    } else if (take(in, '{')) {
        value = read_inside(in, JSON_OBJECT, '}');
    } else if (take(in, '[')) {
        value = read_inside(in, JSON_ARRAY, ']');
    } else if (take_word(in, "null")) {
        value = new_value(JSON_NULL);
    } else if (take_word(in, "true")) {
        value = new_value(JSON_TRUE);
    } else if (take_word(in, "false")) {
        value = new_value(JSON_FALSE);
    } else {
        value = read_number(in);
    }
    in->level--;
    return value;
}

json_value *json_parse(const char *text, size_t length)
{
    reader in = { text, text + length, 0 };
    json_value *value = read_value(&in);
    skip_space(&in);
    if (in.at != in.end) {
        json_free(value);
        return NULL;
    }
    return value;
}

const json_value *json_member(const json_value *object, const char *key)
{
    const json_value *found = NULL;
    if (object == NULL || object->kind != JSON_OBJECT)
        return NULL;
    for (const json_value *member = object->first; member != NULL; member = member->next)
        if (member->key_length == strlen(key) && memcmp(member->key, key, member->key_length) == 0)
            found = member;
    return found;
}

const json_value *json_string(const json_value *object, const char *key)
{
    const json_value *member = json_member(object, key);
    return member != NULL && member->kind == JSON_STRING ? member : NULL;
}

const uint64_t *json_integer(const json_value *object, const char *key)
{
    const json_value *member = json_member(object, key);
    return member != NULL && member->kind == JSON_INTEGER ? &member->integer : NULL;
}

static void append(json_out *out, const char *text, size_t length)
{
    if (out->length + length + 1 > out->capacity) {
        out->capacity = 2 * (out->length + length) + 64;
        out->text = grown(out->text, out->capacity);
    }
    memcpy(out->text + out->length, text, length);
    out->length += length;
    out->text[out->length] = '\0';
}

void json_write_raw(json_out *out, const char *text)
{
    append(out, text, strlen(text));
}

void json_write_integer(json_out *out, uint64_t integer)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, integer);
    json_write_raw(out, digits);
}

/* The next code point of UTF-8 that is known to be right. */
static long decode(const char *text, size_t *at)
{
    unsigned char first = (unsigned char)text[(*at)++];
    int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    long point = more == 0 ? first : first & (0x3f >> more);
    while (more-- > 0)
        point = point << 6 | ((unsigned char)text[(*at)++] & 0x3f);
    return point;
}

void json_write_string(json_out *out, const char *text, size_t length)
{
    append(out, "\"", 1);
    for (size_t at = 0; at < length;) {
        long point = decode(text, &at);
        char escaped[32];
        if (point == '"' || point == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", (int)point);
        else if (point >= 0x20 && point < 0x7f)
            snprintf(escaped, sizeof escaped, "%c", (int)point);
        else if (point < 0x10000)
            snprintf(escaped, sizeof escaped, "\\u%04lx", point);
        else
            snprintf(escaped, sizeof escaped, "\\u%04lx\\u%04lx", 0xd800 + ((point - 0x10000) >> 10),
                     0xdc00 + ((point - 0x10000) & 0x3ff));
        json_write_raw(out, escaped);
    }
    append(out, "\"", 1);
}

void json_write_key(json_out *out, const char *key)
{
    if (out->length > 0 && out->text[out->length - 1] != '{')
        append(out, ",", 1);
    json_write_string(out, key, strlen(key));
    append(out, ":", 1);
}
