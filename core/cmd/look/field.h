/* A field of a row that is a JSON object. Depends on jansson. */
#ifndef SLUICE_CMD_FIELD_H
#define SLUICE_CMD_FIELD_H

#include <jansson.h>

/* path: a name, which may have dots in it, or a path through objects such as meta.lang. Borrowed;
 * NULL: there is none. */
const json_t *field_find(const json_t *object, const char *path);

#endif
