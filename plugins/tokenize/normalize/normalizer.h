/* normalizer.h — what a tokenizer file does to a text before it is cut into pieces.
 *
 * Owns: `struct normalizer` (immutable steps) and `struct normalizer_worker` (buffers and regex
 * scratch of one thread). Depends on: normalizer_*.h, pretoken_regex.h, bpe_error.h, libjansson,
 * libutf8proc, libpcre2-8.
 * Promises: the text that Hugging Face tokenizers (0.23, `normalizer` of tokenizer.json) or
 * SentencePiece (`normalizer_spec` of a .model) would make, byte for byte, whatever Unicode
 * versions the linked libraries have; what is not honoured has been refused by name. Linear time.
 * Text that no step changes is not copied. */
#ifndef TOKENIZE_NORMALIZER_H
#define TOKENIZE_NORMALIZER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct normalizer;
struct normalizer_worker;

/* Reads the member `normalizer` of tokenizer.json (borrowed for the call; NULL or null: nothing is
 * done). Gives *out for normalizer_destroy; thread-safe to share. SLUICE_E_CONFIG by name,
 * SLUICE_E_NOMEM. */
int32_t normalizer_read(const json_t *spec, struct normalizer **out, struct sluice_error *err);

/* A string that normalization leaves alone (SentencePiece's user-defined symbols). */
struct normalizer_symbol {
    const char *bytes;
    size_t len; /* not 0 */
};

/* `normalizer_spec` of a SentencePiece .model; all borrowed for the call. */
struct normalizer_spm {
    const void *charsmap; /* precompiled_charsmap; NULL with size 0: none */
    size_t charsmap_size;
    const struct normalizer_symbol *symbols;
    size_t n_symbols;
    int add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, whitespace_as_suffix;
};

/* Gives *out as normalizer_read does. SLUICE_E_CONFIG (a damaged charsmap), SLUICE_E_NOMEM. */
int32_t normalizer_from_spm(const struct normalizer_spm *spec, struct normalizer **out,
                            struct sluice_error *err);

/* Takes it (NULL is fine); no worker of it may be alive. */
void normalizer_destroy(struct normalizer *normalizer);

/* 1 when every text comes out as it went in. */
int normalizer_is_identity(const struct normalizer *normalizer);

/* The most bytes that a text of `len` bytes can become; SIZE_MAX when that does not fit. */
size_t normalizer_bound(const struct normalizer *normalizer, size_t len);

size_t normalizer_memory(const struct normalizer *normalizer);

/* One a thread; `normalizer` must outlive it. SLUICE_E_NOMEM. */
int32_t normalizer_worker_create(const struct normalizer *normalizer,
                                 struct normalizer_worker **out, struct sluice_error *err);
void normalizer_worker_destroy(struct normalizer_worker *worker);

struct normalizer_text {
    const char *data; /* `text` itself, or the worker's until its next run */
    size_t len;
    /* That many bytes at the front stem from the first character of the document, by tokenizers'
     * bookkeeping; 0 when `first` was 0. Decides where Metaspace puts its prefix. */
    size_t head;
};

/* Normalizes valid UTF-8. `first`: the text begins its document (no added token and nothing else
 * is before it). SLUICE_E_NOMEM, SLUICE_E_DATA (a Replace pattern that needs too many steps). */
int32_t normalizer_run(struct normalizer_worker *worker, const char *text, size_t len, int first,
                       struct normalizer_text *out, struct sluice_error *err);

#endif
