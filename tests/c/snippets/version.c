/* Refuses to run with a library of another interface or one older than the header. */

#include <gallivant.h>
#include <stdio.h>

int main(void)
{
    if (gallivant_abi_version() != GALLIVANT_ABI_VERSION || gallivant_version_number() < GALLIVANT_VERSION_NUMBER) {
        fprintf(stderr, "compiled for libgallivant %s, found %s\n", GALLIVANT_VERSION, gallivant_version());
        return 1;
    }
    return 0;
}
