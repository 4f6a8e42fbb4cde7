/* text_scratch.h — the arena inside struct text_scratch.
 *
 * Private to sdk/text.
 */
#ifndef TEXT_SCRATCH_H
#define TEXT_SCRATCH_H

#include "text/text_doc.h"

/* At least `size` bytes, aligned to 64, valid until the next call; the content is lost. NULL with
 * the error in *err when memory is refused. One user at a time. */
void *text_scratch_arena(struct text_scratch *scratch, size_t size, struct sluice_error *err);

#endif
