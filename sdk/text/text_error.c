/* text_error.c — see text_error.h. */
#include "text/text_error.h"

#include "text/text_span.h"

#include <stdarg.h>
#include <stdio.h>

int32_t text_error(struct sluice_error *err, int32_t code, const char *format, ...)
{
    if (err != NULL) {
        err->code = code;
        err->row = -1;
        err->field[0] = '\0';
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

int32_t text_error_nomem(struct sluice_error *err, size_t bytes)
{
    return text_error(
        err, SLUICE_E_NOMEM,
        "out of memory: %zu bytes for the work on one document were refused; give the "
        "run more memory, or lower max_record",
        bytes);
}

int32_t text_check_len(size_t len, struct sluice_error *err)
{
    if (len > TEXT_MAX) {
        return text_error(
            err, SLUICE_E_DATA,
            "a text of %zu bytes; at most %zu can be split; lower max_record or cut the "
            "document",
            len, TEXT_MAX);
    }
    return SLUICE_OK;
}
