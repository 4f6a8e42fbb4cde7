/* Codecs of input files: told by their first bytes, never by a file's suffix; and streaming
 * decoders over memory. Depends on base/, libzstd and ISA-L. Files are input.h's business.
 *
 * A decoder takes a whole file: all members of a gzip file (header, CRC-32 and size of each
 * checked), all frames of a zstd file (skippable ones skipped, checksums checked, windows up to
 * 2 GiB, no dictionaries). Anything else between or after them is an error, and so is an end
 * inside of one. */
#ifndef SLUICE_STORE_CODEC_H
#define SLUICE_STORE_CODEC_H

#include "base/error.h"

enum codec { CODEC_PLAIN, CODEC_GZIP, CODEC_ZSTD };

#define CODEC_HEAD 16 /* bytes that codec_detect wants to see (fewer = the whole file) */

const char *codec_name(enum codec); /* "none", "gzip", "zstd" */
bool codec_parse(const char *name, enum codec *out);

/* Tells the codec of a file from its first n bytes. path is for messages. SLUICE_E_DATA for a
 * known format that is not a codec here (bzip2, xz, lz4, zip, Parquet, UTF-16 …), naming the
 * format and the remedy; and for a path that ends in .gz or .zst where the file is empty or ends
 * inside of the magic bytes. */
sluice_status codec_detect(const void *head, size_t n, const char *path, enum codec *out,
                           struct sluice_error *err) MUST_USE;

struct decoder;

struct decoder_step {
    const unsigned char *in; /* advanced past what was eaten */
    size_t in_n;             /* what is left */
    unsigned char *out;      /* advanced past what was written */
    size_t out_n;            /* room left */
};

sluice_status decoder_create(enum codec, struct decoder **out,
                             struct sluice_error *err) MUST_USE; /* gzip or zstd */
void decoder_destroy(struct decoder *);
/* At the start of a file or of a zstd frame; offset: where that is in the file, for messages. */
void decoder_reset(struct decoder *, uint64_t offset);

/* Decodes until the input is eaten, the output is full or a member or frame ended. No progress
 * on a call without input means that nothing is held back. The message of SLUICE_E_DATA says
 * what is wrong but not where. */
sluice_status decoder_run(struct decoder *, struct decoder_step *,
                          struct sluice_error *err) MUST_USE;

/* Bytes that it holds at most for the frame that needs the most so far; 0 of gzip. */
uint64_t decoder_window(const struct decoder *);

/* True between members or frames: the file may end here. */
bool decoder_at_boundary(const struct decoder *);

#endif
