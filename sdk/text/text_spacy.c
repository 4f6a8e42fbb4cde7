/* text_spacy.c — see text_spacy.h.
 *
 * A text is runs of white space and of ink. A run of ink is cut by text_spacy_chunk, most often
 * from the cache; then special cases are looked for among the tokens of the whole text, as spaCy
 * does with a phrase matcher: the longest match first, of equal ones the first; whatever overlaps a
 * match seen before is refused, even when that one was refused itself. A match replaces its tokens
 * only when no white space stands between them, yet blocks others in any case. Tokens can be part of
 * a match only when each is, in some pattern, followed by the next: such pairs are looked for while
 * the tokens are collected, and the maximal runs of them are solved one by one.
 */
#include "text/text_spacy.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_spacy_chunk.h"
#include "text/text_spacy_tables.h"
#include "text/text_words.h"

#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define CACHE_SLOTS 8192
#define KEY_MOST 16   /* bytes of a chunk that is remembered */
#define TOKENS_MOST 4 /* its tokens */
#define PROBES 32     /* chunks looked at in advance */

/* A chunk of up to KEY_MOST bytes as numbers: its first 8 bytes (fewer: zeros follow) and the last 8
 * of more than 8. They and its length tell it from all others. */
struct key {
    uint64_t low, high;
};

/* A chunk that was met, and how it was cut; len 0: an empty slot. */
struct remembered {
    struct key key;
    uint16_t notes[TOKENS_MOST];
    uint8_t ends[TOKENS_MOST]; /* of those behind the last one: what was there before */
    uint8_t len, count;
    bool matches; /* a pair of its tokens may be part of a special case */
};

/* What is known of a chunk before it is cut. */
struct probe {
    struct key key;
    struct remembered *slot; /* the last one for plain ones */
    bool known;              /* perhaps in the table */
    bool plain;              /* one token, in no pattern */
};

struct text_spacy {
    struct remembered *cache; /* [mask + 2]; the last one is of plain words: one token, no note */
    size_t mask;
    struct text_spacy_tokens tokens;
    struct text_spans chunks; /* runs of ink */
    struct text_spans words;  /* for sentences, whose output is another list */
    struct text_spans stack;
    struct text_spans pairs; /* begin: index of a token that may match with the next */
    uint8_t *seen;           /* of a run being solved */
    size_t seen_capacity;
};

struct text_spacy *text_spacy_create(bool cached, struct sluice_error *err)
{
    struct text_spacy *spacy = calloc(1, sizeof *spacy);
    size_t slots = cached ? CACHE_SLOTS : 2, size = (slots + 2) * sizeof *spacy->cache;
    if (spacy != NULL) {
        spacy->cache = aligned_alloc(64, size);
    }
    if (spacy == NULL || spacy->cache == NULL) {
        free(spacy);
        text_error(err, SLUICE_E_NOMEM, "out of memory for the words of a text");
        return NULL;
    }
    memset(spacy->cache, 0, size);
    spacy->mask = slots - 1;
    spacy->cache[slots].count = 1;
    for (unsigned char c = 0; c < 128; c++) {
        spacy->tokens.ascii[c] = text_spacy_note(&c, 1);
    }
    return spacy;
}

void text_spacy_destroy(struct text_spacy *spacy)
{
    if (spacy != NULL) {
        text_spans_deinit(&spacy->chunks);
        text_spans_deinit(&spacy->words);
        text_spans_deinit(&spacy->stack);
        text_spans_deinit(&spacy->pairs);
        free(spacy->tokens.notes);
        free(spacy->cache);
        free(spacy->seen);
        free(spacy);
    }
}

/* Whether the two tokens follow each other in a pattern; most often the answer is no, and which of
 * the reasons nobody foretells. */
static inline bool is_pair(uint32_t a, uint32_t b)
{
    uint32_t bit = (a & TEXT_SPACY_ID) * text_spacy_pair_width + (b & TEXT_SPACY_ID);
    uint32_t joined = (b & TEXT_SPACY_NOTE_BREAK) == 0;
    return ((uint32_t)text_spacy_pairs[bit / 8] >> (bit % 8) & joined) != 0;
}

#if !defined(__SSE2__)
/* Whether all bytes of `word` with a bit in `valid` (0xFF a byte) are ASCII letters. */
static inline int is_letters(uint64_t word, uint64_t valid)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    uint64_t small = (word | 0x20 * ones) & ~high;    /* letters in lower case */
    uint64_t at_least = small + (0x80 - 'a') * ones;  /* high bit: >= a */
    uint64_t above = small + (0x80 - 'z' - 1) * ones; /* high bit: > z */
    return ((~at_least | above | word) & high & valid) == 0;
}
#endif

/* The low n bytes, 0 < n <= 8. */
static inline uint64_t low_bytes(size_t n)
{
    return ~(uint64_t)0 >> (64 - 8 * n);
}

/* The key of p[0 .. n), 0 < n <= KEY_MOST; `left` >= n bytes may be read. Without a branch on n, which
 * nobody foretells. */
static inline struct key key_of(const unsigned char *p, size_t n, size_t left)
{
    struct key key = { 0, 0 };
    size_t head = n < 8 ? n : 8;
    if (left >= 8) {
        key.low = text_load64(p) & low_bytes(head);
        key.high = text_load64(p + n - head) & ((uint64_t)0 - (uint64_t)(n > 8));
    } else {
        key.low = text_spacy_load(p, n);
    }
    return key;
}

/* Whether the chunk is ASCII letters alone. */
static inline bool is_word(const struct key *key, size_t n)
{
#if defined(__SSE2__)
    const __m128i bytes = _mm_set_epi64x((int64_t)key->high, (int64_t)key->low);
    const __m128i small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i place = _mm_sub_epi8(small, _mm_set1_epi8('a'));
    const __m128i letter = _mm_cmpeq_epi8(place, _mm_min_epu8(place, _mm_set1_epi8('z' - 'a')));
    unsigned all = n > 8 ? 0xFFFF : (1u << n) - 1;
    return (unsigned)_mm_movemask_epi8(letter) == all;
#else
    return is_letters(key->low, low_bytes(n < 8 ? n : 8)) &
           is_letters(key->high, (uint64_t)0 - (uint64_t)(n > 8));
#endif
}

/* Remembers how a chunk was cut, unless slot is NULL. */
static inline void remember(struct remembered *slot, const struct key *key, struct text_span chunk,
                            const struct text_span *spans, const uint16_t *notes, size_t count,
                            bool matches)
{
    if (slot == NULL || count > TOKENS_MOST) {
        return;
    }
    slot->key = *key;
    slot->len = (uint8_t)(chunk.end - chunk.begin);
    slot->count = (uint8_t)count;
    slot->matches = matches;
    for (size_t i = 0; i < count; i++) {
        slot->ends[i] = (uint8_t)(spans[i].end - chunk.begin);
        slot->notes[i] = notes[i];
    }
}

/* Appends the tokens of a chunk that is not remembered, and remembers them in slot, unless NULL. */
static int32_t cut_chunk(struct text_spacy *spacy, const unsigned char *text, size_t len,
                         struct text_span chunk, const struct key *key, struct remembered *slot,
                         bool *matches, struct sluice_error *err)
{
    struct text_spacy_tokens *tokens = &spacy->tokens;
    size_t first = tokens->spans->count;
    int32_t status = text_spacy_chunk(text, len, chunk, tokens, &spacy->stack, err);
    if (status != SLUICE_OK) {
        return status;
    }
    *matches = false;
    for (size_t i = first; i + 1 < tokens->spans->count; i++) {
        *matches |= is_pair(tokens->notes[i], tokens->notes[i + 1]);
    }
    remember(slot, key, chunk, tokens->spans->data + first, tokens->notes + first,
             tokens->spans->count - first, *matches);
    return SLUICE_OK;
}

/* Whether p[0 .. n), which the table may know or not, is ASCII letters alone and not in it. */
static inline bool is_plain(const unsigned char *p, size_t n, size_t left)
{
    struct key key = key_of(p, n, left);
    return is_word(&key, n) && !text_spacy_maybe(text_spacy_mix(key.low, key.high, n));
}

/* Cuts a chunk of a plain word with one mark before or behind it; false for others. The chunk itself
 * is not in the table, and has 2 to 16 bytes. */
static inline bool cut_marked(const struct text_spacy *spacy, const unsigned char *p, size_t left,
                              struct text_span chunk, struct text_span *spans, uint16_t *notes)
{
    size_t n = chunk.end - chunk.begin;
    unsigned char first = p[0], last = p[n - 1], before = p[n - 2];
    uint32_t cut;
    if ((last < 128 && (text_spacy_ascii[last] & TEXT_SPACY_SUFFIX) != 0) ||
        (last == '.' && before >= 'a' && before <= 'z')) {
        if (!is_plain(p, n - 1, left)) {
            return false;
        }
        cut = chunk.end - 1;
        notes[0] = 0;
        notes[1] = spacy->tokens.ascii[last];
    } else if (first < 128 && (text_spacy_ascii[first] & TEXT_SPACY_PREFIX) != 0 && n > 2) {
        if (!is_plain(p + 1, n - 1, left - 1)) {
            return false;
        }
        cut = chunk.begin + 1;
        notes[0] = spacy->tokens.ascii[first];
        notes[1] = 0;
    } else {
        return false;
    }
    spans[0] = (struct text_span){ chunk.begin, cut };
    spans[1] = (struct text_span){ cut, chunk.end };
    return true;
}

/* Looks at chunks without cutting them, and asks for the memory that cutting them will want. No
 * branch depends on what the chunks are, so that many are looked at at once. */
static void probe_chunks(struct text_spacy *spacy, const unsigned char *text, size_t len,
                         const struct text_span *chunks, size_t count, struct probe *probes)
{
    for (size_t i = 0; i < count; i++) {
        struct probe *probe = &probes[i];
        size_t n = chunks[i].end - chunks[i].begin, most = n < KEY_MOST ? n : KEY_MOST;
        struct key key = key_of(text + chunks[i].begin, most, len - chunks[i].begin);
        uint64_t hash = text_spacy_mix(key.low, key.high, n);
        bool known = text_spacy_maybe(hash) != 0;
        probe->key = key;
        bool plain = is_word(&key, most) & !known & (n <= KEY_MOST);
        size_t slot = (hash ^ hash >> 16) & spacy->mask, none = spacy->mask + 1;
        slot ^= (slot ^ none) & ((size_t)0 - plain); /* not a branch */
        probe->slot = &spacy->cache[slot];
        probe->known = known;
        probe->plain = plain;
        __builtin_prefetch(probe->slot);
    }
}

/* Appends the tokens of a chunk that is a plain word or remembered: all that the slot can hold are
 * written, which there is room for, and those that count are counted, so that nothing depends on how
 * many they are. False when it is neither. */
static inline bool add_known(struct text_spacy_tokens *tokens, struct text_span chunk,
                             const struct probe *probe)
{
    const struct remembered *slot = probe->slot;
    const struct key *key = &probe->key;
    size_t n = chunk.end - chunk.begin, at = tokens->spans->count;
    bool same = ((slot->key.low ^ key->low) | (slot->key.high ^ key->high) | (slot->len ^ n)) == 0;
    if (!(probe->plain | same)) {
        return false;
    }
    struct text_span *spans = tokens->spans->data + at;
    uint32_t end = chunk.begin + slot->ends[0] + ((uint32_t)n & (0u - probe->plain));
    spans[0] = (struct text_span){ chunk.begin, end };
    for (size_t i = 1; i < TOKENS_MOST; i++) {
        uint32_t next = chunk.begin + slot->ends[i];
        spans[i] = (struct text_span){ end, next };
        end = next;
    }
    memcpy(tokens->notes + at, slot->notes, sizeof slot->notes);
    tokens->spans->count = at + slot->count;
    return true;
}

/* Appends the tokens of another chunk. */
static int32_t add_new(struct text_spacy *spacy, const unsigned char *text, size_t len,
                       struct text_span chunk, const struct probe *probe, bool *matches,
                       struct sluice_error *err)
{
    struct text_spacy_tokens *tokens = &spacy->tokens;
    size_t n = chunk.end - chunk.begin, at = tokens->spans->count;
    if (n > KEY_MOST) {
        return cut_chunk(spacy, text, len, chunk, NULL, NULL, matches, err);
    }
    if (!probe->known && n > 1 &&
        cut_marked(spacy, text + chunk.begin, len - chunk.begin, chunk, tokens->spans->data + at,
                   tokens->notes + at)) {
        tokens->spans->count += 2;
        *matches = false;
        return SLUICE_OK;
    }
    return cut_chunk(spacy, text, len, chunk, &probe->key, probe->slot, matches, err);
}

/* Remembers the pairs of tokens from `first` on, and the one of the chunk with the one before. */
static int32_t add_pairs(struct text_spacy *spacy, size_t first, bool matches,
                         struct sluice_error *err)
{
    const uint16_t *notes = spacy->tokens.notes;
    size_t count = spacy->tokens.spans->count;
    int32_t status = SLUICE_OK;
    for (size_t i = first > 0 ? first - 1 : 0; status == SLUICE_OK && i + 1 < count; i++) {
        if (is_pair(notes[i], notes[i + 1])) {
            status = text_spans_push(&spacy->pairs, (uint32_t)i, 0, err);
        }
        if (!matches) {
            break;
        }
    }
    return status;
}

/* The tokens of a text as its chunks give them, into spacy->tokens. */
static int32_t collect(struct text_spacy *spacy, const unsigned char *text, size_t len,
                       struct sluice_error *err)
{
    struct text_spacy_tokens *tokens = &spacy->tokens;
    int32_t status =
        text_words(TEXT_WORDS_WHITESPACE, (const char *)text, len, &spacy->chunks, err);
    const struct text_span *chunks = spacy->chunks.data;
    size_t n = status == SLUICE_OK ? spacy->chunks.count : 0;
    uint32_t end = n > 0 ? chunks[0].begin : 0; /* of the chunk before */
    uint32_t id = 0;                            /* of the token before */
    tokens->spans->count = 0;
    spacy->pairs.count = 0;
    struct probe probes[PROBES];
    for (size_t i = 0; i < n; i++) {
        struct text_span chunk = chunks[i];
        const struct probe *probe = &probes[i % PROBES];
        size_t first = tokens->spans->count;
        if (i % PROBES == 0) {
            probe_chunks(spacy, text, len, chunks + i, n - i < PROBES ? n - i : PROBES, probes);
        }
        if (!text_spacy_has_room(tokens, TOKENS_MOST)) {
            status = text_spacy_reserve(tokens, n - i + TOKENS_MOST, err);
        }
        bool matches = probe->slot->matches;
        if (status == SLUICE_OK && !add_known(tokens, chunk, probe)) {
            status = add_new(spacy, text, len, chunk, probe, &matches, err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
        /* White space is a token, except for one space between others. */
        bool space = (chunk.begin - end > 1) | (text[end] != ' ');
        uint32_t note = tokens->notes[first];
        end = chunk.end;
        tokens->notes[first] = (uint16_t)(note | (space ? TEXT_SPACY_NOTE_BREAK : 0));
        if (matches | is_pair(id, tokens->notes[first])) {
            status = add_pairs(spacy, first, matches, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
        id = tokens->notes[tokens->spans->count - 1] & TEXT_SPACY_ID;
    }
    if (n > 0) { /* none stands before the first one, unless there is space */
        uint32_t note = tokens->notes[0] & ~TEXT_SPACY_NOTE_BREAK;
        tokens->notes[0] = (uint16_t)(note | (chunks[0].begin > 0 ? TEXT_SPACY_NOTE_BREAK : 0));
    }
    return status;
}

/* The special case that the tokens from `at` on make, of exactly `count` tokens; 0: none. */
static uint16_t match_at(const uint16_t *notes, size_t at, size_t count)
{
    uint32_t id = notes[at] & TEXT_SPACY_ID;
    const uint16_t *pattern = text_spacy_patterns + text_spacy_first[id];
    const uint16_t *stop = text_spacy_patterns + text_spacy_first[id + 1];
    for (; pattern < stop; pattern += *pattern + 2) {
        size_t i = 0;
        while (*pattern == count && i < count &&
               (notes[at + i] & TEXT_SPACY_ID) == pattern[1 + i]) {
            i++;
        }
        if (i == count) {
            return pattern[1 + count];
        }
    }
    return 0;
}

static size_t longest_pattern(const uint16_t *notes, size_t from, size_t to)
{
    size_t longest = 0;
    for (size_t at = from; at < to; at++) {
        uint32_t id = notes[at] & TEXT_SPACY_ID;
        const uint16_t *pattern = text_spacy_patterns + text_spacy_first[id];
        const uint16_t *stop = text_spacy_patterns + text_spacy_first[id + 1];
        for (; pattern < stop; pattern += *pattern + 2) {
            longest = *pattern > longest ? *pattern : longest;
        }
    }
    return longest < to - from ? longest : to - from;
}

/* Whether no white space stands between tokens at .. at + count. */
static bool is_joined(const struct text_span *spans, size_t at, size_t count)
{
    for (size_t i = at; i + 1 < at + count; i++) {
        if (spans[i].end != spans[i + 1].begin) {
            return false;
        }
    }
    return true;
}

/* Solves the run of tokens from .. to: writes what becomes of it to *write, which stays behind what
 * is read. */
static int32_t solve(struct text_spacy *spacy, const unsigned char *text, size_t from, size_t to,
                     size_t *write, struct sluice_error *err)
{
    struct text_span *spans = spacy->tokens.spans->data;
    uint16_t *notes = spacy->tokens.notes;
    size_t n = to - from;
    if (spacy->seen_capacity < n) {
        uint8_t *seen = realloc(spacy->seen, 2 * n);
        if (seen == NULL) {
            return text_error(err, SLUICE_E_NOMEM, "out of memory for %zu words", n);
        }
        spacy->seen = seen;
        spacy->seen_capacity = 2 * n;
    }
    uint8_t *seen = spacy->seen; /* 1: in a match; above: a match of seen - 1 tokens begins */
    memset(seen, 0, n);
    for (size_t count = longest_pattern(notes, from, to); count > 1; count--) {
        for (size_t at = from; at + count <= to; at++) {
            if (match_at(notes, at, count) == 0) {
                continue;
            }
            uint8_t *here = seen + (at - from);
            bool taken = here[0] == 0 && here[count - 1] == 0;
            for (size_t i = 0; i < count; i++) {
                here[i] = here[i] == 0 ? 1 : here[i];
            }
            if (taken) {
                here[0] = (uint8_t)(count + 1);
            }
        }
    }
    size_t out = *write;
    for (size_t at = from; at < to;) {
        size_t count = seen[at - from] > 1 ? seen[at - from] - 1u : 1;
        if (count == 1 || !is_joined(spans, at, count)) {
            for (size_t i = 0; i < count; i++) {
                spans[out] = spans[at + i];
                notes[out++] = notes[at + i];
            }
            at += count;
            continue;
        }
        const struct text_spacy_string *special = &text_spacy_strings[match_at(notes, at, count)];
        uint32_t begin = spans[at].begin;
        uint16_t broken = notes[at] & TEXT_SPACY_NOTE_BREAK;
        for (size_t i = 0; i < special->parts; i++) {
            uint32_t cut = i == 0 ? 0 : text_spacy_cuts[special->cut + i - 1];
            uint32_t stop = text_spacy_cuts[special->cut + i];
            spans[out] = (struct text_span){ begin + cut, begin + stop };
            notes[out++] = (uint16_t)(text_spacy_note(text + begin + cut, stop - cut) | broken);
            broken = 0;
        }
        at += count;
    }
    *write = out;
    return SLUICE_OK;
}

/* Applies the special cases among the tokens. A match may become one token more than it has, so the
 * tokens move up first by as many as there are pairs. */
static int32_t apply_specials(struct text_spacy *spacy, const unsigned char *text,
                              struct sluice_error *err)
{
    struct text_spacy_tokens *tokens = &spacy->tokens;
    size_t up = spacy->pairs.count, count = tokens->spans->count, read = up, write = 0;
    if (up == 0) {
        return SLUICE_OK;
    }
    int32_t status = text_spacy_reserve(tokens, up, err);
    if (status != SLUICE_OK) {
        return status;
    }
    struct text_span *spans = tokens->spans->data;
    uint16_t *notes = tokens->notes;
    memmove(spans + up, spans, count * sizeof *spans);
    memmove(notes + up, notes, count * sizeof *notes);
    count += up;
    for (size_t i = 0; i < spacy->pairs.count && status == SLUICE_OK; i++) {
        size_t from = spacy->pairs.data[i].begin + up, to = from + 2;
        if (from < read) {
            continue; /* of the run before */
        }
        while (to < count && is_pair(notes[to - 1], notes[to])) {
            to++;
        }
        while (from > read && is_pair(notes[from - 1], notes[from])) {
            from--;
        }
        memmove(spans + write, spans + read, (from - read) * sizeof *spans);
        memmove(notes + write, notes + read, (from - read) * sizeof *notes);
        write += from - read;
        status = solve(spacy, text, from, to, &write, err);
        read = to;
    }
    memmove(spans + write, spans + read, (count - read) * sizeof *spans);
    memmove(notes + write, notes + read, (count - read) * sizeof *notes);
    tokens->spans->count = write + count - read;
    return status;
}

static int32_t tokenize(struct text_spacy *spacy, const char *text, size_t len,
                        struct text_spans *out, struct sluice_error *err)
{
    const unsigned char *p = text_bytes(text);
    spacy->tokens.spans = out;
    spacy->tokens.spans->count = 0;
    int32_t status = text_spacy_reserve(&spacy->tokens, 1, err);
    if (status == SLUICE_OK) {
        status = collect(spacy, p, len, err);
    }
    return status == SLUICE_OK ? apply_specials(spacy, p, err) : status;
}

int32_t text_spacy_words(struct text_spacy *spacy, const char *text, size_t len,
                         struct text_spans *out, struct sluice_error *err)
{
    return tokenize(spacy, text, len, out, err);
}

int32_t text_spacy_sentences(struct text_spacy *spacy, const char *text, size_t len,
                             struct text_spans *out, struct sluice_error *err)
{
    const unsigned char *p = text_bytes(text);
    uint32_t begin = 0, end = 0;
    int32_t status = tokenize(spacy, text, len, &spacy->words, err);
    bool seen = false;
    out->count = 0;
    for (size_t i = 0; i < spacy->words.count && status == SLUICE_OK; i++) {
        struct text_span word = spacy->words.data[i];
        uint16_t note = spacy->tokens.notes[i];
        bool space = (note & TEXT_SPACY_NOTE_BREAK) != 0;
        if (seen && (space || (note & (TEXT_SPACY_NOTE_MARK | TEXT_SPACY_NOTE_PUNCT)) == 0)) {
            status = text_spans_push(out, begin, end, err);
            /* The first one of several spaces is not of their token. */
            begin = space ? end + (p[end] == ' ') : word.begin;
            seen = false;
        }
        seen |= (note & TEXT_SPACY_NOTE_MARK) != 0;
        end = word.end;
    }
    size_t tail = end + (end > 0 && end < len && p[end] == ' ');
    if (status == SLUICE_OK && tail < len) { /* white space at the end is a token */
        if (seen) {
            status = text_spans_push(out, begin, end, err);
            begin = (uint32_t)tail;
        }
        end = (uint32_t)len;
    }
    if (status == SLUICE_OK && end > begin) {
        status = text_spans_push(out, begin, end, err);
    }
    return status;
}
