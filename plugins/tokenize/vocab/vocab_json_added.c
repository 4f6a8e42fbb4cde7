/* vocab_json_added.c — the added tokens and the post-processor of a tokenizer.json. See
 * vocab_json.h. */
#include <stdio.h>
#include <string.h>

#include "vocab/vocab_json.h"

/* tokenizers gives an added token the id of the equal vocabulary entry, else the next free one; the
 * file's id is only compared. A file whose ids disagree is refused. */
int32_t json_read_added(struct json_reader *r, json_t *list)
{
    static const char *const names[] = { "id",     "content",    "single_word", "lstrip",
                                         "rstrip", "normalized", "special",     NULL };
    uint32_t size = json_n_ids(r), expected, most = 0;
    int any = 0;
    size_t i;
    json_t *node;
    if (!list || json_is_null(list)) {
        return SLUICE_OK;
    }
    if (!json_is_array(list)) {
        return json_malformed(r, "added_tokens");
    }
    json_array_foreach(list, i, node)
    {
        json_t *content = json_object_get(node, "content"), *id = json_object_get(node, "id");
        struct vocab_added like;
        int bad = 0;
        int32_t status = json_is_object(node) ? json_only(r, node, "added_tokens", names)
                                              : json_malformed(r, "added_tokens");
        if (status != SLUICE_OK) {
            return status;
        }
        if (!json_is_string(content) || !json_is_integer(id)) {
            return json_malformed(r, "added_tokens");
        }
        memset(&like, 0, sizeof(like));
        like.special = (uint8_t)json_flag(node, "special", 0, &bad);
        like.normalized = (uint8_t)json_flag(node, "normalized", !like.special, &bad);
        like.single_word = (uint8_t)json_flag(node, "single_word", 0, &bad);
        like.lstrip = (uint8_t)json_flag(node, "lstrip", 0, &bad);
        like.rstrip = (uint8_t)json_flag(node, "rstrip", 0, &bad);
        if (bad) {
            return json_malformed(r, "added_tokens");
        }
        if (!json_id_of(r, json_string_value(content), json_string_length(content), &expected)) {
            expected = any && most >= size ? most + 1 : size;
        }
        if (json_integer_value(id) != (json_int_t)expected) {
            return bpe_fail(r->err, SLUICE_E_CONFIG,
                            "tokenizer.json: added token '%s' has the id %lld, but tokenizers "
                            "would give it %u; order added_tokens by "
                            "id and leave no gap behind the vocabulary",
                            json_string_value(content), (long long)json_integer_value(id),
                            expected);
        }
        like.id = expected;
        most = any && most > expected ? most : expected;
        any = 1;
        status = vocab_put_added(r->vocab, json_string_value(content), json_string_length(content),
                                 &like, r->err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static void copy_name(char out[256], const char *name)
{
    if (name && !out[0] && strlen(name) < 256) {
        (void)snprintf(out, 256, "%s", name);
    }
}

/* The ids of a text without special tokens do not depend on the post-processor; it tells which
 * token begins and ends one. */
int32_t json_read_post_processor(struct json_reader *r, json_t *node, int depth)
{
    const char *type = json_kind(node);
    size_t i;
    json_t *child, *list;
    if (!node || json_is_null(node) || strcmp(type, "ByteLevel") == 0) {
        return SLUICE_OK;
    }
    if (strcmp(type, "TemplateProcessing") == 0) {
        int behind = 0;
        list = json_object_get(node, "single");
        if (!json_is_array(list)) {
            return json_malformed(r, "post_processor.single");
        }
        json_array_foreach(list, i, child)
        {
            const char *name =
                json_string_value(json_object_get(json_object_get(child, "SpecialToken"), "id"));
            if (json_object_get(child, "Sequence")) {
                behind = 1;
            } else {
                copy_name(behind ? r->vocab->eos_name : r->vocab->bos_name, name);
            }
        }
        return SLUICE_OK;
    }
    if (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0) {
        copy_name(r->vocab->bos_name,
                  json_string_value(json_array_get(json_object_get(node, "cls"), 0)));
        copy_name(r->vocab->eos_name,
                  json_string_value(json_array_get(json_object_get(node, "sep"), 0)));
        return SLUICE_OK;
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        int32_t status = SLUICE_OK;
        list = json_object_get(node, "processors");
        if (!json_is_array(list)) {
            return json_malformed(r, "post_processor.processors");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = json_read_post_processor(r, child, depth + 1);
            }
        }
        return status;
    }
    return json_refuse(r, "the post_processor", type);
}
