/* pretoken_regex.h — any other pre-tokenization pattern, by PCRE2 with JIT.
 *
 * Owns: the translation of a pattern into one over character classes, and its matching.
 * Depends on: pretoken_unicode.h, bpe_error.h, libpcre2-8.
 *
 * How: the code points are partitioned into the classes that the pattern's own sets distinguish (at
 * most 254); the pattern is rewritten over class numbers and the text is recoded to one byte a
 * character. PCRE2 then runs without UTF and without Unicode properties: faster, and the same
 * Unicode version everywhere.
 *
 * Promises: leftmost-first matches as Rust's fancy-regex (tiktoken) and Oniguruma (tokenizers) give
 * them for the syntax that is accepted. Refused by name: \w \b ^ and other anchors, backreferences,
 * set operations, nested quantifiers, patterns that can match the empty string. */
#ifndef TOKENIZE_PRETOKEN_REGEX_H
#define TOKENIZE_PRETOKEN_REGEX_H

#include <stddef.h>
#include <stdint.h>

#include "split/pretoken_unicode.h"
#include "sluice.h"

struct regex;
struct regex_worker;

enum regex_dialect {
    /* Rust: {n,m}+ is possessive, $ is the end of the text. */
    REGEX_TIKTOKEN,
    /* Oniguruma, Ruby's syntax: {n,m}+ is not possessive, $ the end of a line; both are refused. */
    REGEX_HF,
    /* The pattern is a plain string. */
    REGEX_LITERAL
};

/* Compiles `len` bytes of UTF-8. Gives *out. Borrows `table` for the life of *out. SLUICE_E_CONFIG,
 * SLUICE_E_NOMEM. */
int32_t regex_compile(const struct unicode_table *table, const char *pattern, size_t len,
                      enum regex_dialect dialect, struct regex **out, struct sluice_error *err);
void regex_destroy(struct regex *regex);

/* One a thread and regex; `regex` must outlive it. */
int32_t regex_worker_create(const struct regex *regex, struct regex_worker **out,
                            struct sluice_error *err);
void regex_worker_destroy(struct regex_worker *worker);

/* Starts on a text, which must stay until the last regex_next. Uses one byte a character of
 * scratch. SLUICE_E_NOMEM. */
int32_t regex_begin(struct regex_worker *worker, const uint8_t *text, size_t len,
                    struct sluice_error *err);

/* Gives the end of the next match or gap, which begins where the one before ended; *end == len of
 * the text with *is_match -1 when there is none left. SLUICE_E_DATA when a match needs too many
 * steps. */
int32_t regex_next(struct regex_worker *worker, size_t *end, int *is_match,
                   struct sluice_error *err);

#endif
