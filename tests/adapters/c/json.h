/* Just enough JSON for a protocol of one document a line: whole documents in, objects out.
 *
 * Numbers are unsigned 64-bit integers and keep every digit; any other number is told apart and has no value. Strings are
 * UTF-8 with a length, so that they may hold zero bytes; `\u` escapes are read and written, surrogates only in pairs. */

#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_INTEGER,
    JSON_OTHER_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

typedef struct json_value {
    json_kind kind;
    uint64_t integer;         /* JSON_INTEGER */
    char *text;               /* JSON_STRING; a zero byte follows, which the length does not count */
    size_t length;
    struct json_value *first; /* the first element or member of an array or object */
    struct json_value *next;  /* the next element or member of what this one is in */
    char *key;                /* of a member */
    size_t key_length;
} json_value;

/* One document, with nothing after it but white space; NULL where it is none. Free it with json_free. */
json_value *json_parse(const char *text, size_t length);
void json_free(json_value *value);

/* An object's member; of a doubled key the last; NULL where there is none, or where it is no object. */
const json_value *json_member(const json_value *object, const char *key);
/* The same, where it is a string; NULL otherwise. */
const json_value *json_string(const json_value *object, const char *key);
/* The same, where it is an unsigned integer: its place; NULL otherwise. */
const uint64_t *json_integer(const json_value *object, const char *key);

/* A text that grows; begin with zeros, free `text`. */
typedef struct {
    char *text;
    size_t length, capacity;
} json_out;

void json_write_raw(json_out *out, const char *text);
void json_write_string(json_out *out, const char *text, size_t length);
void json_write_integer(json_out *out, uint64_t integer);

/* Writes `,"key":`, or without the comma at an object's beginning. */
void json_write_key(json_out *out, const char *key);

#endif
