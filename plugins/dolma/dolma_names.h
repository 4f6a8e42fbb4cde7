/* dolma_names.h - names of attributes, and lists of them joined by "|", as they stand in the
 * metadata `attributes` of an attribute column.
 *
 * That metadata says which attributes a row of the column may have; a column without it may have
 * any. */
#ifndef DOLMA_NAMES_H
#define DOLMA_NAMES_H

#include <sluice_arrays.h>
#include <stdbool.h>

/* Dolma's make_variable_name, in place: what is no letter of ASCII, digit or _ becomes _. Gives how
 * many it was. */
size_t dolma_name_make(char *name);

/* Gives "experiment__tagger__" as such a name, for free(); the experiment is the tagger's name
 * where it is NULL. SLUICE_E_NOMEM, SLUICE_E_CONFIG for an experiment that begins with no letter or
 * _. */
sluice_status dolma_name_prefix(const char *experiment, const char *tagger, char **out,
                                struct sluice_error *err);

#define DOLMA_NAMES_KEY "attributes"

/* Calls out one name after the other: *at goes on, *n is its length; false at the end. */
bool dolma_name_next(const char **at, const char **name, size_t *n);

bool dolma_name_in(const char *names, const char *name, size_t n);

/* The name of the list that is nearest to this one, for messages; NULL when none is near. */
const char *dolma_name_near(const char *names, const char *name, size_t n, size_t *length);

#endif
