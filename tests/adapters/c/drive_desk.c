/* Who waits for the answer to which question. See drive.h. */

#include "drive.h"

#include <stdlib.h>
#include <string.h>

/* Pauses are numbered from here, so that their questions are none of a machine's. */
static const uint64_t first_pause = (uint64_t)1 << 40;

typedef struct pause {
    uint64_t question;
    int is_answered;
    struct pause *next;
} pause;

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
/* Something was said; all look whether to them. */
static pthread_cond_t heard = PTHREAD_COND_INITIALIZER;
static running *calls;
static pause *pauses;
static uint64_t last_pause, now_ms;
static gallivant_execution_machine *ended;

void said_free(said *told)
{
    free(told->text);
    free(told);
}

static void tell(running *call, said *told)
{
    said **place = &call->inbox;
    while (*place != NULL)
        place = &(*place)->next;
    *place = told;
    pthread_cond_broadcast(&heard);
}

static void tell_all(said_kind kind)
{
    for (running *call = calls; call != NULL; call = call->next) {
        said *told = wire_memory(sizeof *told);
        told->kind = kind;
        if (kind == SAID_DROP)
            gallivant_execution_abort_token_abort(call->token);
        tell(call, told);
    }
}

void desk_open(running *call)
{
    pthread_mutex_lock(&desk);
    call->next = calls;
    calls = call;
    pthread_mutex_unlock(&desk);
}

/* Lets a machine that has no such question judge what was said. */
static void judge(gallivant_execution_machine *machine, said *told)
{
    gallivant_execution_step step = GALLIVANT_EXECUTION_STEP_INIT;
    if (told->kind <= SAID_SENDING && (machine == NULL || feed(machine, told, &step) != GALLIVANT_OK))
        say_number("refused", told->question);
    said_free(told);
}

void desk_ended(running *call, gallivant_execution_machine *machine)
{
    pthread_mutex_lock(&desk);
    for (running **place = &calls; *place != NULL; place = &(*place)->next)
        if (*place == call) {
            *place = call->next;
            break;
        }
    while (call->inbox != NULL) {
        said *told = call->inbox;
        call->inbox = told->next;
        judge(machine, told);
    }
    if (machine != NULL) {
        gallivant_execution_machine_free(ended);
        ended = machine;
    }
    pthread_mutex_unlock(&desk);
}

said *desk_wait(running *call)
{
    pthread_mutex_lock(&desk);
    while (call->inbox == NULL)
        pthread_cond_wait(&heard, &desk);
    said *told = call->inbox;
    call->inbox = told->next;
    pthread_mutex_unlock(&desk);
    return told;
}

void desk_asks(running *call, uint64_t question)
{
    pthread_mutex_lock(&desk);
    call->question = question;
    pthread_mutex_unlock(&desk);
}

void desk_hear(said *told)
{
    pthread_mutex_lock(&desk);
    running *asker = calls;
    for (pause *paused = pauses; paused != NULL; paused = paused->next)
        if (paused->question == told->question) {
            paused->is_answered = 1;
            pthread_cond_broadcast(&heard);
            pthread_mutex_unlock(&desk);
            said_free(told);
            return;
        }
    /* What nobody waits for is judged by a machine that did not ask it. */
    for (running *call = calls; call != NULL; call = call->next)
        if (call->question == told->question)
            asker = call;
    if (asker != NULL)
        tell(asker, told);
    else
        judge(ended, told);
    pthread_mutex_unlock(&desk);
}

void desk_clock(uint64_t now)
{
    pthread_mutex_lock(&desk);
    now_ms = now;
    tell_all(SAID_CLOCK);
    pthread_mutex_unlock(&desk);
}

void desk_drop(void)
{
    pthread_mutex_lock(&desk);
    tell_all(SAID_DROP);
    pthread_mutex_unlock(&desk);
}

uint64_t desk_now(void)
{
    pthread_mutex_lock(&desk);
    uint64_t now = now_ms;
    pthread_mutex_unlock(&desk);
    return now;
}

void desk_pause(const char *point)
{
    pause mine = { 0, 0, NULL };
    json_out line = { NULL, 0, 0 };
    pthread_mutex_lock(&desk);
    mine.question = first_pause + ++last_pause;
    mine.next = pauses;
    pauses = &mine;
    json_write_raw(&line, "{\"ask\":");
    json_write_integer(&line, mine.question);
    json_write_raw(&line, ",\"port\":\"fault\",\"method\":");
    json_write_string(&line, point, strlen(point));
    json_write_raw(&line, ",\"input\":{}");
    say(&line);
    while (!mine.is_answered)
        pthread_cond_wait(&heard, &desk);
    for (pause **place = &pauses; *place != NULL; place = &(*place)->next)
        if (*place == &mine) {
            *place = mine.next;
            break;
        }
    pthread_mutex_unlock(&desk);
}

opened *opened_use(opened *open)
{
    pthread_mutex_lock(&desk);
    open->users++;
    pthread_mutex_unlock(&desk);
    return open;
}

void opened_leave(opened *open)
{
    pthread_mutex_lock(&desk);
    int is_last = --open->users == 0;
    pthread_mutex_unlock(&desk);
    if (!is_last)
        return;
    gallivant_execution_boundary_free(open->boundary);
    gallivant_host_free(open->host);
    script_free(open->faults);
    if (open->dropped_by != NULL)
        say_ok(open->dropped_by, gallivant_str_from("true"));
    free(open->dropped_by);
    free(open);
}
