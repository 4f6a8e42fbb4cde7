/* Memory of expressions, and messages with their place. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/whereInt.h"

#define BLOCK_BYTES ((size_t)4096)

void *where_alloc(struct where_block **blocks, size_t size)
{
    const size_t head = (sizeof(struct where_block) + 15) / 16 * 16;
    struct where_block *block = *blocks;
    char *out;

    size = (size + 15) / 16 * 16;
    if (block == NULL || size > block->size - block->used) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = calloc(1, head + room);
        if (block == NULL) {
            return NULL;
        }
        block->size = room;
        block->next = *blocks;
        *blocks = block;
    }
    out = (char *)block + head + block->used;
    block->used += size;
    return out;
}

void where_free(struct where_block *blocks)
{
    while (blocks != NULL) {
        struct where_block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

sluice_status where_fail(struct sluice_error *err, sluice_status status, const char *text,
                         size_t at, const char *format, ...)
{
    char message[900];
    size_t number = 1;
    int n;
    va_list args;

    for (size_t k = 0; k < at; k++) {
        number += ((unsigned char)text[k] & 0xC0u) != 0x80u;
    }
    n = snprintf(message, sizeof message, "where, character %zu: ", number);
    va_start(args, format);
    vsnprintf(message + n, sizeof message - (size_t)n, format, args);
    va_end(args);
    return sluice_fail(err, status, "where", message);
}
