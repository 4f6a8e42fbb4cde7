/* An honest stage in a file that brings a zstd and an xxHash of its own, of other versions, for all
 * to see: it must get its own, everybody else theirs. */
#include "tests/conform/bad.h"

SLUICE_EXPORT unsigned ZSTD_versionNumber(void);
SLUICE_EXPORT size_t ZSTD_compress(void *to, size_t room, const void *from, size_t n, int level);
SLUICE_EXPORT size_t ZSTD_compressStream2(void *stream, void *out, void *in, int end);
SLUICE_EXPORT size_t ZSTD_decompressStream(void *stream, void *out, void *in);
SLUICE_EXPORT void *ZSTD_createDStream(void);
SLUICE_EXPORT unsigned ZSTD_isError(size_t code);
SLUICE_EXPORT unsigned long long XXH3_64bits(const void *data, size_t n);
SLUICE_EXPORT int XXH3_128bits_update(void *state, const void *data, size_t n);

unsigned ZSTD_versionNumber(void)
{
    return 1;
}

/* A zstd from before frames: it copies. */
size_t ZSTD_compress(void *to, size_t room, const void *from, size_t n, int level)
{
    (void)level;
    memcpy(to, from, n < room ? n : room);
    return n;
}

size_t ZSTD_compressStream2(void *stream, void *out, void *in, int end)
{
    (void)stream;
    (void)out;
    (void)in;
    (void)end;
    abort(); /* not for the host */
}

size_t ZSTD_decompressStream(void *stream, void *out, void *in)
{
    (void)stream;
    (void)out;
    (void)in;
    abort();
}

void *ZSTD_createDStream(void)
{
    abort();
}

unsigned ZSTD_isError(size_t code)
{
    return code > 0;
}

unsigned long long XXH3_64bits(const void *data, size_t n)
{
    (void)data;
    return n;
}

int XXH3_128bits_update(void *state, const void *data, size_t n)
{
    (void)state;
    (void)data;
    (void)n;
    abort();
}

/* Drops short rows, if the libraries are those of this file; else it fails. */
static sluice_status honest_process(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    char copy[4];

    if (ZSTD_versionNumber() != 1 || ZSTD_compress(copy, sizeof copy, "abc", 4, 3) != 4 ||
        memcmp(copy, "abc", 4) != 0 || XXH3_64bits("abc", 3) != 3) {
        return SLUICE_E_INTERNAL;
    }
    return bad_process(state, batch, emit, err);
}

BAD_FILTER(honest, "Drops short rows", honest_process);

BAD_PLUGIN("bad_symbols", &honest_stage)
