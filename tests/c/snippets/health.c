/* One turn of a coordinator: the accounts that are due are checked, and what health refused meanwhile is dispatched once more. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

/* Asks the provider whether the account can be worked with; a program of yours sends here. */
static int signs_in(gallivant_execution_scope scope)
{
    printf("%s as %s\n", scope.provider.data, scope.account.data);
    return 1;
}

static int32_t check(gallivant_execution_refresh *refresh, gallivant_error **error)
{
    gallivant_execution_probe_result result = GALLIVANT_EXECUTION_PROBE_RESULT_INIT;
    gallivant_execution_scope scope;
    int32_t status = gallivant_execution_refresh_scope(refresh, &scope, error);
    if (status != GALLIVANT_OK)
        return status;
    result.ok = signs_in(scope);
    if (!result.ok) {
        result.code = gallivant_str_from("auth");
        result.remedy = gallivant_str_from("sign in again with `acme login`");
    }
    return gallivant_execution_refresh_record(refresh, &result, NULL, error);
}

/* Begins a refresh of each account that is due; how many there are. A program of yours has as many as it has accounts. */
static int32_t begin(const gallivant_execution_health_store *store, gallivant_execution_refresh **refreshes, size_t room,
                     gallivant_error **error)
{
    gallivant_execution_due_scopes *due = NULL;
    int32_t status = gallivant_execution_health_store_due(store, &due, error);
    for (size_t at = 0; status == GALLIVANT_OK && at < room && at < gallivant_execution_due_scopes_count(due); at++) {
        gallivant_execution_scope scope;
        status = gallivant_execution_due_scopes_at(due, at, &scope, error);
        /* From here on nobody dispatches to the account, until a success is recorded. NULL: it is being checked already. */
        if (status == GALLIVANT_OK)
            status = gallivant_execution_health_store_begin(store, &scope, &refreshes[at], error);
    }
    gallivant_execution_due_scopes_free(due);
    return status;
}

static int32_t turn(const gallivant_execution_health_store *store, gallivant_error **error)
{
    /* What was submitted while the account was being checked, and refused with GALLIVANT_EXECUTION_HEALTH. */
    gallivant_execution_scope refused[] = { { gallivant_str_from("acme"), gallivant_str_from("team") } };
    static const char *const operations[] = { "op-1" };
    gallivant_execution_refresh *refreshes[1] = { NULL };
    gallivant_execution_dispatch_lane *lane = NULL;
    gallivant_optional_u64 next = { 0, 0 };
    int32_t status = begin(store, refreshes, 1, error);
    if (status == GALLIVANT_OK)
        status = gallivant_execution_dispatch_lane_new(store, refused, 1, 4, &lane, error);
    if (status == GALLIVANT_OK && refreshes[0] != NULL)
        status = check(refreshes[0], error);
    gallivant_execution_refresh_free(refreshes[0]);
    if (status == GALLIVANT_OK)
        status = gallivant_execution_dispatch_lane_retry_next(lane, &next, error);
    while (status == GALLIVANT_OK && next.is_set) {
        /* The dispatch once more, with all its checks. */
        printf("submit %s again\n", operations[next.value]);
        status = gallivant_execution_dispatch_lane_end(lane, (size_t)next.value, error);
        if (status == GALLIVANT_OK)
            status = gallivant_execution_dispatch_lane_retry_next(lane, &next, error);
    }
    gallivant_execution_dispatch_lane_free(lane);
    return status;
}

int main(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : ".";
    gallivant_execution_scope wanted = { gallivant_str_from("acme"), gallivant_str_from("team") };
    gallivant_execution_health_options options = GALLIVANT_EXECUTION_HEALTH_OPTIONS_INIT;
    gallivant_execution_health_store *store = NULL;
    gallivant_error *error = NULL;
    options.scopes = &wanted;
    options.scope_count = 1;
    int32_t status = gallivant_execution_health_store_open(root, strlen(root), &options, NULL, &store, &error);
    if (status == GALLIVANT_OK)
        status = turn(store, &error);
    if (error != NULL)
        fprintf(stderr, "%s: %s\n", gallivant_error_name(error), gallivant_error_message(error));
    gallivant_error_free(error);
    gallivant_execution_health_store_free(store);
    return status == GALLIVANT_OK ? 0 : 1;
}
