/* The scripted points at which a test crashes, fails or pauses. See drive.h. */

#include "drive.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How the program ends at a crash. */
enum { CRASHED = 86 };

typedef enum { CRASH, FAIL, PAUSE } action;

typedef struct {
    char *point;
    uint64_t nth, hits;
    action action;
} rule;

struct script {
    pthread_mutex_t mutex;
    rule *rules;
    size_t count;
};

static int read_action(const json_value *name, action *found)
{
    static const char *const names[] = { "crash", "fail", "pause" };
    for (action at = CRASH; name != NULL && at <= PAUSE; at++)
        if (strcmp(name->text, names[at]) == 0) {
            *found = at;
            return 1;
        }
    return 0;
}

script *script_read(piece faults)
{
    json_value *list = json_parse(faults.at, faults.length);
    script *made = wire_memory(sizeof *made);
    int is_right = list != NULL && (list->kind == JSON_NULL || list->kind == JSON_ARRAY);
    pthread_mutex_init(&made->mutex, NULL);
    for (const json_value *fault = is_right ? list->first : NULL; fault != NULL; fault = fault->next) {
        const json_value *point = json_string(fault, "point");
        const uint64_t *nth = json_integer(fault, "nth");
        rule read = { NULL, nth != NULL ? *nth : 1, 0, CRASH };
        if (point == NULL || !read_action(json_string(fault, "action"), &read.action)) {
            is_right = 0;
            break;
        }
        piece name = { point->text, point->length };
        read.point = wire_copy(name);
        made->rules = realloc(made->rules, (made->count + 1) * sizeof *made->rules);
        if (made->rules == NULL)
            abort();
        made->rules[made->count++] = read;
    }
    json_free(list);
    if (is_right)
        return made;
    script_free(made);
    return NULL;
}

void script_free(script *faults)
{
    if (faults == NULL)
        return;
    for (size_t at = 0; at < faults->count; at++)
        free(faults->rules[at].point);
    free(faults->rules);
    pthread_mutex_destroy(&faults->mutex);
    free(faults);
}

int32_t script_at(void *user_data, gallivant_str point)
{
    script *faults = user_data;
    const rule *due = NULL;
    pthread_mutex_lock(&faults->mutex);
    for (size_t at = 0; at < faults->count; at++) {
        rule *each = &faults->rules[at];
        if (strcmp(each->point, point.data) == 0 && ++each->hits == each->nth && due == NULL)
            due = each;
    }
    pthread_mutex_unlock(&faults->mutex);
    if (due != NULL && due->action == CRASH)
        _exit(CRASHED);
    if (due != NULL && due->action == PAUSE)
        desk_pause(point.data);
    return due != NULL && due->action == FAIL;
}
