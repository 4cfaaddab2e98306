/* A program with a SQLite of its own, as far as the linker can tell: it defines the names that the one inside the library has
 * too. It has to link, and neither may ever be called in the place of the other. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

static int called;

int sqlite3_initialize(void);
int sqlite3_open_v2(const char *path, void **database, int flags, const char *vfs);
int sqlite3_prepare_v3(void *database, const char *text, int length, unsigned flags, void **statement, const char **rest);
int sqlite3_step(void *statement);
int sqlite3_close(void *database);
int sqlite3_close_v2(void *database);
const char *sqlite3_libversion(void);
extern const char sqlite3_version[];
const char sqlite3_version[] = "the program's own";

int sqlite3_initialize(void)
{
    called++;
    return 0;
}

int sqlite3_open_v2(const char *path, void **database, int flags, const char *vfs)
{
    (void)path, (void)database, (void)flags, (void)vfs;
    called++;
    return 14;
}

int sqlite3_prepare_v3(void *database, const char *text, int length, unsigned flags, void **statement, const char **rest)
{
    (void)database, (void)text, (void)length, (void)flags, (void)statement, (void)rest;
    called++;
    return 14;
}

int sqlite3_step(void *statement)
{
    (void)statement;
    called++;
    return 14;
}

int sqlite3_close(void *database)
{
    (void)database;
    called++;
    return 14;
}

int sqlite3_close_v2(void *database)
{
    return sqlite3_close(database);
}

const char *sqlite3_libversion(void)
{
    return sqlite3_version;
}

int main(int argc, char **argv)
{
    gallivant_idempotency_store *store = NULL;
    gallivant_idempotency_begun begun = GALLIVANT_IDEMPOTENCY_BEGUN_INIT;
    gallivant_idempotency_name name = GALLIVANT_IDEMPOTENCY_NAME_INIT;
    gallivant_error *error = NULL;
    gallivant_str scope[] = { gallivant_str_from("org") };
    char path[4096];
    snprintf(path, sizeof path, "%s/idempotency.db", argc > 1 ? argv[1] : ".");
    name.operation = gallivant_str_from("things.create");
    name.scope = scope;
    name.scope_count = 1;
    name.key = gallivant_str_from("k");
    if (gallivant_idempotency_store_open(path, strlen(path), NULL, &store, &error) ||
        gallivant_idempotency_store_begin(store, &name, "{}", 2, GALLIVANT_DEFAULT, &begun, &error) ||
        gallivant_idempotency_reservation_complete(begun.reservation, "r", 1, "", 0, GALLIVANT_DEFAULT, &error)) {
        fprintf(stderr, "%s: %s\n", gallivant_error_name(error), gallivant_error_message(error));
        gallivant_error_free(error);
        return 1;
    }
    gallivant_idempotency_reservation_free(begun.reservation);
    gallivant_idempotency_store_free(store);
    if (called != 0 || strcmp(sqlite3_libversion(), "the program's own") != 0) {
        fprintf(stderr, "%d calls of the library went to the program's SQLite, whose version is `%s`\n", called,
                sqlite3_libversion());
        return 1;
    }
    return 0;
}
