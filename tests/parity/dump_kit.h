/* dump_kit.h — what the programs of the parity tests share: their input, and the processor's
 * time. */
#ifndef TESTS_PARITY_DUMP_KIT_H
#define TESTS_PARITY_DUMP_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* All that the file has, to be freed; NULL without memory. */
static inline unsigned char *dump_read(FILE *f, size_t *size)
{
    size_t capacity = 1u << 20, n = 0, k;
    unsigned char *data = malloc(capacity);
    while (data != NULL && (k = fread(data + n, 1, capacity - n, f)) > 0) {
        n += k;
        if (n == capacity) {
            unsigned char *grown = realloc(data, capacity * 2);
            if (grown == NULL) {
                free(data);
                return NULL;
            }
            data = grown;
            capacity *= 2;
        }
    }
    *size = n;
    return data;
}

/* Seconds that this process has used. */
static inline double dump_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
