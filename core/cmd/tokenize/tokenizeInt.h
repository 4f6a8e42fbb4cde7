/* Private to `sluice tokenize`: tokenize.c has the command and its options, tokenize_text.c whole
 * texts and their ids in and out, tokenize_lines.c lines of JSON. */
#ifndef SLUICE_CMD_TOKENIZEINT_H
#define SLUICE_CMD_TOKENIZEINT_H

#include "base/buf.h"
#include "cmd/args.h"
#include "cmd/tokenize/tokenizer.h"

/* One call of the command. */
struct tokenizing {
    struct args args;
    struct tokenizer_library lib;
    struct sluice_tokenizer *tokenizer;
    struct sluice_encoder *encoder;
    struct sluice_tokenizer_training *training; /* of --train-head; NULL else */
    uint32_t *ids;
    uint64_t *offsets;
    size_t capacity; /* of ids, and of offsets where they are asked for */
    int raw;         /* bits of an id, 0 = text */
    bool count, decode, bench, jsonl, with_offsets;
    uint64_t tokens, bytes; /* so far */
    struct buf out;
};

/* ---- ids in memory, and the output ---- */

/* Room for n ids, and offsets where they are asked for; what was there is lost. */
sluice_status tokenize_need_ids(struct tokenizing *, size_t n, struct sluice_error *) MUST_USE;
void tokenize_put_number(struct buf *out, uint64_t number);
/* Writes the first n ids as they are asked for (nothing with --count); first = of their text. */
sluice_status tokenize_put_ids(struct tokenizing *, size_t n, bool first,
                               struct sluice_error *) MUST_USE;
/* Writes the output that waits, if it is at least so many bytes. */
sluice_status tokenize_flush(struct tokenizing *, size_t least, struct sluice_error *) MUST_USE;

/* ---- texts; a path may be "-", standard input ---- */

/* A text of any length, its ids in portions; or adds it to the training. */
sluice_status tokenize_text(struct tokenizing *, const char *text, size_t length,
                            struct sluice_error *) MUST_USE;
/* A file's text; text is memory that is used again from file to file, here and below. */
sluice_status tokenize_file(struct tokenizing *, const char *path, struct buf *text,
                            struct sluice_error *) MUST_USE;
/* A file's ids, the other way. */
sluice_status tokenize_decode(struct tokenizing *, const char *path, struct buf *text,
                              struct sluice_error *) MUST_USE;
/* A file's text again and again. */
sluice_status tokenize_bench(struct tokenizing *, const char *path, struct buf *text,
                             struct sluice_error *) MUST_USE;
/* A file of lines of JSON. */
sluice_status tokenize_lines(struct tokenizing *, const char *path, struct sluice_error *) MUST_USE;

#endif
