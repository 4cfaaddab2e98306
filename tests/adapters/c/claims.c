/* The C conformance adapter of idempotent creates: one JSON request a line in, one JSON answer a line out, over the public
 * header alone.
 *
 * The protocol is described in tests/vectors/idempotency/README.md. */

#define _POSIX_C_SOURCE 200809L
#include "claims_answers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static gallivant_host *host;
static gallivant_idempotency_store *store;
/* What answers every request that needs the store where it could not be opened. */
static char *refusal;
static const char *refused_with;

static gallivant_str text(const json_value *object, const char *key)
{
    const json_value *string = json_string(object, key);
    gallivant_str none = { NULL, 0 };
    gallivant_str view = { string ? string->text : NULL, string ? string->length : 0 };
    return string ? view : none;
}

/* A string that has to be there; an absent one counts as empty. */
static gallivant_str text_or_empty(const json_value *object, const char *key)
{
    gallivant_str found = text(object, key);
    return found.data ? found : gallivant_str_from("");
}

static uint64_t number_or(const json_value *object, const char *key, uint64_t otherwise)
{
    const uint64_t *number = json_integer(object, key);
    return number ? *number : otherwise;
}

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* The bytes of a text in hex, to be freed. */
static unsigned char *bytes_of(const json_value *hex, size_t *length)
{
    *length = hex != NULL && hex->kind == JSON_STRING ? hex->length / 2 : 0;
    unsigned char *bytes = must(malloc(*length + 1));
    for (size_t i = 0; i < *length; i++)
        bytes[i] = (unsigned char)(digit(hex->text[2 * i]) << 4 | digit(hex->text[2 * i + 1]));
    return bytes;
}

static void open_store(const json_value *request, gallivant_str id, json_out *out)
{
    const json_value *given = json_member(request, "options");
    gallivant_testing_host_options of_host = GALLIVANT_TESTING_HOST_OPTIONS_INIT;
    gallivant_idempotency_store_options options = GALLIVANT_IDEMPOTENCY_STORE_OPTIONS_INIT;
    const uint64_t *now_ms = json_integer(request, "now_ms");
    gallivant_str directory = text_or_empty(request, "dir"), engine = text(given, "engine");
    gallivant_error *error = NULL;
    json_out refused = { NULL, 0, 0 };
    char path[4096];
    (void)id;
    forget_all();
    gallivant_idempotency_store_free(store);
    gallivant_host_free(host);
    free(refusal);
    store = NULL;
    host = NULL;
    refusal = NULL;
    of_host.wall_ms.is_set = now_ms != NULL;
    of_host.wall_ms.value = now_ms ? *now_ms : 0;
    of_host.machine = text(given, "host");
    of_host.boot = text(given, "boot");
    options.window_ms = number_or(given, "window_ms", GALLIVANT_DEFAULT);
    options.max_reservation_ms = number_or(given, "max_reservation_ms", GALLIVANT_DEFAULT);
    options.busy_ms = number_or(given, "busy_ms", GALLIVANT_DEFAULT);
    options.max_answer_bytes = number_or(given, "max_answer_bytes", GALLIVANT_DEFAULT);
    snprintf(path, sizeof path, "%s/idempotency.db", directory.data);
    int32_t status = gallivant_testing_host_new(&of_host, &host, &error);
    if (status == GALLIVANT_OK)
        status = gallivant_testing_host_stand_at(host, of_host.wall_ms.value, 0, &error);
    options.host = host;
    if (engine.data != NULL && strcmp(engine.data, "sqlite") != 0) {
        refused_with = "UNSUPPORTED";
        json_write_raw(&refused, "{\"ok\":false,\"error\":\"UNSUPPORTED\"}");
    } else {
        if (status == GALLIVANT_OK)
            status = gallivant_idempotency_store_open(path, strlen(path), &options, &store, &error);
        if (status != GALLIVANT_OK) {
            refused_with = gallivant_status_name(status);
            write_refusal(&refused, error);
        }
    }
    gallivant_error_free(error);
    refusal = refused.text;
    json_write_raw(out, refusal ? refusal : "{\"ok\":true}");
}

static void set_clock(const json_value *request, gallivant_str id, json_out *out)
{
    const uint64_t *slept_ms = json_integer(request, "slept_ms");
    gallivant_error *error = NULL;
    (void)id;
    int32_t status = gallivant_testing_host_stand_at(host, number_or(request, "now_ms", 0), slept_ms ? *slept_ms : 0, &error);
    /* A sleep is detected by whoever looks; here it is looked at once. */
    if (slept_ms != NULL)
        gallivant_idempotency_store_notice_sleep(store);
    write_done(out, status, error);
}

/* The name of a request, whose scope is to be freed. */
static gallivant_idempotency_name name_of(const json_value *request, gallivant_str **parts)
{
    gallivant_idempotency_name name = GALLIVANT_IDEMPOTENCY_NAME_INIT;
    const json_value *scope = json_member(request, "scope");
    const json_value *part = scope ? scope->first : NULL;
    size_t count = 0;
    for (const json_value *each = part; each != NULL; each = each->next)
        count++;
    *parts = must(calloc(count + 1, sizeof **parts));
    for (; part != NULL; part = part->next) {
        gallivant_str view = { part->text, part->length };
        (*parts)[name.scope_count++] = view;
    }
    name.scope = *parts;
    name.operation = text_or_empty(request, "operation");
    name.key = text_or_empty(request, "key");
    return name;
}

static int32_t begin_in_parts(const gallivant_idempotency_name *name, const json_value *parts, uint64_t deadline_ms,
                              gallivant_idempotency_begun *begun, gallivant_error **error)
{
    gallivant_idempotency_fingerprint *fingerprint = NULL;
    uint8_t taken[GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES];
    int32_t status = gallivant_idempotency_fingerprint_new(&fingerprint, error);
    for (const json_value *part = parts->first; status == GALLIVANT_OK && part != NULL; part = part->next) {
        size_t length;
        unsigned char *bytes = bytes_of(part, &length);
        status = gallivant_idempotency_fingerprint_update(fingerprint, bytes, length, error);
        free(bytes);
    }
    if (status == GALLIVANT_OK)
        status = gallivant_idempotency_fingerprint_bytes(fingerprint, taken, error);
    gallivant_idempotency_fingerprint_free(fingerprint);
    if (status == GALLIVANT_OK)
        status = gallivant_idempotency_store_begin_fingerprinted(store, name, taken, deadline_ms, begun, error);
    return status;
}

static void begin(const json_value *request, gallivant_str id, json_out *out)
{
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    const json_value *parts = json_member(request, "body_parts");
    uint64_t deadline_ms = number_or(request, "deadline_ms", GALLIVANT_DEFAULT);
    gallivant_error *error = NULL;
    gallivant_str *scope;
    gallivant_idempotency_name name = name_of(request, &scope);
    int32_t status;
    if (parts != NULL && parts->kind == JSON_ARRAY) {
        status = begin_in_parts(&name, parts, deadline_ms, &begun, &error);
    } else {
        size_t length;
        unsigned char *body = bytes_of(json_member(request, "body"), &length);
        status = gallivant_idempotency_store_begin(store, &name, body, length, deadline_ms, &begun, &error);
        free(body);
    }
    free(scope);
    write_begun(out, id, status, &begun, error);
}

/* The operations that ask again with what an id names. */
static void ask_again(const json_value *request, gallivant_str id, json_out *out)
{
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    const char *op = text_or_empty(request, "op").data;
    uint64_t deadline_ms = number_or(request, "deadline_ms", GALLIVANT_DEFAULT);
    gallivant_str found = text(request, "found");
    gallivant_error *error = NULL;
    const named *one = find(id, 0);
    int32_t status;
    if (one != NULL && one->begun.ticket != NULL && strcmp(op, "wait") == 0) {
        uint64_t timeout_ms = number_or(request, "deadline_ms", 0);
        status = gallivant_idempotency_ticket_wait(one->begun.ticket, timeout_ms, &begun, &error);
    } else if (one != NULL && one->begun.claim != NULL && strcmp(op, "recreate") == 0) {
        status = gallivant_idempotency_claim_recreate(one->begun.claim, deadline_ms, &begun, &error);
    } else if (one != NULL && one->begun.unknown != NULL && strcmp(op, "settle") == 0) {
        status = found.data == NULL
                     ? gallivant_idempotency_unknown_claim_settle_absent(one->begun.unknown, deadline_ms, &begun, &error)
                     : gallivant_idempotency_unknown_claim_settle_found(one->begun.unknown, found.data, found.length,
                                                                        deadline_ms, &begun, &error);
    } else {
        write_input(out);
        return;
    }
    write_begun(out, id, status, &begun, error);
}

/* The operations of a reservation. */
static void hold(const json_value *request, gallivant_str id, json_out *out)
{
    const char *op = text_or_empty(request, "op").data;
    uint64_t deadline_ms = number_or(request, "deadline_ms", GALLIVANT_DEFAULT);
    gallivant_error *error = NULL;
    const named *one = find(id, 0);
    int32_t status;
    if (one == NULL || one->begun.reservation == NULL) {
        write_input(out);
        return;
    }
    gallivant_idempotency_reservation *reservation = one->begun.reservation;
    if (strcmp(op, "complete") == 0) {
        gallivant_str resource = text_or_empty(request, "resource");
        size_t length;
        unsigned char *answer = bytes_of(json_member(request, "answer"), &length);
        status = gallivant_idempotency_reservation_complete(reservation, resource.data, resource.length, answer, length,
                                                            deadline_ms, &error);
        free(answer);
    } else if (strcmp(op, "release") == 0) {
        status = gallivant_idempotency_reservation_release(reservation, deadline_ms, &error);
    } else if (strcmp(op, "effect_starting") == 0) {
        status = gallivant_idempotency_reservation_effect_starting(reservation, deadline_ms, &error);
    } else {
        status = gallivant_idempotency_reservation_keep_alive(reservation, deadline_ms, &error);
    }
    write_done(out, status, error);
}

static void abandon(const json_value *request, gallivant_str id, json_out *out)
{
    (void)request;
    forget(find(id, 1));
    write_done(out, GALLIVANT_OK, NULL);
}

static void inspect(const json_value *request, gallivant_str id, json_out *out)
{
    gallivant_idempotency_inspection *found = NULL;
    gallivant_error *error = NULL;
    gallivant_str *scope;
    gallivant_idempotency_name name = name_of(request, &scope);
    int32_t status = gallivant_idempotency_store_inspect(store, &name, &found, &error);
    (void)id;
    free(scope);
    if (status != GALLIVANT_OK) {
        write_done(out, status, error);
        return;
    }
    json_write_raw(out, "{\"ok\":true,\"claim\":");
    if (found == NULL) {
        json_write_raw(out, "null");
    } else {
        json_write_raw(out, "{");
        int32_t state = gallivant_idempotency_inspection_state(found);
        write_text(out, "state", gallivant_str_from(gallivant_claim_state_name(state)));
        write_text(out, "resource", gallivant_idempotency_inspection_resource(found));
        write_bytes(out, "answer", gallivant_idempotency_inspection_answer(found));
        json_write_raw(out, "}");
    }
    json_write_raw(out, "}");
    gallivant_idempotency_inspection_free(found);
}

static void sweep(const json_value *request, gallivant_str id, json_out *out)
{
    gallivant_idempotency_swept swept = GALLIVANT_IDEMPOTENCY_SWEPT_INIT;
    gallivant_error *error = NULL;
    int32_t status = gallivant_idempotency_store_sweep(store, &swept, &error);
    (void)request, (void)id;
    if (status != GALLIVANT_OK) {
        write_done(out, status, error);
        return;
    }
    json_write_raw(out, "{\"ok\":true,\"removed\":");
    json_write_integer(out, swept.removed);
    json_write_raw(out, swept.has_more ? ",\"more\":true}" : ",\"more\":false}");
}

static void capability(const json_value *request, gallivant_str id, json_out *out)
{
    const char *reason = store == NULL ? refused_with : NULL;
    (void)request, (void)id;
    if (store != NULL) {
        int32_t status = gallivant_idempotency_store_capability(store, NULL);
        reason = status == GALLIVANT_OK ? NULL : gallivant_status_name(status);
    }
    json_write_raw(out, reason == NULL ? "{\"ok\":true,\"keyed_creates\":true" : "{\"ok\":true,\"keyed_creates\":false");
    write_text(out, "reason", gallivant_str_from(reason));
    json_write_raw(out, "}");
}

static void fill(const json_value *request, gallivant_str id, json_out *out)
{
    const gallivant_str usual[] = { gallivant_str_from("org"), gallivant_str_from("ws") };
    uint64_t from = number_or(request, "from", 0), count = number_or(request, "count", 0);
    gallivant_error *error = NULL;
    gallivant_str *scope;
    gallivant_idempotency_name name = name_of(request, &scope);
    int32_t status = GALLIVANT_OK;
    int created = 1;
    char key[256];
    (void)id;
    if (name.operation.length == 0)
        name.operation = gallivant_str_from("things.create");
    if (name.scope_count == 0) {
        name.scope = usual;
        name.scope_count = 2;
    }
    for (uint64_t i = from; status == GALLIVANT_OK && created && i < from + count; i++) {
        gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
        snprintf(key, sizeof key, "%s%llu", text_or_empty(request, "prefix").data, (unsigned long long)i);
        name.key = gallivant_str_from(key);
        status = gallivant_idempotency_store_begin(store, &name, NULL, 0, GALLIVANT_DEFAULT, &begun, &error);
        created = begun.begin == GALLIVANT_BEGIN_CREATE;
        if (status == GALLIVANT_OK && created)
            status = gallivant_idempotency_reservation_complete(begun.reservation, key, strlen(key), "", 1,
                                                                GALLIVANT_DEFAULT, &error);
        free_begun(&begun);
    }
    free(scope);
    if (status == GALLIVANT_OK && !created)
        write_input(out);
    else
        write_done(out, status, error);
}

static void answer(const json_value *request, gallivant_str id, json_out *out);

/* One thread of many. */
typedef struct {
    pthread_t thread;
    const json_value *request;
    char id[300];
    json_out out;
} one_of_many;

static void *answer_one(void *given)
{
    one_of_many *one = given;
    answer(one->request, gallivant_str_from(one->id), &one->out);
    return NULL;
}

static void many(const json_value *request, gallivant_str id, json_out *out)
{
    const json_value *inner = json_member(request, "request");
    uint64_t count = number_or(request, "count", 0);
    one_of_many *all = must(calloc(count + 1, sizeof *all));
    (void)id;
    for (uint64_t i = 0; i < count; i++) {
        all[i].request = inner;
        snprintf(all[i].id, sizeof all[i].id, "%s.%llu", text_or_empty(inner, "id").data, (unsigned long long)i);
        if (pthread_create(&all[i].thread, NULL, answer_one, &all[i]) != 0)
            abort();
    }
    json_write_raw(out, "{\"ok\":true,\"answers\":[");
    for (uint64_t i = 0; i < count; i++) {
        pthread_join(all[i].thread, NULL);
        json_write_raw(out, i > 0 ? "," : "");
        json_write_raw(out, all[i].out.text);
        free(all[i].out.text);
    }
    json_write_raw(out, "]}");
    free(all);
}

/* Forks; what the child answers comes back through a pipe. */
static void in_child(const json_value *request, gallivant_str id, json_out *out)
{
    const json_value *inner = json_member(request, "request"), *reopen = json_member(request, "reopen");
    char bytes[4096];
    ssize_t length;
    int ends[2];
    (void)id;
    if (pipe(ends) != 0) {
        write_input(out);
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        json_out opened = { NULL, 0, 0 }, answered = { NULL, 0, 0 };
        close(ends[0]);
        if (reopen != NULL && reopen->kind == JSON_OBJECT)
            open_store(reopen, id, &opened);
        if (reopen != NULL && refusal != NULL)
            json_write_raw(&answered, refusal);
        else
            answer(inner, text_or_empty(inner, "id"), &answered);
        for (size_t done = 0; done < answered.length;) {
            length = write(ends[1], answered.text + done, answered.length - done);
            if (length < 0)
                break;
            done += (size_t)length;
        }
        /* Ends the child without running anything of the parent's. */
        _exit(0);
    }
    close(ends[1]);
    json_write_raw(out, "{\"ok\":true,\"child\":");
    while ((length = read(ends[0], bytes, sizeof bytes - 1)) > 0) {
        bytes[length] = '\0';
        json_write_raw(out, bytes);
    }
    json_write_raw(out, "}");
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static const struct {
    const char *name;
    int needs_store;
    void (*run)(const json_value *request, gallivant_str id, json_out *out);
} operations[] = {
    { "open", 0, open_store },
    { "clock", 0, set_clock },
    { "many", 0, many },
    { "in_child", 0, in_child },
    { "begin", 1, begin },
    { "wait", 0, ask_again },
    { "recreate", 0, ask_again },
    { "settle", 0, ask_again },
    { "complete", 0, hold },
    { "release", 0, hold },
    { "effect_starting", 0, hold },
    { "keep_alive", 0, hold },
    { "abandon", 0, abandon },
    { "inspect", 1, inspect },
    { "sweep", 1, sweep },
    { "capability", 0, capability },
    { "fill", 1, fill },
};

static void answer(const json_value *request, gallivant_str id, json_out *out)
{
    const json_value *name = json_string(request, "op");
    for (size_t i = 0; name != NULL && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(name->text, operations[i].name) == 0) {
            if (operations[i].needs_store && store == NULL && refusal != NULL)
                json_write_raw(out, refusal);
            else
                operations[i].run(request, id, out);
            return;
        }
    write_input(out);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) >= 0) {
        json_out out = { NULL, 0, 0 };
        json_value *request = json_parse(line, (size_t)length);
        answer(request, text_or_empty(request, "id"), &out);
        puts(out.text);
        fflush(stdout);
        free(out.text);
        json_free(request);
    }
    forget_all();
    gallivant_idempotency_store_free(store);
    gallivant_host_free(host);
    free(refusal);
    free(line);
    return 0;
}
