/* attribute_text.h - a line of an attribute file, {"id": ..., "attributes": {...}}, as text.
 * Depends on sluice_arrays.h. */
#ifndef DOLMA_ATTRIBUTE_TEXT_H
#define DOLMA_ATTRIBUTE_TEXT_H

#include <sluice_arrays.h>

/* Appends the line of one document with its line feed. No attributes, or null, are {}. 0 when
 * memory is used up. */
int attribute_text_add(struct sluice_bytes *out, const char *id, size_t id_n, const char *json,
                       size_t json_n);

#endif
