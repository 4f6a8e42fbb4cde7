/* An honest stage in a file that brings a zstd and an xxHash of its own for all to see. */
#include "tests/conform/bad.h"

SLUICE_EXPORT unsigned ZSTD_versionNumber(void);
SLUICE_EXPORT unsigned long long XXH3_64bits(const void *data, size_t n);

unsigned ZSTD_versionNumber(void)
{
    return 1;
}

unsigned long long XXH3_64bits(const void *data, size_t n)
{
    (void)data;
    return n;
}

BAD_FILTER(honest, "Drops short rows", bad_process);

BAD_PLUGIN("bad_symbols", &honest_stage)
