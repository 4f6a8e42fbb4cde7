/* pretoken_regex.c — see the header. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "split/pretoken_regex.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "split/pretoken_parse.h"

#define CLASSES_MOST 254u
#define MATCH_LIMIT 100000000u
#define HEAP_LIMIT_KIB (256u * 1024u)
#define JIT_STACK_MOST (4u * 1024u * 1024u)

struct regex {
    pcre2_code *code;
    uint8_t ascii[128];             /* class of a code point, 1 .. 254 */
    uint16_t block[UNICODE_BLOCKS]; /* two stages for the rest */
    uint8_t *classes;
    size_t n_blocks;
};

struct regex_worker {
    const struct regex *regex;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint8_t *subject; /* one class a character */
    size_t subject_cap, subject_len;
    const uint8_t *text;
    size_t text_len;
    size_t at_char, at_byte; /* where the next item begins */
    /* The match found ahead, in characters; match_char == SIZE_MAX: none has been looked for. */
    size_t match_char, match_end;
};

/* ---- compile ---- */

static int order_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Numbers the classes that the sets distinguish. *signatures[c - 1] has bit s when class c is in
 * set s. */
static int32_t classify(struct regex *regex, const struct parse *parse, uint64_t *signatures,
                        size_t *n_classes, struct sluice_error *err)
{
    size_t n = 0, i, k, s, at = 0;
    int32_t status = SLUICE_OK;
    uint32_t *cuts;
    uint8_t *flat = malloc(0x110000);
    for (s = 0; s < parse->n_sets; s++) {
        n += parse->sets[s].n * 2;
    }
    cuts = malloc((n + 2) * sizeof(*cuts));
    if (!cuts || !flat) {
        status = bpe_fail_memory(err, "a pre-tokenization pattern");
        goto out;
    }
    cuts[at++] = 0;
    for (s = 0; s < parse->n_sets; s++) {
        for (i = 0; i < parse->sets[s].n; i++) {
            cuts[at++] = parse->sets[s].ranges[i].first;
            cuts[at++] = parse->sets[s].ranges[i].last + 1;
        }
    }
    cuts[at++] = 0x110000;
    qsort(cuts, at, sizeof(*cuts), order_u32);
    *n_classes = 0;
    for (k = 0; k + 1 < at; k++) {
        uint64_t signature = 0;
        if (cuts[k] == cuts[k + 1] || cuts[k] >= 0x110000) {
            continue;
        }
        for (s = 0; s < parse->n_sets; s++) {
            if (cp_set_has(&parse->sets[s], cuts[k])) {
                signature |= UINT64_C(1) << s;
            }
        }
        for (i = 0; i < *n_classes && signatures[i] != signature; i++) {
        }
        if (i == *n_classes) {
            if (i == CLASSES_MOST) {
                status = bpe_fail(err, SLUICE_E_CONFIG,
                                  "the pre-tokenization pattern distinguishes more than %u kinds "
                                  "of characters; simplify it",
                                  CLASSES_MOST);
                goto out;
            }
            signatures[(*n_classes)++] = signature;
        }
        memset(flat + cuts[k], (int)(i + 1), cuts[k + 1] - cuts[k]);
    }
    memcpy(regex->ascii, flat, sizeof(regex->ascii));
    for (k = 0; k < UNICODE_BLOCKS; k++) {   /* blocks that differ move to the front of `flat` */
        i = k > 0 ? regex->block[k - 1] : 0; /* most are like the one before */
        if (k == 0 || memcmp(flat + i * 256, flat + k * 256, 256) != 0) {
            for (i = 0; i < regex->n_blocks && memcmp(flat + i * 256, flat + k * 256, 256) != 0;
                 i++) {
            }
        }
        if (i == regex->n_blocks) {
            memmove(flat + i * 256, flat + k * 256, 256);
            regex->n_blocks++;
        }
        regex->block[k] = (uint16_t)i;
    }
    regex->classes = malloc(regex->n_blocks * 256);
    if (!regex->classes) {
        status = bpe_fail_memory(err, "a pre-tokenization pattern");
        goto out;
    }
    memcpy(regex->classes, flat, regex->n_blocks * 256);
out:
    free(cuts);
    free(flat);
    return status;
}

/* Writes the pattern over class numbers. Gives malloc'd text or NULL without memory. */
static char *rewrite(const struct parse *parse, const uint64_t *signatures, size_t n_classes)
{
    size_t cap = 1, at = 0, i, c;
    char *text;
    for (i = 0; i < parse->n; i++) {
        cap += 16 + (parse->items[i].op[0] ? 0 : n_classes * 4);
    }
    text = malloc(cap);
    if (!text) {
        return NULL;
    }
    for (i = 0; i < parse->n; i++) {
        const struct parse_item *item = &parse->items[i];
        size_t n = 0;
        if (item->op[0]) {
            at += (size_t)snprintf(text + at, cap - at, "%s", item->op);
            continue;
        }
        for (c = 0; c < n_classes; c++) {
            if (signatures[c] >> item->set & 1u) {
                at += (size_t)snprintf(text + at, cap - at, n++ ? "\\x%02x" : "[\\x%02x",
                                       (unsigned)(c + 1));
            }
        }
        at += (size_t)snprintf(text + at, cap - at, n ? "]" : "(?!)");
    }
    text[at] = '\0';
    return text;
}

int32_t regex_compile(const struct unicode_table *table, const char *pattern, size_t len,
                      enum regex_dialect dialect, struct regex **out, struct sluice_error *err)
{
    struct parse parse;
    struct regex *regex = calloc(1, sizeof(*regex));
    uint64_t signatures[CLASSES_MOST];
    size_t n_classes = 0;
    char *text = NULL;
    int code = 0;
    PCRE2_SIZE at = 0;
    int32_t status = parse_pattern(&parse, table, pattern, len, dialect, err);
    if (status == SLUICE_OK && !regex) {
        status = bpe_fail_memory(err, "a pre-tokenization pattern");
    }
    if (status == SLUICE_OK) {
        status = classify(regex, &parse, signatures, &n_classes, err);
    }
    if (status == SLUICE_OK) {
        text = rewrite(&parse, signatures, n_classes);
        if (!text) {
            status = bpe_fail_memory(err, "a pre-tokenization pattern");
        }
    }
    if (status == SLUICE_OK) {
        regex->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
        if (!regex->code && code == PCRE2_ERROR_HEAP_FAILED) {
            status = bpe_fail_memory(err, "a pre-tokenization pattern");
        } else if (!regex->code) {
            PCRE2_UCHAR reason[128] = "";
            (void)pcre2_get_error_message(code, reason, sizeof(reason));
            status = bpe_fail(err, SLUICE_E_CONFIG,
                              "PCRE2 refuses the pre-tokenization pattern: %s; rewrite it",
                              (const char *)reason);
        } else {
            (void)pcre2_jit_compile(
                regex->code,
                PCRE2_JIT_COMPLETE); /* without it the interpreter gives the same matches */
        }
    }
    free(text);
    parse_deinit(&parse);
    if (status != SLUICE_OK) {
        regex_destroy(regex);
        return status;
    }
    *out = regex;
    return SLUICE_OK;
}

void regex_destroy(struct regex *regex)
{
    if (regex) {
        pcre2_code_free(regex->code);
        free(regex->classes);
        free(regex);
    }
}

/* ---- match ---- */

int32_t regex_worker_create(const struct regex *regex, struct regex_worker **out,
                            struct sluice_error *err)
{
    struct regex_worker *w = calloc(1, sizeof(*w));
    if (w) {
        w->regex = regex;
        w->match = pcre2_match_data_create(1, NULL);
        w->context = pcre2_match_context_create(NULL);
        w->stack = pcre2_jit_stack_create(32u * 1024u, JIT_STACK_MOST, NULL);
    }
    if (!w || !w->match || !w->context) {
        regex_worker_destroy(w);
        return bpe_fail_memory(err, "a pre-tokenizer's scratch");
    }
    (void)pcre2_set_match_limit(w->context, MATCH_LIMIT);
    (void)pcre2_set_heap_limit(w->context, HEAP_LIMIT_KIB);
    if (w->stack) {
        pcre2_jit_stack_assign(w->context, NULL, w->stack);
    }
    *out = w;
    return SLUICE_OK;
}

void regex_worker_destroy(struct regex_worker *w)
{
    if (w) {
        pcre2_match_data_free(w->match);
        pcre2_match_context_free(w->context);
        pcre2_jit_stack_free(w->stack);
        free(w->subject);
        free(w);
    }
}

int32_t regex_begin(struct regex_worker *w, const uint8_t *text, size_t len,
                    struct sluice_error *err)
{
    const struct regex *regex = w->regex;
    const uint8_t *p = text, *end = text + len;
    uint8_t *out;
    if (len > w->subject_cap || !w->subject) {
        size_t cap = len + len / 4 + 256;
        free(w->subject);
        w->subject_cap = 0;
        w->subject = malloc(cap);
        if (!w->subject) {
            return bpe_fail_memory(err, "a pre-tokenizer's scratch");
        }
        w->subject_cap = cap;
    }
    out = w->subject;
    while (p < end) {
        uint32_t cp;
        if (*p < 0x80) {
            *out++ = regex->ascii[*p++];
            continue;
        }
        p += utf8_decode(p, end, &cp);
        *out++ = regex->classes[((size_t)regex->block[cp >> 8] << 8) | (cp & 255u)];
    }
    w->subject_len = (size_t)(out - w->subject);
    w->text = text;
    w->text_len = len;
    w->at_char = w->at_byte = 0;
    w->match_char = SIZE_MAX;
    return SLUICE_OK;
}

static int32_t find_match(struct regex_worker *w, struct sluice_error *err)
{
    int rc = pcre2_match(w->regex->code, w->subject, w->subject_len, w->at_char, 0, w->match,
                         w->context);
    if (rc >= 0) {
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(w->match);
        w->match_char = at[0];
        w->match_end = at[1];
        return SLUICE_OK;
    }
    if (rc == PCRE2_ERROR_NOMATCH) {
        w->match_char = w->match_end = w->subject_len;
        return SLUICE_OK;
    }
    if (rc == PCRE2_ERROR_NOMEMORY) {
        return bpe_fail_memory(err, "matching the pre-tokenization pattern");
    }
    return bpe_fail(err, SLUICE_E_DATA,
                    "the pre-tokenization pattern needs too many steps at byte %zu (PCRE2 error "
                    "%d); use a pattern that "
                    "backtracks less, with possessive quantifiers",
                    w->at_byte, rc);
}

int32_t regex_next(struct regex_worker *w, size_t *end, int *is_match, struct sluice_error *err)
{
    size_t to;
    if (w->at_char >= w->subject_len) {
        *end = w->text_len;
        *is_match = -1;
        return SLUICE_OK;
    }
    if (w->match_char == SIZE_MAX) {
        int32_t status = find_match(w, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    *is_match = w->match_char == w->at_char;
    to = *is_match ? w->match_end : w->match_char;
    if (*is_match) {
        w->match_char = SIZE_MAX;
    }
    if (w->subject_len == w->text_len) {
        w->at_byte += to - w->at_char;
    } else {
        const uint8_t *p = w->text + w->at_byte, *stop = w->text + w->text_len;
        size_t n = to - w->at_char;
        while (n-- > 0) {
            uint32_t cp;
            p += utf8_decode(p, stop, &cp);
        }
        w->at_byte = (size_t)(p - w->text);
    }
    w->at_char = to;
    *end = w->at_byte;
    return SLUICE_OK;
}
