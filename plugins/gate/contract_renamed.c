/* What a column that a record lacks may be called now: see contract.h. */
#include "contract.h"

#include <jansson.h>
#include <stdio.h>

#include "gate_schema.h"

/* The value of a member, as one of the column; texts are borrowed from json. */
static bool value_of(const json_t *json, struct cast_type type, struct cast_value *out)
{
    json_int_t number;

    memset(out, 0, sizeof *out);
    switch (type.kind) {
    case CAST_TEXT:
        out->is = VALUE_TEXT;
        out->text = json_string_value(json);
        out->n = json_string_length(json);
        return json_is_string(json);
    case CAST_INT:
    case CAST_UINT:
        number = json_integer_value(json);
        out->is = VALUE_WHOLE;
        out->negative = number < 0;
        out->magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
        return json_is_integer(json);
    case CAST_FLOAT:
        out->is = VALUE_REAL;
        out->real = json_number_value(json);
        return json_is_number(json);
    case CAST_BOOL:
        out->is = VALUE_BOOLEAN;
        out->truth = json_is_true(json);
        return json_is_boolean(json);
    case CAST_BINARY:
    case CAST_JSON:
        break;
    }
    return false;
}

/* Does the value keep what the contract says of the column? */
static bool keeps(const struct contract_rule *missing, const struct contract_rule *rules,
                  size_t n_rules, const struct contract_matcher *matcher,
                  const struct cast_value *value)
{
    bool limit;

    for (size_t k = 0; k < n_rules; k++) {
        if (strcmp(rules[k].column, missing->column) == 0 && rules[k].index >= 0 &&
            !contract_rule_kept(&rules[k], matcher, value, &limit)) {
            return false;
        }
    }
    return true;
}

bool contract_renamed(const struct contract_rule *missing, const struct contract_rule *rules,
                      size_t n_rules, const struct contract_matcher *matcher, const char *text,
                      size_t n, char name[80], char shown[80])
{
    json_t *json = json_loadb(text, n, 0, NULL);
    const char *key;
    json_t *member;
    int best = -1;
    size_t longest = 0;

    /* In the order of the record, so that the first of equals is taken. */
    json_object_foreach(json, key, member)
    {
        struct cast_value value;
        int alike = gate_names_alike(missing->column, key);
        if (!value_of(member, missing->type, &value) || alike < best ||
            (alike == best && value.n <= longest) ||
            !keeps(missing, rules, n_rules, matcher, &value)) {
            continue;
        }
        best = alike;
        longest = value.n;
        (void)snprintf(name, 80, "%.79s", key);
        contract_show(&value, shown);
    }
    json_decref(json);
    return best >= 0;
}
