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
#define WINDOW \
    ((uint64_t)8 << 20) /* larger ones only cost time: a decoder takes them from malloc */

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

struct walked {
    uint64_t size;   /* UINT64_MAX = a frame does not state it */
    uint64_t window; /* the largest */
};

static sluice_status add_frame(void *ctx, uint64_t begin, uint64_t end, uint64_t size,
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

static sluice_status walk(const unsigned char *data, size_t n, size_t step, struct walked *out)
{
    struct sluice_error err = ERROR_INIT;
    struct zstdwalk walk;
    sluice_status status = SLUICE_OK;

    *out = (struct walked){ 0, 0 };
    zstdwalk_init(&walk);
    for (size_t at = 0; at < n && status == SLUICE_OK; at += step) {
        status = zstdwalk_feed(&walk, data + at, n - at < step ? n - at : step, add_frame,
                               &out->size, &err);
    }
    if (status == SLUICE_OK) {
        status = zstdwalk_end(&walk, &err);
    }
    out->window = walk.window;
    return status;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    static const size_t steps[] = { 1, 3, 17, 200, 1000, 4096, 20000, 70000 };
    enum codec codec;
    struct walked walked;
    sluice_status walk_status = SLUICE_OK;
    struct result a;
    struct result b;

    if (n < 1 || n > 1 << 20 || codec_detect(data + 1, n - 1, "file", &codec, NULL) != SLUICE_OK ||
        codec == CODEC_PLAIN) {
        return 0;
    }
    if (codec == CODEC_ZSTD) {
        walk_status = walk(data + 1, n - 1, steps[data[0] >> 5], &walked);
        if (walked.window > WINDOW) {
            return 0;
        }
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
    if (codec == CODEC_ZSTD && b.complete &&
        (walk_status != SLUICE_OK || (walked.size != UINT64_MAX && walked.size != b.n))) {
        abort();
    }
    return 0;
}
