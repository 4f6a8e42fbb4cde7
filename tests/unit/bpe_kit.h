/* bpe_kit.h — what the tests of the tokenizer share: their files, and the patterns of well-known
 * vocabularies. */
#ifndef TESTS_UNIT_BPE_KIT_H
#define TESTS_UNIT_BPE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define BPE_KIT_LLAMA3                                                         \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BPE_KIT_QWEN                                                      \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BPE_KIT_QWEN35                                                            \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| " \
    "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BPE_KIT_MISTRAL                                                                          \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|" \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|" \
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
/* DeepSeek V3's, one after the other. */
#define BPE_KIT_DEEPSEEK                                                                  \
    "\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",                                            \
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"                          \
        "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|" \
        "\\s+(?!\\S)|\\s+"
/* The patterns of one cut that have a scanner (pretoken.h). */
#define BPE_KIT_SCANNED                                                                          \
    pretoken_gpt2, pretoken_r50k, pretoken_cl100k, pretoken_o200k, BPE_KIT_LLAMA3, BPE_KIT_QWEN, \
        BPE_KIT_QWEN35, BPE_KIT_MISTRAL, pretoken_kimi

/* The bytes of a file below the repository's root, and a zero behind them; to be freed. NULL: there
 * is none. */
static inline char *bpe_kit_read(const char *name, size_t *size)
{
    char path[512], *data;
    const char *root = getenv("SLUICE_SOURCE_DIR");
    FILE *f;
    (void)snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
    *size = 0;
    f = fopen(path, "rb");
    if (!f) {
        return NULL;
    }
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, f), *size);
    data[*size] = '\0';
    (void)fclose(f);
    return data;
}

/* The same of a file in tests/data/tokenize, which must be there. */
static inline char *bpe_kit_file(const char *name, size_t *size)
{
    char path[256], *data;
    (void)snprintf(path, sizeof(path), "tests/data/tokenize/%s", name);
    data = bpe_kit_read(path, size);
    if (!data) {
        fail_msg("cannot open %s: run from the repository's root or set SLUICE_SOURCE_DIR", path);
    }
    return data;
}

#endif
