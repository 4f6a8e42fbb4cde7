/* text_words.c — words by white space, and the choice of rule. See text_words.h. */
#include "text/text_words.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_scan.h"
#include "text/text_segments.h"
#include "text/text_spacy.h"

#include <string.h>

int32_t text_word_rule_parse(const char *name, enum text_word_rule *rule, struct sluice_error *err)
{
    if (strcmp(name, "whitespace") == 0) {
        *rule = TEXT_WORDS_WHITESPACE;
        return SLUICE_OK;
    }
    if (strcmp(name, "uax29") == 0) {
        *rule = TEXT_WORDS_UAX29;
        return SLUICE_OK;
    }
    if (strcmp(name, "spacy-en") == 0) {
        *rule = TEXT_WORDS_SPACY_EN;
        return SLUICE_OK;
    }
    return text_error(err, SLUICE_E_CONFIG,
                      "unknown word rule '%.64s'; the rules are whitespace, uax29 and spacy-en",
                      name);
}

/* Length of the white space outside ASCII at p, 0 when there is none. */
static size_t wide_space(const unsigned char *p, const unsigned char *end)
{
    uint32_t cp;
    size_t n = text_decode_strict(p, end, &cp);
    return n > 1 && (text_table_classes(cp) & TEXT_SPACE) != 0 ? n : 0;
}

/* Adds the white space outside ASCII to the bits of p[0 .. n). */
static void mark_wide_spaces(const unsigned char *p, size_t n, struct text_scan_bits *bits)
{
    for (size_t word = 0; word * 64 < n; word++) {
        for (uint64_t lead = bits->lead[word]; lead != 0; lead &= lead - 1) {
            size_t at = word * 64 + text_low_bit(lead);
            size_t wide = wide_space(p + at, p + n);
            for (size_t i = at; i < at + wide; i++) {
                bits->space[i / 64] |= (uint64_t)1 << (i % 64);
            }
        }
    }
}

/* Where to end a chunk that begins at p so that no well-formed sequence is cut. */
static size_t chunk_len(const unsigned char *p, size_t left)
{
    size_t n = TEXT_SCAN_CHUNK;
    if (left <= n) {
        return left;
    }
    for (size_t back = 0; back < 3 && (p[n] & 0xC0) == 0x80; back++) {
        n--;
    }
    return n;
}

/* A word begins or ends where a byte's class differs from its predecessor's, so the list of spans
 * is the list of such places: each chunk appends its own to the list seen as plain offsets. */
static int32_t words_whitespace(const unsigned char *text, size_t len, struct text_spans *out,
                                struct sluice_error *err)
{
    struct text_scan_bits bits;
    uint32_t *offsets = NULL; /* out->data: begin, end, begin, end … */
    size_t edges = 0;         /* offsets written; odd inside a word */
    uint64_t inside = 0;
    for (size_t at = 0; at < len;) {
        size_t n = chunk_len(text + at, len - at);
        text_scan_space(text + at, n, &bits);
        if (bits.any_lead) {
            mark_wide_spaces(text + at, n, &bits);
        }
        out->count = (edges + 1) / 2;
        int32_t status = text_spans_reserve(out, TEXT_SCAN_CHUNK / 2 + 2, err);
        if (status != SLUICE_OK) {
            return status;
        }
        offsets = (uint32_t *)(void *)out->data;
        uint32_t *edge = offsets + edges;
        for (size_t word = 0; word * 64 < n; word++) {
            uint64_t ink = ~bits.space[word];
            size_t here = n - word * 64;
            uint64_t valid = here < 64 ? ((uint64_t)1 << here) - 1 : ~(uint64_t)0;
            uint64_t change = (ink ^ (ink << 1 | inside)) & valid;
            inside = here < 64 ? ink >> (here - 1) & 1 : ink >> 63;
            uint32_t base = (uint32_t)(at + word * 64);
            while (change != 0) {
                *edge++ = base + text_low_bit(change);
                change &= change - 1;
            }
        }
        edges = (size_t)(edge - offsets);
        at += n;
    }
    if (edges % 2 == 1) {
        offsets[edges++] = (uint32_t)len;
    }
    out->count = edges / 2;
    return SLUICE_OK;
}

size_t text_word_count(const char *text, size_t len)
{
    const unsigned char *p = text_bytes(text);
    struct text_scan_bits bits;
    uint64_t inside = 0;
    size_t count = 0;
    for (size_t at = 0, n; at < len; at += n) {
        n = chunk_len(p + at, len - at);
        text_scan_space(p + at, n, &bits);
        if (bits.any_lead) {
            mark_wide_spaces(p + at, n, &bits);
        }
        for (size_t word = 0; word * 64 < n; word++) {
            size_t here = n - word * 64;
            uint64_t valid = here < 64 ? ((uint64_t)1 << here) - 1 : ~(uint64_t)0;
            uint64_t ink = ~bits.space[word] & valid;
            count += (size_t)__builtin_popcountll(ink & ~(ink << 1 | inside));
            inside = here < 64 ? ink >> (here - 1) & 1 : ink >> 63;
        }
    }
    return count;
}

void text_word_cache_init(struct text_word_cache *cache)
{
    cache->state = NULL;
}

void text_word_cache_deinit(struct text_word_cache *cache)
{
    text_spacy_destroy(cache->state);
    cache->state = NULL;
}

static int32_t words_spacy(const char *text, size_t len, struct text_word_cache *cache, bool keep,
                           struct text_spans *out, struct sluice_error *err)
{
    if (cache->state == NULL) {
        cache->state = text_spacy_create(keep, err);
    }
    return cache->state == NULL ? SLUICE_E_NOMEM
                                : text_spacy_words(cache->state, text, len, out, err);
}

int32_t text_words_cached(enum text_word_rule rule, const char *text, size_t len,
                          struct text_word_cache *cache, struct text_spans *out,
                          struct sluice_error *err)
{
    struct text_word_cache once = { NULL };
    out->count = 0;
    int32_t status = text_check_len(len, err);
    if (status != SLUICE_OK) {
        return status;
    }
    switch (rule) {
    case TEXT_WORDS_WHITESPACE:
        return words_whitespace(text_bytes(text), len, out, err);
    case TEXT_WORDS_UAX29:
        return text_words_uax29(text, len, out, err);
    case TEXT_WORDS_SPACY_EN:
        status = words_spacy(text, len, cache != NULL ? cache : &once, cache != NULL, out, err);
        text_word_cache_deinit(&once);
        return status;
    }
    return text_error(err, SLUICE_E_CONFIG,
                      "word rule %d; the rules are 0 whitespace, 1 uax29 and 2 spacy-en",
                      (int)rule);
}

int32_t text_words(enum text_word_rule rule, const char *text, size_t len, struct text_spans *out,
                   struct sluice_error *err)
{
    return text_words_cached(rule, text, len, NULL, out, err);
}
