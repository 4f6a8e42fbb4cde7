/* Arenas: see arena.h. Blocks double up to 64 KiB; what is longer than a quarter of a block gets
 * one of its own, behind the one in use. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK 1024u
#define LAST_BLOCK 65536u

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t bytes[];
};

struct arena_undo {
    struct arena_undo *next;
    void (*undo)(void *);
    void *what;
};

/* A new block; in front = the next allocations come from it. */
static struct arena_block *add_block(struct arena *arena, size_t size, bool in_front)
{
    struct arena_block *block = calloc(1, sizeof *block + size);

    if (block == NULL) {
        arena->failed = true;
        return NULL;
    }
    block->size = size;
    if (in_front || arena->blocks == NULL) {
        block->next = arena->blocks;
        arena->blocks = block;
    } else {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    }
    return block;
}

void *arena_alloc(struct arena *arena, size_t n, size_t size)
{
    const size_t unit = sizeof(max_align_t);
    struct arena_block *block = arena->blocks;
    size_t bytes;
    void *at;

    if (arena->failed || __builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    bytes = bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
    if (block == NULL || block->size - block->used < bytes) {
        size_t next = block == NULL ? FIRST_BLOCK : block->size * 2;
        next = next > LAST_BLOCK ? LAST_BLOCK : next;
        block = bytes > next / 4 ? add_block(arena, bytes, false) : add_block(arena, next, true);
        if (block == NULL) {
            return NULL;
        }
    }
    at = (char *)block->bytes + block->used;
    block->used += bytes;
    return at;
}

char *arena_copy(struct arena *arena, const char *text, size_t n)
{
    char *copy = arena_alloc(arena, n + 1, 1);

    if (copy != NULL && n > 0) {
        memcpy(copy, text, n);
    }
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = n < 0 ? NULL : arena_alloc(arena, (size_t)n + 1, 1);
    if (text == NULL) {
        arena->failed = true;
        return NULL;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void *arena_more(struct arena *arena, void *items, uint32_t n, uint32_t *capacity, size_t size)
{
    uint32_t room = *capacity < 4 ? 8 : *capacity * 2;
    void *more;

    if (items != NULL && n < *capacity) {
        return items;
    }
    if (n > UINT32_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    more = arena_alloc(arena, room, size);
    if (more != NULL) {
        if (n > 0) {
            memcpy(more, items, n * size);
        }
        *capacity = room;
    }
    return more;
}

bool arena_defer(struct arena *arena, void (*undo)(void *), void *what)
{
    struct arena_undo *entry = ARENA_NEW(arena, struct arena_undo);

    if (entry == NULL) {
        undo(what);
        return false;
    }
    *entry = (struct arena_undo){ .next = arena->undos, .undo = undo, .what = what };
    arena->undos = entry;
    return true;
}

sluice_status arena_status(const struct arena *arena, struct sluice_error *err, const char *what)
{
    return arena->failed ? error_nomem(err, what) : SLUICE_OK;
}

void arena_deinit(struct arena *arena)
{
    while (arena->undos != NULL) {
        struct arena_undo *entry = arena->undos;
        arena->undos = entry->next;
        entry->undo(entry->what);
    }
    while (arena->blocks != NULL) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    arena->failed = false;
}
