/* Errors: helpers over the caller-owned struct sluice_error of the SDK. Depends on sluice.h
 * only. */
#ifndef SLUICE_BASE_ERROR_H
#define SLUICE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* An error on the stack, ready to be passed down. */
#define ERROR_INIT                                                                      \
    {                                                                                   \
        .size = sizeof(struct sluice_error), .code = SLUICE_OK, .row = -1, .field = "", \
        .message = ""                                                                   \
    }

/* Fills *err (which may be NULL) and returns code, so that `return error_set(err, SLUICE_E_IO,
 * ...)` reads well. The message states what was found, what was expected and what to do. */
sluice_status error_set(struct sluice_error *err, sluice_status code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The same with the option or column at fault. */
sluice_status error_field(struct sluice_error *err, sluice_status code, const char *field,
                          const char *format, ...) PRINTF_LIKE(4, 5);

/* Fields that say whether trying again may help. Of an SLUICE_E_IO: no room, or no right to
 * write, so that nothing else can succeed either; what is asked for can't be done, whenever it
 * is. */
#define ERROR_FULL "disk full"
#define ERROR_LASTING "lasting"
/* Of an SLUICE_E_DATA: more rows are quarantined than the run bears. */
#define ERROR_MAX_BAD "max_bad"
/* Of an SLUICE_E_NOMEM: the message says which --memory would do. */
#define ERROR_MEMORY "--memory"

/* Like error_set with ": strerror(errnum)" appended. ENOSPC, EDQUOT and EROFS name the remedy. The
 * field is one of those above where errnum tells so. */
sluice_status error_errno(struct sluice_error *err, int errnum, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Puts "prefix: " before the message already there; returns err's code. For the place (stage, file)
 * a callee can't know. */
sluice_status error_prefix(struct sluice_error *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* "out of memory for WHAT" with SLUICE_E_NOMEM. */
sluice_status error_nomem(struct sluice_error *err, const char *what);

/* Maps unknown codes to SLUICE_E_INTERNAL. */
sluice_status error_known(sluice_status code);

/* Returns the candidate nearest to word (edit distance at most 1 + length/4 with transpositions),
 * or NULL. n candidates. */
const char *error_suggest(const char *word, const char *const *candidates, size_t n);

#define TRY(expression)                          \
    do {                                         \
        sluice_status try_status = (expression); \
        if (try_status != SLUICE_OK) {           \
            return try_status;                   \
        }                                        \
    } while (0)

#endif
