/* From a document's text to its shingles: the options that say how, shared by all stages that hash
 * text, and the working memory for it.
 *
 * Owns the normalised text and its words. Depends on minhash_sig.h and sdk/text. Promises: the
 * words are a function of the text and the options; with the defaults of `peer` (spacy-en,
 * normalised) those of datatrove's English MinHash. */
#ifndef MINHASH_WORDS_H
#define MINHASH_WORDS_H

#include <sluice_arrays.h>

#include "minhash_sig.h"
#include "text/text.h"

struct minhash_shingling {
    const char *over;
    int64_t ngram;
    int32_t hash, bits, words;
    uint8_t normalise;
};

/* The rows of an option table whose config begins with a struct minhash_shingling. */
#define MINHASH_SHINGLING_OPTIONS                                                              \
    { .name = "over",                                                                          \
      .doc = "Column that holds the text.",                                                    \
      .def = "text",                                                                           \
      .type = SLUICE_OPT_COLUMN,                                                               \
      .offset = offsetof(struct minhash_shingling, over) },                                    \
        { .name = "ngram",                                                                     \
          .doc = "Words of a shingle.",                                                        \
          .def = "5",                                                                          \
          .type = SLUICE_OPT_INT,                                                              \
          .min = 1,                                                                            \
          .max = 1024,                                                                         \
          .offset = offsetof(struct minhash_shingling, ngram) },                               \
        { .name = "hash",                                                                      \
          .doc = "Hash of a shingle.",                                                         \
          .def = "xxhash",                                                                     \
          .choices = "xxhash|sha1",                                                            \
          .type = SLUICE_OPT_ENUM,                                                             \
          .offset = offsetof(struct minhash_shingling, hash) },                                \
        { .name = "bits",                                                                      \
          .doc = "Width of a hash.",                                                           \
          .def = "64",                                                                         \
          .choices = "64|32",                                                                  \
          .type = SLUICE_OPT_ENUM,                                                             \
          .offset = offsetof(struct minhash_shingling, bits) },                                \
        { .name = "words",                                                                     \
          .doc = "Rule that cuts the normalised text into words; spacy-en is datatrove's for " \
                 "English.",                                                                   \
          .def = "spacy-en",                                                                   \
          .choices = "whitespace|uax29|spacy-en",                                              \
          .type = SLUICE_OPT_ENUM,                                                             \
          .offset = offsetof(struct minhash_shingling, words) },                               \
    {                                                                                          \
        .name = "normalise",                                                                   \
        .doc = "Lower-case, numbers to 0, no punctuation and diacritics, before shingling.",   \
        .def = "true", .type = SLUICE_OPT_BOOL,                                                \
        .offset = offsetof(struct minhash_shingling, normalise)                                \
    }

/* Draws the functions of `bands` times `rows` for this shingling; as minhash_create. */
sluice_status minhash_shingling_create(const struct minhash_shingling *shingling, uint32_t bands,
                                       uint32_t rows, uint32_t seed, struct minhash **out,
                                       struct sluice_error *err);

/* Working memory of one thread; zeroed memory is an empty one. */
struct minhash_words {
    struct text_buffer simple;
    struct text_spans words;
    struct text_word_cache cache;
};

void minhash_words_deinit(struct minhash_words *words);

/* Cuts a document's text. *text and *n become the normalised text, which words->words are spans of;
 * both are borrowed until the next call. */
sluice_status minhash_words_cut(struct minhash_words *words,
                                const struct minhash_shingling *shingling, const char **text,
                                size_t *n, struct sluice_error *err);

#endif
