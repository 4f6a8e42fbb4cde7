/* Codecs: see codec.h. gzip headers and trailers are read here (RFC 1952); ISA-L decodes the
 * deflate stream between them, five times as fast as zlib, and keeps the CRC. */
#include "store/codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG_MAX 31

const char *codec_name(enum codec codec)
{
    return codec == CODEC_GZIP ? "gzip" : codec == CODEC_ZSTD ? "zstd" : "none";
}

bool codec_parse(const char *name, enum codec *out)
{
    for (int codec = CODEC_PLAIN; codec <= CODEC_ZSTD; codec++) {
        if (strcmp(name, codec_name((enum codec)codec)) == 0) {
            *out = (enum codec)codec;
            return true;
        }
    }
    return false;
}

/* Formats that would look like text full of rubbish. Magic bytes after file(1) and the formats'
 * own specifications. */
static const struct foreign {
    const char *magic;
    size_t n;
    const char *name;
    const char *remedy;
} foreigns[] = {
    { "BZh", 3, "bzip2", "decompress with `bzip2 -d` and compress with `zstd`" },
    { "\xfd"
      "7zXZ\0",
      6, "xz", "decompress with `xz -d` and compress with `zstd`" },
    { "\x04\x22\x4d\x18", 4, "lz4", "decompress with `lz4 -d` and compress with `zstd`" },
    { "\x02\x21\x4c\x18", 4, "lz4 (legacy frames)",
      "decompress with `lz4 -d` and compress with `zstd`" },
    { "LZIP", 4, "lzip", "decompress with `lzip -d` and compress with `zstd`" },
    { "\x1f\x9d", 2, "compress (.Z)", "decompress with `gzip -d` and compress with `zstd`" },
    { "\xff\x06\0\0sNaPpY", 10, "snappy", "decompress it and compress with `zstd`" },
    { "7z\xbc\xaf\x27\x1c", 6, "7-Zip", "unpack it and give the files inside" },
    { "Rar!\x1a\x07", 6, "RAR", "unpack it and give the files inside" },
    { "PK\x03\x04", 4, "ZIP", "unpack it and give the files inside" },
    { "PK\x05\x06", 4, "ZIP (empty)", "unpack it and give the files inside" },
    { "PAR1", 4, "Parquet", "export it as JSONL" },
    { "PARE", 4, "Parquet (encrypted)", "export it as JSONL" },
    { "ARROW1\0\0", 8, "Arrow IPC", "export it as JSONL" },
    { "Obj\x01", 4, "Avro", "export it as JSONL" },
    { "SQLite format 3\0", 16, "SQLite", "export it as JSONL" },
    { "\x89HDF\r\n\x1a\n", 8, "HDF5", "export it as JSONL" },
    { "%PDF-", 5, "PDF", "extract its text first, for example with pdftotext" },
    { "\x7f"
      "ELF",
      4, "a program (ELF)", "leave it out of the pattern" },
    { "\x00\x00\xfe\xff", 4, "UTF-32 text", "convert with `iconv -f UTF-32 -t UTF-8`" },
    { "\xff\xfe", 2, "UTF-16 or UTF-32 text", "convert with `iconv -f UTF-16 -t UTF-8`" },
    { "\xfe\xff", 2, "UTF-16 text", "convert with `iconv -f UTF-16 -t UTF-8`" },
};

/* Magics made of letters need more evidence, as text may begin with them. */
static bool foreign_confirmed(const struct foreign *foreign, const unsigned char *head, size_t n)
{
    if (strcmp(foreign->name, "bzip2") == 0) {
        return n >= 10 && head[3] >= '1' && head[3] <= '9' &&
               (memcmp(head + 4, "1AY&SY", 6) == 0 ||
                memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
    }
    if (memcmp(foreign->magic, "PAR", 3) == 0) {
        return n > 4 && head[4] < 0x20 && head[4] != '\n' && head[4] != '\r' && head[4] != '\t';
    }
    if (strcmp(foreign->name, "lzip") == 0) {
        return n > 4 && head[4] < 0x20;
    }
    return true;
}

sluice_status codec_detect(const void *data, size_t n, const char *path, enum codec *out,
                           struct sluice_error *err)
{
    const unsigned char *head = data;
    uint32_t magic = 0;

    *out = CODEC_PLAIN;
    if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        *out = CODEC_GZIP;
        return SLUICE_OK;
    }
    if (n >= 4) {
        magic = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
                (uint32_t)head[3] << 24;
    }
    if (magic == 0xFD2FB528u || (magic & 0xFFFFFFF0u) == 0x184D2A50u) {
        *out = CODEC_ZSTD;
        return SLUICE_OK;
    }
    if (magic == 0xFD2FB51Eu || (magic >= 0xFD2FB522u && magic <= 0xFD2FB527u)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s is in a zstd format from before 2016, which can't be read; decompress "
                         "it with `zstd -d` "
                         "and compress it again",
                         path);
    }
    if (magic == 0xEC30A437u) {
        return error_set(err, SLUICE_E_DATA,
                         "%s is a zstd dictionary, not text; leave it out of the pattern", path);
    }
    for (size_t i = 0; i < sizeof foreigns / sizeof foreigns[0]; i++) {
        const struct foreign *foreign = &foreigns[i];
        if (n >= foreign->n && memcmp(head, foreign->magic, foreign->n) == 0 &&
            foreign_confirmed(foreign, head, n)) {
            return error_set(err, SLUICE_E_DATA,
                             "%s is %s; plain, gzip and zstd files can be read: %s", path,
                             foreign->name, foreign->remedy);
        }
    }
    return SLUICE_OK;
}

/* ---- gzip ---- */

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

struct decoder {
    enum codec codec;
    bool boundary;
    ZSTD_DCtx *zstd;
    struct gzip *gzip;
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

static sluice_status gzip_run(struct decoder *decoder, struct decoder_step *step,
                              struct sluice_error *err)
{
    struct gzip *gzip = decoder->gzip;

    if (gzip->state < GZIP_BODY) {
        decoder->boundary = decoder->boundary && step->in_n == 0;
        TRY(gzip_header(gzip, step, err));
    }
    if (gzip->state == GZIP_BODY) {
        TRY(gzip_body(gzip, step, err));
    }
    if (gzip->state == GZIP_TRAILER) {
        TRY(gzip_trailer(gzip, step, &decoder->boundary, err));
    }
    return SLUICE_OK;
}

/* ---- zstd ---- */

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

static sluice_status zstd_run(struct decoder *decoder, struct decoder_step *step,
                              struct sluice_error *err)
{
    ZSTD_inBuffer in = { step->in, step->in_n, 0 };
    ZSTD_outBuffer out = { step->out, step->out_n, 0 };

    if (decoder->boundary) {
        if (step->in_n == 0) {
            return SLUICE_OK;
        }
        /* libzstd may have been built with its formats from before 1.0; the first byte tells
         * those apart. */
        if (step->in[0] != 0x28 && (step->in[0] & 0xf0) != 0x50) {
            return zstd_fault((size_t)-ZSTD_error_prefix_unknown, err);
        }
        decoder->boundary = false;
    }
    while (!decoder->boundary) {
        size_t in_before = in.pos;
        size_t out_before = out.pos;
        size_t code = ZSTD_decompressStream(decoder->zstd, &out, &in);
        if (ZSTD_isError(code)) {
            step->in += in.pos;
            step->in_n -= in.pos;
            step->out += out.pos;
            step->out_n -= out.pos;
            return zstd_fault(code, err);
        }
        decoder->boundary = code == 0;
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

/* ---- both ---- */

sluice_status decoder_create(enum codec codec, struct decoder **out, struct sluice_error *err)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);

    *out = NULL;
    if (decoder == NULL) {
        return error_nomem(err, "a decoder");
    }
    decoder->codec = codec;
    if (codec == CODEC_GZIP) {
        decoder->gzip = calloc(1, sizeof *decoder->gzip);
        if (decoder->gzip != NULL) {
            isal_inflate_init(&decoder->gzip->inflate);
        }
    } else {
        decoder->zstd = ZSTD_createDCtx();
        if (decoder->zstd != NULL) {
            ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
        }
    }
    if (decoder->gzip == NULL && decoder->zstd == NULL) {
        free(decoder);
        return error_nomem(err, "a decoder");
    }
    decoder_reset(decoder);
    *out = decoder;
    return SLUICE_OK;
}

void decoder_destroy(struct decoder *decoder)
{
    if (decoder != NULL) {
        ZSTD_freeDCtx(decoder->zstd);
        free(decoder->gzip);
        free(decoder);
    }
}

void decoder_reset(struct decoder *decoder)
{
    decoder->boundary = true;
    if (decoder->gzip != NULL) {
        gzip_next(decoder->gzip, GZIP_FIXED);
    } else {
        ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
    }
}

sluice_status decoder_run(struct decoder *decoder, struct decoder_step *step,
                          struct sluice_error *err)
{
    return decoder->gzip != NULL ? gzip_run(decoder, step, err) : zstd_run(decoder, step, err);
}

bool decoder_at_boundary(const struct decoder *decoder)
{
    return decoder->boundary;
}
