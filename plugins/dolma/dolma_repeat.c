#include "dolma_repeat.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <sluice_arrays.h>

#define SMALL 16 /* shorter pieces are tried one by one */
#define COPIES 4
#define HEADS 4096
#define SPACE_MAX 3 /* bytes of a white space character */
#define FIRST_BLOCK ((size_t)SMALL / 2)
#define SEEN_BITS ((size_t)1 << 16)
#define REACH_MAX 1 /* stale anchors are below the base: nothing more is needed */
#define BASE_LIMIT ((uint32_t)3 << 30)

void dolma_repeat_deinit(struct dolma_repeat *repeat)
{
    for (size_t k = 0; k < DOLMA_REPEAT_LEVELS; k++) {
        free(repeat->heads[k]);
        free(repeat->before[k]);
    }
    free(repeat->matches);
    free(repeat->ranges);
    free(repeat->seen);
    memset(repeat, 0, sizeof *repeat);
}

/* Bytes of the white space character at `at`; 0 when there is none. */
static size_t space_at(const char *text, size_t n, size_t at)
{
    unsigned char c;
    uint32_t cp;
    size_t end;

    if (at >= n) {
        return 0;
    }
    c = (unsigned char)text[at];
    if (c < 0x80) {
        return (unsigned)(c - 9) < 5 || (unsigned)(c - 0x1C) < 5;
    }
    if (c != 0xC2 && c != 0xE1 && c != 0xE2 && c != 0xE3) {
        return 0;
    }
    end = text_utf8_decode(text, n, at, &cp);
    return (text_classes(cp) & TEXT_SPACE) != 0 ? end : 0;
}

/* The piece being tried, and how often it was found behind itself. */
struct trial {
    const char *text;
    size_t n, begin, piece;
};

static uint64_t load64(const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static inline bool copy_at(const struct trial *trial, size_t at)
{
    const char *a = trial->text + at;
    const char *b = trial->text + trial->begin;

    if (at > trial->n || trial->n - at < trial->piece || *a != *b) {
        return false;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (trial->piece <= 8 && trial->n - at >= 8) { /* begin is in front of at */
        return (load64(a) ^ load64(b)) << (64 - 8 * trial->piece) == 0;
    }
#endif
    return memcmp(a, b, trial->piece) == 0;
}

/* Goes on from `at` as a backtracking engine does: white space is taken if it can be, and given
 * back while fewer than three more copies were found. The end, or 0. */
static size_t copies_from(const struct trial *trial, size_t at, unsigned count)
{
    size_t end = 0;

    for (;;) {
        size_t space = space_at(trial->text, trial->n, at);
        bool behind = space > 0 && copy_at(trial, at + space);
        bool here = copy_at(trial, at);
        if (count + 1 >= COPIES) { /* three more are there: take what comes */
            if (!behind && !here) {
                return at;
            }
        } else {
            if (!behind && !here) {
                return 0;
            }
            if (behind && here) {
                end = copies_from(trial, at + space + trial->piece, count + 1);
                if (end > 0) {
                    return end;
                }
                behind = false;
            }
        }
        at += (behind ? space : 0) + trial->piece;
        count++;
    }
}

/* The end of a match at begin with a piece of this length; 0 = none. */
static size_t try_piece(const char *text, size_t n, size_t begin, size_t piece)
{
    struct trial trial = { text, n, begin, piece };
    size_t at = begin + piece;

    if (at < n && ((unsigned char)text[at] & 0xC0) == 0x80) {
        return 0;
    }
    return copies_from(&trial, at, 0);
}

/* ---- pieces of SMALL bytes and more ---- */

static int32_t add_range(struct dolma_repeat *repeat, size_t lo, size_t hi, size_t piece,
                         struct sluice_error *err)
{
    if (repeat->n_ranges == repeat->ranges_capacity) {
        size_t capacity = repeat->ranges_capacity * 2 + 64;
        struct dolma_repeat_range *ranges = realloc(repeat->ranges, capacity * sizeof *ranges);
        if (ranges == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for repetitions");
        }
        repeat->ranges = ranges;
        repeat->ranges_capacity = capacity;
    }
    repeat->ranges[repeat->n_ranges++] =
        (struct dolma_repeat_range){ (uint32_t)lo, (uint32_t)hi, (uint32_t)piece };
    return SLUICE_OK;
}

/* Whether the block is a piece of at most a quarter of it, again and again: its length, or 0. */
static size_t period_of(const char *block, size_t n)
{
    size_t most = n / COPIES < 64 ? n / COPIES : 64;

    for (size_t k = 1; k <= most; k++) {
        if (block[0] == block[k] && memcmp(block, block + k, n - k) == 0) {
            return k;
        }
    }
    return 0;
}

/* The last place from which a long piece may begin whose first anchor this is; SIZE_MAX = none.
 * From within a run of a short piece that one repeats, and counts: only places in front of such a
 * run are of use. */
static size_t last_begin(const char *text, size_t anchor, size_t block)
{
    size_t period = period_of(text + anchor, block);
    size_t lo = anchor >= block - 1 ? anchor - (block - 1) : 0;
    size_t last = anchor;

    if (period == 0) {
        return anchor;
    }
    while (last > lo && text[last - 1] == text[last - 1 + period]) {
        last--;
    }
    return last == lo ? SIZE_MAX : last - 1;
}

/* How many bytes at a and b are equal, `most` at most. */
static size_t equal_ahead(const char *a, const char *b, size_t most)
{
    size_t n = 0;

    while (n + 8 <= most && load64(a + n) == load64(b + n)) {
        n += 8;
    }
    while (n < most && a[n] == b[n]) {
        n++;
    }
    return n;
}

/* Whether the 8 bytes of the anchor stand in a third copy as well: behind place by the distance,
 * SPACE_MAX more or less. */
static bool third_copy(const char *text, size_t n, size_t anchor, size_t place)
{
    size_t at = place + (place - anchor) - SPACE_MAX;
    uint64_t head = load64(text + anchor);

    for (size_t k = 0; k <= 2 * SPACE_MAX && at + 8 <= n; k++, at++) {
        if (load64(text + at) == head) {
            return true;
        }
    }
    return false;
}

/* The same `block` bytes stand at anchor and at place: adds the places from which a piece may
 * begin. */
static int32_t consider(struct dolma_repeat *repeat, const char *text, size_t n, size_t anchor,
                        size_t place, size_t block, struct sluice_error *err)
{
    size_t distance = place - anchor;
    size_t lo = anchor >= block - 1 ? anchor - (block - 1) : 0;
    size_t back = anchor;
    size_t longest = distance < 16 * block ? distance : 16 * block - 1;
    size_t most = longest < n - place ? longest : n - place;
    size_t ahead = anchor + equal_ahead(text + anchor, text + place, most);
    size_t last;

    while (back > lo && text[back - 1] == text[back - 1 + distance]) {
        back--;
    }
    if (ahead < back + distance - SPACE_MAX) {
        return SLUICE_OK;
    }
    last = last_begin(text, anchor, block);
    for (size_t piece = distance - SPACE_MAX; piece <= longest && ahead >= back + piece; piece++) {
        size_t hi = ahead - piece < last ? ahead - piece : last;
        if (piece >= 2 * block && back <= hi) {
            int32_t status = add_range(repeat, back, hi, piece, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
    }
    return SLUICE_OK;
}

static int32_t reserve_anchors(struct dolma_repeat *repeat, size_t n, size_t levels,
                               struct sluice_error *err)
{
    bool failed = false;

    if (repeat->seen == NULL) {
        repeat->seen = calloc(SEEN_BITS / 64, sizeof *repeat->seen);
        repeat->base = 1;
        failed = repeat->seen == NULL;
    }
    for (size_t k = 0; k < levels && !failed; k++) {
        size_t anchors = n / (FIRST_BLOCK << (3 * k)) + 1;
        if (repeat->heads[k] == NULL) {
            repeat->heads[k] = calloc(HEADS, sizeof *repeat->heads[k]);
            failed = repeat->heads[k] == NULL;
        }
        if (!failed && anchors > repeat->anchors[k]) {
            uint32_t *before = realloc(repeat->before[k], (anchors + anchors / 2) * sizeof *before);
            failed = before == NULL;
            if (!failed) {
                repeat->before[k] = before;
                repeat->anchors[k] = anchors + anchors / 2;
            }
        }
    }
    return failed ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for repetitions")
                  : SLUICE_OK;
}

/* A place and the level's anchors behind it. */
static int32_t look_back(struct dolma_repeat *repeat, const char *text, size_t n, size_t level,
                         uint32_t base, size_t place, size_t slot, struct sluice_error *err)
{
    size_t block = FIRST_BLOCK << (3 * level);
    size_t reach = 16 * block - 1 + SPACE_MAX;
    uint32_t head = repeat->heads[level][slot];

    if (place + block > n) {
        return SLUICE_OK;
    }
    while (head >= base && base + place - head <= reach) {
        size_t anchor = head - base;
        if (place - anchor >= 2 * block && load64(text + anchor) == load64(text + place) &&
            third_copy(text, n, anchor, place) && memcmp(text + anchor, text + place, block) == 0) {
            int32_t status = consider(repeat, text, n, anchor, place, block, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
        head = repeat->before[level][anchor / block];
    }
    return SLUICE_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct dolma_repeat_range *x = a;
    const struct dolma_repeat_range *y = b;

    if (x->lo != y->lo) {
        return x->lo < y->lo ? -1 : 1;
    }
    return (x->piece > y->piece) - (x->piece < y->piece);
}

static int32_t find_ranges(struct dolma_repeat *repeat, const char *text, size_t n,
                           struct sluice_error *err)
{
    size_t levels = 0;
    uint32_t base;
    const uint32_t *heads;
    const uint64_t *seen;
    int32_t status;

    repeat->n_ranges = 0;
    while (levels < DOLMA_REPEAT_LEVELS && n / COPIES >= (size_t)SMALL << (3 * levels)) {
        levels++;
    }
    status = levels == 0 ? SLUICE_OK : reserve_anchors(repeat, n, levels, err);
    if (levels == 0 || status != SLUICE_OK) {
        return status;
    }
    if (n + REACH_MAX > BASE_LIMIT || repeat->base > BASE_LIMIT - n - REACH_MAX) {
        for (size_t k = 0; k < DOLMA_REPEAT_LEVELS; k++) {
            if (repeat->heads[k] != NULL) {
                memset(repeat->heads[k], 0, HEADS * sizeof *repeat->heads[k]);
            }
        }
        repeat->base = 1;
    }
    base = repeat->base;
    repeat->base += (uint32_t)n + REACH_MAX;
    if (levels > 1) {
        memset(repeat->seen, 0, SEEN_BITS / 8);
    }
    heads = repeat->heads[0];
    seen = repeat->seen;
    for (size_t place = 0; place + FIRST_BLOCK <= n && status == SLUICE_OK; place++) {
        uint64_t hash = load64(text + place) * 0x9E3779B97F4A7C15u;
        size_t slot = (size_t)(hash >> 52);
        size_t bit = (size_t)(hash >> 40) & (SEEN_BITS - 1);
        bool anchored = place % FIRST_BLOCK == 0;
        uint32_t newest = heads[slot];
        if (newest >= base && base + place - newest < 16 * FIRST_BLOCK + SPACE_MAX) {
            status = look_back(repeat, text, n, 0, base, place, slot, err);
        }
        if (levels > 1 && (seen[bit / 64] >> bit % 64 & 1) != 0) {
            for (size_t k = 1; k < levels && status == SLUICE_OK; k++) {
                status = look_back(repeat, text, n, k, base, place, slot, err);
            }
        }
        for (size_t k = 0; anchored && k < levels; k++) {
            size_t block = FIRST_BLOCK << (3 * k);
            anchored = place % block == 0 && place + block <= n;
            if (anchored && last_begin(text, place, block) != SIZE_MAX) {
                repeat->before[k][place / block] = repeat->heads[k][slot];
                repeat->heads[k][slot] = base + (uint32_t)place;
                if (k > 0) {
                    repeat->seen[bit / 64] |= (uint64_t)1 << bit % 64;
                }
            }
        }
    }
    if (status == SLUICE_OK && repeat->n_ranges > 1) {
        qsort(repeat->ranges, repeat->n_ranges, sizeof *repeat->ranges, compare_ranges);
    }
    return status;
}

/* ---- pieces below SMALL bytes ---- */

/* At which distances a short piece at `at` may come again: bit d - 1 for d. No distance at which
 * one does is left out. 40 bytes behind `at` are there. */
static unsigned may_repeat(const char *text, size_t at)
{
#if defined(__SSE2__)
    const char *p = text + at;
    __m128i c0 = _mm_set1_epi8(p[0]);
    __m128i c1 = _mm_set1_epi8(p[1]);
    const __m128i *near = (const __m128i *)(const void *)(p + 1);
    const __m128i *far = (const __m128i *)(const void *)(p + 17);
    unsigned m1 = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(near), c0)) |
                  (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(far), c0)) << 16;
    unsigned char next = (unsigned char)p[1];
    unsigned m2;
    unsigned mask;

    m1 &= 0x3FFFF; /* the same first byte; a piece of one byte needs no more */
    mask = m1 & (next <= ' ' || next >= 0xC2 ? 0xF : 1);
    if ((m1 & ~mask) == 0) {
        return mask;
    }
    near = (const __m128i *)(const void *)(p + 2);
    far = (const __m128i *)(const void *)(p + 18);
    m2 = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(near), c1)) |
         (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(far), c1)) << 16;
    m1 &= m2;
    mask |= m1 & 0x3E;
    for (m1 &= ~0x3Fu; m1 != 0;
         m1 &= m1 - 1) { /* a distance of 7 and more: a piece of 4 and more */
        size_t d = 1 + (size_t)__builtin_ctz(m1);
        if (p[2] == p[2 + d] && p[3] == p[3 + d]) {
            mask |= 1u << (d - 1);
        }
    }
    return mask;
#else
    (void)text;
    (void)at;
    return UINT_MAX;
#endif
}

static int32_t add_match(struct dolma_repeat *repeat, size_t begin, size_t end, size_t piece,
                         struct sluice_error *err)
{
    if (repeat->n == repeat->capacity) {
        size_t capacity = repeat->capacity * 2 + 64;
        struct dolma_repeat_match *matches = realloc(repeat->matches, capacity * sizeof *matches);
        if (matches == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for repetitions");
        }
        repeat->matches = matches;
        repeat->capacity = capacity;
    }
    repeat->matches[repeat->n++] =
        (struct dolma_repeat_match){ (uint32_t)begin, (uint32_t)end, (uint32_t)piece };
    return SLUICE_OK;
}

/* The shortest long piece of the line up to `line` that repeats at `at`. ranges[first .. ] with lo
 * <= at; the end to *end. */
static size_t long_piece(const struct dolma_repeat *repeat, const char *text, size_t n, size_t at,
                         size_t line, size_t first, size_t *end)
{
    size_t most = (n - at) / COPIES < line - at ? (n - at) / COPIES : line - at;
    size_t best = SIZE_MAX;

    for (size_t k = first; k < repeat->n_ranges && repeat->ranges[k].lo <= at; k++) {
        const struct dolma_repeat_range *range = &repeat->ranges[k];
        if (range->hi >= at && range->piece < best && range->piece <= most) {
            size_t stop = try_piece(text, n, at, range->piece);
            if (stop > 0) {
                best = range->piece;
                *end = stop;
            }
        }
    }
    return best == SIZE_MAX ? 0 : best;
}

int32_t dolma_repeat_find(struct dolma_repeat *repeat, const char *text, size_t n,
                          struct sluice_error *err)
{
    size_t first = 0;
    size_t line = 0; /* where the line of `at` ends */
    int32_t status = find_ranges(repeat, text, n, err);

    repeat->n = 0;
    for (size_t at = 0; status == SLUICE_OK && at + COPIES <= n;) {
        size_t end = 0;
        size_t piece = 0;
        unsigned far =
            /* bit k - 1: a piece of k bytes may come again behind itself, or behind up to SPACE_MAX
             * bytes */
            0;
        if (text[at] != '\n' && ((unsigned char)text[at] & 0xC0) != 0x80) {
            far = n - at < 40 ? UINT_MAX : may_repeat(text, at);
            far |= far >> 1 | far >> 2 | far >> 3;
        }
        for (size_t k = 1; far != 0 && end == 0 && k < SMALL && k <= (n - at) / COPIES &&
                           text[at + k - 1] != '\n';
             k++, far >>= 1) {
            if ((far & 1) != 0) {
                end = try_piece(text, n, at, k);
                piece = k;
            }
        }
        if (end == 0 && first < repeat->n_ranges && repeat->ranges[first].lo <= at &&
            ((unsigned char)text[at] & 0xC0) != 0x80) {
            if (line <= at) {
                const char *newline = memchr(text + at, '\n', n - at);
                line = newline != NULL ? (size_t)(newline - text) : n;
            }
            piece = long_piece(repeat, text, n, at, line, first, &end);
        }
        if (end > 0) {
            status = add_match(repeat, at, end, piece, err);
        }
        at = end > 0 ? end : at + 1;
        while (first < repeat->n_ranges && repeat->ranges[first].hi < at) {
            first++;
        }
    }
    return status;
}

size_t dolma_repeat_count(const char *text, const struct dolma_repeat_match *match)
{
    const char *piece = text + match->begin;
    size_t count = 0;

    for (size_t at = match->begin; match->end - at >= match->piece;) {
        if (memcmp(text + at, piece, match->piece) == 0) {
            count++;
            at += match->piece;
        } else {
            at++;
        }
    }
    return count;
}
