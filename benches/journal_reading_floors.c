/*
 * The floors of reading a journal: reading the log and writing what its projection has; reading the projected lines;
 * and reading what came since the last time, once for each of 100 readers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"

#define LINES "bare.log"
#define INDEX "bare.idx"
#define META "bare-meta.json"
#define META_BYTES 140
#define CHUNK (1 << 18)
#define READERS 100

static int directory, followed;
static char *bytes;
static off_t line_bytes, index_bytes, reached;

static void open_directory(const char *path)
{
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(directory >= 0, path);
    bytes = malloc(CHUNK);
    check(bytes != NULL, "malloc");
    memset(bytes, 'x', CHUNK);
}

static off_t size_of(const char *name)
{
    struct stat found;
    check(fstatat(directory, name, &found, 0) == 0, name);
    return found.st_size;
}

static void open_projected(const char *path)
{
    open_directory(path);
    line_bytes = size_of("job.log");
    index_bytes = size_of("job.idx");
}

static int make(const char *name, int flags)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    check(file >= 0, name);
    return file;
}

static void write_bytes(int file, off_t from, off_t to)
{
    while (from < to) {
        size_t now = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
        check(pwrite(file, bytes, now, from) == (ssize_t)now, "pwrite");
        from += (off_t)now;
    }
}

/* Reads the log, and after each part of it writes as much of the lines and of the index; then the syncs of a catch-up. */
static void catch_up(void)
{
    unlinkat(directory, LINES, 0);
    unlinkat(directory, INDEX, 0);
    int log = openat(directory, "events.jsonl", O_RDONLY | O_CLOEXEC);
    check(log >= 0, "events.jsonl");
    off_t length = size_of("events.jsonl"), at = 0, lines_at = 0, index_at = 0;
    int lines = make(LINES, 0), index = make(INDEX, 0);
    while (at < length) {
        ssize_t got = pread(log, bytes, CHUNK, at);
        check(got > 0, "pread");
        at += got;
        off_t lines_to = (off_t)((double)line_bytes * (double)at / (double)length);
        off_t index_to = (off_t)((double)index_bytes * (double)at / (double)length);
        write_bytes(lines, lines_at, lines_to);
        write_bytes(index, index_at, index_to);
        lines_at = lines_to;
        index_at = index_to;
    }
    check(lines_at == line_bytes && index_at == index_bytes, "not all is written");
    check(fdatasync(lines) == 0 && fdatasync(index) == 0 && fsync(directory) == 0, "sync");
    close(lines);
    close(index);
    close(log);
    int meta = make(META ".tmp", O_EXCL);
    check(write(meta, bytes, META_BYTES) == META_BYTES && fsync(meta) == 0, "write");
    close(meta);
    check(renameat(directory, META ".tmp", directory, META) == 0, "rename");
    check(fsync(directory) == 0, "fsync of the directory");
}

/* Each projected line, one after the other. */
static void lines(void)
{
    int file = openat(directory, "job.log", O_RDONLY | O_CLOEXEC);
    check(file >= 0, "job.log");
    FILE *stream = fdopen(file, "r");
    check(stream != NULL, "fdopen");
    static char *line;
    static size_t room;
    size_t count = 0;
    while (getline(&line, &room, stream) > 0)
        count++;
    fclose(stream);
    check(count > 0, "no lines");
}

static void open_followed(const char *path)
{
    open_directory(path);
    followed = openat(directory, "job.log", O_RDONLY | O_CLOEXEC);
    check(followed >= 0, "job.log");
    reached = size_of("job.log");
}

/* What came since the last time, read once for each reader, line by line. */
static void follow(void)
{
    struct stat found;
    size_t count = 0;
    for (int reader = 0; reader < READERS; reader++) {
        check(fstat(followed, &found) == 0, "fstat");
        size_t length = (size_t)(found.st_size - reached);
        check(length > 0 && length <= CHUNK, "not one page");
        check(pread(followed, bytes, length, reached) == (ssize_t)length, "pread");
        char *line = bytes, *end = bytes + length;
        for (char *newline; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL; line = newline + 1)
            count++;
    }
    check(count > 0, "no lines");
    reached = found.st_size;
}

static const struct row rows[] = {
    { "catch-up", open_projected, catch_up },
    { "lines", open_directory, lines },
    { "follow", open_followed, follow },
};

int main(int argc, char **argv)
{
    return serve(rows, sizeof rows / sizeof *rows, argc, argv);
}
