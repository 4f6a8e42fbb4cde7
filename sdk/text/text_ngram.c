/* text_ngram.c — see text_ngram.h.
 *
 * How the work is saved. Most documents are far from the limits, so a cheap bound that is never
 * too low settles them:
 *
 * - Top n-gram. Each n-gram adds its length to one of TEXT_NGRAM_BUCKETS sums, chosen by hash. The
 *   sum of a bucket is at least length x count of any n-gram in it, so the largest sum bounds them
 *   all. Most often the sums of 2-grams, made while the words are gathered, bound the longer ones
 *   well enough.
 * - Repeated n-grams. If an n-gram of at least KEY bytes was seen before, so were its first KEY
 *   bytes. One table of these prefixes (and of shorter ones of n-grams that are shorter) marks, for
 *   all n at once, the places where a repeated n-gram may begin; the words these could cover bound
 *   the result. The exact scan then looks only at places whose prefix occurs twice: the others'
 *   n-grams are unique. Prefixes are of bytes and not of words because the peer joins the words by
 *   nothing: "ab c" and "a bc" are the same to it. Where the bound does not settle a limit, longer
 *   prefixes at the places left narrow them further.
 */
#include "text/text_ngram.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_hash.h"
#include "text/text_scratch.h"
#include "text/text_seen.h"
#include "text/text_short.h"

#define KEY 16       /* bytes of a prefix; more when a first look settles too little */
#define SHORT_KEY 8  /* of n-grams of fewer than KEY bytes, at the first look */
#define NARROWER 12  /* bytes that a longer prefix has more, at least: shorter steps cost more */
#define PADDING 64   /* readable bytes behind compact */
#define AHEAD 32     /* places hashed in advance */
#define MAX_COVER 64 /* longest n of a bound on repeats */

enum { SEEN_BEFORE = 1, SEEN_AFTER = 2 };

/* Buckets, as a power of two, for the sums of n words: short documents use fewer. */
static unsigned sum_bits(size_t n)
{
    unsigned bits = 8;
    while (bits < 11 && (size_t)1 << bits < 2 * n) {
        bits++;
    }
    return bits;
}

/* Copies the words one behind the other, hashes them, and finds the bound on 2-grams. */
static inline void gather(struct text_ngrams *grams, unsigned char *compact, uint32_t *chars,
                          bool ascii)
{
    const struct text_doc *doc = grams->doc;
    const unsigned char *text = text_bytes(doc->text);
    const struct text_span *words = doc->words;
    size_t n = grams->n, safe = doc->len < TEXT_SHORT ? 0 : doc->len - TEXT_SHORT + 1;
    uint32_t at = 0, count = 0, before = 0, largest = 0, shortest = UINT32_MAX;
    uint32_t *sums = grams->sums, *places = grams->at;
    uint64_t last = 0, *hashes = grams->hash;
    unsigned shift = 64 - sum_bits(n);
    memset(sums, 0, sizeof *sums << (64 - shift));
    for (size_t i = 0; i < n; i++) {
        uint32_t begin = words[i].begin, len = words[i].end - begin, width = len;
        unsigned char *to = compact + at;
        if (len <= TEXT_SHORT && begin < safe) {
            memcpy(to, text + begin, TEXT_SHORT);
        } else {
            memcpy(to, text + begin, len);
        }
        uint64_t hash = text_short_hash(to, len);
        places[i] = at;
        hashes[i] = hash;
        if (!ascii) {
            width = (uint32_t)text_short_count(to, len);
            chars[i] = count;
            count += width;
        }
        at += len;
        shortest = width < shortest ? width : shortest;
        /* The first word makes a 2-gram with nothing: a bound may be too high. */
        uint32_t sum = sums[(last * TEXT_HASH_A + hash) >> shift] += before + width + 1;
        largest = sum > largest ? sum : largest;
        before = width;
        last = hash;
    }
    places[n] = at;
    if (!ascii) {
        chars[n] = count;
    }
    grams->pair_bound = doc->len < UINT32_MAX / 4 && n > 0 && shortest > 0 ? largest : 0;
    memset(compact + at, 0, PADDING);
}

int32_t text_ngrams_init(struct text_ngrams *grams, const struct text_doc *doc,
                         struct text_scratch *scratch, struct sluice_error *err)
{
    size_t n = doc->n_words, slots = text_hash_slots(2 * n);
    struct text_buffer *bytes = &scratch->bytes[0];
    bytes->len = 0;
    int32_t status = text_buffer_reserve(bytes, doc->len + PADDING, err);
    if (status != SLUICE_OK) {
        return status;
    }
    size_t size = slots * sizeof(uint64_t) + n * sizeof(uint64_t) + (4 * n + 2) * sizeof(uint32_t) +
                  TEXT_NGRAM_LIMITS * TEXT_NGRAM_BUCKETS * sizeof(uint32_t) + n;
    void *arena = text_scratch_arena(scratch, size, err);
    if (arena == NULL) {
        return SLUICE_E_NOMEM;
    }
    uint64_t *table = arena, *hash = table + slots;
    uint32_t *sums = (uint32_t *)(hash + n);
    uint32_t *at = sums + TEXT_NGRAM_LIMITS * TEXT_NGRAM_BUCKETS;
    uint32_t *chars = at + n + 1, *first = chars + n + 1, *count = first + n;
    unsigned char *compact = (unsigned char *)bytes->data;
    *grams = (struct text_ngrams){
        .doc = doc,
        .scratch = scratch,
        .n = n,
        .compact = compact,
        .hash = hash,
        .at = at,
        .chars = doc->ascii ? at : chars,
        .repeats = (uint8_t *)(count + n),
        .table = table,
        .slots = slots,
        .first = first,
        .count = count,
        .sums = sums,
        .key = KEY,
    };
    if (doc->ascii) {
        gather(grams, compact, chars, true);
    } else {
        gather(grams, compact, chars, false);
    }
    grams->spaces = memchr(compact, ' ', at[n]) != NULL;
    return SLUICE_OK;
}

/* ---- the most frequent n-gram ---- */

/* Whether bounds can be had: few limits, their n ascending and not too long. */
static bool can_bound(const struct text_ngram_limit *limits, size_t n_limits)
{
    if (n_limits > TEXT_NGRAM_LIMITS) {
        return false;
    }
    for (size_t k = 0; k < n_limits; k++) {
        if (limits[k].n > MAX_COVER || (k > 0 && limits[k].n <= limits[k - 1].n)) {
            return false;
        }
    }
    return true;
}

/* Whether the lengths of all n-grams sum to less than 2^32. */
static bool sums_fit(const struct text_ngrams *grams, const struct text_ngram_limit *limits,
                     size_t n_limits)
{
    return n_limits == 0 || grams->doc->len <= UINT32_MAX / 2 / limits[n_limits - 1].n;
}

/* Whether bounds drawn from that of 2-grams settle all limits; then they are written. An n-gram's
 * characters are those of the 2-grams that cover it, and of the spaces between these; it is not
 * more frequent than any of them, and a 2-gram has at least 3 characters. */
static bool settled_by_pairs(const struct text_ngrams *grams, const struct text_ngram_limit *limits,
                             size_t n_limits, uint64_t *bounds)
{
    uint64_t pair = grams->pair_bound;
    for (size_t k = 0; k < n_limits; k++) {
        uint64_t cover = (limits[k].n + 1) / 2,
                 joints = limits[k].n % 2 == 0 ? cover - 1 : cover - 2;
        if (pair == 0 || limits[k].n < 2) {
            return false;
        }
        bounds[k] = cover * pair + (joints * pair + 2) / 3;
        if ((double)bounds[k] / (double)grams->doc->chars > limits[k].limit) {
            return false;
        }
    }
    return true;
}

void text_ngrams_top_bounds(const struct text_ngrams *grams, const struct text_ngram_limit *limits,
                            size_t n_limits, uint64_t *bounds)
{
    if (grams->spaces || !can_bound(limits, n_limits) || !sums_fit(grams, limits, n_limits)) {
        for (size_t k = 0; k < n_limits; k++) {
            bounds[k] = UINT64_MAX;
        }
        return;
    }
    if (settled_by_pairs(grams, limits, n_limits, bounds)) {
        return;
    }
    uint32_t largest[TEXT_NGRAM_LIMITS] = { 0 };
    unsigned bits = sum_bits(grams->n), shift = 64 - bits;
    for (size_t k = 0; k < n_limits; k++) { /* only what short documents use */
        memset(grams->sums + k * TEXT_NGRAM_BUCKETS, 0, sizeof *grams->sums << bits);
    }
    for (size_t i = 0; i < grams->n; i++) {
        uint64_t hash = 0;
        uint32_t before = grams->chars[i];
        uint32_t *sums = grams->sums;
        size_t j = 0;
        for (size_t k = 0; k < n_limits; k++, sums += TEXT_NGRAM_BUCKETS) {
            size_t n = limits[k].n;
            if (i + n > grams->n) {
                break;
            }
            for (; j < n; j++) {
                hash = hash * TEXT_HASH_A + grams->hash[i + j];
            }
            uint32_t len = grams->chars[i + n] - before + (uint32_t)n - 1;
            uint32_t sum = sums[hash >> shift] += len;
            largest[k] = sum > largest[k] ? sum : largest[k];
        }
    }
    for (size_t k = 0; k < n_limits; k++) {
        bounds[k] = largest[k];
    }
}

/* The words joined by one space; word i begins at at[i] + i. */
static int32_t join(struct text_ngrams *grams, struct sluice_error *err)
{
    struct text_buffer *bytes = &grams->scratch->bytes[1];
    bytes->len = 0;
    int32_t status = text_buffer_reserve(bytes, (size_t)grams->at[grams->n] + grams->n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t i = 0; i < grams->n; i++) {
        uint32_t len = grams->at[i + 1] - grams->at[i];
        char *to = bytes->data + grams->at[i] + i;
        memcpy(to, grams->compact + grams->at[i], len);
        to[len] = ' ';
    }
    grams->joined = (const unsigned char *)bytes->data;
    return SLUICE_OK;
}

static inline uint64_t joined_hash(const struct text_ngrams *grams, size_t i, size_t n)
{
    return text_hash_bytes(grams->joined + grams->at[i] + i,
                           (size_t)grams->at[i + n] - grams->at[i] + n - 1);
}

static inline bool joined_same(const struct text_ngrams *grams, size_t i, size_t j, size_t n)
{
    size_t len = (size_t)grams->at[i + n] - grams->at[i] + n - 1;
    return (size_t)grams->at[j + n] - grams->at[j] + n - 1 == len &&
           memcmp(grams->joined + grams->at[j] + j, grams->joined + grams->at[i] + i, len) == 0;
}

/* Where no word holds a space, equal n-grams are of equal words. */
static inline uint64_t words_hash(const struct text_ngrams *grams, size_t i, size_t n)
{
    uint64_t hash = grams->hash[i];
    for (size_t k = 1; k < n; k++) {
        hash = hash * TEXT_HASH_A + grams->hash[i + k];
    }
    return hash;
}

static inline bool words_same(const struct text_ngrams *grams, size_t i, size_t j, size_t n)
{
    uint32_t differ = 0;
    for (size_t k = 1; k <= n; k++) {
        differ |= (grams->at[i + k] - grams->at[i]) ^ (grams->at[j + k] - grams->at[j]);
    }
    return differ == 0 &&
           text_short_same(grams->compact + grams->at[i], grams->compact + grams->at[j],
                           grams->at[i + n] - grams->at[i]);
}

/* Counts the n-grams into first and count; gives how many are distinct. */
static inline uint32_t count_ngrams(struct text_ngrams *grams, size_t n, bool joined)
{
    size_t total = grams->n - n + 1, mask = text_hash_slots(total) - 1;
    uint32_t distinct = 0;
    memset(grams->table, 0, (mask + 1) * sizeof *grams->table);
    for (size_t i = 0; i < total; i++) {
        uint64_t hash = joined ? joined_hash(grams, i, n) : words_hash(grams, i, n);
        size_t slot = hash & mask;
        uint64_t taken;
        uint32_t entry = distinct;
        for (; (taken = grams->table[slot]) != 0; slot = (slot + 1) & mask) {
            uint32_t j = grams->first[text_hash_index(taken)];
            if (text_hash_same(taken, hash) &&
                (joined ? joined_same(grams, i, j, n) : words_same(grams, i, j, n))) {
                entry = text_hash_index(taken);
                break;
            }
        }
        if (entry == distinct) {
            grams->table[slot] = text_hash_slot(hash, distinct);
            grams->first[distinct] = (uint32_t)i;
            grams->count[distinct++] = 0;
        }
        grams->count[entry]++;
    }
    return distinct;
}

int32_t text_ngrams_top(struct text_ngrams *grams, uint32_t n, uint64_t *chars,
                        struct sluice_error *err)
{
    uint32_t distinct, best = 0;
    *chars = 0;
    if (grams->n < n) {
        return SLUICE_OK;
    }
    if (grams->spaces && grams->joined == NULL) {
        int32_t status = join(grams, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    distinct = grams->spaces ? count_ngrams(grams, n, true) : count_ngrams(grams, n, false);
    for (uint32_t entry = 1; entry < distinct; entry++) {
        best = grams->count[entry] > grams->count[best] ? entry : best;
    }
    uint32_t i = grams->first[best];
    *chars = ((uint64_t)(grams->chars[i + n] - grams->chars[i]) + n - 1) * grams->count[best];
    return SLUICE_OK;
}

/* ---- repeated n-grams ---- */

/* Where find_repeats stands. */
struct repeats {
    struct text_ngrams *grams;
    const struct text_ngram_limit *limits;
    size_t n_limits;
    size_t key; /* bytes of a prefix */
    struct text_seen seen;
};

/* Marks place i, if its hash was seen, and the place that had it first. A hash that finds no room
 * counts as seen, at each place that has it. */
static inline void note(struct text_seen *seen, uint8_t *repeats, uint64_t hash, size_t i)
{
    uint32_t first = text_seen_add(seen, hash, (uint32_t)i);
    if (first == TEXT_SEEN_FULL) {
        repeats[i] |= SEEN_BEFORE;
        return;
    }
    unsigned was_seen = first != i;
    repeats[first] |= (uint8_t)(was_seen * SEEN_AFTER);
    repeats[i] |= (uint8_t)(was_seen * SEEN_BEFORE);
}

/* Notes the n-grams from place i that are shorter than `key`, for each limit's n. */
static void note_short(struct repeats *state, size_t i, size_t key)
{
    const struct text_ngrams *grams = state->grams;
    const struct text_ngram_limit *limits = state->limits;
    for (size_t k = 0; k < state->n_limits && i + limits[k].n <= grams->n; k++) {
        size_t len = grams->at[i + limits[k].n] - grams->at[i];
        if (len >= key) {
            break;
        }
        note(&state->seen, grams->repeats, ~text_short_hash(grams->compact + grams->at[i], len), i);
    }
}

/* What find_repeats has found up to a place. */
struct covering {
    size_t last;                   /* place seen before; huge before the first */
    uint64_t cover[MAX_COVER + 1]; /* the last one: of words farther behind it */
};

static inline void add_cover(struct covering *covering, const struct text_ngrams *grams, size_t i)
{
    size_t distance = i - covering->last;
    distance = distance < MAX_COVER ? distance : MAX_COVER; /* not a branch */
    covering->cover[distance] += grams->chars[i + 1] - grams->chars[i];
}

/* Notes place i: its prefix, when the text is long enough, and its n-grams that are shorter. */
static void note_place(struct repeats *state, struct covering *covering, size_t i)
{
    struct text_ngrams *grams = state->grams;
    size_t shortest = state->limits[0].n, at = grams->at[i];
    grams->repeats[i] = 0;
    if (grams->at[grams->n] - at >= state->key) {
        note(&state->seen, grams->repeats, text_short_hash(grams->compact + at, state->key), i);
    }
    if (i + shortest <= grams->n && grams->at[i + shortest] - at < state->key) {
        note_short(state, i, state->key);
    }
    covering->last = (grams->repeats[i] & SEEN_BEFORE) != 0 ? i : covering->last;
}

/* Fills repeats and the covering: cover[d] are the characters of words d places behind the last
 * place seen before. Looks at places that repeat already. */
static void find_marked(struct repeats *state, struct covering *covering)
{
    struct text_ngrams *grams = state->grams;
    for (size_t i = 0; i < grams->n; i++) {
        if (grams->repeats[i] != 0) {
            note_place(state, covering, i);
        }
        add_cover(covering, grams, i);
    }
}

/* Notes the prefixes of KEY bytes of all places that have so many. Their hashes are made some in
 * advance, so that the memory they want is there when they are looked for. */
static void put_prefixes(const struct repeats *state, size_t places)
{
    const struct text_ngrams *grams = state->grams;
    const uint32_t *at = grams->at;
    const unsigned char *compact = grams->compact;
    uint8_t *repeats = grams->repeats;
    struct text_seen seen = state->seen; /* which nothing else points to */
    while (places > 0 && at[grams->n] - at[places - 1] < KEY) {
        places--;
    }
    for (size_t i = 0; i < places; i += AHEAD) {
        size_t count = places - i < AHEAD ? places - i : AHEAD;
        uint64_t hashes[AHEAD];
        for (size_t k = 0; k < count; k++) {
            const unsigned char *p = compact + at[i + k];
            hashes[k] = text_hash_mix(text_load64(p) ^ TEXT_HASH_A,
                                      text_load64(p + 8) ^ (TEXT_HASH_B + KEY));
            text_seen_prefetch(&seen, hashes[k]);
        }
        for (size_t k = 0; k < count; k++) {
            note(&seen, repeats, hashes[k], i + k);
        }
    }
}

/* The places whose shortest n-gram has fewer than KEY bytes; returns how many. */
static size_t find_below(const struct text_ngrams *grams, size_t shortest, size_t places,
                         uint32_t *below)
{
    const uint32_t *at = grams->at;
    size_t count = 0;
    for (size_t i = 0; i < places; i++) {
        below[count] = (uint32_t)i;
        count += at[i + shortest] - at[i] < KEY;
    }
    return count;
}

/* Notes the n-grams of fewer than KEY bytes from these places: their first SHORT_KEY bytes once for
 * all of them, and those that have not even so many one by one. PADDING bytes more may be read. */
static void put_below(struct repeats *state, const uint32_t *below, size_t count)
{
    const struct text_ngrams *grams = state->grams;
    const uint32_t *at = grams->at;
    const unsigned char *compact = grams->compact;
    uint8_t *repeats = grams->repeats;
    size_t shortest = state->limits[0].n, last = at[grams->n];
    struct text_seen seen = state->seen;
    for (size_t k = 0; k < count; k++) {
        size_t i = below[k];
        if (last - at[i] >= SHORT_KEY) {
            uint64_t first = text_load64(compact + at[i]);
            note(&seen, repeats, text_hash_mix(first ^ TEXT_HASH_B, TEXT_HASH_A + SHORT_KEY), i);
        }
        if (at[i + shortest] - at[i] < SHORT_KEY) {
            note_short(state, i, SHORT_KEY);
        }
    }
}

/* As find_marked for all places, with prefixes of KEY bytes, or of SHORT_KEY for n-grams that have
 * not so many. Which places repeat, and which n-grams are short, nobody foretells: no branch
 * asks. */
static void find_all(struct repeats *state, struct covering *covering)
{
    struct text_ngrams *grams = state->grams;
    size_t shortest = state->limits[0].n, n = grams->n;
    size_t places = n >= shortest ? n - shortest + 1 : 0; /* with an n-gram */
    uint32_t *below =
        grams->first; /* of the most frequent n-gram, which is found by now or not yet */
    memset(grams->repeats, 0, n);
    put_prefixes(state, places);
    put_below(state, below, find_below(grams, shortest, places, below));
    for (size_t i = 0; i < n; i++) {
        covering->last = (grams->repeats[i] & SEEN_BEFORE) != 0 ? i : covering->last;
        add_cover(covering, grams, i);
    }
}

static size_t count_repeats(const struct text_ngrams *grams)
{
    size_t count = 0;
    for (size_t i = 0; i < grams->n; i++) {
        count += grams->repeats[i] != 0;
    }
    return count;
}

/* As text_ngrams_repeats, with prefixes of `key` bytes. */
static void bound_repeats(struct text_ngrams *grams, const struct text_ngram_limit *limits,
                          size_t n_limits, size_t key, bool all, uint64_t *bounds)
{
    struct repeats state = { grams, limits, n_limits, key, { 0 } };
    struct covering covering = { .last = SIZE_MAX / 2 };
    text_seen_init(&state.seen, grams->table,
                   all ? grams->slots / 8 : text_seen_buckets(count_repeats(grams)));
    if (all) {
        find_all(&state, &covering);
    } else {
        find_marked(&state, &covering);
    }
    for (size_t k = 0; k < n_limits; k++) {
        bounds[k] = 0;
        for (size_t distance = 0; distance < limits[k].n; distance++) {
            bounds[k] += covering.cover[distance];
        }
    }
}

void text_ngrams_repeats(struct text_ngrams *grams, const struct text_ngram_limit *limits,
                         size_t n_limits, uint64_t *bounds)
{
    if (n_limits == 0) {
        return;
    }
    if (can_bound(limits, n_limits)) {
        bound_repeats(grams, limits, n_limits, KEY, true, bounds);
        return;
    }
    memset(grams->repeats, SEEN_BEFORE | SEEN_AFTER, grams->n);
    for (size_t k = 0; k < n_limits && n_limits <= TEXT_NGRAM_LIMITS; k++) {
        bounds[k] = UINT64_MAX;
    }
}

void text_ngrams_narrow(struct text_ngrams *grams, const struct text_ngram_limit *limits,
                        size_t n_limits, uint64_t *bounds)
{
    size_t key = 4 * (size_t)limits[0].n;
    if (key >= grams->key + NARROWER && can_bound(limits, n_limits)) {
        grams->key = key;
        bound_repeats(grams, limits, n_limits, key, false, bounds);
    }
}

uint64_t text_ngrams_dup(struct text_ngrams *grams, uint32_t n)
{
    uint64_t chars = 0;
    size_t mask = text_hash_slots(count_repeats(grams)) - 1;
    memset(grams->table, 0, (mask + 1) * sizeof *grams->table);
    for (size_t i = 0; i < grams->n && grams->n - i >= n;) {
        if (grams->repeats[i] == 0) {
            i++;
            continue;
        }
        const unsigned char *gram = grams->compact + grams->at[i];
        size_t len = grams->at[i + n] - grams->at[i];
        uint64_t hash = text_short_hash(gram, len), taken;
        size_t slot = hash & mask;
        for (; (taken = grams->table[slot]) != 0; slot = (slot + 1) & mask) {
            uint32_t j = text_hash_index(taken);
            if (text_hash_same(taken, hash) && grams->at[j + n] - grams->at[j] == len &&
                memcmp(grams->compact + grams->at[j], gram, len) == 0) {
                break;
            }
        }
        if (taken != 0) {
            chars += grams->chars[i + n] - grams->chars[i];
            i += n;
        } else {
            grams->table[slot] = text_hash_slot(hash, (uint32_t)i);
            i++;
        }
    }
    return chars;
}
