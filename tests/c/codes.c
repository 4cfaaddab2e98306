/* Statuses that come of file systems, of files and of other processes, and that nothing else here runs into. */

#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void hs_21_a_file_system_without_locks_is_refused_with_nothing_written(void)
{
    static const char faults[] = "[{\"on\":\"try_lock\",\"repeat\":true,\"do\":\"error\",\"errno\":\"ENOLCK\"}]";
    const char *directory = fresh_directory();
    gallivant_host *host = host_at(1780000000000);
    gallivant_harness_state_options options = options_with(host);
    gallivant_harness_state_identity identity = identity_of("tok");
    gallivant_harness_state_claim_result *claim = NULL;
    CHECK_OK(gallivant_testing_host_set_faults(host, TEXT(faults), &error));
    CHECK_FAILS(GALLIVANT_HARNESS_STATE_LOCKING, NULL,
                gallivant_harness_state_claim(TEXT(directory), &identity, &options, &claim, &error));
    CHECK(claim == NULL && content_of(directory, "harness-state") == NULL);
    gallivant_host_free(host);
}

/* A closed store in which one byte of SQLite's header says something else. */
static const char *store_with(const char *directory, long offset, unsigned char byte)
{
    gallivant_idempotency_store *store = claims_in(directory, NULL);
    gallivant_idempotency_store_free(store);
    const char *path = path_in(directory, "idempotency.db");
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL && fseek(file, offset, SEEK_SET) == 0 && fputc(byte, file) == byte && fclose(file) == 0);
    return path;
}

static void ik_15_a_store_of_another_version_is_named_and_left_alone(void)
{
    const char *directory = fresh_directory();
    gallivant_idempotency_store *store = NULL;
    gallivant_error *refused = NULL;
    /* The last byte of `user_version`, which is the store's schema. */
    const char *path = store_with(directory, 63, 9);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_STORE_VERSION, NULL, gallivant_idempotency_store_open(TEXT(path), NULL, &store, &error));
    CHECK(gallivant_idempotency_store_open(TEXT(path), NULL, &store, &refused) != GALLIVANT_OK);
    CHECK_TEXT(gallivant_error_file(refused), path);
    CHECK(store == NULL);
    gallivant_error_free(refused);
}

static void ik_12_a_store_that_does_not_share_memory_is_refused(void)
{
    const char *directory = fresh_directory();
    gallivant_idempotency_store *store = NULL;
    /* How the file is written: 2 is by a write-ahead log, 1 without. */
    const char *path = store_with(directory, 18, 1);
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL && fseek(file, 19, SEEK_SET) == 0 && fputc(1, file) == 1 && fclose(file) == 0);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_STORE_UNSUPPORTED, NULL,
                gallivant_idempotency_store_open(TEXT(path), NULL, &store, &error));
    CHECK(store == NULL);
}

/* Holds the lock of whoever writes, which is this byte of the shared memory's file, until the pipe is closed. */
static void hold_the_write_lock(const char *directory, int held, int released)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1 };
    int file = open(path_in(directory, "idempotency.db-shm"), O_RDWR);
    char byte = 0;
    if (file < 0 || fcntl(file, F_SETLK, &lock) != 0 || write(held, "x", 1) != 1)
        _exit(1);
    end_child(read(released, &byte, 1) == 0);
}

static void ik_19_another_process_that_writes_until_the_deadline_is_busy(void)
{
    const char *directory = fresh_directory();
    gallivant_idempotency_store *store = claims_in(directory, NULL);
    gallivant_idempotency_begun begun = begun_with(store, "before", "{}"), refused = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = named("k");
    int held[2], released[2], status = -1;
    char byte = 0;
    CHECK(pipe(held) == 0 && pipe(released) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(released[1]);
        hold_the_write_lock(directory, held[1], released[0]);
    }
    close(held[1]);
    close(released[0]);
    CHECK(child > 0 && read(held[0], &byte, 1) == 1);
    CHECK_FAILS(GALLIVANT_IDEMPOTENCY_BUSY, NULL,
                gallivant_idempotency_store_begin(store, &name, TEXT("{}"), 50, &refused, &error));
    CHECK(refused.begin == 0);
    close(released[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    free_begun(begun_with(store, "k", "{}"));
    free_begun(begun);
    gallivant_idempotency_store_free(store);
    close(held[0]);
}

void suite_codes(void)
{
    RUN(hs_21_a_file_system_without_locks_is_refused_with_nothing_written);
    RUN(ik_15_a_store_of_another_version_is_named_and_left_alone);
    RUN(ik_12_a_store_that_does_not_share_memory_is_refused);
    RUN(ik_19_another_process_that_writes_until_the_deadline_is_busy);
}
