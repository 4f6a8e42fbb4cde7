#include "dolma_names.h"

#include <string.h>

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
