/* bpe_nfc.c — see the header. A character that neither combines backward nor changes itself begins
 * a segment that NFC treats on its own (Unicode Standard Annex 15, section 9), so that only
 * segments with something to do go to libutf8proc. */
#include "normalize/bpe_nfc.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "bpe_error.h"
#include "split/pretoken_unicode.h"

/* Characters that Unicode 10.0 to 18.0 gave a combining class, a decomposition or a part in one.
 * tokenizers (0.23) normalizes by Unicode 9.0 and leaves them as they are. Found by comparing its
 * NFC with version 18.0 for every character involved. */
static const uint32_t later[][2] = {
    { 0x5C8, 0x5C9 },     { 0x7FD, 0x7FD },     { 0x897, 0x89F },     { 0x8CA, 0x8D3 },
    { 0x9FE, 0x9FE },     { 0xC3C, 0xC3C },     { 0xD3B, 0xD3C },     { 0xEBA, 0xEBA },
    { 0x1715, 0x1715 },   { 0x1ABF, 0x1AF0 },   { 0x1DF6, 0x1DFA },   { 0xA82C, 0xA82C },
    { 0x105C9, 0x105C9 }, { 0x105D2, 0x105D2 }, { 0x105DA, 0x105DA }, { 0x105E4, 0x105E4 },
    { 0x10D24, 0x10D27 }, { 0x10D69, 0x10D6D }, { 0x10EAB, 0x10EAC }, { 0x10ECB, 0x10ECF },
    { 0x10EF0, 0x10EFB }, { 0x10EFD, 0x10EFF }, { 0x10F46, 0x10F50 }, { 0x10F82, 0x10F85 },
    { 0x11070, 0x11070 }, { 0x1133B, 0x1133B }, { 0x11382, 0x11385 }, { 0x1138B, 0x1138B },
    { 0x1138E, 0x1138E }, { 0x11390, 0x11391 }, { 0x113B8, 0x113B8 }, { 0x113BB, 0x113BB },
    { 0x113C2, 0x113C2 }, { 0x113C5, 0x113C5 }, { 0x113C7, 0x113C9 }, { 0x113CE, 0x113D0 },
    { 0x1145E, 0x1145E }, { 0x11839, 0x1183A }, { 0x11930, 0x11930 }, { 0x11935, 0x11935 },
    { 0x11938, 0x11938 }, { 0x1193D, 0x1193E }, { 0x11943, 0x11943 }, { 0x119E0, 0x119E0 },
    { 0x11A34, 0x11A34 }, { 0x11A47, 0x11A47 }, { 0x11A99, 0x11A99 }, { 0x11D42, 0x11D42 },
    { 0x11D44, 0x11D45 }, { 0x11D97, 0x11D97 }, { 0x11F41, 0x11F42 }, { 0x1611E, 0x16129 },
    { 0x1612F, 0x1612F }, { 0x16D63, 0x16D63 }, { 0x16D67, 0x16D6A }, { 0x16FF0, 0x16FF1 },
    { 0x1D127, 0x1D128 }, { 0x1D250, 0x1D252 }, { 0x1D25B, 0x1D25C }, { 0x1D25F, 0x1D25F },
    { 0x1D280, 0x1D281 }, { 0x1E08F, 0x1E08F }, { 0x1E130, 0x1E136 }, { 0x1E2AE, 0x1E2AE },
    { 0x1E2EC, 0x1E2EF }, { 0x1E4EC, 0x1E4EF }, { 0x1E5EE, 0x1E5EF }, { 0x1E6E3, 0x1E6E3 },
    { 0x1E6E6, 0x1E6E6 }, { 0x1E6EE, 0x1E6EF }, { 0x1E6F5, 0x1E6F5 },
};

static int is_later(uint32_t cp)
{
    size_t lo = 0, hi = sizeof(later) / sizeof(later[0]);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (later[mid][1] < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < sizeof(later) / sizeof(later[0]) && later[lo][0] <= cp;
}

static unsigned touches(const struct nfc *nfc, uint32_t cp)
{
    return (unsigned)nfc->touch[cp >> 3] >> (cp & 7) & 1u;
}

/* 1 when NFC may change cp, or combine it with a character before it. */
static int may_touch(uint32_t cp)
{
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)cp);
    utf8proc_int32_t parts[8];
    utf8proc_ssize_t n;
    if (is_later(cp) || cp < 0x300) {
        return 0;
    }
    if (property->combining_class != 0 || property->category == UTF8PROC_CATEGORY_MN ||
        property->category == UTF8PROC_CATEGORY_MC || property->category == UTF8PROC_CATEGORY_ME ||
        (cp >= 0x1161 && cp <= 0x1175) || (cp >= 0x11A8 && cp <= 0x11C2)) {
        return 1; /* every second part of a composition is a mark or a jamo */
    }
    n = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, 8, UTF8PROC_STABLE | UTF8PROC_COMPOSE,
                                NULL);
    if (n == 1 && (uint32_t)parts[0] == cp) {
        return 0;
    }
    if (n < 1 || n > 8) {
        return 1;
    }
    n = utf8proc_normalize_utf32(parts, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return n != 1 || (uint32_t)parts[0] != cp;
}

int32_t nfc_init(struct nfc *nfc, struct sluice_error *err)
{
    uint32_t cp;
    nfc->touch = calloc(0x110000 / 8, 1);
    if (!nfc->touch) {
        return bpe_fail_memory(err, "the normalization table");
    }
    for (cp = 0x300; cp < 0x110000; cp++) {
        if (!(cp >= 0xD800 && cp < 0xE000) && may_touch(cp)) {
            nfc->touch[cp >> 3] = (uint8_t)(nfc->touch[cp >> 3] | 1u << (cp & 7));
        }
    }
    return SLUICE_OK;
}

void nfc_deinit(struct nfc *nfc)
{
    free(nfc->touch);
    nfc->touch = NULL;
}

/* The place of the first character in [p, end) that NFC may touch; *before gets the place of the
 * character before it, or the place itself when that does not take part. `end` when there is none.
 * */
static const uint8_t *find_touched(const struct nfc *nfc, const uint8_t *p, const uint8_t *end,
                                   const uint8_t **before)
{
    const uint8_t *last = NULL; /* the character before p, when it may take part */
    while (p < end) {
        uint32_t cp;
        size_t n;
        if (*p < 0x80) {
            if (end - p >= 8) {
                uint64_t word;
                memcpy(&word, p, 8);
                if (!(word & UINT64_C(0x8080808080808080))) {
                    p += 8;
                    last = p - 1;
                    continue;
                }
            }
            last = p++;
            continue;
        }
        n = utf8_decode(p, end, &cp);
        if (touches(nfc, cp)) {
            *before = last ? last : p;
            return p;
        }
        last = cp == UTF8_INVALID || is_later(cp) ? NULL : p;
        p += n;
    }
    *before = end;
    return end;
}

static int32_t put(struct nfc_buffer *b, const void *bytes, size_t len, struct sluice_error *err)
{
    if (b->cap - b->len < len) {
        size_t cap = b->cap + b->cap / 2 + len + 256;
        uint8_t *grown = realloc(b->bytes, cap);
        if (!grown) {
            return bpe_fail_memory(err, "normalized text");
        }
        b->bytes = grown;
        b->cap = cap;
    }
    if (len > 0) {
        memcpy(b->bytes + b->len, bytes, len);
        b->len += len;
    }
    return SLUICE_OK;
}

/* Puts runs of combining characters into canonical order: stable by class. Linear in n, where
 * utf8proc_decompose is not. */
static int reorder(utf8proc_int32_t *cps, size_t n)
{
    size_t i = 0;
    while (i < n) {
        size_t from = i, k, at[256] = { 0 };
        int sorted = 1, before = 0;
        utf8proc_int32_t *copy;
        for (; i < n; i++) {
            int class = utf8proc_get_property(cps[i])->combining_class;
            if (class == 0) {
                break;
            }
            sorted &= class >= before;
            before = class;
        }
        if (!sorted) {
            size_t sum = 0, run = i - from;
            copy = malloc(run * sizeof(*copy));
            if (!copy) {
                return -1;
            }
            memcpy(copy, cps + from, run * sizeof(*copy));
            for (k = 0; k < run; k++) {
                at[utf8proc_get_property(copy[k])->combining_class & 255]++;
            }
            for (k = 0; k < 256; k++) {
                size_t count = at[k];
                at[k] = sum;
                sum += count;
            }
            for (k = 0; k < run; k++) {
                cps[from + at[utf8proc_get_property(copy[k])->combining_class & 255]++] = copy[k];
            }
            free(copy);
        }
        i = i == from ? i + 1 : i;
    }
    return 0;
}

/* Appends the NFC of a segment of valid UTF-8. */
static int32_t put_segment(struct nfc_buffer *b, const uint8_t *p, size_t len,
                           struct sluice_error *err)
{
    const uint8_t *end = p + len;
    utf8proc_int32_t few[64], *cps = few;
    utf8proc_ssize_t i;
    size_t n = 0;
    int32_t status = SLUICE_OK;
    const utf8proc_option_t form = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    if (len > 16) { /* a character of two bytes or more has at most four parts */
        cps = malloc(len * 4 * sizeof(*cps));
        if (!cps) {
            return bpe_fail_memory(err, "normalized text");
        }
    }
    while (p < end && status == SLUICE_OK) {
        uint32_t cp;
        utf8proc_ssize_t k;
        p += utf8_decode(p, end, &cp);
        k = utf8proc_decompose_char((utf8proc_int32_t)cp, cps + n, 4,
                                    UTF8PROC_STABLE | UTF8PROC_COMPOSE, NULL);
        if (k < 1 || k > 4) {
            status =
                bpe_fail(err, SLUICE_E_INTERNAL,
                         "libutf8proc gives %ld parts for U+%04X; expected 1 to 4", (long)k, cp);
        } else {
            n += (size_t)k;
        }
    }
    if (status == SLUICE_OK && reorder(cps, n) != 0) {
        status = bpe_fail_memory(err, "normalized text");
    }
    if (status == SLUICE_OK) {
        utf8proc_ssize_t m = utf8proc_normalize_utf32(cps, (utf8proc_ssize_t)n, form);
        for (i = 0; i < m && status == SLUICE_OK; i++) {
            utf8proc_uint8_t bytes[4];
            utf8proc_ssize_t k = utf8proc_encode_char(cps[i], bytes);
            status = put(b, bytes, (size_t)k, err);
        }
    }
    if (cps != few) {
        free(cps);
    }
    return status;
}

int32_t nfc_normalize(const struct nfc *nfc, const uint8_t *text, size_t len, struct nfc_buffer *b,
                      const uint8_t **out, size_t *out_len, struct sluice_error *err)
{
    const uint8_t *p = text, *end = text + len, *before;
    const uint8_t *at = find_touched(nfc, p, end, &before);
    int32_t status = SLUICE_OK;
    *out = text;
    *out_len = len;
    if (at == end) {
        return SLUICE_OK;
    }
    b->len = 0;
    while (status == SLUICE_OK && p < end) {
        status = put(b, p, (size_t)(before - p), err);
        p = at;
        while (p < end) { /* the rest of the segment */
            uint32_t cp;
            size_t n = utf8_decode(p, end, &cp);
            if (!touches(nfc, cp)) {
                break;
            }
            p += n;
        }
        if (status == SLUICE_OK && before < p) {
            status = put_segment(b, before, (size_t)(p - before), err);
        }
        at = find_touched(nfc, p, end, &before);
    }
    *out = b->bytes;
    *out_len = b->len;
    return status;
}
