/*
 * The floors of the journal: the bare writes and syncs of EX-JRN-12, and reading and hashing a log.
 *
 * The bytes are as many as the library writes for the same page, told by the file `sizes` that `journal prepare-N`
 * makes. What is written is what a page could be and means nothing.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"

#define LOG "bare.jsonl"
#define CHECKPOINT "bare.json"

static int directory, log_file;
static off_t log_length;
static size_t pending_bytes, batch_bytes, final_bytes;
static char *bytes;
static unsigned staged_count;
static uint32_t crc_table[256];

static void open_directory(const char *path)
{
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(directory >= 0, path);
    char sizes[64] = "";
    int file = openat(directory, "sizes", O_RDONLY | O_CLOEXEC);
    check(file >= 0, "sizes");
    check(read(file, sizes, sizeof sizes - 1) > 0, "read");
    close(file);
    check(sscanf(sizes, "%zu %zu %zu", &pending_bytes, &batch_bytes, &final_bytes) == 3, "sizes");
    bytes = malloc(1 << 20);
    check(bytes != NULL && batch_bytes < 1 << 20 && pending_bytes < 1 << 20, "malloc");
    memset(bytes, 'x', 1 << 20);
}

static void open_log(void)
{
    log_file = openat(directory, LOG, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    check(log_file >= 0, LOG);
    log_length = lseek(log_file, 0, SEEK_END);
}

static void open_batch(const char *path)
{
    open_directory(path);
    open_log();
}

static void replace(size_t length)
{
    char name[64];
    snprintf(name, sizeof name, ".bare.tmp-%ld-%u", (long)getpid(), staged_count++);
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    check(file >= 0, name);
    check(write(file, bytes, length) == (ssize_t)length, "write");
    check(fsync(file) == 0, "fsync");
    close(file);
    check(renameat(directory, name, directory, CHECKPOINT) == 0, "rename");
    check(fsync(directory) == 0, "fsync of the directory");
}

/* Steps 1, 2 and 4. Step 3 needs no system call of its own. */
static void batch(void)
{
    replace(pending_bytes);
    check(pwrite(log_file, bytes, batch_bytes, log_length) == (ssize_t)batch_bytes, "pwrite");
    check(fdatasync(log_file) == 0, "fdatasync");
    log_length += (off_t)batch_bytes;
    replace(final_bytes);
}

/* The same by a program that has nothing open. */
static void batch_alone(void)
{
    open_log();
    batch();
    close(log_file);
}

/* CRC-32C by the processor where it can, and by a table where not. */
#if defined(__x86_64__)
#include <nmmintrin.h>
__attribute__((target("sse4.2"))) static uint32_t crc_by_processor(uint32_t crc, const char *at, size_t length)
{
    uint64_t wide = crc;
    for (; length >= 8; at += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; length > 0; at++, length--)
        crc = _mm_crc32_u8(crc, (uint8_t)*at);
    return crc;
}
#endif

static uint32_t crc_by_table(uint32_t crc, const char *at, size_t length)
{
    for (; length > 0; at++, length--)
        crc = (crc >> 8) ^ crc_table[(crc ^ (uint8_t)*at) & 255];
    return crc;
}

static void open_whole(const char *path)
{
    open_directory(path);
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
        crc_table[byte] = crc;
    }
}

/* Reads the library's own log once and hashes each line. */
static void read_and_hash(void)
{
    int file = openat(directory, "events.jsonl", O_RDONLY | O_CLOEXEC);
    check(file >= 0, "events.jsonl");
    size_t kept = 0, lines = 0;
    static volatile uint32_t sum;
    for (;;) {
        ssize_t got = read(file, bytes + kept, (1 << 18) - kept);
        check(got >= 0, "read");
        if (got == 0)
            break;
        char *line = bytes, *end = bytes + kept + got;
        for (char *newline; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL; line = newline + 1) {
            size_t length = (size_t)(newline - line);
#if defined(__x86_64__)
            sum += __builtin_cpu_supports("sse4.2") ? crc_by_processor(~0u, line, length)
                                                    : crc_by_table(~0u, line, length);
#else
            sum += crc_by_table(~0u, line, length);
#endif
            lines++;
        }
        kept = (size_t)(end - line);
        memmove(bytes, line, kept);
    }
    close(file);
    check(lines > 0, "no lines");
}

static const struct row rows[] = {
    { "batch", open_batch, batch },
    { "batch-alone", open_directory, batch_alone },
    { "read-and-hash", open_whole, read_and_hash },
};

int main(int argc, char **argv)
{
    return serve(rows, sizeof rows / sizeof *rows, argc, argv);
}
