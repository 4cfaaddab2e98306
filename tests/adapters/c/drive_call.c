/* One call of the boundary: its machine, stepped on a thread of its own. See drive.h. */

#include "drive.h"

#include <stdlib.h>
#include <string.h>

static void ask(const gallivant_execution_step *step)
{
    json_out line = { NULL, 0, 0 };
    json_write_raw(&line, "{\"ask\":");
    json_write_integer(&line, step->id);
    json_write_key(&line, "port");
    const char *port = gallivant_port_name(step->port);
    json_write_string(&line, port, strlen(port));
    json_write_key(&line, "method");
    json_write_string(&line, step->method.data, step->method.length);
    json_write_key(&line, "input");
    json_write_raw(&line, step->input_json.data);
    if (step->port == GALLIVANT_PORT_TRANSPORT) {
        /* The deadline becomes the input's last member. */
        line.text[--line.length] = '\0';
        json_write_key(&line, "deadlineAt");
        json_write_integer(&line, step->deadline_at_ms);
        json_write_raw(&line, "}");
    }
    say(&line);
}

static gallivant_str string_of(const json_value *failure, const char *key)
{
    const json_value *string = json_string(failure, key);
    gallivant_str view = { NULL, 0 };
    if (string != NULL) {
        view.data = string->text;
        view.length = string->length;
    }
    return view;
}

int32_t feed(gallivant_execution_machine *machine, const said *told, gallivant_execution_step *step)
{
    gallivant_execution_failure failure = GALLIVANT_EXECUTION_FAILURE_INIT;
    if (told->kind == SAID_SENDING)
        return gallivant_execution_machine_sending(machine, told->question, NULL);
    if (told->kind == SAID_ANSWER)
        return gallivant_execution_machine_reply(machine, told->question, told->text, strlen(told->text), step, NULL);
    json_value *parsed = json_parse(told->text, strlen(told->text));
    gallivant_str kind = string_of(parsed, "kind");
    const uint64_t *retry_after_ms = json_integer(parsed, "retryAfterMs");
    failure.kind = kind.data != NULL ? gallivant_failure_from_name(kind.data, kind.length) : 0;
    failure.message = string_of(parsed, "message");
    failure.code = string_of(parsed, "code");
    failure.retry_after_ms.is_set = retry_after_ms != NULL;
    failure.retry_after_ms.value = retry_after_ms != NULL ? *retry_after_ms : 0;
    int32_t status = gallivant_execution_machine_fail(machine, told->question, &failure, step, NULL);
    json_free(parsed);
    return status;
}

/* Waits for what ends the call of a step, and takes the next; 0 where the machine is to be dropped. */
static int wait_for_end(running *call, gallivant_execution_machine *machine, gallivant_execution_step *step)
{
    for (;;) {
        said *told = desk_wait(call);
        int has_stepped = 0, is_dropped = told->kind == SAID_DROP;
        uint64_t id = step->id;
        if (told->kind <= SAID_SENDING) {
            int32_t status = feed(machine, told, step);
            if (status != GALLIVANT_OK)
                say_number("refused", told->question);
            has_stepped = status == GALLIVANT_OK && told->kind != SAID_SENDING;
        } else if (told->kind == SAID_CLOCK && desk_now() >= step->deadline_at_ms) {
            /* A scripted method is given no time to end: the clock stands, and its answer is not read anyway. */
            say_number("aborted", id);
            has_stepped = gallivant_execution_machine_deadline(machine, id, step, NULL) == GALLIVANT_OK;
        }
        said_free(told);
        if (is_dropped || has_stepped)
            return has_stepped;
    }
}

/* Steps the machine to its end, and gives it back where it has ended by itself. */
static gallivant_execution_machine *step_to_end(running *call, gallivant_execution_machine *machine)
{
    gallivant_execution_step step = GALLIVANT_EXECUTION_STEP_INIT;
    gallivant_error *error = NULL;
    if (gallivant_execution_machine_start(machine, &step, &error) != GALLIVANT_OK) {
        say_error(call->id, error);
        gallivant_error_free(error);
        return machine;
    }
    while (step.kind == GALLIVANT_STEP_CALL) {
        uint64_t question = step.id;
        desk_asks(call, question);
        ask(&step);
        if (!wait_for_end(call, machine, &step)) {
            gallivant_execution_machine_free(machine);
            say_number("aborted", question);
            return NULL;
        }
    }
    if (step.kind == GALLIVANT_STEP_DONE)
        say_ok(call->id, step.outcome_json);
    else
        say_error(call->id, step.failure);
    return machine;
}

static void *run(void *user_data)
{
    running *call = user_data;
    gallivant_execution_machine *machine = NULL;
    gallivant_error *error = NULL;
    int is_null = strcmp(call->args, "null") == 0;
    if (gallivant_execution_boundary_call(call->open->boundary, call->method, strlen(call->method),
                                          is_null ? NULL : call->args, is_null ? 0 : strlen(call->args), call->token,
                                          &machine, &error) == GALLIVANT_OK)
        machine = step_to_end(call, machine);
    else
        say_error(call->id, error);
    gallivant_error_free(error);
    desk_ended(call, machine);
    opened_leave(call->open);
    gallivant_execution_abort_token_free(call->token);
    free(call->id);
    free(call->method);
    free(call->args);
    free(call);
    return NULL;
}

void run_call(running *call)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, call) != 0 || pthread_detach(thread) != 0)
        abort();
}
