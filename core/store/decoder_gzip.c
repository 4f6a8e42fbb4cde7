/* gzip for decoders: see decoderInt.h. Headers and trailers are read here (RFC 1952); ISA-L decodes
 * the deflate stream between them, five times as fast as zlib, and keeps the CRC. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include "store/decoderInt.h"

enum gzip_state {
    GZIP_FIXED,
    GZIP_EXTRA_LENGTH,
    GZIP_EXTRA,
    GZIP_NAME,
    GZIP_COMMENT,
    GZIP_HEADER_CRC,
    GZIP_BODY,
    GZIP_TRAILER
};

struct gzip {
    enum gzip_state state;
    uint32_t have; /* bytes in head */
    uint32_t left; /* of the extra field */
    uint32_t header_crc;
    uint64_t size; /* decoded bytes of this member */
    unsigned char flags;
    unsigned char head[16];
    struct inflate_state inflate;
};

static uint32_t le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool gzip_collect(struct gzip *gzip, struct decoder_step *step, uint32_t want)
{
    while (gzip->have < want && step->in_n > 0) {
        gzip->head[gzip->have++] = *step->in++;
        step->in_n--;
    }
    return gzip->have >= want;
}

static void gzip_crc(struct gzip *gzip, const unsigned char *data, size_t n)
{
    gzip->header_crc = crc32_gzip_refl(gzip->header_crc, data, n);
}

static void gzip_next(struct gzip *gzip, enum gzip_state state)
{
    gzip->state = state;
    gzip->have = 0;
}

static sluice_status gzip_fixed(struct gzip *gzip, struct sluice_error *err)
{
    const unsigned char *h = gzip->head;

    if (h[2] != 8) {
        return error_set(err, SLUICE_E_DATA,
                         "gzip method %u, expected 8 (deflate); the file is damaged: copy it again",
                         h[2]);
    }
    if ((h[3] & 0xe0) != 0) {
        return error_set(
            err, SLUICE_E_DATA,
            "gzip flags %02x have reserved bits set; the file is damaged: copy it again", h[3]);
    }
    gzip->flags = h[3];
    gzip->header_crc = 0;
    gzip_crc(gzip, h, 10);
    gzip_next(gzip, GZIP_EXTRA_LENGTH);
    return SLUICE_OK;
}

/* Skips a zero-terminated header field. */
static bool gzip_string(struct gzip *gzip, struct decoder_step *step)
{
    const unsigned char *zero = memchr(step->in, 0, step->in_n);
    size_t n = zero != NULL ? (size_t)(zero - step->in) + 1 : step->in_n;

    gzip_crc(gzip, step->in, n);
    step->in += n;
    step->in_n -= n;
    return zero != NULL;
}

/* Takes what can be taken of the header; stops when input is missing or the body begins. */
static sluice_status gzip_header(struct gzip *gzip, struct decoder_step *step,
                                 struct sluice_error *err)
{
    for (;;) {
        bool collected;
        size_t n;
        switch (gzip->state) {
        case GZIP_FIXED:
            collected = gzip_collect(gzip, step, 10);
            if ((gzip->have > 0 && gzip->head[0] != 0x1f) ||
                (gzip->have > 1 && gzip->head[1] != 0x8b)) {
                return error_set(err, SLUICE_E_DATA,
                                 "something that is no gzip member follows the last one; something "
                                 "was appended to the "
                                 "file: remove it, or compress the text again");
            }
            if (!collected) {
                return SLUICE_OK;
            }
            TRY(gzip_fixed(gzip, err));
            break;
        case GZIP_EXTRA_LENGTH:
            gzip->left = 0;
            if ((gzip->flags & 4) != 0) {
                if (!gzip_collect(gzip, step, 2)) {
                    return SLUICE_OK;
                }
                gzip_crc(gzip, gzip->head, 2);
                gzip->left = (uint32_t)gzip->head[0] | (uint32_t)gzip->head[1] << 8;
            }
            gzip_next(gzip, GZIP_EXTRA);
            break;
        case GZIP_EXTRA:
            n = gzip->left < step->in_n ? gzip->left : step->in_n;
            gzip_crc(gzip, step->in, n);
            step->in += n;
            step->in_n -= n;
            gzip->left -= (uint32_t)n;
            if (gzip->left > 0) {
                return SLUICE_OK;
            }
            gzip_next(gzip, GZIP_NAME);
            break;
        case GZIP_NAME:
            if ((gzip->flags & 8) != 0 && !gzip_string(gzip, step)) {
                return SLUICE_OK;
            }
            gzip_next(gzip, GZIP_COMMENT);
            break;
        case GZIP_COMMENT:
            if ((gzip->flags & 16) != 0 && !gzip_string(gzip, step)) {
                return SLUICE_OK;
            }
            gzip_next(gzip, GZIP_HEADER_CRC);
            break;
        case GZIP_HEADER_CRC:
            if ((gzip->flags & 2) != 0) {
                if (!gzip_collect(gzip, step, 2)) {
                    return SLUICE_OK;
                }
                if (((uint32_t)gzip->head[0] | (uint32_t)gzip->head[1] << 8) !=
                    (gzip->header_crc & 0xffff)) {
                    return error_set(err, SLUICE_E_DATA,
                                     "the checksum of a gzip header is wrong; the file is damaged: "
                                     "copy it again");
                }
            }
            gzip_next(gzip, GZIP_BODY);
            isal_inflate_reset(&gzip->inflate);
            gzip->inflate.crc_flag = ISAL_GZIP_NO_HDR;
            gzip->size = 0;
            return SLUICE_OK;
        default:
            return SLUICE_OK;
        }
    }
}

static const char *inflate_fault(int code)
{
    switch (code) {
    case ISAL_INVALID_BLOCK:
        return "an invalid block";
    case ISAL_INVALID_SYMBOL:
        return "an invalid symbol";
    case ISAL_INVALID_LOOKBACK:
        return "a distance that reaches before the beginning";
    default:
        return "an unknown fault";
    }
}

static sluice_status gzip_body(struct gzip *gzip, struct decoder_step *step,
                               struct sluice_error *err)
{
    struct inflate_state *state = &gzip->inflate;
    uint32_t in_n = step->in_n < (1u << 30) ? (uint32_t)step->in_n : 1u << 30;
    uint32_t out_n = step->out_n < (1u << 30) ? (uint32_t)step->out_n : 1u << 30;
    size_t written;
    int code;

    state->next_in = (uint8_t *)(uintptr_t)step->in; /* not written to */
    state->avail_in = in_n;
    state->next_out = step->out;
    state->avail_out = out_n;
    code = isal_inflate(state);
    written = out_n - state->avail_out;
    step->in += in_n - state->avail_in;
    step->in_n -= in_n - state->avail_in;
    step->out += written;
    step->out_n -= written;
    gzip->size += written;
    if (code < 0) {
        return error_set(err, SLUICE_E_DATA,
                         "the gzip data hold %s (deflate); the file is damaged: copy it again or "
                         "compress it again",
                         inflate_fault(code));
    }
    if (state->block_state == ISAL_BLOCK_FINISH) {
        /* The bit buffer may hold whole bytes read past the end of the deflate stream: they are
         * the trailer's first. */
        uint64_t bits = state->read_in;
        int32_t count = state->read_in_length;
        gzip_next(gzip, GZIP_TRAILER);
        bits >>= count & 7;
        for (count >>= 3; count > 0; count--) {
            gzip->head[gzip->have++] = (unsigned char)bits;
            bits >>= 8;
        }
    }
    return SLUICE_OK;
}

static sluice_status gzip_trailer(struct gzip *gzip, struct decoder_step *step, bool *boundary,
                                  struct sluice_error *err)
{
    if (!gzip_collect(gzip, step, 8)) {
        return SLUICE_OK;
    }
    if (le32(gzip->head) != gzip->inflate.crc) {
        return error_set(err, SLUICE_E_DATA,
                         "a gzip member has CRC %08x, and its trailer states %08x; the file is "
                         "damaged: copy it again",
                         gzip->inflate.crc, le32(gzip->head));
    }
    if (le32(gzip->head + 4) != (uint32_t)gzip->size) {
        return error_set(err, SLUICE_E_DATA,
                         "a gzip member has %" PRIu64
                         " bytes, and its trailer states %u (modulo 2^32); the file is "
                         "damaged: copy it again",
                         gzip->size, le32(gzip->head + 4));
    }
    gzip_next(gzip, GZIP_FIXED);
    *boundary = true;
    return SLUICE_OK;
}

sluice_status gzip_run(struct gzip *gzip, struct decoder_step *step, bool *boundary,
                       struct sluice_error *err)
{
    if (gzip->state < GZIP_BODY) {
        *boundary = *boundary && step->in_n == 0;
        TRY(gzip_header(gzip, step, err));
    }
    if (gzip->state == GZIP_BODY) {
        TRY(gzip_body(gzip, step, err));
    }
    if (gzip->state == GZIP_TRAILER) {
        TRY(gzip_trailer(gzip, step, boundary, err));
    }
    return SLUICE_OK;
}

struct gzip *gzip_create(void)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);

    if (gzip != NULL) {
        isal_inflate_init(&gzip->inflate);
    }
    return gzip;
}

void gzip_destroy(struct gzip *gzip)
{
    free(gzip);
}

void gzip_reset(struct gzip *gzip)
{
    gzip_next(gzip, GZIP_FIXED);
}
