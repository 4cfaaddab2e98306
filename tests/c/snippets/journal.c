/* A page of events into the journal of a run, and its lines: DIRECTORY [PAGE], which is a JSON array of events. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

static const char some_page[] =
    "[{\"id\":\"e-1\",\"provenance\":\"provider\",\"type\":\"output\",\"data\":\"the key is hunter2!\"},"
    " {\"id\":\"e-2\",\"provenance\":\"provider\",\"providerSequence\":9007199254740993,\"type\":\"usage\",\"data\":{\"usd\":0.10}},"
    " {\"id\":\"gap-3\",\"provenance\":\"boundary\",\"reason\":\"provider-gap\"}]";

static int report(const char *what, gallivant_error *error)
{
    fprintf(stderr, "cannot %s: %s (%s)\n", what, gallivant_error_message(error), gallivant_error_name(error));
    gallivant_error_free(error);
    return 1;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".", *page = argc > 2 ? argv[2] : some_page;
    gallivant_str secrets[] = { gallivant_str_from("hunter2!") };
    gallivant_journal_owner owner = GALLIVANT_JOURNAL_OWNER_INIT;
    gallivant_journal_appended appended = GALLIVANT_JOURNAL_APPENDED_INIT;
    gallivant_journal_placed placed[16];
    gallivant_redactor *redactor = NULL;
    gallivant_journal *journal = NULL;
    gallivant_projection *projection = NULL;
    gallivant_error *error = NULL;

    if (gallivant_redactor_new(secrets, 1, &redactor, &error))
        return report("build the redactor", error);
    owner.task_id = gallivant_str_from("task-1");
    owner.run_id = gallivant_str_from("run-1");
    owner.provider = gallivant_str_from("some-provider");
    if (gallivant_journal_open(directory, strlen(directory), &owner, redactor, NULL, &journal, &error))
        return report("open the journal", error);
    gallivant_redactor_free(redactor);
    if (gallivant_journal_append(journal, page, strlen(page), placed, 16, &appended, &error))
        return report("append", error);
    for (size_t at = 0; at < appended.count; at++)
        printf("event %zu: number %llu, %s\n", at, (unsigned long long)placed[at].sequence,
               gallivant_placed_name(placed[at].how));
    gallivant_journal_free(journal);

    if (gallivant_projection_open(directory, strlen(directory), NULL, &projection, &error))
        return report("open the projection", error);
    if (gallivant_projection_catch_up(projection, NULL, &error))
        return report("project", error);
    gallivant_projection_free(projection);
    return 0;
}
