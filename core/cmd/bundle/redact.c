/* What a bundle leaves out: see redact.h. */
#include "cmd/bundle/redact.h"

#include <stdio.h>
#include <string.h>

/* Members that never hold a value of a record. What is not here is left out: a new member has to be
 * thought about first. */
static const char *const kept[] = {
    "check",   "ended", "event", "file",    "format", "hash",      "key",    "kind",    "name",
    "parts",   "path",  "phase", "plugin",  "port",   "role",      "script", "sha256",  "stage",
    "started", "state", "task",  "version", "writer", "libraries", "abi",    "run_dir",
};

static bool stays(const char *member, bool messages)
{
    for (size_t k = 0; member != NULL && k < sizeof kept / sizeof kept[0]; k++) {
        if (strcmp(member, kept[k]) == 0) {
            return true;
        }
    }
    return messages && member != NULL && strcmp(member, "error") == 0;
}

/* What stands for a string; NULL = out of memory. */
static json_t *stand_in(const json_t *string)
{
    char text[64];

    snprintf(text, sizeof text, "(left out: %zu bytes)", json_string_length(string));
    return json_string(text);
}

static bool redact_in(json_t *json, const char *member, bool messages)
{
    const char *name;
    json_t *item;
    void *next;
    size_t k;

    json_object_foreach_safe(json, next, name, item)
    {
        if (json_is_string(item) && !stays(name, messages)) {
            if (json_object_set_new(json, name, stand_in(item)) != 0) {
                return false;
            }
        } else if (!redact_in(item, name, messages)) {
            return false;
        }
    }
    json_array_foreach(json, k, item)
    {
        if (json_is_string(item) && !stays(member, messages)) {
            if (json_array_set_new(json, k, stand_in(item)) != 0) {
                return false;
            }
        } else if (!redact_in(item, member, messages)) {
            return false;
        }
    }
    return true;
}

bool redact(json_t *json, bool messages)
{
    return redact_in(json, NULL, messages);
}
