/* Output compression: see outcodec.h. */
#define ZLIB_CONST

#include "store/outcodec.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define PIECE_BYTES \
    ((size_t)128 << 10) /* what is pushed into a codec at once, but for a stream's last piece */

struct outcodec {
    enum outcodec_kind kind;
    struct pending *pending; /* borrowed between begin and finish */
    uint64_t bytes;
    ZSTD_CCtx *zstd;
    z_stream gzip;
    bool gzip_ready;
    size_t used; /* bytes in piece */
    char *piece; /* the piece being filled */
    char *out;
    size_t out_size;
};

sluice_status outcodec_parse(const char *name, enum outcodec_kind *out, struct sluice_error *err)
{
    static const char *const names[] = { "none", "gzip", "zstd" };
    const char *near;

    *out = OUTCODEC_NONE;
    if (name == NULL || name[0] == '\0') {
        return SLUICE_OK;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum outcodec_kind)i;
            return SLUICE_OK;
        }
    }
    near = error_suggest(name, names, 3);
    return error_field(err, SLUICE_E_CONFIG, "codec",
                       "unknown codec '%s'; there are none, gzip and zstd%s%s%s", name,
                       near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'?" : "");
}

const char *outcodec_suffix(enum outcodec_kind kind)
{
    return kind == OUTCODEC_GZIP ? ".gz" : kind == OUTCODEC_ZSTD ? ".zst" : "";
}

const char *outcodec_version(enum outcodec_kind kind, char text[32])
{
    const char *prefix = kind == OUTCODEC_GZIP ? "zlib " : kind == OUTCODEC_ZSTD ? "zstd " : "";
    const char *version = kind == OUTCODEC_GZIP   ? zlibVersion()
                          : kind == OUTCODEC_ZSTD ? ZSTD_versionString()
                                                  : "";

    text[0] = '\0';
    strncat(text, prefix, 31);
    strncat(text, version, 31 - strlen(text));
    return text;
}

static sluice_status zstd_init(struct outcodec *codec, int32_t level, struct sluice_error *err)
{
    codec->zstd = ZSTD_createCCtx();
    if (codec->zstd == NULL) {
        return error_nomem(err, "a zstd compressor");
    }
    if (ZSTD_isError(ZSTD_CCtx_setParameter(codec->zstd, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(codec->zstd, ZSTD_c_checksumFlag, 1))) {
        return error_set(err, SLUICE_E_INTERNAL, "zstd refused its parameters (level %d)",
                         (int)level);
    }
    codec->out_size = ZSTD_CStreamOutSize();
    return SLUICE_OK;
}

static sluice_status gzip_init(struct outcodec *codec, int32_t level, struct sluice_error *err)
{
    int rc = deflateInit2(&codec->gzip, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);

    if (rc == Z_MEM_ERROR) {
        return error_nomem(err, "a gzip compressor");
    }
    if (rc != Z_OK) {
        return error_set(err, SLUICE_E_INTERNAL, "zlib refused its parameters (level %d)",
                         (int)level);
    }
    codec->gzip_ready = true;
    codec->out_size = PIECE_BYTES;
    return SLUICE_OK;
}

sluice_status outcodec_create(enum outcodec_kind kind, int32_t level, struct outcodec **out,
                              struct sluice_error *err)
{
    struct outcodec *codec;
    int32_t top = kind == OUTCODEC_GZIP   ? SLUICE_GZIP_LEVEL_MAX
                  : kind == OUTCODEC_ZSTD ? SLUICE_ZSTD_LEVEL_MAX
                                          : 0;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (level < 0 || level > top) {
        return error_field(err, SLUICE_E_CONFIG, "level",
                           "level %d is outside of 1..%d, the levels of this codec (0 = default)",
                           (int)level, (int)top);
    }
    codec = calloc(1, sizeof *codec);
    if (codec == NULL) {
        return error_nomem(err, "a compressor");
    }
    codec->kind = kind;
    /* What 0 means shapes stored bytes, so the libraries' own defaults, which may change, are
     * not asked. */
    if (kind == OUTCODEC_ZSTD) {
        status = zstd_init(codec, level == 0 ? 3 : level, err);
    } else if (kind == OUTCODEC_GZIP) {
        status = gzip_init(codec, level == 0 ? 6 : level, err);
    }
    if (status == SLUICE_OK && kind != OUTCODEC_NONE) {
        codec->piece = malloc(PIECE_BYTES);
        codec->out = malloc(codec->out_size);
        if (codec->piece == NULL || codec->out == NULL) {
            status = error_nomem(err, "a compressor");
        }
    }
    if (status != SLUICE_OK) {
        outcodec_destroy(codec);
        return status;
    }
    *out = codec;
    return SLUICE_OK;
}

void outcodec_destroy(struct outcodec *codec)
{
    if (codec != NULL) {
        ZSTD_freeCCtx(codec->zstd);
        if (codec->gzip_ready) {
            deflateEnd(&codec->gzip);
        }
        free(codec->piece);
        free(codec->out);
        free(codec);
    }
}

sluice_status outcodec_begin(struct outcodec *codec, struct pending *pending,
                             struct sluice_error *err)
{
    codec->pending = pending;
    codec->bytes = 0;
    codec->used = 0;
    if (codec->kind == OUTCODEC_ZSTD &&
        ZSTD_isError(ZSTD_CCtx_reset(codec->zstd, ZSTD_reset_session_only))) {
        return error_set(err, SLUICE_E_INTERNAL, "zstd could not begin a new frame");
    }
    /* Without deflateSetHeader() zlib writes no name and time zero. */
    if (codec->kind == OUTCODEC_GZIP && deflateReset(&codec->gzip) != Z_OK) {
        return error_set(err, SLUICE_E_INTERNAL, "zlib could not begin a new stream");
    }
    return SLUICE_OK;
}

static sluice_status push_zstd(struct outcodec *codec, const void *data, size_t n, bool last,
                               struct sluice_error *err)
{
    ZSTD_inBuffer in = { data, n, 0 };
    size_t left;

    do {
        ZSTD_outBuffer out = { codec->out, codec->out_size, 0 };
        left = ZSTD_compressStream2(codec->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation
                       ? error_nomem(err, "zstd compression")
                       : error_set(err, SLUICE_E_INTERNAL, "zstd could not compress: %s",
                                   ZSTD_getErrorName(left));
        }
        TRY(pending_write(codec->pending, codec->out, out.pos, err));
    } while (last ? left > 0 : in.pos < in.size);
    return SLUICE_OK;
}

static sluice_status push_gzip(struct outcodec *codec, const void *data, size_t n, bool last,
                               struct sluice_error *err)
{
    z_stream *z = &codec->gzip;
    int rc;

    z->next_in = (const Bytef *)data;
    z->avail_in = (uInt)n;
    do {
        z->next_out = (Bytef *)codec->out;
        z->avail_out = (uInt)codec->out_size;
        rc = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        if (rc == Z_STREAM_ERROR) {
            return error_set(err, SLUICE_E_INTERNAL, "zlib could not compress");
        }
        TRY(pending_write(codec->pending, codec->out, codec->out_size - z->avail_out, err));
    } while (last ? rc != Z_STREAM_END : z->avail_out == 0);
    return SLUICE_OK;
}

static sluice_status push(struct outcodec *codec, const void *data, size_t n, bool last,
                          struct sluice_error *err)
{
    return codec->kind == OUTCODEC_ZSTD ? push_zstd(codec, data, n, last, err)
                                        : push_gzip(codec, data, n, last, err);
}

sluice_status outcodec_write(struct outcodec *codec, const void *data, size_t n,
                             struct sluice_error *err)
{
    const char *bytes = data;

    codec->bytes += n;
    if (codec->kind == OUTCODEC_NONE) {
        return pending_write(codec->pending, data, n, err);
    }
    while (n > 0) {
        size_t take = PIECE_BYTES - codec->used;
        if (codec->used == 0 && n >= PIECE_BYTES) {
            TRY(push(codec, bytes, PIECE_BYTES, false, err));
            take = PIECE_BYTES;
        } else {
            take = take < n ? take : n;
            memcpy(codec->piece + codec->used, bytes, take);
            codec->used += take;
            if (codec->used == PIECE_BYTES) {
                codec->used = 0;
                TRY(push(codec, codec->piece, PIECE_BYTES, false, err));
            }
        }
        bytes += take;
        n -= take;
    }
    return SLUICE_OK;
}

sluice_status outcodec_finish(struct outcodec *codec, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (codec->kind != OUTCODEC_NONE) {
        status = push(codec, codec->piece, codec->used, true, err);
        codec->used = 0;
    }
    codec->pending = NULL;
    return status;
}

enum outcodec_kind outcodec_is(const struct outcodec *codec)
{
    return codec->kind;
}

/* A copy of the compressor ends its stream. */
static sluice_status gzip_tail(struct outcodec *codec, struct buf *tail, struct sluice_error *err)
{
    z_stream copy;
    int rc = deflateCopy(&copy, &codec->gzip);

    if (rc != Z_OK) {
        return rc == Z_MEM_ERROR ? error_nomem(err, "a gzip compressor")
                                 : error_set(err, SLUICE_E_INTERNAL, "zlib could not copy");
    }
    copy.next_in = NULL;
    copy.avail_in = 0;
    do {
        if (!buf_reserve(tail, PIECE_BYTES)) {
            rc = Z_MEM_ERROR;
            break;
        }
        copy.next_out = (Bytef *)(tail->data + tail->size);
        copy.avail_out = (uInt)PIECE_BYTES;
        rc = deflate(&copy, Z_FINISH);
        tail->size += PIECE_BYTES - copy.avail_out;
    } while (rc == Z_OK || rc == Z_BUF_ERROR);
    (void)deflateEnd(&copy); /* of a copy that is not at its end where memory ran out */
    return rc == Z_STREAM_END ? SLUICE_OK : error_nomem(err, "a gzip compressor");
}

/* zstd compresses a whole piece when it gets it: nothing is held back but the piece that is not
 * whole. (Whoever reads it back sees whether that is so.) */
sluice_status outcodec_held(struct outcodec *codec, struct buf *tail, const char **piece, size_t *n,
                            struct sluice_error *err)
{
    buf_clear(tail);
    *piece = codec->piece;
    *n = codec->used;
    return codec->kind == OUTCODEC_GZIP ? gzip_tail(codec, tail, err) : SLUICE_OK;
}

uint64_t outcodec_bytes(const struct outcodec *codec)
{
    return codec->bytes;
}
