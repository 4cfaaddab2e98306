/* A filter: standard input without secrets. The secrets are the arguments; without any, credentials alone are covered. */

#include <gallivant.h>
#include <stdio.h>

static int report(const char *what, gallivant_error *error)
{
    fprintf(stderr, "cannot %s: %s (%s)\n", what, gallivant_error_message(error), gallivant_error_name(error));
    gallivant_error_free(error);
    return 1;
}

/* Writes what is certain by now. */
static int write_out(const gallivant_redaction_stream *stream, gallivant_error **error)
{
    char buffer[4096];
    size_t length = 0;
    do {
        int32_t status = gallivant_redaction_stream_read(stream, buffer, sizeof buffer, &length, error);
        if (status)
            return status;
        fwrite(buffer, 1, length, stdout);
    } while (length > 0);
    return GALLIVANT_OK;
}

int main(int argc, char **argv)
{
    gallivant_str secrets[16];
    size_t count = 0, length;
    char piece[4096];
    gallivant_redactor *redactor = NULL;
    gallivant_redaction_stream *stream = NULL;
    gallivant_error *error = NULL;

    for (int at = 1; at < argc && count < 16; at++)
        secrets[count++] = gallivant_str_from(argv[at]);
    if (gallivant_redactor_new(secrets, count, &redactor, &error))
        return report("build the redactor", error);
    if (gallivant_redaction_stream_open(redactor, &stream, &error))
        return report("open the stream", error);
    while ((length = fread(piece, 1, sizeof piece, stdin)) > 0) {
        if (gallivant_redaction_stream_push(stream, piece, length, &error) || write_out(stream, &error))
            return report("redact", error);
    }
    if (gallivant_redaction_stream_finish(stream, &error) || write_out(stream, &error))
        return report("finish", error);
    gallivant_redaction_stream_free(stream);
    gallivant_redactor_free(redactor);
    return 0;
}
