/* text_error.h — how functions of this folder report an error.
 *
 * Private to sdk/text.
 */
#ifndef TEXT_ERROR_H
#define TEXT_ERROR_H

#include "sluice.h"

#include <stddef.h>

/* Fills *err (may be NULL) with the code and the formatted message, row -1; returns code. */
int32_t text_error(struct sluice_error *err, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* SLUICE_E_NOMEM for a request of `bytes`. */
int32_t text_error_nomem(struct sluice_error *err, size_t bytes);

/* SLUICE_OK, or SLUICE_E_DATA when a text of len bytes is longer than TEXT_MAX. */
int32_t text_check_len(size_t len, struct sluice_error *err);

#endif
