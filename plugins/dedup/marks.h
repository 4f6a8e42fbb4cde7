/* The marks of a split that a side input brings: units of a row's text with the document they are
 * equal to, or a share, sorted by row. Private to plugins/dedup; zeroed memory has none. */
#ifndef DEDUP_MARKS_H
#define DEDUP_MARKS_H

#include <sluice_arrays.h>

struct mark {
    uint64_t row;
    uint32_t at;      /* unit of the row's text */
    uint32_t id_size; /* of the document it is equal to */
    uint64_t id;      /* place in text */
    double share;     /* of what was seen before */
};

struct marks {
    struct sluice_bytes items; /* struct mark, ascending by (row, at) once asked for */
    struct sluice_bytes text;
    uint64_t next;
};

void marks_deinit(struct marks *);

/* What a side input has in its third column, behind _row and at. */
enum marks_with { MARKS_WITH_ID, MARKS_WITH_SHARE };

/* Adds a batch of the side input. */
sluice_status marks_take(struct marks *, const struct sluice_batch *, enum marks_with,
                         struct sluice_error *);

/* For save and load of a worker: what is there, and back into an empty one. SLUICE_E_DATA: no marks
 * in their order. */
sluice_status marks_save(struct marks *, struct sluice_io *);
sluice_status marks_load(struct marks *, struct sluice_io *);

/* The marks of a row, sorted by unit, *n of them. Rows are asked for in ascending order. */
const struct mark *marks_of(struct marks *, uint64_t row, size_t *n);

#endif
