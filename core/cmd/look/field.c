/* A field of a row: see field.h. */
#include "cmd/look/field.h"

#include <string.h>

const json_t *field_find(const json_t *object, const char *path)
{
    const json_t *value = json_object_get(object, path);
    const char *dot = path;

    while (value == NULL && (dot = strchr(dot, '.')) != NULL) {
        char name[256];
        if ((size_t)(dot - path) < sizeof name) {
            const json_t *inner;
            memcpy(name, path, (size_t)(dot - path));
            name[dot - path] = '\0';
            inner = json_object_get(object, name);
            value = inner == NULL ? NULL : field_find(inner, dot + 1);
        }
        dot++;
    }
    return value;
}
