/* A compressed stream that was begun elsewhere, given again: see outcodec.h. */
#define ZLIB_CONST

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "store/outcodec.h"

#define OUT_BYTES ((size_t)256 << 10)

struct outcodec_again {
    struct outcodec *to;
    ZSTD_DCtx *zstd;
    z_stream gzip;
    bool gzip_ready, ended;
    char *out;
};

void outcodec_again_end(struct outcodec_again *again)
{
    if (again != NULL) {
        ZSTD_freeDCtx(again->zstd);
        if (again->gzip_ready) {
            (void)inflateEnd(&again->gzip);
        }
        free(again->out);
        free(again);
    }
}

sluice_status outcodec_again_begin(struct outcodec *to, struct outcodec_again **out,
                                   struct sluice_error *err)
{
    struct outcodec_again *again = calloc(1, sizeof *again);
    bool ok;

    *out = NULL;
    if (again == NULL) {
        return error_nomem(err, "a decoder");
    }
    again->to = to;
    again->out = malloc(OUT_BYTES);
    ok = again->out != NULL;
    if (ok && outcodec_is(to) == OUTCODEC_ZSTD) {
        again->zstd = ZSTD_createDCtx();
        ok = again->zstd != NULL &&
             !ZSTD_isError(ZSTD_DCtx_setParameter(again->zstd, ZSTD_d_windowLogMax, 31));
    } else if (ok && outcodec_is(to) == OUTCODEC_GZIP) {
        again->gzip_ready = ok = inflateInit2(&again->gzip, 15 + 16) == Z_OK;
    }
    if (!ok) {
        outcodec_again_end(again);
        return error_nomem(err, "a decoder");
    }
    *out = again;
    return SLUICE_OK;
}

static sluice_status nonsense(const char *codec, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA, "a saved %s stream can't be decoded", codec);
}

static sluice_status take_zstd(struct outcodec_again *again, const void *data, size_t n,
                               struct sluice_error *err)
{
    ZSTD_inBuffer in = { data, n, 0 };
    ZSTD_outBuffer out;

    do {
        size_t left;
        out = (ZSTD_outBuffer){ again->out, OUT_BYTES, 0 };
        left = ZSTD_decompressStream(again->zstd, &out, &in);
        if (ZSTD_isError(left) || (left == 0 && n > 0)) { /* a frame in the making has no end */
            return nonsense("zstd", err);
        }
        TRY(outcodec_write(again->to, again->out, out.pos, err));
    } while (in.pos < in.size || out.pos == out.size);
    return SLUICE_OK;
}

static sluice_status take_gzip(struct outcodec_again *again, const void *data, size_t n,
                               struct sluice_error *err)
{
    z_stream *z = &again->gzip;

    if (again->ended) {
        return nonsense("gzip", err);
    }
    z->next_in = data;
    z->avail_in = (uInt)n;
    do {
        int rc;
        z->next_out = (Bytef *)again->out;
        z->avail_out = (uInt)OUT_BYTES;
        rc = inflate(z, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
            return nonsense("gzip", err);
        }
        again->ended = rc == Z_STREAM_END;
        TRY(outcodec_write(again->to, again->out, OUT_BYTES - z->avail_out, err));
    } while (!again->ended && (z->avail_in > 0 || z->avail_out == 0));
    return z->avail_in == 0 ? SLUICE_OK : nonsense("gzip", err);
}

sluice_status outcodec_again_take(struct outcodec_again *again, const void *data, size_t n,
                                  struct sluice_error *err)
{
    if (n == 0) {
        return SLUICE_OK;
    }
    switch (outcodec_is(again->to)) {
    case OUTCODEC_ZSTD:
        return take_zstd(again, data, n, err);
    case OUTCODEC_GZIP:
        return take_gzip(again, data, n, err);
    default:
        return outcodec_write(again->to, data, n, err);
    }
}
