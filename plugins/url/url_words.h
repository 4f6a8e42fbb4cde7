/* url_words.h - the words that must not stand in a URL: hard ones, soft ones that are counted, and
 * pieces anywhere in it.
 *
 * Depends on url_list.h and sdk/text. Read-only once built; each thread brings its own struct
 * url_seen. */
#ifndef URL_WORDS_H
#define URL_WORDS_H

#include <sluice.h>

#include "text/text_buffer.h"

struct url_words; /* opaque */

enum url_word_kind { URL_HARD, URL_SOFT, URL_PIECE };

/* One thread's: which words were counted in the present URL. Zero-initialised memory is an empty
 * one. */
struct url_seen {
    uint32_t *turns; /* of a word: the URL in which it was last seen */
    size_t n;
    uint32_t turn;
    struct text_buffer bytes;
};
void url_seen_deinit(struct url_seen *seen);

sluice_status url_words_create(struct url_words **out, struct sluice_error *err);
/* Adds the lines of a list. skip_empty: entries that are empty, or have no letter and digit, are
 * none. */
sluice_status url_words_add(struct url_words *words, enum url_word_kind kind, const char *list,
                            size_t n, int skip_empty, struct sluice_error *err);
sluice_status url_words_finish(struct url_words *words, struct sluice_error *err);
void url_words_destroy(struct url_words *words);

/* How many different soft words the URL has, and whether it has a hard one and a piece. lower: URL
 * words count in any case (lists always do). */
struct url_found {
    int hard, piece;
    int64_t soft;
};
sluice_status url_words_find(const struct url_words *words, const char *url, size_t n, int lower,
                             struct url_seen *seen, struct url_found *found,
                             struct sluice_error *err);

#endif
