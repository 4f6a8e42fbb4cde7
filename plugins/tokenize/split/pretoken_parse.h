/* pretoken_parse.h — parses the regular expressions of tokenizer files into operators and sets of
 * code points.
 * Depends on: pretoken_set.h, pretoken_regex.h (dialects), bpe_error.h. */
#ifndef TOKENIZE_PRETOKEN_PARSE_H
#define TOKENIZE_PRETOKEN_PARSE_H

#include "split/pretoken_regex.h"
#include "split/pretoken_set.h"

#define PARSE_SETS 64u /* a set's number is a bit of a 64-bit signature */

/* One item of the pattern in order: an operator in PCRE2's syntax (op[0] != 0), or set number
 * `set`. */
struct parse_item {
    char op[15];
    uint8_t set;
};

struct parse {
    struct parse_item *items;
    size_t n, cap;
    struct cp_set sets[PARSE_SETS]; /* normalized, no two equal */
    size_t n_sets;
};

/* Fills caller's memory; deinit it even after an error. SLUICE_E_CONFIG, SLUICE_E_NOMEM. */
int32_t parse_pattern(struct parse *parse, const struct unicode_table *table, const char *pattern,
                      size_t len, enum regex_dialect dialect, struct sluice_error *err);
void parse_deinit(struct parse *parse);

#endif
