/* number.h - numbers as texts, in the way Python writes them, so that the files of its tools and
 * ours have the same keys.
 *
 * Depends on libc. Locale: the decimal point must be a point, as it is in the C locale, which hosts
 * keep. */
#ifndef STATS_NUMBER_H
#define STATS_NUMBER_H

#include <stdbool.h>

#define NUMBER_ROOM 40

/* Shortest text that reads back equal, as Python's repr(float): "0.1", "45.0", "1e-05", "1e+16".
 * value must be finite. */
void number_float(double value, char out[NUMBER_ROOM]);

/* A whole number below 2^64 in magnitude without a point: "45". */
void number_int(double value, char out[NUMBER_ROOM]);

/* The bin of a histogram: Python's str(round(value, digits)), where `whole` says that value is an
 * int. digits: 0 to 9; at 0 a float keeps its ".0", as round(value, 0) does. */
void number_bin(double value, bool whole, int digits, char out[NUMBER_ROOM]);

#endif
