/* Private to core/data: making arrays, and the copying kernels that gathers and spill frames
 * share.
 *
 * What is copied is always named as *runs*: pieces of consecutive rows, or pieces of nulls. A
 * selection becomes runs once for all columns of a batch; nulls of a column cut runs further, so
 * that nothing behind a null slot is ever read; rows of lists become runs of their items. A copy
 * is therefore canonical: it depends on the values of the rows alone. */
#ifndef SLUICE_DATA_COLUMN_INT_H
#define SLUICE_DATA_COLUMN_INT_H

#include "data/column.h"
#include "data/typeInt.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "columns and frames are little-endian"
#endif

#define COLUMN_ROWS_MAX INT32_MAX
#define ARRAY_PADDING 64u /* readable zero bytes behind text */

/* ---- memory of arrays made here ---- */

/* Memory that several arrays point into (a decoded frame). */
struct array_memory {
    int32_t refs; /* atomic */
    char *data;   /* owned */
};
struct array_memory *array_memory_create(
    size_t bytes); /* with one reference; data is uninitialised; NULL = out of memory */
void array_memory_unref(struct array_memory *);

/* Makes *out an array of a type: buffers NULL, children zeroed (released), null_count 0. false =
 * out of memory. */
bool array_init(struct ArrowArray *out, const struct type *type, int64_t length);
/* Gives the array buffer k, from malloc. */
void array_own(struct ArrowArray *, int k, void *buffer);
/* Lets buffer k point into memory, of which the array keeps one reference. */
void array_borrow(struct ArrowArray *, int k, const void *buffer, struct array_memory *memory);
/* Allocates buffer k: bytes, then zeroed padding up to bytes + ARRAY_PADDING. NULL = out of
 * memory. */
void *array_alloc(struct ArrowArray *, int k, size_t bytes);
void array_release(struct ArrowArray *); /* NULL release is fine */
uint64_t array_bytes_held(const struct ArrowArray *, const struct type *);

/* ---- runs ---- */

#define RUN_NULL UINT32_MAX
struct run {
    uint32_t start; /* row, before the array's offset is added; or RUN_NULL */
    uint32_t n;     /* > 0 */
};
struct runs {
    struct run *items; /* owned */
    size_t n, capacity;
    int64_t rows;  /* sum of n */
    int64_t nulls; /* of these in RUN_NULL pieces */
};
void runs_deinit(struct runs *);
bool runs_add(struct runs *, uint32_t start,
              int64_t n); /* merges with the last run when it can; n == 0 is nothing */
bool runs_of_rows(struct runs *, const uint32_t *rows, int64_t n);
/* from, cut where validity of the array changes. */
bool runs_split(struct runs *, const struct runs *from, const struct ArrowArray *array);
/* The items of the list rows in from. */
bool runs_of_items(struct runs *, const struct runs *from, const struct ArrowArray *list);
/* The members' rows of the struct rows in from: a struct's offset applies to its members on top
 * of their own. */
bool runs_of_members(struct runs *, const struct runs *from, const struct ArrowArray *parent);

static inline bool array_has_validity(const struct ArrowArray *a)
{
    return a != NULL && a->length > 0 && a->null_count != 0 && a->buffers[0] != NULL;
}

/* ---- kernels. dst has room for all rows of runs; a may be NULL when all runs are nulls. ---- */
void copy_validity(uint8_t *dst, const struct runs *); /* writes (rows + 7) / 8 bytes */
void copy_bits(uint8_t *dst, const struct runs *,
               const struct ArrowArray *a); /* likewise; nulls are 0 */
void copy_fixed(char *dst, const struct runs *, const struct ArrowArray *a, size_t width);
/* One 0 and then the length of each row of utf8/binary/list (what frames store): rows + 1 of them.
 * Returns the sum, or -1 when it would pass INT32_MAX. */
int64_t copy_lengths(int32_t *dst, const struct runs *, const struct ArrowArray *a);
void copy_bytes(char *dst, size_t total, const struct runs *, const struct ArrowArray *a);

/* Gathers runs of an array into a new one. */
sluice_status array_gather(const struct ArrowArray *, const struct type *, const struct runs *,
                           struct ArrowArray *out, struct sluice_error *err) MUST_USE;
/* array_validate, letting nulls pass in types that are not nullable when strict is false. */
sluice_status array_check(const struct ArrowArray *, const struct type *, int64_t length,
                          const char *path, bool strict, struct sluice_error *err) MUST_USE;

#endif
