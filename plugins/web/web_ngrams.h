/* web_ngrams.h - which elements and n-grams of a list of spans are repeated; exact.
 *
 * Depends on sdk/text, xxHash (hashes only find candidates: bytes are compared, n-grams by the
 * numbers of their parts, so no result depends on them). Memory is kept from one document to the
 * next. Functions that can fail return SLUICE_E_NOMEM. */
#ifndef WEB_NGRAMS_H
#define WEB_NGRAMS_H

#include "text/text.h"

/* Zero-initialised memory is an empty one. Work goes up: web_ngrams_begin, then web_ngrams_next for
 * n = 2, 3 ... */
struct web_ngrams {
    void *arena;
    size_t arena_size;

    /* Of the elements. */
    const struct text_span *spans;
    size_t count;
    uint32_t *lengths; /* of each element, in the caller's unit */
    uint64_t total;    /* their sum */

    /* Of the current n. */
    uint32_t n;
    uint32_t *gram;   /* number of the n-gram that begins at an element, for those in `places` */
    uint32_t *counts; /* of a gram by its number */
    uint32_t *places; /* elements where an n-gram begins that occurs more than once, ascending */
    size_t n_places;

    uint32_t *first; /* element where a gram was first seen */
    uint64_t *slots; /* hash table */
    uint64_t *keys;
};

void web_ngrams_deinit(struct web_ngrams *);

/* Numbers the elements (n = 1). `chars`: lengths are code points, else bytes. Borrows text and
 * spans until the last use. */
TEXT_MUST_CHECK int32_t web_ngrams_begin(struct web_ngrams *, const char *text,
                                         const struct text_span *spans, size_t count, bool chars,
                                         struct sluice_error *err);

/* Goes on to n + 1. */
void web_ngrams_next(struct web_ngrams *);

/* Elements, and their length, that occur more than once (all copies; n = 1 only). */
void web_ngrams_repeated(const struct web_ngrams *, size_t *elements, uint64_t *length);

/* Length of the elements covered by repeated n-grams; each element counts once. */
uint64_t web_ngrams_cover(const struct web_ngrams *);

/* The most frequent n-gram, when one occurs more than once: how often, and its length; the longest
 * of equally frequent ones, of those the first seen. *cover: length of the elements that its copies
 * cover. *count is 0 when no n-gram is repeated. */
void web_ngrams_top(const struct web_ngrams *, uint32_t *count, uint64_t *length, uint64_t *cover);

#endif
