/* Texts of option values: sizes, durations, percentages, ranges, lists. Private to the option
 * engine; pure functions. Each reader takes the whole text or returns false; each printer's text
 * reads back to the same value. */
#ifndef SLUICE_PLUGIN_OPTION_TEXT_H
#define SLUICE_PLUGIN_OPTION_TEXT_H

#include "plugin/value.h"

bool text_int(const char *text, size_t n, int64_t *out);
/* A number, or a percentage: "12%" is 0.12; "inf" and "-inf". */
bool text_float(const char *text, size_t n, double *out);
bool text_size(const char *text, size_t n, uint64_t *out);
bool text_duration(const char *text, size_t n, int64_t *nanoseconds);
bool text_range(const char *text, size_t n, struct sluice_range *out);
bool float_to_duration(double seconds, int64_t *nanoseconds);

void print_size(uint64_t bytes, struct buf *out);
void print_duration(int64_t nanoseconds, struct buf *out);
void print_range(struct sluice_range, struct buf *out);
/* As an item of "a,b,c" or of "k=v,k=v": in JSON quotes where needed. */
void print_item(const char *text, struct buf *out);

/* Splits one item off "a, "b,c" ,d" at *at: the item's bytes go to out (cleared first). stop ends
 * an unquoted item besides ',' and '\n' (0 = none). Returns 1 = an item, 0 = the end, -1 =
 * malformed, -2 = out of memory. The separator is left unread. */
int text_item(const char *text, size_t n, size_t *at, char stop, struct buf *out);

/* The k-th of "a|b|c" with its length; NULL past the end. */
const char *choice_at(const char *choices, size_t k, size_t *n);
/* Place of text among the choices, or -1. */
int32_t choice_find(const char *choices, const char *text, size_t n);

#endif
