/* See text_phrases.h. */
#include "text/text_phrases.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_hash.h"

/* A slot: the hash's upper half, and what ends there: 0 = it is free, BEGINNING, or a phrase's
 * number + FIRST. Two phrases with one upper half have a slot each. */
struct slot {
    uint32_t tag, what;
};
#define BEGINNING 1u
#define FIRST 2u

#define FILTER_BITS_MOST 26 /* of what phrases begin with: at most 8 MiB */
#define LEAD 4              /* bytes of a beginning that the filter of code points looks at */
#define STEPS_A_BYTE 64

struct text_phrases {
    uint32_t flags;
    char *bytes;      /* of all phrases, one after the other */
    uint32_t *begins; /* n + 1 */
    size_t n;
    struct slot *slots;
    size_t n_slots, used; /* a power of two; at most three quarters of it */
    bool full;
    uint64_t *filter;
    uint32_t filter_shift;
    uint32_t lead;     /* bytes that every phrase has, at most LEAD */
    bool lone_signs;   /* words: some phrase ends in what is no word */
    uint32_t most_gap; /* words: most code points of no word in a row in any phrase */
    bool word_ascii[128];
};

/* ---- tokens ---- */

static bool is_word(const struct text_phrases *phrases, const unsigned char *p,
                    const unsigned char *end, size_t *size)
{
    uint32_t cp;
    uint32_t classes;

    if (*p < 0x80) {
        *size = 1;
        return phrases->word_ascii[*p];
    }
    *size = text_decode_strict(p, end, &cp);
    if (*size == 0) {
        *size = 1;
        return false;
    }
    classes = text_classes(cp);
    return (classes & (TEXT_LETTER | TEXT_NUMBER | TEXT_NONSPACING)) != 0 ||
           text_word_break(classes) == TEXT_WB_EXTEND || text_word_break(classes) == TEXT_WB_ZWJ;
}

/* The end of the token that begins at p < end; *word: it is one. */
static const unsigned char *token_end(const struct text_phrases *phrases, const unsigned char *p,
                                      const unsigned char *end, bool *word)
{
    size_t size;

    *word = is_word(phrases, p, end, &size);
    p += size;
    if (*word && (phrases->flags & TEXT_PHRASES_WORDS) != 0) {
        for (;;) {
            while (p < end && *p < 0x80 && phrases->word_ascii[*p]) {
                p++;
            }
            if (p == end || *p < 0x80 || !is_word(phrases, p, end, &size)) {
                return p;
            }
            p += size;
        }
    }
    return p;
}

/* end: of what may be read behind the token. */
static uint64_t hash_token(uint64_t before, const unsigned char *p, size_t n,
                           const unsigned char *end)
{
    uint64_t word = 0;

    if (n > 8) {
        return XXH3_64bits_withSeed(p, n, before);
    }
    /* Most are: a length, and so many bytes. */
    if (end - p >= 8) {
        memcpy(&word, p, 8);
        word &= n == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * n)) - 1;
    } else {
        memcpy(&word, p, n);
    }
    return text_hash_mix(word ^ before ^ TEXT_HASH_A, TEXT_HASH_B + n);
}

/* ---- lower case ---- */

/* Each code point has as many bytes as before. */
static void fold(char *text, size_t len)
{
    unsigned char *p = (unsigned char *)text;
    unsigned char *end = p + len;

    while (p < end) {
        uint32_t cp;
        size_t n;
        unsigned char lower[4];
        if (*p < 0x80) {
            *p = (unsigned char)(*p | (*p >= 'A' && *p <= 'Z' ? 0x20 : 0));
            p++;
            continue;
        }
        n = text_decode_strict(p, end, &cp);
        if (n > 0 && (text_classes(cp) & TEXT_LOWERS) != 0 &&
            (size_t)utf8proc_encode_char(utf8proc_tolower((int32_t)cp), lower) == n) {
            memcpy(p, lower, n);
        }
        p += n > 0 ? n : 1;
    }
}

/* ---- the table ---- */

static struct slot *slot_of(const struct text_phrases *phrases, uint64_t hash)
{
    return &phrases->slots[hash & (phrases->n_slots - 1)];
}

static struct slot *next_slot(const struct text_phrases *phrases, struct slot *slot)
{
    return slot + 1 == phrases->slots + phrases->n_slots ? phrases->slots : slot + 1;
}

static uint64_t filter_place(const struct text_phrases *phrases, const unsigned char *p,
                             uint64_t first_token)
{
    uint32_t lead = 0;

    if ((phrases->flags & TEXT_PHRASES_WORDS) == 0) {
        memcpy(&lead, p, phrases->lead);
        first_token = text_hash_mix(lead ^ TEXT_HASH_A, TEXT_HASH_B);
    }
    return first_token >> phrases->filter_shift;
}

static bool in_filter(const struct text_phrases *phrases, uint64_t place)
{
    return (phrases->filter[place / 64] >> (place % 64) & 1) != 0;
}

static bool is_phrase(const struct text_phrases *phrases, uint32_t number, const unsigned char *p,
                      size_t n)
{
    uint32_t begin = phrases->begins[number];

    return phrases->begins[number + 1] - begin == n && memcmp(phrases->bytes + begin, p, n) == 0;
}

/* Marks a beginning of phrase `number`, or with last the whole of it. False: it need not go on. */
static bool mark(struct text_phrases *phrases, uint64_t hash, uint32_t number, bool last)
{
    const unsigned char *p = (const unsigned char *)phrases->bytes + phrases->begins[number];
    size_t n = phrases->begins[number + 1] - phrases->begins[number];
    uint32_t tag = (uint32_t)(hash >> 32);
    struct slot *slot = slot_of(phrases, hash);

    for (; slot->what != 0; slot = next_slot(phrases, slot)) {
        if (slot->tag != tag) {
            continue;
        }
        if (!last) {
            return true; /* it is known that something goes on there */
        }
        if (slot->what == BEGINNING) {
            slot->what = number + FIRST;
            return true;
        }
        if (is_phrase(phrases, slot->what - FIRST, p, n)) {
            return false; /* there twice */
        }
    }
    if (phrases->used >= phrases->n_slots - phrases->n_slots / 4) {
        phrases->full = true;
        return false;
    }
    *slot = (struct slot){ tag, last ? number + FIRST : BEGINNING };
    phrases->used++;
    return true;
}

static void add_phrase(struct text_phrases *phrases, uint32_t number)
{
    const unsigned char *begin = (const unsigned char *)phrases->bytes + phrases->begins[number];
    const unsigned char *end = (const unsigned char *)phrases->bytes + phrases->begins[number + 1];
    bool words = (phrases->flags & TEXT_PHRASES_WORDS) != 0;
    uint64_t hash = 0;
    uint32_t gap = 0;

    for (const unsigned char *p = begin; p < end;) {
        bool word;
        const unsigned char *next = token_end(phrases, p, end, &word);
        uint64_t place;
        hash = hash_token(hash, p, (size_t)(next - p), end);
        gap = word ? 0 : gap + 1;
        phrases->most_gap = gap > phrases->most_gap ? gap : phrases->most_gap;
        if (p == begin || words) {
            place = filter_place(phrases, p, hash);
            phrases->filter[place / 64] |= (uint64_t)1 << (place % 64);
        }
        if (!mark(phrases, hash, number, next == end)) {
            return;
        }
        phrases->lone_signs = phrases->lone_signs || (next == end && !word);
        p = next;
    }
}

/* ---- making a list ---- */

static int32_t copy_phrases(struct text_phrases *phrases, const struct text_string *given, size_t n,
                            struct sluice_error *err)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        bytes += given[i].len;
    }
    if (bytes > TEXT_MAX || n > UINT32_MAX - FIRST - 1) {
        return text_error(err, SLUICE_E_CONFIG, "a list of phrases has more than 4 GiB");
    }
    phrases->bytes = malloc(bytes + 1);
    phrases->begins = malloc((n + 1) * sizeof *phrases->begins);
    if (phrases->bytes == NULL || phrases->begins == NULL) {
        return text_error_nomem(err, bytes);
    }
    bytes = 0;
    phrases->lead = LEAD;
    for (size_t i = 0; i < n; i++) {
        if (given[i].len > 0) {
            phrases->begins[phrases->n++] = (uint32_t)bytes;
            memcpy(phrases->bytes + bytes, given[i].data, given[i].len);
            bytes += given[i].len;
            phrases->lead = given[i].len < phrases->lead ? (uint32_t)given[i].len : phrases->lead;
        }
    }
    phrases->begins[phrases->n] = (uint32_t)bytes;
    if ((phrases->flags & TEXT_PHRASES_FOLD) != 0) {
        fold(phrases->bytes, bytes);
    }
    return SLUICE_OK;
}

/* Fills the table; one that gets too full is made again, twice as large. */
static int32_t fill(struct text_phrases *phrases, struct sluice_error *err)
{
    phrases->n_slots = text_hash_slots(phrases->n);
    for (;;) {
        size_t i = 0;
        phrases->used = 0;
        phrases->slots = calloc(phrases->n_slots, sizeof *phrases->slots);
        if (phrases->slots == NULL) {
            return text_error_nomem(err, phrases->n_slots * sizeof *phrases->slots);
        }
        phrases->full = false;
        while (i < phrases->n && !phrases->full) {
            add_phrase(phrases, (uint32_t)i++);
        }
        if (!phrases->full) {
            return SLUICE_OK;
        }
        free(phrases->slots);
        phrases->n_slots *= 2;
    }
}

int32_t text_phrases_create(const struct text_string *given, size_t n, uint32_t flags,
                            struct text_phrases **out, struct sluice_error *err)
{
    struct text_phrases *phrases = calloc(1, sizeof *phrases);
    uint32_t bits = 10;
    int32_t status;

    *out = NULL;
    if (phrases == NULL) {
        return text_error_nomem(err, sizeof *phrases);
    }
    phrases->flags = flags;
    for (uint32_t c = 0; c < 128; c++) {
        phrases->word_ascii[c] =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    }
    status = copy_phrases(phrases, given, n, err);
    if (status == SLUICE_OK) {
        while (bits < FILTER_BITS_MOST && (size_t)1 << bits < 16 * phrases->n) {
            bits++;
        }
        phrases->filter_shift = 64 - bits;
        phrases->filter = calloc(((size_t)1 << bits) / 64, sizeof *phrases->filter);
        status = phrases->filter == NULL ? text_error_nomem(err, ((size_t)1 << bits) / 8)
                                         : fill(phrases, err);
    }
    if (status != SLUICE_OK) {
        text_phrases_destroy(phrases);
        return status;
    }
    *out = phrases;
    return SLUICE_OK;
}

void text_phrases_destroy(struct text_phrases *phrases)
{
    if (phrases != NULL) {
        free(phrases->bytes);
        free(phrases->begins);
        free(phrases->slots);
        free(phrases->filter);
        free(phrases);
    }
}

size_t text_phrases_count(const struct text_phrases *phrases)
{
    return phrases->n;
}

size_t text_phrases_bytes(const struct text_phrases *phrases)
{
    return sizeof *phrases + phrases->begins[phrases->n] + (phrases->n + 1) * sizeof(uint32_t) +
           phrases->n_slots * sizeof(struct slot) + ((size_t)1 << (64 - phrases->filter_shift)) / 8;
}

/* ---- searching ---- */

int32_t text_phrases_begin(struct text_phrases_scan *scan, const struct text_phrases *phrases,
                           const char *text, size_t len, struct text_buffer *scratch,
                           struct sluice_error *err)
{
    int32_t status = text_check_len(len, err);

    if (status == SLUICE_OK && (phrases->flags & TEXT_PHRASES_FOLD) != 0) {
        scratch->len = 0;
        status = text_buffer_append(scratch, text, len, err);
        if (status == SLUICE_OK && len > 0) {
            fold(scratch->data, len);
            text = scratch->data;
        }
    }
    *scan = (struct text_phrases_scan){
        .phrases = phrases, .text = text, .len = len, .limit = STEPS_A_BYTE * ((uint64_t)len + 64)
    };
    return status;
}

/* Whether something begins with what has this hash; *found: it ends a phrase that stands at
 * begin..end. */
static bool look(const struct text_phrases *phrases, uint64_t hash, const unsigned char *begin,
                 const unsigned char *end, bool *found)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    bool known = false;

    *found = false;
    for (struct slot *slot = slot_of(phrases, hash); slot->what != 0;
         slot = next_slot(phrases, slot)) {
        if (slot->tag == tag) {
            known = true;
            *found = *found || (slot->what != BEGINNING && is_phrase(phrases, slot->what - FIRST,
                                                                     begin, (size_t)(end - begin)));
        }
    }
    return known;
}

/* The end of the longest phrase that begins at begin, whose first token ends at p; NULL: there is
 * none. Between words nothing is looked up unless it may be a phrase's end: a gap is short. */
static const unsigned char *longest(struct text_phrases_scan *scan, const unsigned char *begin,
                                    const unsigned char *p, const unsigned char *end, uint64_t hash,
                                    bool word)
{
    const struct text_phrases *phrases = scan->phrases;
    const unsigned char *best = NULL;
    bool words = (phrases->flags & TEXT_PHRASES_WORDS) != 0;
    uint32_t gap = 0;

    for (;;) {
        bool found;
        gap = word ? 0 : gap + 1;
        if (word || phrases->lone_signs || gap > 2) {
            if ((words && !in_filter(phrases, filter_place(phrases, p, hash))) ||
                !look(phrases, hash, begin, p, &found)) {
                return best;
            }
            best = found ? p : best;
        }
        if (p == end || gap > phrases->most_gap || ++scan->steps > scan->limit) {
            return best;
        }
        {
            const unsigned char *next = token_end(phrases, p, end, &word);
            hash = hash_token(hash, p, (size_t)(next - p), end);
            p = next;
        }
    }
}

bool text_phrases_next(struct text_phrases_scan *scan, struct text_span *match)
{
    const struct text_phrases *phrases = scan->phrases;
    const unsigned char *text = (const unsigned char *)scan->text;
    const unsigned char *end = text + scan->len;
    const unsigned char *p = text + scan->at;
    bool words = (phrases->flags & TEXT_PHRASES_WORDS) != 0;

    while (phrases->n > 0 && (size_t)(end - p) >= phrases->lead && ++scan->steps <= scan->limit) {
        const unsigned char *best = NULL;
        const unsigned char *next;
        uint64_t hash;
        bool word;
        if (!words && !in_filter(phrases, filter_place(phrases, p, 0))) {
            p++; /* a phrase begins with a code point's first byte: the filter says no to others */
            continue;
        }
        next = token_end(phrases, p, end, &word);
        hash = hash_token(0, p, (size_t)(next - p), end);
        if (!words || in_filter(phrases, filter_place(phrases, p, hash))) {
            best = longest(scan, p, next, end, hash, word);
        }
        if (best != NULL) {
            *match = (struct text_span){ (uint32_t)(p - text), (uint32_t)(best - text) };
            scan->at = (size_t)(best - text);
            return true;
        }
        p = next;
    }
    scan->at = scan->len;
    return false;
}

bool text_phrases_has(const struct text_phrases_scan *scan)
{
    const unsigned char *p = (const unsigned char *)scan->text;
    const unsigned char *begin = p;
    const unsigned char *end = p + scan->len;
    uint64_t hash = 0;
    bool found = false;
    bool word;

    while (p < end) {
        const unsigned char *next = token_end(scan->phrases, p, end, &word);
        hash = hash_token(hash, p, (size_t)(next - p), end);
        p = next;
    }
    return scan->len > 0 && scan->phrases->n > 0 && look(scan->phrases, hash, begin, end, &found) &&
           found;
}
