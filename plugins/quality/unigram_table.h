/* unigram_table.h - how frequent words are: a table read from a CSV file with the columns `word`
 * and `count`.
 *
 * Depends on sdk/text. Read-only once built; borrows nothing. */
#ifndef UNIGRAM_TABLE_H
#define UNIGRAM_TABLE_H

#include <sluice.h>
#include <stddef.h>

struct unigram_table; /* opaque */

/* Reads a whole CSV file (RFC 4180: quotes, any line end; the first row names the columns). Of a
 * word that stands twice the last row counts, and both do in the total, as with the peer.
 * SLUICE_E_CONFIG names the line. */
sluice_status unigram_table_build(const char *data, size_t n, struct unigram_table **out,
                                  struct sluice_error *err);
void unigram_table_destroy(struct unigram_table *table);
size_t unigram_table_count(const struct unigram_table *table);

/* The natural logarithm of a word's share of all counts; of 1e-9 for a word that is not there. The
 * same on every machine with x87 or quadruple precision: computed in more than a double's digits
 * and rounded. */
double unigram_table_log(const struct unigram_table *table, const char *word, size_t n);

#endif
