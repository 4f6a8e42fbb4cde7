/* What copies of columns and columns in the making end with. Private to text_layout*.c. */
#ifndef TEXT_LAYOUT_INT_H
#define TEXT_LAYOUT_INT_H

#include "text/text_layout.h"

/* The array of n structs, or of n lists, if status is SLUICE_OK, else that status. children: from
 * calloc, or NULL with another status; they are taken in any case, buffers as sluice_make does. */
sluice_status layout_make_struct(sluice_status status, const struct layout *, int64_t n,
                                 struct ArrowArray *children, struct sluice_bytes *validity,
                                 int64_t nulls, struct ArrowArray *out);
sluice_status layout_make_list(sluice_status status, int64_t n, struct ArrowArray *child,
                               struct sluice_bytes *offsets, struct sluice_bytes *validity,
                               int64_t nulls, struct ArrowArray *out);

#endif
