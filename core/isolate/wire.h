/* Small values one behind the other in bytes: what calls to a child process and their answers
 * are made of, beside the columns. Depends on base. Writing goes to a buf, which remembers a
 * lack of memory; reading treats every byte as hostile and remembers the first fault, after
 * which it gives zeros and NULLs. */
#ifndef SLUICE_ISOLATE_WIRE_H
#define SLUICE_ISOLATE_WIRE_H

#include "base/buf.h"

void wire_put(struct buf *, uint64_t value);
void wire_put_float(struct buf *, double value);
/* NULL comes back as NULL. */
void wire_put_text(struct buf *, const char *text);
void wire_put_bytes(struct buf *, const void *data, size_t n);

struct wire {
    const char *at; /* borrowed */
    size_t left;
    bool failed;
};

struct wire wire_begin(const void *data, size_t n);
uint64_t wire_get(struct wire *);
/* At most limit, else it fails and gives 0. */
uint64_t wire_get_below(struct wire *, uint64_t limit);
double wire_get_float(struct wire *);
/* Points into the bytes, ends in NUL. */
const char *wire_get_text(struct wire *);
const void *wire_get_bytes(struct wire *, size_t *n);
/* An error as it stands; always one that is complete. */
void wire_put_error(struct buf *, const struct sluice_error *);
void wire_get_error(struct wire *, struct sluice_error *);
/* Everything was read and nothing failed? */
bool wire_end(const struct wire *);

#endif
