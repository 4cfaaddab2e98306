/*
 * The loop that every C row runs in, floors and library alike.
 *
 * A row is a process. It says `ready`, then reads a number of operations from each line of standard input, makes them
 * and answers how many nanoseconds they took. So a driver can let two rows take turns in short batches, and a neighbour
 * on the machine slows both alike.
 */
#ifndef GALLIVANT_BENCHES_LOOP_H
#define GALLIVANT_BENCHES_LOOP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The exit status that says: this row does not exist here. */
#define MISSING 3

typedef void (*operation)(void);

struct row {
    const char *name;
    /* Opens what the row keeps. */
    void (*open)(const char *directory);
    operation run;
};

static inline void check(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static inline uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* `main` of a program of rows: PROGRAM ROW DIRECTORY. */
static inline int serve(const struct row *rows, size_t count, int argc, char **argv)
{
    const struct row *row = NULL;
    for (size_t i = 0; argc == 3 && i < count; i++)
        if (strcmp(argv[1], rows[i].name) == 0)
            row = &rows[i];
    if (row == NULL) {
        fprintf(stderr, "no such row\n");
        return MISSING;
    }
    row->open(argv[2]);
    printf("ready\n");
    fflush(stdout);
    char line[32];
    while (fgets(line, sizeof line, stdin) != NULL) {
        unsigned long left = strtoul(line, NULL, 10);
        uint64_t started = nanoseconds();
        while (left-- > 0)
            row->run();
        printf("%llu\n", (unsigned long long)(nanoseconds() - started));
        fflush(stdout);
    }
    return 0;
}

#endif
