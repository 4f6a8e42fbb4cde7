/* Ids in bytes: see bytesearch.h. */
#include "cmd/dataset/bytesearch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    const size_t *x = a;
    const size_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* The first two bytes as a number; an id of one byte begins with each second one. */
static unsigned pair_of(const char *text, size_t n)
{
    return (unsigned)(unsigned char)text[0] << 8 | (n > 1 ? (unsigned char)text[1] : 0);
}

static void set_pair(struct bytesearch *search, unsigned pair)
{
    search->first[pair / 8] = (unsigned char)(search->first[pair / 8] | 1u << pair % 8);
}

sluice_status bytesearch_init(struct bytesearch *search, const struct ids *ids,
                              struct sluice_error *err)
{
    memset(search, 0, sizeof *search);
    search->ids = ids;
    search->sizes = calloc(ids->n + 1, sizeof *search->sizes);
    if (search->sizes == NULL) {
        return error_nomem(err, "ids");
    }
    for (size_t i = 0; i < ids->n; i++) {
        size_t n = strlen(ids->items[i]);
        search->sizes[i] = n;
        for (unsigned second = 0; n == 1 && second < 256; second++) {
            set_pair(search, pair_of(ids->items[i], 1) | second);
        }
        set_pair(search, pair_of(ids->items[i], n));
    }
    qsort(search->sizes, ids->n, sizeof *search->sizes, by_size);
    for (size_t i = 0; i < ids->n; i++) {
        if (search->n_sizes == 0 || search->sizes[search->n_sizes - 1] != search->sizes[i]) {
            search->sizes[search->n_sizes++] = search->sizes[i];
        }
    }
    return SLUICE_OK;
}

void bytesearch_deinit(struct bytesearch *search)
{
    free(search->sizes);
    memset(search, 0, sizeof *search);
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

bool bytesearch_piece(const struct bytesearch *search, const char *data, size_t n, bool words,
                      bool inside, bool more)
{
    for (size_t i = inside; i < n; i++) {
        unsigned pair = pair_of(data + i, n - i);
        if ((search->first[pair / 8] & 1u << pair % 8) == 0 ||
            (words && i > 0 && in_word(data[i - 1]))) {
            continue;
        }
        for (size_t k = 0; k < search->n_sizes && search->sizes[k] <= n - i; k++) {
            size_t end = i + search->sizes[k];
            if ((!words || (end == n ? !more : !in_word(data[end]))) &&
                ids_find(search->ids, data + i, search->sizes[k]) < search->ids->n) {
                return true;
            }
        }
    }
    return false;
}
