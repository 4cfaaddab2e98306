/*
 * The rows of harness state over the public C library. Each is opened on a directory that `harness-state prepare` has
 * made: claimed by the token `bench` with the sequence 1, and observed active.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "gallivant.h"
#include "loop.h"

static const char *path;
static gallivant_harness_state_writer *writer;
static gallivant_harness_state_reader *reader;
static gallivant_harness_state_identity identity = GALLIVANT_HARNESS_STATE_IDENTITY_INIT;
static int is_active = 1;
static gallivant_harness_state_fleet *fleet;
static gallivant_harness_state_fleet_options bounds = GALLIVANT_HARNESS_STATE_FLEET_OPTIONS_INIT;
static gallivant_harness_state_fleet_buffer buffer = GALLIVANT_HARNESS_STATE_FLEET_BUFFER_INIT;
/* How many records `harness-state prepare-fleet` makes. */
#define FLEET 10000

static void must(int32_t status, gallivant_error *error)
{
    if (status != GALLIVANT_OK) {
        fprintf(stderr, "%s: %s\n", gallivant_status_name(status), gallivant_error_message(error));
        exit(1);
    }
}

static void observe(int32_t state, int32_t expected)
{
    gallivant_harness_state_observation seen = GALLIVANT_HARNESS_STATE_OBSERVATION_INIT;
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_error *error = NULL;
    seen.state = state;
    must(gallivant_harness_state_writer_observe(writer, &seen, &report, &error), error);
    check(report.outcome == expected, "another outcome");
}

static void open_identity(const char *directory)
{
    path = directory;
    identity.agent = gallivant_str_from("host.worker");
    identity.harness = gallivant_str_from("claude");
    identity.token = gallivant_str_from("bench");
    identity.pty_session = gallivant_str_from("worker");
}

static void open_writer(const char *directory)
{
    uint64_t sequence = 1;
    gallivant_error *error = NULL;
    open_identity(directory);
    must(gallivant_harness_state_writer_open(directory, strlen(directory), &identity, &sequence, NULL, &writer, &error),
         error);
}

static void restate(void)
{
    observe(GALLIVANT_STATE_ACTIVE, GALLIVANT_OUTCOME_COALESCED);
}

/* A restated observation is believed without the lock once the judged file has rested. */
static void open_rested(const char *directory)
{
    open_writer(directory);
    restate();
    usleep(50000);
    restate();
}

/* The first call is a transition whatever a run before this one left there. */
static void open_interrupted(const char *directory)
{
    gallivant_error *error = NULL;
    open_writer(directory);
    must(gallivant_harness_state_writer_interrupt(writer, &error), error);
}

static void transition(void)
{
    is_active = !is_active;
    observe(is_active ? GALLIVANT_STATE_ACTIVE : GALLIVANT_STATE_IDLE, GALLIVANT_OUTCOME_LANDED);
}

/* Of several processes whose turns mix, any may find its own words standing already. */
static void contend(void)
{
    gallivant_error *error = NULL;
    must(gallivant_harness_state_writer_interrupt(writer, &error), error);
    transition();
}

static void heartbeat(void)
{
    gallivant_harness_state_report report = GALLIVANT_HARNESS_STATE_REPORT_INIT;
    gallivant_error *error = NULL;
    must(gallivant_harness_state_writer_heartbeat(writer, &report, &error), error);
    check(report.outcome == GALLIVANT_OUTCOME_LANDED, "another outcome");
}

/* The first write of a writer each time. The writers stay open, so that nothing is counted but what the write makes. */
static void transition_first(void)
{
    open_interrupted(path);
    transition();
}

static void heartbeat_first(void)
{
    open_writer(path);
    heartbeat();
}

/* After what a process learns once. */
static void open_learned(const char *directory)
{
    open_identity(directory);
    transition_first();
}

static void open_reader(const char *directory)
{
    gallivant_error *error = NULL;
    must(gallivant_harness_state_reader_open(directory, strlen(directory), NULL, &reader, &error), error);
}

static void read_record(void)
{
    gallivant_harness_state_derived derived = GALLIVANT_HARNESS_STATE_DERIVED_INIT;
    gallivant_error *error = NULL;
    must(gallivant_harness_state_reader_read(reader, NULL, &derived, &error), error);
    check(derived.state == GALLIVANT_STATE_ACTIVE, "another state");
}

static void claim(void)
{
    gallivant_harness_state_claim_result *claimed = NULL;
    gallivant_error *error = NULL;
    must(gallivant_harness_state_claim(path, strlen(path), &identity, NULL, &claimed, &error), error);
    check(gallivant_harness_state_claim_result_floor_failure(claimed) == NULL, "the floor");
    gallivant_harness_state_claim_result_free(claimed);
}

static void make_room(uint64_t threads)
{
    bounds.threads = threads;
    buffer.capacity = FLEET;
    buffer.seats = malloc(FLEET * sizeof *buffer.seats);
    buffer.texts_capacity = FLEET * 128;
    buffer.texts = malloc(buffer.texts_capacity);
    check(buffer.seats != NULL && buffer.texts != NULL, "malloc");
}

static void prepare_fleet(const char *directory)
{
    path = directory;
    make_room(1);
}

static void prepare_shared_fleet(const char *directory)
{
    path = directory;
    make_room(2);
}

static void open_fleet(const char *directory)
{
    gallivant_error *error = NULL;
    make_room(1);
    must(gallivant_harness_state_fleet_open(directory, strlen(directory), &bounds, NULL, &fleet, &error), error);
}

static void check_fleet(const gallivant_harness_state_fleet_summary *summary)
{
    size_t active = 0;
    for (size_t i = 0; i < summary->filled; i++)
        active += buffer.seats[i].derived.state == GALLIVANT_STATE_ACTIVE;
    check(active == FLEET && summary->count == FLEET, "another fleet");
}

static void read_fleet(void)
{
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    gallivant_error *error = NULL;
    must(gallivant_harness_state_fleet_read_once(path, strlen(path), &bounds, NULL, NULL, &buffer, &summary, &error),
         error);
    check_fleet(&summary);
}

static void read_fleet_again(void)
{
    gallivant_harness_state_fleet_summary summary = GALLIVANT_HARNESS_STATE_FLEET_SUMMARY_INIT;
    gallivant_error *error = NULL;
    must(gallivant_harness_state_fleet_read(fleet, NULL, &buffer, &summary, &error), error);
    check_fleet(&summary);
}

static const struct row rows[] = {
    { "restated", open_rested, restate },
    { "transition", open_interrupted, transition },
    { "first-transition", open_learned, transition_first },
    { "first-heartbeat", open_learned, heartbeat_first },
    { "contended", open_writer, contend },
    { "heartbeat", open_writer, heartbeat },
    { "read", open_reader, read_record },
    { "fleet", prepare_fleet, read_fleet },
    { "fleet-shared", prepare_shared_fleet, read_fleet },
    { "fleet-unchanged", open_fleet, read_fleet_again },
    { "claim", open_identity, claim },
};

int main(int argc, char **argv)
{
    return serve(rows, sizeof rows / sizeof *rows, argc, argv);
}
