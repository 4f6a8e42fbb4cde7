/* The order of texts: bytes, the same everywhere. Depends on libc alone. */
#ifndef SLUICE_BASE_ORDER_H
#define SLUICE_BASE_ORDER_H

#include <string.h>

/* For qsort and bsearch over arrays of texts. */
static inline int order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#endif
