/* Which file a row of a joined one was in: see compact.h. */
#include "store/compact.h"

#include <jansson.h>

bool compact_origin(const struct snapshot *s, const char **file, uint64_t *row)
{
    json_t *members = json_object_get(json_object_get(s->lineage, "joined"), *file);
    uint64_t left = *row;

    for (size_t i = 0; i < json_array_size(members); i++) {
        json_t *member = json_array_get(members, i);
        const char *name = json_string_value(json_array_get(member, 0));
        uint64_t rows = (uint64_t)json_integer_value(json_array_get(member, 1));
        if (name != NULL && left < rows) {
            *file = name;
            *row = left;
            return true;
        }
        left -= left < rows ? left : rows;
    }
    return false;
}
