/* The test driver of the execution layer in C: the commands. See drive.h. */

#define _GNU_SOURCE
#include "drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static opened *current;

/* The boundary of an `open`; NULL where it has been told why there is none. */
static opened *open_boundary(piece message, const char *id)
{
    gallivant_testing_host_options host = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_execution_ports ports = GALLIVANT_EXECUTION_PORTS_INIT;
    gallivant_error *error = NULL;
    opened *open = wire_memory(sizeof *open);
    piece jitter = wire_member(message, "jitter"), options = wire_member(message, "options");
    char *root = wire_string(message, "root");
    open->users = 1;
    open->faults = script_read(wire_member(message, "faults"));
    open->jitter = wire_has(message, "jitter") ? strtod(jitter.at, NULL) : 1;
    if (root == NULL || open->faults == NULL || !wire_has(message, "now")) {
        say_wrong(id, "root, now or faults cannot be used");
    } else {
        host.wall_ms.value = wire_integer(message, "now", 0);
        host.wall_ms.is_set = 1;
        ports.jitter = &open->jitter;
        ports.at_point = script_at;
        ports.user_data = open->faults;
        if (gallivant_testing_host_new(&host, &open->host, &error) != GALLIVANT_OK ||
            gallivant_execution_boundary_open(root, strlen(root), options.at, options.length, &ports, open->host,
                                              &open->boundary, &error) != GALLIVANT_OK)
            say_error(id, error);
    }
    gallivant_error_free(error);
    free(root);
    if (open->boundary != NULL) {
        desk_clock(host.wall_ms.value);
        return open;
    }
    opened_leave(open);
    return NULL;
}

/* Drops the boundary, and with it the calls that run. */
static void close_boundary(const char *id)
{
    desk_drop();
    if (current != NULL) {
        piece text = { id, id != NULL ? strlen(id) : 0 };
        current->dropped_by = id != NULL ? wire_copy(text) : NULL;
        opened_leave(current);
    } else if (id != NULL) {
        say_ok(id, gallivant_str_from("true"));
    }
    current = NULL;
}

static void call_function(const char *name, piece args, const char *id)
{
    gallivant_text *value = NULL;
    gallivant_error *error = NULL;
    if (gallivant_execution_function(name, strlen(name), args.at, args.length, &value, &error) == GALLIVANT_OK)
        say_ok(id, gallivant_text_view(value));
    else
        say_error(id, error);
    gallivant_text_free(value);
    gallivant_error_free(error);
}

static void call(piece message, const char *id)
{
    char *method = wire_string(message, "method");
    piece args = wire_member(message, "args"), name = { id, strlen(id) };
    if (method != NULL && strncmp(method, "fn:", 3) == 0) {
        call_function(method + 3, args, id);
        free(method);
    } else if (method == NULL || current == NULL) {
        say_wrong(id, "no method is named, or no boundary is open");
        free(method);
    } else {
        running *begun = wire_memory(sizeof *begun);
        begun->open = opened_use(current);
        begun->id = wire_copy(name);
        begun->method = method;
        begun->args = wire_copy(args);
        if (gallivant_execution_abort_token_new(&begun->token, NULL) != GALLIVANT_OK)
            abort();
        desk_open(begun);
        run_call(begun);
    }
}

static void answer(piece message, said_kind kind)
{
    said *told = wire_memory(sizeof *told);
    told->question = wire_integer(message, "ask", 0);
    told->kind = kind;
    if (kind == SAID_ANSWER && wire_has(message, "error")) {
        told->kind = SAID_FAILURE;
        told->text = wire_copy(wire_member(message, "error"));
    } else if (kind == SAID_ANSWER) {
        told->text = wire_compact(wire_member(message, "value"));
    }
    desk_hear(told);
}

static void hear(piece message)
{
    char *command = wire_string(message, "cmd"), *id = wire_copy(wire_member(message, "id"));
    const char *name = command != NULL ? command : "";
    if (strcmp(name, "open") == 0) {
        opened *open = open_boundary(message, id);
        if (open != NULL) {
            close_boundary(NULL);
            current = open;
            say_ok(id, gallivant_str_from("true"));
        }
    } else if (strcmp(name, "call") == 0) {
        call(message, id);
    } else if (strcmp(name, "clock") == 0) {
        uint64_t now = wire_integer(message, "now", 0);
        if (current != NULL && gallivant_testing_host_set_wall_ms(current->host, now, NULL) == GALLIVANT_OK)
            desk_clock(now);
    } else if (strcmp(name, "answer") == 0) {
        answer(message, SAID_ANSWER);
    } else if (strcmp(name, "sending") == 0) {
        answer(message, SAID_SENDING);
    } else if (strcmp(name, "drop") == 0) {
        close_boundary(id);
    } else {
        say_wrong(id, "no such command");
    }
    free(command);
    free(id);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) >= 0) {
        piece message = { line, (size_t)length };
        hear(message);
    }
    free(line);
    /* What still runs is left as by a crash. */
    fflush(stdout);
    _Exit(0);
}
