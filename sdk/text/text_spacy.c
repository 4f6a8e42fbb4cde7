/* text_spacy.c — see text_spacy.h.
 *
 * A text is runs of white space and of ink. A run of ink is cut by text_spacy_chunk, most often
 * from the cache; then special cases are looked for among the tokens of the whole text, as spaCy
 * does with a phrase matcher: the longest match first, of equal ones the first; whatever overlaps a
 * match seen before is refused, even when that one was refused itself. A match replaces its tokens
 * only when no white space stands between them, yet blocks others in any case. Tokens can be part
 * of a match only when each is, in some pattern, followed by the next: such pairs are looked for
 * while the tokens are collected, and the maximal runs of them are solved one by one.
 */
#include "text/text_spacy.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_spacy_chunk.h"
#include "text/text_spacy_plain.h"
#include "text/text_words.h"

#include <stdlib.h>

#define CACHE_SLOTS 8192
#define KEY_MOST 16   /* bytes of a chunk that is remembered */
#define TOKENS_MOST 4 /* its tokens */
#define ROOM 4        /* spans copied at once */

/* A chunk of up to KEY_MOST bytes as numbers: its first 8 bytes (fewer: zeros follow) and the last
 * 8 of more than 8. They and its length tell it from all others. */
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

/* What is known of a chunk that is not plain before it is cut. */
struct probe {
    struct key key;
    struct remembered *slot;
    bool known; /* perhaps in the table */
};

struct text_spacy {
    struct remembered *cache; /* [mask + 1] */
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
    size_t slots = cached ? CACHE_SLOTS : 2, size = slots * sizeof *spacy->cache;
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

/* The low n bytes, 0 < n <= 8. */
static inline uint64_t low_bytes(size_t n)
{
    return ~(uint64_t)0 >> (64 - 8 * n);
}

/* The key of p[0 .. n), 0 < n <= KEY_MOST; `left` >= n bytes may be read. Without a branch on n,
 * which nobody foretells. */
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

/* Cuts a chunk of a plain word with one mark before or behind it; false for others. The chunk
 * itself is not in the table, and has 2 to KEY_MOST bytes; `left` bytes may be read. */
static inline bool cut_marked(const struct text_spacy *spacy, const unsigned char *p, size_t left,
                              struct text_span chunk, struct text_span *spans, uint16_t *notes)
{
    size_t n = chunk.end - chunk.begin;
    unsigned char first = p[0], last = p[n - 1], before = p[n - 2];
    uint32_t cut;
    if (left <= TEXT_SHORT) {
        return false;
    }
    if ((last < 128 && (text_spacy_ascii[last] & TEXT_SPACY_SUFFIX) != 0) ||
        (last == '.' && before >= 'a' && before <= 'z')) {
        if (!text_spacy_is_plain(p, n - 1)) {
            return false;
        }
        cut = chunk.end - 1;
        notes[0] = 0;
        notes[1] = spacy->tokens.ascii[last];
    } else if (first < 128 && (text_spacy_ascii[first] & TEXT_SPACY_PREFIX) != 0 && n > 2) {
        if (!text_spacy_is_plain(p + 1, n - 1)) {
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

/* Looks at the chunks with a bit in `others` without cutting them, and asks for the memory that
 * cutting them will want. No branch depends on what the chunks are, so that many are looked at at
 * once. */
static void probe_chunks(struct text_spacy *spacy, const unsigned char *text, size_t len,
                         const struct text_span *chunks, uint64_t others, struct probe *probe)
{
    for (; others != 0; others &= others - 1, probe++) {
        const struct text_span *chunk = chunks + text_low_bit(others);
        size_t n = chunk->end - chunk->begin, most = n < KEY_MOST ? n : KEY_MOST;
        struct key key = key_of(text + chunk->begin, most, len - chunk->begin);
        uint64_t hash = text_spacy_mix(key.low, key.high, n);
        probe->key = key;
        probe->slot = &spacy->cache[(hash ^ hash >> 16) & spacy->mask];
        probe->known = text_spacy_maybe(hash) != 0;
        __builtin_prefetch(probe->slot);
    }
}

/* Appends n plain chunks, a few at once: up to ROOM more are read and written, which there is room
 * for. */
static inline void add_plain(struct text_spacy_tokens *tokens, const struct text_span *chunks,
                             size_t n)
{
    struct text_span *spans = tokens->spans->data + tokens->spans->count;
    uint16_t *notes = tokens->notes + tokens->spans->count;
    for (size_t i = 0; i < n; i += ROOM) {
        memcpy(spans + i, chunks + i, ROOM * sizeof *spans);
        memset(notes + i, 0, ROOM * sizeof *notes);
    }
    tokens->spans->count += n;
}

/* Appends the tokens of a chunk that is remembered: all that the slot can hold are written, which
 * there is room for, and those that count are counted, so that nothing depends on how many they
 * are. False when it is not. */
static inline bool add_known(struct text_spacy_tokens *tokens, struct text_span chunk,
                             const struct probe *probe)
{
    const struct remembered *slot = probe->slot;
    const struct key *key = &probe->key;
    size_t n = chunk.end - chunk.begin, at = tokens->spans->count;
    if (((slot->key.low ^ key->low) | (slot->key.high ^ key->high) | (slot->len ^ n)) != 0) {
        return false;
    }
    struct text_span *spans = tokens->spans->data + at;
    uint32_t end = chunk.begin;
    for (size_t i = 0; i < TOKENS_MOST; i++) {
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

/* Appends the tokens of chunk i, which is not plain; *id is that of the token before, and becomes
 * that of the last one. */
static int32_t add_other(struct text_spacy *spacy, const unsigned char *text, size_t len, size_t i,
                         const struct probe *probe, uint32_t *id, struct sluice_error *err)
{
    struct text_spacy_tokens *tokens = &spacy->tokens;
    struct text_span chunk = spacy->chunks.data[i];
    uint32_t end = i > 0 ? spacy->chunks.data[i - 1].end : 0;
    size_t first = tokens->spans->count;
    bool matches = probe->slot->matches;
    if (!add_known(tokens, chunk, probe)) {
        int32_t status = add_new(spacy, text, len, chunk, probe, &matches, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    /* White space is a token, except for one space between others. */
    bool space = (chunk.begin - end > 1) | (text[end] != ' ');
    uint32_t note = tokens->notes[first];
    space = i > 0 ? space : chunk.begin > 0;
    tokens->notes[first] = (uint16_t)(note | (space ? TEXT_SPACY_NOTE_BREAK : 0));
    bool pair = is_pair(*id, tokens->notes[first]);
    *id = tokens->notes[tokens->spans->count - 1] & TEXT_SPACY_ID;
    return (matches | pair) ? add_pairs(spacy, first, matches, err) : SLUICE_OK;
}

/* Makes room for the tokens of n plain chunks and of one that is remembered. */
static inline int32_t reserve_tokens(struct text_spacy_tokens *tokens, size_t n, size_t left,
                                     struct sluice_error *err)
{
    return text_spacy_has_room(tokens, n + ROOM + TOKENS_MOST)
               ? SLUICE_OK
               : text_spacy_reserve(tokens, left + ROOM + TOKENS_MOST, err);
}

/* The tokens of a text as its chunks give them, into spacy->tokens. */
static int32_t collect(struct text_spacy *spacy, const unsigned char *text, size_t len,
                       struct sluice_error *err)
{
    struct text_spacy_tokens *tokens = &spacy->tokens;
    struct probe probes[TEXT_SPACY_PLAIN_BLOCK];
    int32_t status =
        text_words(TEXT_WORDS_WHITESPACE, (const char *)text, len, &spacy->chunks, err);
    if (status == SLUICE_OK) {
        status = text_spans_reserve(&spacy->chunks, ROOM, err);
    }
    size_t n = spacy->chunks.count;
    uint32_t id = 0; /* of the token before */
    tokens->spans->count = 0;
    spacy->pairs.count = 0;
    for (size_t at = 0; at < n && status == SLUICE_OK; at += TEXT_SPACY_PLAIN_BLOCK) {
        const struct text_span *chunks = spacy->chunks.data + at;
        const struct probe *probe = probes;
        size_t done = 0, count = n - at;
        count = count < TEXT_SPACY_PLAIN_BLOCK ? count : TEXT_SPACY_PLAIN_BLOCK;
        uint64_t all = count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
        uint64_t others = all & ~text_spacy_find_plain(text, len, chunks, count);
        probe_chunks(spacy, text, len, chunks, others, probes);
        for (; others != 0 && status == SLUICE_OK; others &= others - 1) {
            size_t i = text_low_bit(others);
            status = reserve_tokens(tokens, i - done, n - at - done, err);
            if (status == SLUICE_OK) {
                add_plain(tokens, chunks + done, i - done);
                id = i > done ? 0 : id;
                status = add_other(spacy, text, len, at + i, probe++, &id, err);
            }
            done = i + 1;
        }
        if (status == SLUICE_OK && done < count) {
            status = reserve_tokens(tokens, count - done, n - at - done, err);
            if (status == SLUICE_OK) {
                add_plain(tokens, chunks + done, count - done);
                id = 0;
            }
        }
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
        /* A white space token stands before it: plain words have no notes. */
        bool space = (word.begin - end > 1) | (word.begin > end && p[end] != ' ');
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
