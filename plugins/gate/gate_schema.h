/* The rules on the columns of an edge, checked before any data: of s.gate and of contracts. */
#ifndef GATE_SCHEMA_H
#define GATE_SCHEMA_H

#include <sluice_arrays.h>
#include <stdbool.h>

struct gate_schema {
    const struct sluice_map *types;     /* column to "utf8", "int64|float64", "any" */
    const struct sluice_list *may_lack; /* columns that need not be there, or NULL */
    bool fixed;                         /* no other column may be there */
    const char *field;                  /* the option that errors name */
};

/* Is found ("utf8?") among asked ("utf8|json"), but for nulls and white space? "any" is. */
bool gate_type_among(const char *found, const char *asked);

/* SLUICE_E_SCHEMA names the column: what it is, and what one that is missing is called now, as far
 * as names and types tell. */
sluice_status gate_schema_check(const struct gate_schema *, struct sluice_plan *,
                                struct sluice_error *);

/* How alike two names are: 0 not at all, 100 but for a letter or as a part. */
int gate_names_alike(const char *a, const char *b);

#endif
