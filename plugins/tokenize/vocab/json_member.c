/* json_member.c — see json_member.h. */
#include "vocab/json_member.h"

#include <stdio.h>
#include <string.h>

#include "bpe_error.h"

const char *json_member_type(json_t *node)
{
    const char *type = json_string_value(json_object_get(node, "type"));
    return type ? type : "";
}

int32_t json_member_refuse(struct sluice_error *err, const char *what, const char *name)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "tokenizer.json has %s '%s', which this engine does not honour", what, name);
}

int32_t json_member_malformed(struct sluice_error *err, const char *member, const char *type)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "tokenizer.json: a member of the %s %s is missing or of the wrong type; the "
                    "file is damaged or of another version",
                    member, type);
}

int32_t json_member_only(json_t *node, const char *member, const char *const *names,
                         struct sluice_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(node, key, value)
    {
        size_t i;
        for (i = 0; names[i] && strcmp(names[i], key) != 0; i++) {
        }
        if (!names[i] && strcmp(key, "type") != 0) {
            char what[96];
            (void)snprintf(what, sizeof(what), "in the %s %s the member", member,
                           json_member_type(node));
            return json_member_refuse(err, what, key);
        }
    }
    return SLUICE_OK;
}
