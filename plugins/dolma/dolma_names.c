#include "dolma_names.h"

#include <stdio.h>
#include <string.h>

size_t dolma_name_make(char *name)
{
    size_t changed = 0;

    for (char *p = name; *p != '\0'; p++) {
        bool fine =
            (unsigned char)((*p | 0x20) - 'a') < 26 || (unsigned char)(*p - '0') < 10 || *p == '_';
        changed += !fine;
        *p = fine ? *p : '_';
    }
    return changed;
}

sluice_status dolma_name_prefix(const char *experiment, const char *tagger, char **out,
                                struct sluice_error *err)
{
    size_t n;

    experiment = experiment != NULL ? experiment : tagger;
    if ((unsigned char)(experiment[0] - '0') < 10 || experiment[0] == '\0') {
        return sluice_fail(err, SLUICE_E_CONFIG, "experiment",
                           "expected a name that begins with a letter or _");
    }
    n = strlen(experiment) + strlen(tagger) + 5;
    *out = malloc(n);
    if (*out == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for attributes");
    }
    snprintf(*out, n, "%s__%s__", experiment, tagger);
    (void)dolma_name_make(*out);
    return SLUICE_OK;
}

bool dolma_name_next(const char **at, const char **name, size_t *n)
{
    const char *end;

    if (**at == '\0') {
        return false;
    }
    end = strchr(*at, '|');
    *name = *at;
    *n = end == NULL ? strlen(*at) : (size_t)(end - *at);
    *at += *n + (end != NULL ? 1 : 0);
    return true;
}

bool dolma_name_in(const char *names, const char *name, size_t n)
{
    const char *other;
    size_t length;

    while (dolma_name_next(&names, &other, &length)) {
        if (length == n && memcmp(other, name, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Levenshtein's distance of names below 128 bytes; longer ones are far. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[129];

    if (n > 128 || m > 128) {
        return SIZE_MAX;
    }
    for (size_t k = 0; k <= m; k++) {
        row[k] = k;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t k = 1; k <= m; k++) {
            size_t change = corner + (a[i - 1] != b[k - 1]);
            corner = row[k];
            row[k] = row[k] + 1 < row[k - 1] + 1 ? row[k] + 1 : row[k - 1] + 1;
            row[k] = row[k] < change ? row[k] : change;
        }
    }
    return row[m];
}

const char *dolma_name_near(const char *names, const char *name, size_t n, size_t *length)
{
    const char *best = NULL;
    const char *other;
    size_t m;
    size_t least = n / 3 + 2;

    while (dolma_name_next(&names, &other, &m)) {
        size_t far = distance(name, n, other, m);
        if (far < least) {
            least = far;
            best = other;
            *length = m;
        }
    }
    return best;
}
