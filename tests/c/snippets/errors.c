/* What a failed call tells, and what a caller does about it. */

#include <gallivant.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    gallivant_harness_state_reader *reader = NULL;
    gallivant_error *error = NULL;
    int32_t status = gallivant_harness_state_reader_open("a\xff", 2, NULL, &reader, &error);

    switch (gallivant_status_kind(status)) {
    case 0:
        break;
    case GALLIVANT_KIND_BUSY:
        printf("try again later\n");
        break;
    default:
        printf("%s", gallivant_error_name(error));
        if (gallivant_error_reason(error) != NULL)
            printf(" (%s)", gallivant_error_reason(error));
        printf(": %s; %s\n", gallivant_error_message(error), gallivant_error_remedy(error));
    }

    gallivant_error_free(error);
    gallivant_harness_state_reader_free(reader);
    return status == GALLIVANT_INPUT ? 0 : 1;
}
