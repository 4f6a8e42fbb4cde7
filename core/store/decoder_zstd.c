/* zstd for decoders: see decoderInt.h. libzstd decodes; what it took is walked over once more. */
#include <inttypes.h>
#include <stdlib.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "store/decoderInt.h"
#include "store/zstdwalk.h"

#define WINDOW_LOG_MAX 31

/* libzstd takes some damaged frames or not by how its input is cut: one that states more than it
 * holds and ends in an empty block, one of blocks above its window. What it has taken is walked
 * over, so that they are always refused. */
struct zstd {
    ZSTD_DCtx *context;
    struct zstdwalk walk;
    uint64_t stated;  /* by the last frame that ended; UINT64_MAX = not */
    uint64_t decoded; /* of this frame */
};

static sluice_status zstd_fault(size_t code, struct sluice_error *err)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return error_nomem(err, "a zstd window");
    case ZSTD_error_dictionary_wrong:
        return error_set(
            err, SLUICE_E_DATA,
            "a zstd frame needs a dictionary, and dictionaries are not supported; decompress with "
            "`zstd -d -D DICTIONARY` and compress again");
    case ZSTD_error_frameParameter_windowTooLarge:
        return error_set(err, SLUICE_E_DATA,
                         "a zstd frame needs a window above 2 GiB; compress the text again with "
                         "`zstd --long=31` or "
                         "less");
    case ZSTD_error_prefix_unknown:
        return error_set(
            err, SLUICE_E_DATA,
            "something that is no zstd frame follows the last frame; something was appended to the "
            "file: remove it, or compress the text again");
    case ZSTD_error_checksum_wrong:
        return error_set(
            err, SLUICE_E_DATA,
            "the checksum of a zstd frame is wrong; the file is damaged: copy it again");
    default:
        return error_set(err, SLUICE_E_DATA,
                         "zstd: %s; the file is damaged: copy it again or compress it again",
                         ZSTD_getErrorName(code));
    }
}

static sluice_status zstd_stated(void *ctx, uint64_t begin, uint64_t end, uint64_t decoded_size,
                                 struct sluice_error *err)
{
    (void)begin;
    (void)end;
    (void)err;
    *(uint64_t *)ctx = decoded_size;
    return SLUICE_OK;
}

/* n bytes were taken, and gave this many decoded ones. */
static sluice_status zstd_check(struct zstd *zstd, const void *taken, size_t n, size_t decoded,
                                bool boundary, struct sluice_error *err)
{
    zstd->decoded += decoded;
    TRY(zstdwalk_feed(&zstd->walk, taken, n, zstd_stated, &zstd->stated, err));
    if (!boundary) {
        return SLUICE_OK;
    }
    if (zstd->stated != UINT64_MAX && zstd->stated != zstd->decoded) {
        return error_set(err, SLUICE_E_DATA,
                         "a zstd frame holds %" PRIu64 " bytes, and states %" PRIu64
                         "; the file is damaged: copy it again",
                         zstd->decoded, zstd->stated);
    }
    zstd->decoded = 0;
    zstd->stated = UINT64_MAX;
    return SLUICE_OK;
}

sluice_status zstd_run(struct zstd *zstd, struct decoder_step *step, bool *boundary,
                       struct sluice_error *err)
{
    ZSTD_inBuffer in = { step->in, step->in_n, 0 };
    ZSTD_outBuffer out = { step->out, step->out_n, 0 };

    if (*boundary) {
        if (step->in_n == 0) {
            return SLUICE_OK;
        }
        /* libzstd may have been built with its formats from before 1.0; the first byte tells
         * those apart. */
        if (step->in[0] != 0x28 && (step->in[0] & 0xf0) != 0x50) {
            return zstd_fault((size_t)-ZSTD_error_prefix_unknown, err);
        }
        *boundary = false;
    }
    while (!*boundary) {
        size_t in_before = in.pos;
        size_t out_before = out.pos;
        size_t code = ZSTD_decompressStream(zstd->context, &out, &in);
        sluice_status status;
        *boundary = code == 0;
        status = ZSTD_isError(code) ? zstd_fault(code, err)
                                    : zstd_check(zstd, step->in + in_before, in.pos - in_before,
                                                 out.pos - out_before, *boundary, err);
        if (status != SLUICE_OK) {
            step->in += in.pos;
            step->in_n -= in.pos;
            step->out += out.pos;
            step->out_n -= out.pos;
            return status;
        }
        if (out.pos == out.size || (in.pos == in_before && out.pos == out_before)) {
            break;
        }
        if (in.pos == in.size && out.pos < out.size) {
            break; /* all that could be flushed is flushed */
        }
    }
    step->in += in.pos;
    step->in_n -= in.pos;
    step->out += out.pos;
    step->out_n -= out.pos;
    return SLUICE_OK;
}

struct zstd *zstd_create(void)
{
    struct zstd *zstd = calloc(1, sizeof *zstd);

    if (zstd == NULL) {
        return NULL;
    }
    zstd->context = ZSTD_createDCtx();
    if (zstd->context == NULL) {
        free(zstd);
        return NULL;
    }
    ZSTD_DCtx_setParameter(zstd->context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    return zstd;
}

void zstd_destroy(struct zstd *zstd)
{
    if (zstd != NULL) {
        ZSTD_freeDCtx(zstd->context);
        free(zstd);
    }
}

void zstd_reset(struct zstd *zstd, uint64_t offset)
{
    ZSTD_DCtx_reset(zstd->context, ZSTD_reset_session_only);
    zstdwalk_init(&zstd->walk);
    zstd->walk.position = offset;
    zstd->decoded = 0;
    zstd->stated = UINT64_MAX;
}

uint64_t zstd_window(const struct zstd *zstd)
{
    return zstd->walk.window;
}
