/*
 * The floors: what each operation costs where only its bare system calls are made.
 *
 * Written as a C programmer would who knows what is asked: no stdio, no allocation, nothing decoded, nothing checked but
 * that the call succeeded. Everything is relative to a kept directory descriptor, except where the operation has to see
 * that another directory stands at the path by now: a single look and a single read go by the path that was given.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"

#define RECORD "harness-state"
#define LOCK ".harness-state.lock"
#define FLOOR ".harness-state.seq"
/* How a fleet is laid out: so many groups of so many agents each. */
#define GROUPS 100
#define AGENTS 100

static int directory;
static char record_path[4096];
static char bytes[8192];
static size_t length;
static unsigned staged_count;
static char (*fleet)[sizeof "g00/a00/" RECORD];

static void open_directory(const char *path)
{
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(directory >= 0, path);
}

static void open_path(const char *path)
{
    check(path[0] == '/', "an absolute path");
    int written = snprintf(record_path, sizeof record_path, "%s/" RECORD, path);
    check(written > 0 && (size_t)written < sizeof record_path, "a path of usual length");
}

static void read_at(int at, const char *name)
{
    int file = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    check(file >= 0, name);
    ssize_t got = read(file, bytes, sizeof bytes);
    check(got > 0, "read");
    length = (size_t)got;
    close(file);
}

static void read_record(void)
{
    read_at(directory, RECORD);
}

static void read_by_path(void)
{
    read_at(AT_FDCWD, record_path);
}

static void stat_by_path(void)
{
    struct stat seen;
    check(lstat(record_path, &seen) == 0, "lstat");
}

/* Writes a new file of the bytes that were read last, under a name that no other process takes. */
static int stage(char *name, size_t room)
{
    snprintf(name, room, ".harness-state.tmp-%ld-%u", (long)getpid(), staged_count++);
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    check(file >= 0, name);
    check(write(file, bytes, length) == (ssize_t)length, "write");
    return file;
}

static int lock(void)
{
    int file = openat(directory, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    check(file >= 0, LOCK);
    check(flock(file, LOCK_EX) == 0, "flock");
    return file;
}

static void replace_by_exchange(void)
{
    char name[64];
    int locked = lock();
    read_record();
    close(stage(name, sizeof name));
    check(renameat2(directory, name, directory, RECORD, RENAME_EXCHANGE) == 0, "exchange");
    check(unlinkat(directory, name, 0) == 0, "unlink");
    close(locked);
}

static void replace_by_rename(void)
{
    char name[64];
    int locked = lock();
    read_record();
    close(stage(name, sizeof name));
    check(renameat(directory, name, directory, RECORD) == 0, "rename");
    close(locked);
}

static void replace_durably(const char *target)
{
    char name[64];
    int file = stage(name, sizeof name);
    check(fsync(file) == 0, "fsync");
    close(file);
    check(renameat(directory, name, directory, target) == 0, "rename");
    check(fsync(directory) == 0, "fsync of the directory");
}

/* What a claim makes durable: the record, then the floor. */
static void two_durable_replacements(void)
{
    replace_durably(RECORD);
    replace_durably(FLOOR);
}

static void open_record(const char *path)
{
    open_directory(path);
    read_record();
}

static void open_fleet(const char *path)
{
    open_directory(path);
    fleet = malloc(GROUPS * AGENTS * sizeof *fleet);
    check(fleet != NULL, "malloc");
    for (unsigned i = 0; i < GROUPS * AGENTS; i++)
        snprintf(fleet[i], sizeof *fleet, "g%02u/a%02u/" RECORD, (i / AGENTS) % 100, (i % AGENTS) % 100);
}

static void read_fleet(void)
{
    for (unsigned i = 0; i < GROUPS * AGENTS; i++)
        read_at(directory, fleet[i]);
}

static void stat_fleet(void)
{
    struct stat seen;
    for (unsigned i = 0; i < GROUPS * AGENTS; i++)
        check(fstatat(directory, fleet[i], &seen, AT_SYMLINK_NOFOLLOW) == 0, "stat");
}

static const struct row rows[] = {
    { "stat", open_path, stat_by_path },
    { "exchange", open_record, replace_by_exchange },
    { "rename", open_record, replace_by_rename },
    { "read", open_path, read_by_path },
    { "durable", open_record, two_durable_replacements },
    { "read-fleet", open_fleet, read_fleet },
    { "stat-fleet", open_fleet, stat_fleet },
};

/* Once and away: what is measured from start to exit. */
static int run_once(const char *name, const char *path)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(name, rows[i].name) == 0) {
            rows[i].open(path);
            rows[i].run();
            return 0;
        }
    }
    return MISSING;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "once") == 0)
        return run_once(argv[2], argv[3]);
    return serve(rows, sizeof rows / sizeof *rows, argc, argv);
}
