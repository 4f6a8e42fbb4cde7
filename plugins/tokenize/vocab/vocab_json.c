/* vocab_json.c — reads Hugging Face tokenizer.json files (huggingface/tokenizers, the `Serialize`
 * implementations): the whole, and the helpers of its parts' readers. See vocab_json.h. */
#include "vocab/vocab_json.h"

#include <stdio.h>
#include <string.h>

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

static int32_t read_top(struct json_reader *r, json_t *top)
{
    static const char *const names[] = {
        "version",       "truncation", "padding",        "added_tokens", "normalizer",
        "pre_tokenizer", "model",      "post_processor", "decoder",      NULL
    };
    static const char *const shaping[] = { "truncation", "padding" };
    size_t i;
    int32_t status = json_only(r, top, "the file", names);
    if (status != SLUICE_OK) {
        return status;
    }
    for (i = 0; i < sizeof(shaping) / sizeof(shaping[0]); i++) {
        if (!json_is_nothing(json_object_get(top, shaping[i]))) {
            return bpe_fail(
                r->err, SLUICE_E_CONFIG,
                "tokenizer.json asks for '%s', which drops or adds ids for a model's input; "
                "whole documents are encoded here: set it to null (packing and writing cut "
                "and fill)",
                shaping[i]);
        }
    }
    status = vocab_check_added(json_array_size(json_object_get(top, "added_tokens")), r->err);
    if (status != SLUICE_OK) {
        return status;
    }
    r->ids = json_object_get(json_object_get(top, "model"), "vocab");
    status = json_read_text(r, top);
    if (status == SLUICE_OK) {
        status = json_read_model(r, json_object_get(top, "model"));
    }
    if (status == SLUICE_OK) {
        status = json_read_added(r, json_object_get(top, "added_tokens"));
    }
    return status == SLUICE_OK
               ? json_read_post_processor(r, json_object_get(top, "post_processor"), 0)
               : status;
}

int32_t vocab_read_json(struct vocab *v, struct pretoken *pretoken, const char *data, size_t size,
                        const struct bpe_options *options, struct sluice_error *err)
{
    struct json_reader r;
    json_error_t at;
    json_t *top;
    int32_t status;
    memset(&r, 0, sizeof(r));
    r.prefix = r.suffix = "";
    r.vocab = v;
    r.pretoken = pretoken;
    r.err = err;
    if (options->pattern) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "a pattern is given, but tokenizer.json holds its own; leave the option "
                        "out, or use a .tiktoken file");
    }
    top = json_loadb(data, size, JSON_REJECT_DUPLICATES, &at);
    if (!top) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "tokenizer.json is not valid JSON at line %d: %s; fetch the file again",
                        at.line, at.text);
    }
    status = json_is_object(top) ? read_top(&r, top) : json_malformed(&r, "the file");
    json_decref(top);
    return status;
}
