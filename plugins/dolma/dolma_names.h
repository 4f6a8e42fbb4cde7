/* dolma_names.h - lists of names joined by "|", as they stand in the metadata `attributes` of an attribute column.
 *
 * That metadata says which attributes a row of the column may have; a column without it may have any. */
#ifndef DOLMA_NAMES_H
#define DOLMA_NAMES_H

#include <sluice_arrays.h>
#include <stdbool.h>

#define DOLMA_NAMES_KEY "attributes"

/* Calls out one name after the other: *at goes on, *n is its length; false at the end. */
bool dolma_name_next(const char **at, const char **name, size_t *n);

bool dolma_name_in(const char *names, const char *name, size_t n);

/* The name of the list that is nearest to this one, for messages; NULL when none is near. */
const char *dolma_name_near(const char *names, const char *name, size_t n, size_t *length);

#endif
