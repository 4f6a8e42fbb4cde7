#include "dolma_repeat.h"

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
#define BASE_LIMIT ((uint32_t)3 << 30)

void dolma_repeat_deinit(struct dolma_repeat *repeat)
{
    free(repeat->matches);
    free(repeat->ranges);
    free(repeat->heads);
    free(repeat->hashes);
    free(repeat->before);
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
        return (text_classes(c) & TEXT_SPACE) != 0;
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

static bool copy_at(const struct trial *trial, size_t at)
{
    return at <= trial->n && trial->n - at >= trial->piece &&
           trial->text[at] == trial->text[trial->begin] &&
           memcmp(trial->text + at, trial->text + trial->begin, trial->piece) == 0;
}

/* Goes on from `at` as a backtracking engine does: white space is taken if it can be, and given back while fewer than three more
 * copies were found. The end, or 0. */
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

/* The last place from which a long piece may begin whose first anchor this is; SIZE_MAX = none. From within a run of a short piece that
 * one repeats, and counts: only places in front of such a run are of use. */
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

/* The same `block` bytes stand at anchor and at place: adds the places from which a piece may begin. */
static int32_t consider(struct dolma_repeat *repeat, const char *text, size_t n, size_t anchor,
                        size_t place, size_t block, struct sluice_error *err)
{
    size_t distance = place - anchor;
    size_t lo = anchor >= block - 1 ? anchor - (block - 1) : 0;
    size_t back = anchor;
    size_t ahead = anchor + block;
    size_t longest = distance < 16 * block ? distance : 16 * block - 1;
    size_t last = last_begin(text, anchor, block);

    while (back > lo && text[back - 1] == text[back - 1 + distance]) {
        back--;
    }
    /* A piece that begins at `anchor` needs distance - SPACE_MAX equal bytes at least; one before it fewer ahead. */
    while (ahead < anchor + longest && ahead + distance < n &&
           text[ahead] == text[ahead + distance]) {
        ahead++;
    }
    for (size_t piece = distance - SPACE_MAX; piece <= longest; piece++) {
        size_t hi = ahead < back + piece ? 0 : ahead - piece;
        if (piece < 2 * block || ahead < back + piece) {
            continue;
        }
        hi = hi > last ? last : hi;
        if (back <= hi) {
            int32_t status = add_range(repeat, back, hi, piece, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
    }
    return SLUICE_OK;
}

static int32_t reserve_anchors(struct dolma_repeat *repeat, size_t n, struct sluice_error *err)
{
    uint64_t *hashes;
    uint32_t *before;

    if (repeat->heads == NULL) {
        repeat->heads = calloc(HEADS, sizeof *repeat->heads);
        repeat->base = 1;
    }
    if (n > repeat->anchors) {
        n += n / 2;
        hashes = realloc(repeat->hashes, n * sizeof *hashes);
        if (hashes != NULL) {
            repeat->hashes = hashes;
        }
        before = realloc(repeat->before, n * sizeof *before);
        if (before != NULL) {
            repeat->before = before;
        }
        if (hashes == NULL || before == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for repetitions");
        }
        repeat->anchors = n;
    }
    return repeat->heads == NULL
               ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for repetitions")
               : SLUICE_OK;
}

static uint64_t load64(const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

#define MULTIPLIER 0x9E3779B97F4A7C15u

/* One level: pieces of 2 * block to 16 * block - 1 bytes. */
static int32_t find_level(struct dolma_repeat *repeat, const char *text, size_t n, size_t block,
                          struct sluice_error *err)
{
    size_t reach = 16 * block - 1 + SPACE_MAX;
    size_t end = n - block; /* the last place of a block */
    uint64_t rolling = 0;
    uint64_t power = 1;
    uint32_t base;
    int32_t status = reserve_anchors(repeat, n / block + 1, err);

    if (status != SLUICE_OK) {
        return status;
    }
    if (repeat->base > BASE_LIMIT - reach || n > BASE_LIMIT - repeat->base) {
        memset(repeat->heads, 0, HEADS * sizeof *repeat->heads);
        repeat->base = 1;
    }
    base = repeat->base;
    repeat->base += (uint32_t)(n + reach + 1);
    for (size_t i = 0; block > 8 && i < block; i++) {
        rolling = rolling * MULTIPLIER + (unsigned char)text[i];
        power *= MULTIPLIER;
    }
    for (size_t place = 0; place <= end; place++) {
        uint64_t hash = block == 8 ? load64(text + place) : rolling;
        size_t slot = (size_t)((hash * MULTIPLIER) >> 52);
        uint32_t head = repeat->heads[slot];
        while (head >= base && base + place - head <= reach) {
            size_t anchor = head - base;
            if (place - anchor >= 2 * block && repeat->hashes[anchor / block] == hash &&
                memcmp(text + anchor, text + place, block) == 0) {
                status = consider(repeat, text, n, anchor, place, block, err);
                if (status != SLUICE_OK) {
                    return status;
                }
            }
            head = repeat->before[anchor / block];
        }
        if (place % block == 0 && last_begin(text, place, block) != SIZE_MAX) {
            repeat->hashes[place / block] = hash;
            repeat->before[place / block] = repeat->heads[slot];
            repeat->heads[slot] = base + (uint32_t)place;
        }
        if (block > 8 && place < end) {
            rolling = rolling * MULTIPLIER + (unsigned char)text[place + block] -
                      power * (unsigned char)text[place];
        }
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
    int32_t status = SLUICE_OK;

    repeat->n_ranges = 0;
    for (size_t block = SMALL / 2; status == SLUICE_OK && n / COPIES >= 2 * block; block *= 8) {
        status = find_level(repeat, text, n, block, err);
    }
    if (repeat->n_ranges > 1) {
        qsort(repeat->ranges, repeat->n_ranges, sizeof *repeat->ranges, compare_ranges);
    }
    return status;
}

/* ---- pieces below SMALL bytes ---- */

/* Whether a short piece at `at` may come again; never false when one does. 40 bytes behind `at` are there. */
static bool may_repeat(const char *text, size_t at)
{
#if defined(__SSE2__)
    const char *p = text + at;
    __m128i c0 = _mm_set1_epi8(p[0]);
    __m128i c1 = _mm_set1_epi8(p[1]);
    unsigned m1;
    unsigned m2;
    unsigned char next = (unsigned char)p[1];
    unsigned both;

    /* Bit d - 1: the byte at distance d is the same. */
    m1 = (unsigned)_mm_movemask_epi8(
             _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 1)), c0)) |
         (unsigned)_mm_movemask_epi8(
             _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 17)), c0))
             << 16;
    m1 &= 0x3FFFF;
    if (m1 == 0) {
        return false;
    }
    if ((m1 & 1) != 0 || ((m1 & 0xE) != 0 && (next <= ' ' || next >= 0xC2))) {
        return true; /* a piece of one byte */
    }
    m2 = (unsigned)_mm_movemask_epi8(
             _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 2)), c1)) |
         (unsigned)_mm_movemask_epi8(
             _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 18)), c1))
             << 16;
    both = m1 & m2;
    if ((both & 0x3E) != 0) {
        return true;
    }
    for (both >>= 6; both != 0;
         both &= both - 1) { /* a distance of 7 and more: a piece of 4 and more */
        size_t d = 7 + (size_t)__builtin_ctz(both);
        if (p[2] == p[2 + d] && p[3] == p[3 + d]) {
            return true;
        }
    }
    return false;
#else
    (void)text;
    (void)at;
    return true;
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

/* The shortest long piece that repeats at `at`. ranges[first .. ] with lo <= at; the end to *end. */
static size_t long_piece(const struct dolma_repeat *repeat, const char *text, size_t n, size_t at,
                         size_t first, size_t *end)
{
    size_t best = SIZE_MAX;

    for (size_t k = first; k < repeat->n_ranges && repeat->ranges[k].lo <= at; k++) {
        const struct dolma_repeat_range *range = &repeat->ranges[k];
        if (range->hi >= at && range->piece < best && range->piece <= (n - at) / COPIES &&
            memchr(text + at, '\n', range->piece) == NULL) {
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
    int32_t status = find_ranges(repeat, text, n, err);

    repeat->n = 0;
    for (size_t at = 0; status == SLUICE_OK && at + COPIES <= n;) {
        size_t end = 0;
        size_t piece = 0;
        if (text[at] != '\n' && ((unsigned char)text[at] & 0xC0) != 0x80 &&
            (n - at < 40 || may_repeat(text, at))) {
            for (size_t k = 1;
                 end == 0 && k < SMALL && k <= (n - at) / COPIES && text[at + k - 1] != '\n'; k++) {
                end = try_piece(text, n, at, k);
                piece = k;
            }
        }
        if (end == 0 && first < repeat->n_ranges && repeat->ranges[first].lo <= at &&
            ((unsigned char)text[at] & 0xC0) != 0x80) {
            piece = long_piece(repeat, text, n, at, first, &end);
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
