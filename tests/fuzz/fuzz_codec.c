/* Fuzzes codec detection, the decoders and the zstd walk over arbitrary bytes. The first byte
 * says how input and output are cut into pieces. Beside what the sanitizers find, three things
 * must hold: how a stream is cut does not change what comes out; what zlib takes is taken, with
 * the same bytes; a walk that knows all sizes agrees with the decoder. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "store/codec.h"
#include "store/zstdwalk.h"

#define LIMIT ((size_t)64 << 10) /* decoded bytes looked at */

struct result {
    sluice_status status;
    size_t n; /* decoded */
    uint64_t sum;
    bool complete; /* the input ended at a boundary before the limit */
};

static struct result decode(enum codec codec, const unsigned char *data, size_t n, size_t in_step,
                            size_t out_step)
{
    struct result r = { SLUICE_OK, 0, 0, false };
    unsigned char *out = malloc(out_step);
    struct decoder *decoder;
    size_t at = 0;

    if (decoder_create(codec, &decoder, NULL) != SLUICE_OK) {
        abort();
    }
    while (r.status == SLUICE_OK && r.n < LIMIT) {
        size_t in_n = n - at < in_step ? n - at : in_step;
        struct decoder_step step = { data + at, in_n, out, out_step };
        size_t got;
        r.status = decoder_run(decoder, &step, NULL);
        got = out_step - step.out_n;
        at += in_n - step.in_n;
        for (size_t i = 0; i < got; i++) {
            r.sum = r.sum * 31 + out[i] + 1;
            if (++r.n == LIMIT) {
                break;
            }
        }
        if (got == 0 && step.in_n == in_n && at == n) {
            break;
        }
        if (r.status == SLUICE_OK && got == 0 && step.in_n == in_n && in_n > 0) {
            abort(); /* no progress */
        }
    }
    r.complete = r.status == SLUICE_OK && r.n < LIMIT && at == n && decoder_at_boundary(decoder);
    decoder_destroy(decoder);
    free(out);
    return r;
}

/* What zlib makes of the same members. */
static struct result decode_zlib(const unsigned char *data, size_t n)
{
    struct result r = { SLUICE_OK, 0, 0, false };
    unsigned char *out = malloc(LIMIT);
    z_stream z = { 0 };
    int code = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK) {
        abort();
    }
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    while (r.n < LIMIT) {
        size_t got;
        z.next_out = out;
        z.avail_out = (uInt)LIMIT;
        code = inflate(&z, Z_NO_FLUSH);
        got = LIMIT - z.avail_out;
        for (size_t i = 0; i < got && r.n < LIMIT; i++, r.n++) {
            r.sum = r.sum * 31 + out[i] + 1;
        }
        if (code == Z_STREAM_END && z.avail_in > 0) {
            code = inflateReset(&z);
        } else if (code != Z_OK || (got == 0 && z.avail_in == 0)) {
            break;
        }
    }
    r.complete = code == Z_STREAM_END && z.avail_in == 0 && r.n < LIMIT;
    inflateEnd(&z);
    free(out);
    return r;
}

static sluice_status walked(void *ctx, uint64_t begin, uint64_t end, uint64_t size,
                            struct sluice_error *err)
{
    uint64_t *sum = ctx;

    (void)err;
    if (begin >= end) {
        abort();
    }
    *sum = size == UINT64_MAX || *sum == UINT64_MAX ? UINT64_MAX : *sum + size;
    return SLUICE_OK;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    static const size_t steps[] = { 1, 3, 17, 200, 1000, 4096, 20000, 70000 };
    enum codec codec;
    struct result a;
    struct result b;

    if (n < 1 || n > 1 << 20 || codec_detect(data + 1, n - 1, "file", &codec, NULL) != SLUICE_OK ||
        codec == CODEC_PLAIN) {
        return 0;
    }
    if (codec == CODEC_ZSTD && n > 7 && (data[5] & 0x20) == 0 && data[6] >> 3 > 13) {
        return 0; /* windows above 8 MiB only cost time here */
    }
    a = decode(codec, data + 1, n - 1, steps[data[0] & 7], steps[data[0] >> 3 & 7]);
    b = decode(codec, data + 1, n - 1, n, LIMIT);
    if (a.complete != b.complete || (a.complete && (a.n != b.n || a.sum != b.sum))) {
        abort();
    }
    if (codec == CODEC_GZIP) {
        struct result z = decode_zlib(data + 1, n - 1);
        if (z.complete && (!b.complete || z.n != b.n || z.sum != b.sum)) {
            abort();
        }
    }
    if (codec == CODEC_ZSTD) {
        struct zstdwalk walk;
        uint64_t sum = 0;
        size_t step = steps[data[0] >> 5];
        sluice_status status = SLUICE_OK;
        zstdwalk_init(&walk);
        for (size_t at = 1; at < n && status == SLUICE_OK; at += step) {
            status =
                zstdwalk_feed(&walk, data + at, n - at < step ? n - at : step, walked, &sum, NULL);
        }
        if (status == SLUICE_OK) {
            status = zstdwalk_end(&walk, NULL);
        }
        if (b.complete && (status != SLUICE_OK || (sum != UINT64_MAX && sum != b.n))) {
            abort();
        }
    }
    return 0;
}
