/* pretoken_scan.c — the scanners. Each `*_next` gives the end of the piece that starts at p; its
 * comment holds the alternative of the pattern it implements. They are inlined with constant
 * parameters, one copy a vocabulary family.
 *
 * Patterns: openai/tiktoken (tiktoken_ext/openai_public.py) and the tokenizer.json files of the
 * named models. */
#include "split/pretoken_scan.h"

#include <string.h>

#include "split/pretoken_mask.h"
#include "split/pretoken_next.h"
#include "split/pretoken_next_deepseek.h"

const char pretoken_gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const char pretoken_r50k[] =
    "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s";
const char pretoken_cl100k[] =
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+|"
    " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s";
const char pretoken_o200k[] =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'"
    "s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'"
    "s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const char pretoken_kimi[] =
    "[\\p{Han}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

#define FILL(name, call)                                                               \
    static size_t name(const struct unicode_table *t, const uint8_t *text, size_t len, \
                       size_t *pos, size_t *ends, size_t cap)                          \
    {                                                                                  \
        const uint8_t *p = text + *pos, *end = text + len;                             \
        size_t n = 0;                                                                  \
        while (n < cap && p < end) {                                                   \
            p = call;                                                                  \
            ends[n++] = (size_t)(p - text);                                            \
        }                                                                              \
        *pos = (size_t)(p - text);                                                     \
        return n;                                                                      \
    }

FILL(gpt2_fill, gpt2_next(t, p, end))
FILL(cl100k_fill, cl100k_next(t, p, end, 3, 0, 1))
FILL(llama3_fill, cl100k_next(t, p, end, 3, 0, 0))
FILL(qwen2_fill, cl100k_next(t, p, end, 1, 0, 0))
FILL(qwen35_fill, cl100k_next(t, p, end, 1, 1, 0))
FILL(o200k_fill, o200k_next(t, p, end, 3, 1))
FILL(tekken_fill, o200k_next(t, p, end, 1, 0))
FILL(kimi_fill, kimi_next(t, p, end))
FILL(deepseek_digits_fill, deepseek_digits_next(t, p, end))
FILL(deepseek_cjk_fill, deepseek_cjk_next(t, p, end))
FILL(deepseek_main_fill, deepseek_main_next(t, p, end))
FILL(deepseek_fill, deepseek_next(t, p, end))

static const struct {
    const char *pattern;
    pretoken_fill *fill;
    int total;
    int program; /* of pretoken_mask.h, PROGRAMS: none */
} known[] = {
    { pretoken_gpt2, gpt2_fill, 1, PROGRAM_GPT2 },
    { pretoken_r50k, gpt2_fill, 1, PROGRAM_GPT2 },
    { pretoken_cl100k, cl100k_fill, 1, PROGRAM_CL100K },
    { pretoken_o200k, o200k_fill, 1, PROGRAM_O200K },
    { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
      "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      llama3_fill, 1, PROGRAM_LLAMA3 },
    { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
      "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      qwen2_fill, 1, PROGRAM_QWEN2 },
    { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
      "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|"
      "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      qwen35_fill, 1, PROGRAM_QWEN35 },
    { "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
      "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      tekken_fill, 1, PROGRAM_TEKKEN },
    { pretoken_kimi, kimi_fill, 1, PROGRAM_KIMI },
    { "\\p{N}{1,3}", deepseek_digits_fill, 0, PROGRAMS },
    { "[一-龥぀-ゟ゠-ヿ]+", deepseek_cjk_fill, 0, PROGRAMS },
    { "[!\"#$%&'()*+,\\-./"
      ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
      " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
      deepseek_main_fill, 0, PROGRAMS },
};

pretoken_fill *pretoken_scanner_of(const char *pattern, enum pretoken_kind kind, int *total)
{
    size_t i;
    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(pattern, known[i].pattern) == 0) {
            pretoken_fill *fill = known[i].fill;
            if (total) {
                *total = known[i].total;
            }
            if (kind != KIND_SCANNER) {
                fill = known[i].program == PROGRAMS
                           ? NULL
                           : pretoken_mask_fill((enum pretoken_program)known[i].program, kind);
            }
            return fill;
        }
    }
    return NULL;
}

pretoken_fill *pretoken_scanner(const char *pattern, int *total)
{
    pretoken_fill *fill = pretoken_scanner_of(pattern, pretoken_kind_best(), total);
    return fill ? fill : pretoken_scanner_of(pattern, KIND_SCANNER, total);
}

pretoken_fill *pretoken_scanner_three_of(pretoken_fill *const fills[3], enum pretoken_kind kind)
{
    if (fills[0] != deepseek_digits_fill || fills[1] != deepseek_cjk_fill ||
        fills[2] != deepseek_main_fill) {
        return NULL;
    }
    return kind == KIND_SCANNER ? deepseek_fill : pretoken_mask_fill(PROGRAM_DEEPSEEK, kind);
}

pretoken_fill *pretoken_scanner_three(pretoken_fill *const fills[3])
{
    pretoken_fill *fill = pretoken_scanner_three_of(fills, pretoken_kind_best());
    return fill ? fill : pretoken_scanner_three_of(fills, KIND_SCANNER);
}
