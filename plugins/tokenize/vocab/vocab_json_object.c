/* vocab_json_object.c — what the readers of a tokenizer.json's parts ask of an object. See
 * vocab_json.h. */
#include <stdio.h>
#include <string.h>

#include "vocab/vocab_json.h"

int32_t json_refuse(struct json_reader *r, const char *where, const char *what)
{
    return bpe_fail(
        r->err, SLUICE_E_CONFIG,
        "tokenizer.json has %s '%s', which this engine does not honour; it reads BPE "
        "files over bytes (GPT-2, Llama 3, Qwen, DeepSeek, Tekken, CLIP kinds) and over "
        "characters (Llama 2, Mistral, Gemma, GPT-1 kinds), Unigram, WordPiece and "
        "WordLevel",
        where, what);
}

int32_t json_malformed(struct json_reader *r, const char *where)
{
    return bpe_fail(r->err, SLUICE_E_CONFIG,
                    "tokenizer.json: %s is missing or of the wrong type; the file is damaged or of "
                    "another version",
                    where);
}

int32_t json_only(struct json_reader *r, json_t *object, const char *where,
                  const char *const *names)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i;
        for (i = 0; names[i] && strcmp(names[i], key) != 0; i++) {
        }
        if (!names[i]) {
            char place[160];
            (void)snprintf(place, sizeof(place), "in %s the member", where);
            return json_refuse(r, place, key);
        }
    }
    return SLUICE_OK;
}

int json_flag(json_t *object, const char *name, int otherwise, int *bad)
{
    json_t *value = json_object_get(object, name);
    if (!value || json_is_null(value)) {
        return otherwise;
    }
    if (!json_is_boolean(value)) {
        *bad = 1;
    }
    return json_is_true(value);
}

const char *json_kind(json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

const char *json_affix(json_t *model, const char *name)
{
    json_t *value = json_object_get(model, name);
    return !value || json_is_null(value) ? "" : json_string_value(value);
}

int json_is_nothing(json_t *value)
{
    return !value || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}
