/* What the stages of contracts share: the options of contract_rows, and its rules. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <stdbool.h>

#include <sluice_arrays.h>

#include "cast_value.h"

struct contract_config {
    const char *name;
    struct sluice_map columns, range, length, regex, allowed;
    struct sluice_list required, optional;
    int32_t evolution, broken;
};
enum { EVOLUTION_ADD, EVOLUTION_FIXED };
enum { BROKEN_QUARANTINE, BROKEN_DROP };

/* What a rule asks of a value, in the order of the stage's reasons (from 1). */
enum contract_kind {
    CONTRACT_NULL = 1, /* it is there */
    CONTRACT_RANGE,
    CONTRACT_LENGTH, /* of characters */
    CONTRACT_REGEX,
    CONTRACT_ALLOWED,
    CONTRACT_EXTRA /* the record has no other members */
};
#define CONTRACT_REASONS                                                                     \
    "contract_null|contract_range|contract_length|contract_regex|contract_allowed|contract_" \
    "extra"
/* The k-th of them. */
const char *contract_reason(enum contract_kind);

struct contract_rule {
    enum contract_kind kind;
    const char *column;
    const char *asked;      /* as the contract says it, for messages */
    int32_t index;          /* among the stage's columns; -1: an optional one that is not there */
    struct cast_type type;  /* of the column */
    long double lo, hi;     /* range and length, both inclusive */
    const char *low, *high; /* range of a text, "" = open; owned */
    char *ends;             /* memory of both */
    void *code;             /* pcre2_code of a regex; owned */
    struct cast_value *allowed; /* sorted; owned, also their texts */
    size_t n_allowed;
};

/* Reads what stands in the options for one rule; type is that of its column. SLUICE_E_CONFIG. */
sluice_status contract_rule_read(struct contract_rule *, struct sluice_error *);
void contract_rule_deinit(struct contract_rule *);

/* Matches regular expressions; one a worker. */
struct contract_matcher {
    void *data, *context;
};
sluice_status contract_matcher_init(struct contract_matcher *, struct sluice_error *);
void contract_matcher_deinit(struct contract_matcher *);

/* Does a value (no null) keep the rule? *limit: the expression gave up. */
bool contract_rule_kept(const struct contract_rule *, const struct contract_matcher *,
                        const struct cast_value *, bool *limit);

/* The value as a message shows it, cut. */
void contract_show(const struct cast_value *, char shown[80]);

/* A member of an object of JSON that may be the column by a new name: its type is the column's, its
 * value keeps the column's other rules, and of several its name is the most alike, then its text
 * the longest. false: there is none, or no memory. */
bool contract_renamed(const struct contract_rule *missing, const struct contract_rule *rules,
                      size_t n_rules, const struct contract_matcher *, const char *json, size_t n,
                      char name[80], char shown[80]);

#endif
