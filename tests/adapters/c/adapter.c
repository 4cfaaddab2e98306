/* The C conformance adapter: one JSON request a line in, one JSON answer a line out, over the public header alone.
 *
 * The protocol is described in tests/vectors/harness-state/README.md. */

#define _POSIX_C_SOURCE 200809L
#include "json.h"

#include <gallivant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A writer by its id in the protocol, or the word of the error with which the library refused to open it. */
typedef struct writer {
    struct writer *next;
    char *id;
    gallivant_harness_state_writer *handle;
    const char *refused;
} writer;

static writer *writers;
static gallivant_host *host;
static gallivant_harness_state_options options = GALLIVANT_HARNESS_STATE_OPTIONS_INIT;
/* As the last `begin` named it. */
static char *directory;

/* Each operation answers the word of its error, or NULL and has written the members of its answer. */
typedef const char *(*operation)(const json_value *request, json_out *answer);

static const char *word_of(int32_t status)
{
    return status == GALLIVANT_OK ? NULL : gallivant_status_word(status);
}

static gallivant_str view_of(const json_value *string)
{
    gallivant_str view = { string ? string->text : NULL, string ? string->length : 0 };
    return view;
}

/* A string that has to be there; an absent one counts as empty. */
static gallivant_str text(const json_value *object, const char *key)
{
    const json_value *string = json_string(object, key);
    return string ? view_of(string) : gallivant_str_from("");
}

static char *copy_of(const char *string)
{
    char *copy = strdup(string);
    if (copy == NULL)
        abort();
    return copy;
}

static writer *find(const json_value *request)
{
    gallivant_str id = text(request, "writer");
    for (writer *each = writers; each != NULL; each = each->next)
        if (strcmp(each->id, id.data) == 0)
            return each;
    return NULL;
}

/* The writer of a request, or the word that answers it instead. */
static const char *writer_of(const json_value *request, gallivant_harness_state_writer **handle)
{
    const writer *found = find(request);
    if (found == NULL)
        return "input";
    *handle = found->handle;
    return found->refused;
}

static void forget_writers(void)
{
    while (writers != NULL) {
        writer *first = writers;
        writers = first->next;
        gallivant_harness_state_writer_free(first->handle);
        free(first->id);
        free(first);
    }
}

static const char *begin(const json_value *request, json_out *answer)
{
    gallivant_testing_host_options given = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    const uint64_t *now_ms = json_integer(request, "now_ms");
    gallivant_host *made = NULL;
    (void)answer;
    given.wall_ms.is_set = now_ms != NULL;
    given.wall_ms.value = now_ms ? *now_ms : 0;
    int32_t status = gallivant_testing_host_new(&given, &made, NULL);
    if (status != GALLIVANT_OK)
        return word_of(status);
    forget_writers();
    gallivant_host_free(host);
    options.host = host = made;
    free(directory);
    directory = copy_of(text(request, "dir").data);
    return NULL;
}

static const char *set_clock(const json_value *request, json_out *answer)
{
    const uint64_t *now_ms = json_integer(request, "now_ms");
    (void)answer;
    return word_of(gallivant_testing_host_set_wall_ms(host, now_ms ? *now_ms : 0, NULL));
}

static const char *mint(char *token)
{
    return word_of(gallivant_harness_state_mint_token(host, token, GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY, NULL, NULL));
}

static const char *open_writer(const json_value *request, json_out *answer)
{
    char minted[GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY];
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    writer *made = find(request);
    (void)answer;
    if (made == NULL) {
        made = calloc(1, sizeof *made);
        if (made == NULL)
            abort();
        made->id = copy_of(text(request, "writer").data);
        made->next = writers;
        writers = made;
    }
    gallivant_harness_state_writer_free(made->handle);
    made->handle = NULL;
    identity.agent = text(request, "agent");
    identity.harness = text(request, "harness");
    identity.pty_session = view_of(json_string(request, "pty"));
    identity.token = view_of(json_string(request, "token"));
    if (identity.token.data == NULL) {
        made->refused = mint(minted);
        if (made->refused != NULL)
            return NULL;
        identity.token = gallivant_str_from(minted);
    }
    made->refused = word_of(gallivant_harness_state_writer_open(directory, strlen(directory), &identity,
                                                                json_integer(request, "seq"), &options,
                                                                &made->handle, NULL));
    /* The error is kept and answers every later call of this writer. */
    return NULL;
}

static const char *claim_by(const json_value *request, json_out *answer, int wrapperless)
{
    gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
    gallivant_harness_state_claim_result *claim = NULL;
    identity.agent = text(request, "agent");
    identity.harness = text(request, "harness");
    identity.token = text(request, "token");
    int32_t status = (wrapperless ? gallivant_harness_state_claim_wrapperless : gallivant_harness_state_claim)(
        directory, strlen(directory), &identity, &options, &claim, NULL);
    if (status != GALLIVANT_OK)
        return word_of(status);
    json_write_key(answer, "seq");
    if (claim == NULL)
        json_write_raw(answer, "null");
    else
        json_write_integer(answer, gallivant_harness_state_claim_result_sequence(claim));
    gallivant_harness_state_claim_result_free(claim);
    return NULL;
}

static const char *claim(const json_value *request, json_out *answer)
{
    return claim_by(request, answer, 0);
}

static const char *claim_wrapperless(const json_value *request, json_out *answer)
{
    return claim_by(request, answer, 1);
}

static void write_outcome(json_out *answer, const gallivant_harness_state_report *report)
{
    char outcome[64];
    const char *refusal = report->refusal != 0 ? gallivant_refusal_name(report->refusal) : "";
    snprintf(outcome, sizeof outcome, "%s%s%s", gallivant_outcome_name(report->outcome), *refusal ? ":" : "", refusal);
    json_write_key(answer, "outcome");
    json_write_string(answer, outcome, strlen(outcome));
}

static const char *observe_by(const json_value *request, json_out *answer, int unless_ended)
{
    const json_value *args = json_member(request, "args");
    gallivant_harness_state_observation seen = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_harness_state_writer *handle = NULL;
    const char *refused = writer_of(request, &handle);
    if (refused != NULL)
        return refused;
    gallivant_str state = text(args, "state"), blocked_on = text(args, "blockedOn");
    gallivant_str input_buffer = text(args, "inputBuffer"), ask = text(args, "ask");
    seen.state = gallivant_state_from_name(state.data, state.length);
    seen.blocked_on = gallivant_blocked_on_from_name(blocked_on.data, blocked_on.length);
    seen.input_buffer = gallivant_input_buffer_from_name(input_buffer.data, input_buffer.length);
    if (json_string(args, "ask") != NULL)
        seen.ask = gallivant_ask_from_name(ask.data, ask.length);
    seen.reason = view_of(json_string(args, "reason"));
    seen.exit = view_of(json_string(args, "exit"));
    int32_t status =
        (unless_ended ? gallivant_harness_state_writer_observe_unless_ended : gallivant_harness_state_writer_observe)(
            handle, &seen, &report, NULL);
    if (status != GALLIVANT_OK)
        return word_of(status);
    if (unless_ended) {
        json_write_key(answer, "accepted");
        json_write_raw(answer, report.outcome == GALLIVANT_OUTCOME_REFUSED ? "false" : "true");
    }
    write_outcome(answer, &report);
    return NULL;
}

static const char *observe(const json_value *request, json_out *answer)
{
    return observe_by(request, answer, 0);
}

static const char *observe_unless_ended(const json_value *request, json_out *answer)
{
    return observe_by(request, answer, 1);
}

static const char *heartbeat(const json_value *request, json_out *answer)
{
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_harness_state_writer *handle = NULL;
    const char *refused = writer_of(request, &handle);
    if (refused == NULL)
        refused = word_of(gallivant_harness_state_writer_heartbeat(handle, &report, NULL));
    if (refused == NULL)
        write_outcome(answer, &report);
    return refused;
}

static const char *interrupt(const json_value *request, json_out *answer)
{
    gallivant_harness_state_writer *handle = NULL;
    const char *refused = writer_of(request, &handle);
    (void)answer;
    return refused != NULL ? refused : word_of(gallivant_harness_state_writer_interrupt(handle, NULL));
}

static const char *ended(const json_value *request, json_out *answer)
{
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_str exit = view_of(json_string(json_member(request, "args"), "exit"));
    gallivant_harness_state_writer *handle = NULL;
    const char *refused = writer_of(request, &handle);
    if (refused == NULL)
        refused = word_of(gallivant_harness_state_writer_ended(handle, exit.data, exit.length, &report, NULL));
    if (refused == NULL)
        write_outcome(answer, &report);
    return refused;
}

static const char *mint_token(const json_value *request, json_out *answer)
{
    char token[GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY];
    const char *refused = mint(token);
    (void)request;
    if (refused == NULL) {
        json_write_key(answer, "token");
        json_write_string(answer, token, strlen(token));
    }
    return refused;
}

static void write_view(json_out *answer, const char *key, gallivant_str view)
{
    json_write_key(answer, key);
    if (view.data == NULL)
        json_write_raw(answer, "null");
    else
        json_write_string(answer, view.data, view.length);
}

static void write_number(json_out *answer, const char *key, gallivant_optional_u64 number)
{
    json_write_key(answer, key);
    if (number.is_set)
        json_write_integer(answer, number.value);
    else
        json_write_raw(answer, "null");
}

/* The probe that gives this answer for every session; 0 where none is asked for. */
static int given_probe(const json_value *request, gallivant_harness_state_probe *probe)
{
    gallivant_str word = text(request, "probe");
    probe->kind = GALLIVANT_PROBE_FIXED;
    for (probe->liveness = GALLIVANT_LIVENESS_INDETERMINATE; probe->liveness <= GALLIVANT_LIVENESS_DEAD; probe->liveness++)
        if (strcmp(word.data, gallivant_liveness_name(probe->liveness)) == 0)
            return 1;
    return 0;
}

static const char *read_state(const json_value *request, json_out *answer)
{
    gallivant_harness_state_probe probe = GALLIVANT_HARNESS_STATE_PROBE_INIT;
    gallivant_harness_state_derived seen = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_harness_state_reader *reader = NULL;
    int asked = given_probe(request, &probe);
    int32_t status = gallivant_harness_state_reader_open(directory, strlen(directory), &options, &reader, NULL);
    if (status == GALLIVANT_OK)
        status = gallivant_harness_state_reader_read(reader, asked ? &probe : NULL, &seen, NULL);
    if (status == GALLIVANT_OK) {
        json_write_key(answer, "read");
        if (!seen.observed) {
            json_write_raw(answer, "null");
        } else {
            json_write_raw(answer, "{");
            write_view(answer, "state", gallivant_str_from(gallivant_state_name(seen.state)));
            write_view(answer, "blockedOn", gallivant_str_from(gallivant_blocked_on_name(seen.blocked_on)));
            write_view(answer, "inputBuffer", gallivant_str_from(gallivant_input_buffer_name(seen.input_buffer)));
            write_view(answer, "ask", gallivant_str_from(gallivant_ask_name(seen.ask)));
            write_view(answer, "harness", seen.harness);
            write_number(answer, "sinceMs", seen.since_ms);
            write_number(answer, "observedAtMs", seen.observed_at_ms);
            write_number(answer, "ownershipSequence", seen.ownership_sequence);
            write_number(answer, "transitionSequence", seen.transition_sequence);
            write_view(answer, "evidenceIncarnation", seen.evidence_incarnation);
            write_view(answer, "exit", seen.exit);
            write_view(answer, "reason", seen.reason);
            json_write_raw(answer, "}");
        }
    }
    gallivant_harness_state_reader_free(reader);
    return word_of(status);
}

static const struct {
    const char *name;
    operation run;
} operations[] = {
    { "begin", begin },
    { "clock", set_clock },
    { "open", open_writer },
    { "claim", claim },
    { "claim_wrapperless", claim_wrapperless },
    { "observe", observe },
    { "observe_unless_ended", observe_unless_ended },
    { "heartbeat", heartbeat },
    { "interrupt", interrupt },
    { "ended", ended },
    { "mint", mint_token },
    { "read", read_state },
};

static const char *perform(const json_value *request, json_out *answer)
{
    const json_value *name = json_string(request, "op");
    for (size_t i = 0; name != NULL && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(name->text, operations[i].name) == 0)
            return operations[i].run(request, answer);
    return "input";
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (gallivant_testing_host_new(NULL, &host, NULL) != GALLIVANT_OK)
        return 1;
    options.host = host;
    // The vectors compare whole records, as every program writes them.
    options.extension = 0;
    directory = copy_of(".");
    while ((length = getline(&line, &capacity, stdin)) >= 0) {
        json_out answer = { NULL, 0, 0 };
        json_value *request = json_parse(line, (size_t)length);
        json_write_raw(&answer, "{\"ok\":true");
        const char *error = perform(request, &answer);
        json_write_raw(&answer, "}");
        if (error == NULL)
            puts(answer.text);
        else
            printf("{\"ok\":false,\"error\":\"%s\"}\n", error);
        fflush(stdout);
        free(answer.text);
        json_free(request);
    }
    forget_writers();
    gallivant_host_free(host);
    free(directory);
    free(line);
    return 0;
}
