/* shuffle - the order of training data: a global shuffle, mixtures of sources, and holdouts, all by
 * hashes of what names a row, so that the result depends on neither splits nor workers. The
 * composites of the standard library (lib/std_shuffle.lua) put the stages together. */
#include "shuffle.h"

#include <stdarg.h>
#include <stdio.h>

sluice_status shuffle_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for rows to be shuffled");
}

sluice_status shuffle_fail(struct sluice_error *err, sluice_status code, const char *field,
                           const char *format, ...)
{
    char message[900];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return sluice_fail(err, code, field, message);
}
