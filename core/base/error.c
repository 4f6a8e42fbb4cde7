/* Errors: see error.h. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void error_reset(struct sluice_error *err, sluice_status code)
{
    err->size = sizeof *err;
    err->code = code;
    err->row = -1;
    err->field[0] = '\0';
}

sluice_status error_set(struct sluice_error *err, sluice_status code, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        error_reset(err, code);
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

sluice_status error_field(struct sluice_error *err, sluice_status code, const char *field,
                          const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        error_reset(err, code);
        snprintf(err->field, sizeof err->field, "%s", field);
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

/* What trying again can do about it: see error.h. */
static const char *errno_field(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
    case EROFS:
        return ERROR_FULL;
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EFBIG:
        return ERROR_LASTING;
    default:
        return "";
    }
}

sluice_status error_errno(struct sluice_error *err, int errnum, const char *format, ...)
{
    sluice_status code = errnum == ENOMEM ? SLUICE_E_NOMEM : SLUICE_E_IO;
    const char *remedy = "";

    if (errnum == ENOSPC || errnum == EDQUOT) {
        remedy = "; free some space or give another folder, then run again: finished work is kept";
    } else if (errnum == EROFS || errnum == EACCES || errnum == EPERM) {
        remedy = "; give a place that this user may use";
    } else if (errnum == EMFILE || errnum == ENFILE) {
        remedy = "; raise the limit of open files (ulimit -n)";
    }
    if (err != NULL) {
        va_list args;
        size_t used;
        error_reset(err, code);
        snprintf(err->field, sizeof err->field, "%s", errno_field(errnum));
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s%s", strerror(errnum),
                 remedy);
    }
    return code;
}

sluice_status error_prefix(struct sluice_error *err, const char *format, ...)
{
    char prefix[512];
    size_t length;
    size_t room;
    size_t rest;
    va_list args;

    if (err == NULL) {
        return SLUICE_E_INTERNAL;
    }
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix - 3, format, args);
    va_end(args);
    length = strlen(prefix);
    memcpy(prefix + length, ": ", 3);
    length += 2;
    rest = strlen(err->message);
    room = sizeof err->message - 1;
    if (rest > room - length) {
        rest = room - length;
    }
    memmove(err->message + length, err->message, rest);
    memcpy(err->message, prefix, length);
    err->message[length + rest] = '\0';
    return error_known(err->code);
}

sluice_status error_nomem(struct sluice_error *err, const char *what)
{
    return error_set(err, SLUICE_E_NOMEM,
                     "out of memory for %s; give a larger --memory or fewer --workers", what);
}

sluice_status error_known(sluice_status code)
{
    return code >= SLUICE_OK && code <= SLUICE_E_HALT ? code : SLUICE_E_INTERNAL;
}

/* Optimal string alignment distance of two words of at most 63 bytes. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][65];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *now = rows[2];

    for (size_t j = 0; j <= m; j++) {
        last[j] = j;
        before[j] = 0;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *spare;
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            size_t best = last[j - 1] + cost;
            if (last[j] + 1 < best) {
                best = last[j] + 1;
            }
            if (now[j - 1] + 1 < best) {
                best = now[j - 1] + 1;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best) {
                best = before[j - 2] + 1;
            }
            now[j] = best;
        }
        spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *error_suggest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t length = strlen(word);
    size_t best_distance = 2 + length / 4;

    if (length > 63) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        size_t distance;
        if (other > 63) {
            continue;
        }
        distance = edit_distance(word, length, candidates[i], other);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}
