/* What the values of columns are like: types, nulls, ranges, small sets. Profiles add up in any
 * order to the same. Depends on jansson. One thread each. */
#ifndef GATE_PROFILE_H
#define GATE_PROFILE_H

#include <jansson.h>
#include <stdbool.h>

#include "cast_value.h"

#define PROFILE_VALUES 20 /* different values of a column that are kept */
#define PROFILE_TEXT 100  /* bytes of one of them */

struct profile;

struct profile *profile_create(void);
void profile_destroy(struct profile *);

/* Counts a row, and then its values. type: of the column ("int64"), or "" of a member of JSON
 * objects, whose type is found. json: a value that is none of cast_value's (an object); value is
 * not looked at then. false: out of memory. */
void profile_row(struct profile *);
bool profile_value(struct profile *, const char *column, const char *type,
                   const struct cast_value *value, bool json);

/* As JSON, and added to another. Gives; NULL and false: out of memory. *damaged: it is none, and
 * nothing was added. */
json_t *profile_print(const struct profile *);
bool profile_add(struct profile *, const json_t *, bool *damaged);

/* The contract that all rows keep, in the form that s.contract reads. Gives. */
json_t *profile_contract(const struct profile *);

#endif
