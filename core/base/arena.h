/* Arenas: memory that lives as long as one thing (a graph, a plan, a snapshot, a command) and is
 * freed with it, at once. An arena remembers the first allocation that failed: every later one
 * gives NULL as well, texts and arrays of NULL stay NULL, and whoever builds the thing asks
 * arena_status once, at the end. Only what is written through before that needs a look of its own.
 * Depends on base/error. Not thread-safe. */
#ifndef SLUICE_BASE_ARENA_H
#define SLUICE_BASE_ARENA_H

#include "base/error.h"

struct arena_block;
struct arena_undo;

struct arena {
    struct arena_block *blocks; /* the one in use first */
    struct arena_undo *undos;   /* the last one first */
    bool failed;
};

#define ARENA_INIT        \
    {                     \
        NULL, NULL, false \
    }

/* Zeroed memory of n items of size bytes, aligned for every type; NULL when memory runs out or has.
 * n may be 0. */
void *arena_alloc(struct arena *, size_t n, size_t size);
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, n) ((type *)arena_alloc((arena), (n), sizeof(type)))

/* A copy with a NUL behind it. */
char *arena_copy(struct arena *, const char *text, size_t n);
char *arena_printf(struct arena *, const char *format, ...) PRINTF_LIKE(2, 3);

/* An array of n items with room for one more: items itself, or a copy twice as long (the old one
 * stays until the end, so what points into it stays right). Call it before each append. NULL when
 * memory ran out: the old array is untouched. */
void *arena_more(struct arena *, void *items, uint32_t n, uint32_t *capacity, size_t size);

/* undo(what) is called by arena_deinit, the last first: for parts whose memory is not the arena's.
 * False: memory ran out, and undo was called at once. */
bool arena_defer(struct arena *, void (*undo)(void *), void *what);

sluice_status arena_status(const struct arena *, struct sluice_error *,
                           const char *what) MUST_USE; /* "out of memory for WHAT" if any failed */
void arena_deinit(struct arena *);                     /* leaves an empty one */

#endif
