/* normalizer_charsmap.h — SentencePiece's precompiled_charsmap: replacement rules in a double
 * array (Darts-clone's layout), applied as SentencePiece or as tokenizers does.
 *
 * Owns: struct charsmap, a copy of the rules. Depends on: normalizer_sink.h, bpe_error.h.
 * Promises: the whole array has been walked at load, so that no rule can lead outside of it; what
 * tokenizers' Precompiled makes of grapheme clusters, its oddities included. */
#ifndef TOKENIZE_NORMALIZER_CHARSMAP_H
#define TOKENIZE_NORMALIZER_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "normalize/normalizer_sink.h"
#include "sluice.h"

struct charsmap {
    uint32_t *units;
    size_t n_units;
    char *texts; /* replacements, each ended by a zero */
    size_t n_texts;
    size_t growth;       /* the most bytes one byte becomes */
    size_t space_growth; /* the same when each space becomes three bytes; at least 3 */
};

/* Reads the blob (borrowed): a little-endian u32, that many bytes of units, the replacements.
 * Fills caller's memory. SLUICE_E_CONFIG (damaged), SLUICE_E_NOMEM. */
int32_t charsmap_init(struct charsmap *map, const void *blob, size_t size,
                      struct sluice_error *err);
void charsmap_deinit(struct charsmap *map);

/* Decodes strict, padded base64 of `n` bytes. Gives *out (for free) and its size. SLUICE_E_CONFIG,
 * SLUICE_E_NOMEM. */
int32_t charsmap_decode(const char *text, size_t n, void **out, size_t *size,
                        struct sluice_error *err);

/* The longest rule that begins at p: its length and replacement; 0 for none. */
size_t charsmap_longest(const struct charsmap *map, const uint8_t *p, const uint8_t *end,
                        const char **text, size_t *len);

/* 1 when no rule begins with this ASCII byte alone or with it and another ASCII byte. */
int charsmap_is_plain(const struct charsmap *map, uint8_t byte);

/* tokenizers' way: a grapheme cluster of less than 6 bytes whose front matches a rule (the
 * shortest) is replaced whole, else each of its characters on its own. Writes the text that `sink`
 * has begun with. 0: no rule applies and nothing is written; 1; -1 without memory. */
int charsmap_run(const struct charsmap *map, const struct normalizer_unicode *unicode,
                 struct normalizer_sink *sink);

/* The end of the grapheme cluster that begins at p < end (Unicode Standard Annex 29, extended). */
const uint8_t *grapheme_end(const struct normalizer_unicode *unicode, const uint8_t *p,
                            const uint8_t *end);

#endif
