/* Memory shared with a child process: made by the parent, sized for good, mapped by both.
 * Depends on base. An area is never resized: who needs more makes another. */
#ifndef SLUICE_ISOLATE_AREA_H
#define SLUICE_ISOLATE_AREA_H

#include "base/error.h"

#define AREA_KEPT ((size_t)64 << 20) /* larger ones are given back when they are not needed */

enum area_writer { AREA_PARENT_WRITES, AREA_CHILD_WRITES };

struct area { /* zeroed with fd -1 = none */
    char *data;
    size_t size;
    int fd;    /* owned; -1 once it was sent, or mapped */
    bool sent; /* the child has it */
};

#define AREA_INIT \
    {             \
        .fd = -1  \
    }

/* Parent: at least bytes; replaces what *area was. The child can neither resize it nor, where
 * the parent writes, make it writable. */
sluice_status area_create(struct area *, size_t bytes, enum area_writer,
                          struct sluice_error *err) MUST_USE;
/* Child: maps what fd (taken) stands for; replaces what *area was. false = it can't be mapped. */
bool area_map(struct area *, int fd, size_t size, enum area_writer);
void area_close(struct area *);

#endif
