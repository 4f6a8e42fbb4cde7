/* bpe_error.c — see the header. */
#include "bpe_error.h"

#include <stdarg.h>
#include <stdio.h>

int32_t bpe_fail(struct sluice_error *err, int32_t code, const char *format, ...)
{
    if (err) {
        va_list arguments;
        err->code = code;
        err->row = -1;
        err->field[0] = '\0';
        va_start(arguments, format);
        (void)vsnprintf(err->message, sizeof(err->message), format, arguments);
        va_end(arguments);
    }
    return code;
}

int32_t bpe_fail_memory(struct sluice_error *err, const char *what)
{
    return bpe_fail(err, SLUICE_E_NOMEM,
                    "out of memory for %s; give the run a larger memory budget", what);
}
