/* vocab_json.c — reads Hugging Face tokenizer.json files (huggingface/tokenizers, the `Serialize`
 * implementations): the whole. See vocab_json.h. */
#include "vocab/vocab_json.h"

#include <string.h>

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
