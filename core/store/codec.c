/* Which codec a file has, and decoders by codec: see codec.h, decoderInt.h. */
#include "store/codec.h"

#include <stdlib.h>
#include <string.h>

#include "store/decoderInt.h"

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
    { "PAR1", 4, "Parquet", "read it with s.read_parquet" },
    { "PARE", 4, "Parquet (encrypted)", "export it as JSONL" },
    { "ARROW1\0\0", 8, "Arrow IPC", "read it with s.read_arrow" },
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

static bool name_ends(const char *path, const char *suffix)
{
    size_t n = strlen(path);
    size_t m = strlen(suffix);

    return n >= m && memcmp(path + n - m, suffix, m) == 0;
}

/* Suffixes decide nothing but this: a file of nothing, or of the first bytes of a magic, can't be
 * what its name says. An upload that broke off at its beginning must not count as no rows. */
static sluice_status codec_begun(const unsigned char *head, size_t n, const char *path,
                                 struct sluice_error *err)
{
    bool gzip = name_ends(path, ".gz") || name_ends(path, ".gzip");
    bool zstd = name_ends(path, ".zst") || name_ends(path, ".zstd");
    bool cut = (gzip && n < 2 && memcmp(head, "\x1f", n) == 0) ||
               (zstd && n < 4 && memcmp(head, "\x28\xb5\x2f", n) == 0);

    if (!cut) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_DATA,
                     "%s is truncated: it has %zu byte%s, and a %s file of no rows at all has %s; "
                     "copy it again, or leave it out (a plain file may be empty, and `%s` makes "
                     "a compressed one of an empty file)",
                     path, n, n == 1 ? "" : "s", gzip ? "gzip" : "zstd",
                     gzip ? "20 or more" : "9 or more", gzip ? "gzip" : "zstd");
}

sluice_status codec_detect(const void *data, size_t n, const char *path, enum codec *out,
                           struct sluice_error *err)
{
    const unsigned char *head = data;
    uint32_t magic = 0;

    *out = CODEC_PLAIN;
    if (n < 4) {
        TRY(codec_begun(head, n, path, err));
    }
    if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        *out = CODEC_GZIP;
        return SLUICE_OK;
    }
    if (n >= 4) {
        magic = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
                (uint32_t)head[3] << 24;
    }
    /* Skippable frames may come first: pzstd begins its files with one. */
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

/* ---- decoders ---- */

struct decoder {
    bool boundary;
    struct zstd *zstd; /* one of both, the other is NULL */
    struct gzip *gzip;
};

sluice_status decoder_create(enum codec codec, struct decoder **out, struct sluice_error *err)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);

    *out = NULL;
    if (decoder == NULL) {
        return error_nomem(err, "a decoder");
    }
    if (codec == CODEC_GZIP) {
        decoder->gzip = gzip_create();
    } else {
        decoder->zstd = zstd_create();
    }
    if (decoder->gzip == NULL && decoder->zstd == NULL) {
        free(decoder);
        return error_nomem(err, "a decoder");
    }
    decoder_reset(decoder, 0);
    *out = decoder;
    return SLUICE_OK;
}

void decoder_destroy(struct decoder *decoder)
{
    if (decoder != NULL) {
        zstd_destroy(decoder->zstd);
        gzip_destroy(decoder->gzip);
        free(decoder);
    }
}

void decoder_reset(struct decoder *decoder, uint64_t offset)
{
    decoder->boundary = true;
    if (decoder->gzip != NULL) {
        gzip_reset(decoder->gzip);
    } else {
        zstd_reset(decoder->zstd, offset);
    }
}

sluice_status decoder_run(struct decoder *decoder, struct decoder_step *step,
                          struct sluice_error *err)
{
    return decoder->gzip != NULL ? gzip_run(decoder->gzip, step, &decoder->boundary, err)
                                 : zstd_run(decoder->zstd, step, &decoder->boundary, err);
}

bool decoder_at_boundary(const struct decoder *decoder)
{
    return decoder->boundary;
}

uint64_t decoder_window(const struct decoder *decoder)
{
    return decoder->zstd != NULL ? zstd_window(decoder->zstd) : 0;
}
