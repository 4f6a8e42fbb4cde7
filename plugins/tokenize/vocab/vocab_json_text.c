/* vocab_json_text.c — normalizer, pre_tokenizer and decoder of a tokenizer.json: what is done to a
 * text before the model sees it. See vocab_json.h. */
#include <string.h>

#include "normalize/normalizer.h"
#include "split/splitter.h"
#include "vocab/vocab_json.h"

/* ---- bytes: the normalizer ---- */

static int32_t read_nfc(struct json_reader *r, json_t *node, int depth)
{
    const char *type = json_kind(node);
    size_t i;
    json_t *child;
    if (!node || json_is_null(node)) {
        return SLUICE_OK;
    }
    if (strcmp(type, "NFC") == 0) {
        static const char *const names[] = { "type", NULL };
        r->vocab->nfc = 1;
        return json_only(r, node, "normalizer", names);
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        static const char *const names[] = { "type", "normalizers", NULL };
        json_t *list = json_object_get(node, "normalizers");
        int32_t status = json_only(r, node, "normalizer", names);
        if (status == SLUICE_OK && !json_is_array(list)) {
            return json_malformed(r, "normalizer.normalizers");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = json_is_object(child) ? read_nfc(r, child, depth + 1)
                                               : json_malformed(r, "normalizer");
            }
        }
        return status;
    }
    return json_refuse(r, "the normalizer", type);
}

/* ---- bytes: the pre_tokenizer ---- */

static int32_t read_split(struct json_reader *r, json_t *node)
{
    static const char *const names[] = { "type", "pattern", "behavior", "invert", NULL };
    static const struct {
        const char *name;
        enum pretoken_behavior behavior;
    } behaviors[] = { { "Isolated", PRETOKEN_ISOLATED },
                      { "Removed", PRETOKEN_REMOVED },
                      { "MergedWithPrevious", PRETOKEN_MERGED_WITH_PREVIOUS },
                      { "MergedWithNext", PRETOKEN_MERGED_WITH_NEXT },
                      { "Contiguous", PRETOKEN_CONTIGUOUS } };
    const char *behavior = json_string_value(json_object_get(node, "behavior"));
    json_t *pattern = json_object_get(node, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *string = json_string_value(json_object_get(pattern, "String"));
    size_t i;
    int bad = 0, invert = json_flag(node, "invert", 0, &bad);
    int32_t status = json_only(r, node, "pre_tokenizer Split", names);
    if (status != SLUICE_OK) {
        return status;
    }
    if (bad || !behavior || (!regex && !string) || json_object_size(pattern) != 1) {
        return json_malformed(r, "pre_tokenizer Split");
    }
    for (i = 0; i < sizeof(behaviors) / sizeof(behaviors[0]); i++) {
        if (strcmp(behaviors[i].name, behavior) == 0) {
            return pretoken_add(r->pretoken, regex ? regex : string,
                                regex ? REGEX_HF : REGEX_LITERAL, behaviors[i].behavior, invert, 0,
                                r->err);
        }
    }
    return json_refuse(r, "the Split behavior", behavior);
}

/* *closed: ByteLevel has been read, behind which text is no longer text. */
static int32_t read_byte_level(struct json_reader *r, json_t *node, int depth, int *closed)
{
    static const char *const byte_level[] = { "type", "add_prefix_space", "trim_offsets",
                                              "use_regex", NULL };
    static const char *const digits[] = { "type", "individual_digits", NULL };
    static const char *const sequence[] = { "type", "pretokenizers", NULL };
    const char *type = json_kind(node);
    int bad = 0;
    int32_t status;
    if (*closed) {
        return json_refuse(r, "behind ByteLevel the pre_tokenizer", type);
    }
    if (strcmp(type, "ByteLevel") == 0) {
        int space = json_flag(node, "add_prefix_space", 1, &bad),
            regex = json_flag(node, "use_regex", 1, &bad);
        *closed = 1;
        status = json_only(r, node, "pre_tokenizer ByteLevel", byte_level);
        if (status != SLUICE_OK || bad) {
            return status != SLUICE_OK ? status : json_malformed(r, "pre_tokenizer ByteLevel");
        }
        if (space && r->pretoken->n_steps > 0) {
            return json_refuse(r, "behind another pre_tokenizer ByteLevel's", "add_prefix_space");
        }
        r->vocab->prefix_space = space;
        return regex ? pretoken_add(r->pretoken, pretoken_gpt2, REGEX_HF, PRETOKEN_ISOLATED, 0, 0,
                                    r->err)
                     : SLUICE_OK;
    }
    if (strcmp(type, "Split") == 0) {
        return read_split(r, node);
    }
    if (strcmp(type, "Digits") == 0) {
        int individual = json_flag(node, "individual_digits", 0, &bad);
        status = json_only(r, node, "pre_tokenizer Digits", digits);
        if (status != SLUICE_OK || bad) {
            return status != SLUICE_OK ? status : json_malformed(r, "pre_tokenizer Digits");
        }
        return pretoken_add(r->pretoken, "\\p{N}", REGEX_HF,
                            individual ? PRETOKEN_ISOLATED : PRETOKEN_CONTIGUOUS, 0, 0, r->err);
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        json_t *list = json_object_get(node, "pretokenizers"), *child;
        size_t i;
        status = json_only(r, node, "pre_tokenizer Sequence", sequence);
        if (status == SLUICE_OK && !json_is_array(list)) {
            return json_malformed(r, "pre_tokenizer.pretokenizers");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = read_byte_level(r, child, depth + 1, closed);
            }
        }
        return status;
    }
    return json_refuse(r, "the pre_tokenizer", type);
}

/* ---- characters ---- */

/* 1 when the object is `from` -> `to`, both strings. */
static int is_replace(json_t *node, const char *from, const char *to)
{
    json_t *pattern = json_object_get(node, "pattern");
    const char *found = json_string_value(json_object_get(pattern, "String"));
    const char *content = json_string_value(json_object_get(node, "content"));
    return found && content && json_object_size(pattern) == 1 && strcmp(found, from) == 0 &&
           strcmp(content, to) == 0;
}

/* Prepend and Replace of the visible space. */
static int32_t read_spaces(struct json_reader *r, json_t *node, int depth)
{
    static const char *const replace[] = { "type", "pattern", "content", NULL };
    static const char *const prepend[] = { "type", "prepend", NULL };
    static const char *const sequence[] = { "type", "normalizers", NULL };
    const char *type = json_kind(node);
    int32_t status;
    if (!node || json_is_null(node)) {
        return SLUICE_OK;
    }
    if (strcmp(type, "Replace") == 0 && is_replace(node, " ", VOCAB_SPACE)) {
        r->vocab->meta = VOCAB_META_NORMALIZER;
        return json_only(r, node, "normalizer Replace", replace);
    }
    if (strcmp(type, "Prepend") == 0 && !r->vocab->meta_front) {
        const char *text = json_string_value(json_object_get(node, "prepend"));
        if (text && strcmp(text, VOCAB_SPACE) == 0) {
            r->vocab->meta_front = 1;
            return json_only(r, node, "normalizer Prepend", prepend);
        }
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        json_t *list = json_object_get(node, "normalizers"), *child;
        size_t i;
        status = json_only(r, node, "normalizer", sequence);
        if (status == SLUICE_OK && !json_is_array(list)) {
            return json_malformed(r, "normalizer.normalizers");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = json_is_object(child) ? read_spaces(r, child, depth + 1)
                                               : json_malformed(r, "normalizer");
            }
        }
        return status;
    }
    return json_refuse(r, "the normalizer", type);
}

static int32_t read_metaspace(struct json_reader *r, json_t *node)
{
    static const char *const names[] = { "type",  "replacement", "prepend_scheme",
                                         "split", "str_rep",     "add_prefix_space",
                                         NULL };
    json_t *given = json_object_get(node, "prepend_scheme");
    const char *space = json_string_value(json_object_get(node, "replacement"));
    const char *scheme = given ? json_string_value(given) : "always";
    int bad = 0, split = json_flag(node, "split", 1, &bad);
    int prefix = json_flag(node, "add_prefix_space", 1, &bad);
    struct vocab *v = r->vocab;
    int32_t status = json_only(r, node, "pre_tokenizer Metaspace", names);
    if (status != SLUICE_OK) {
        return status;
    }
    if (bad || !space || !scheme) {
        return json_malformed(r, "pre_tokenizer Metaspace");
    }
    if (strcmp(space, VOCAB_SPACE) != 0) {
        return json_refuse(r, "the Metaspace replacement", space);
    }
    if (strcmp(scheme, "always") != 0 && strcmp(scheme, "first") != 0 &&
        strcmp(scheme, "never") != 0) {
        return json_refuse(r, "the prepend_scheme", scheme);
    }
    if (!prefix && strcmp(scheme, "never") != 0) {
        return json_refuse(r, "beside add_prefix_space false the prepend_scheme", scheme);
    }
    if (r->metaspace) {
        return json_refuse(r, "behind Metaspace the pre_tokenizer", "Metaspace");
    }
    r->metaspace = 1;
    v->meta = v->meta == VOCAB_META_NONE ? VOCAB_META_SPLIT : v->meta;
    v->meta_cut = split;
    v->meta_prepend = strcmp(scheme, "always") == 0  ? VOCAB_PREPEND_ALWAYS
                      : strcmp(scheme, "first") == 0 ? VOCAB_PREPEND_FIRST
                                                     : VOCAB_PREPEND_NEVER;
    return SLUICE_OK;
}

/* A Split at a space that can't be there any more, as in Gemma 3. */
static int is_idle_split(struct json_reader *r, json_t *node)
{
    json_t *pattern = json_object_get(node, "pattern");
    const char *string = json_string_value(json_object_get(pattern, "String"));
    int bad = 0, invert = json_flag(node, "invert", 0, &bad);
    return r->vocab->meta != VOCAB_META_NONE && string && strcmp(string, " ") == 0 &&
           json_object_size(pattern) == 1 && !bad && !invert;
}

static int32_t read_space_splits(struct json_reader *r, json_t *node, int depth)
{
    static const char *const sequence[] = { "type", "pretokenizers", NULL };
    const char *type = json_kind(node);
    if (!node || json_is_null(node)) {
        return SLUICE_OK;
    }
    if (strcmp(type, "Metaspace") == 0) {
        return read_metaspace(r, node);
    }
    if (strcmp(type, "Split") == 0 && is_idle_split(r, node)) {
        static const char *const names[] = { "type", "pattern", "behavior", "invert", NULL };
        return json_only(r, node, "pre_tokenizer Split", names);
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        json_t *list = json_object_get(node, "pretokenizers"), *child;
        size_t i;
        int32_t status = json_only(r, node, "pre_tokenizer Sequence", sequence);
        if (status == SLUICE_OK && !json_is_array(list)) {
            return json_malformed(r, "pre_tokenizer.pretokenizers");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = read_space_splits(r, child, depth + 1);
            }
        }
        return status;
    }
    return json_refuse(r, "the pre_tokenizer", type);
}

/* ---- both ---- */

/* Whether a pre_tokenizer turns text into the byte alphabet. */
static int has_byte_level(json_t *node, int depth)
{
    json_t *list = json_object_get(node, "pretokenizers"), *child;
    size_t i;
    if (strcmp(json_kind(node), "ByteLevel") == 0) {
        return 1;
    }
    json_array_foreach(list, i, child)
    {
        if (depth < 4 && has_byte_level(child, depth + 1)) {
            return 1;
        }
    }
    return 0;
}

/* The ids do not depend on the decoder: bpe_decode_token gives the bytes of text that a token
 * stands for, whatever the decoder makes of a sequence. Kinds unknown here may stand for another
 * alphabet. */
static int32_t read_decoder(struct json_reader *r, json_t *node, int depth)
{
    static const char *const bytes[] = { "ByteLevel", NULL };
    static const char *const chars[] = { "ByteFallback", "Fuse",       "Metaspace", "Replace",
                                         "Strip",        "BPEDecoder", "WordPiece", NULL };
    const char *type = json_kind(node);
    const char *const *known =
        r->vocab->model == VOCAB_MODEL_BYTES || r->vocab->alphabet ? bytes : chars;
    size_t i;
    if (!node || json_is_null(node)) {
        return SLUICE_OK;
    }
    for (i = 0; known[i]; i++) {
        if (strcmp(type, known[i]) == 0) {
            return SLUICE_OK;
        }
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        json_t *list = json_object_get(node, "decoders"), *child;
        int32_t status = SLUICE_OK;
        if (!json_is_array(list)) {
            return json_malformed(r, "decoder.decoders");
        }
        json_array_foreach(list, i, child)
        {
            status = status == SLUICE_OK ? read_decoder(r, child, depth + 1) : status;
        }
        return status;
    }
    return json_refuse(r, "the decoder", type);
}

/* Only Unicode form C, in any wrapping: what bpe_nfc.h does. */
static int is_nfc(json_t *node, int depth)
{
    json_t *child;
    size_t i;
    if (!node || json_is_null(node) || strcmp(json_kind(node), "NFC") == 0) {
        return 1;
    }
    json_array_foreach(json_object_get(node, "normalizers"), i, child)
    {
        if (depth >= 4 || !is_nfc(child, depth + 1)) {
            return 0;
        }
    }
    return strcmp(json_kind(node), "Sequence") == 0;
}

/* 1 when all the file does to a text is about spaces, which the engine does as it goes: sets
 * vocab.meta*. Else they are as they were. */
static int read_only_spaces(struct json_reader *r, json_t *normalizer, json_t *pre)
{
    struct vocab *v = r->vocab;
    struct sluice_error *err = r->err;
    int32_t status;
    r->err = NULL; /* an error only says that it is more than that */
    status = read_spaces(r, normalizer, 0);
    if (status == SLUICE_OK) {
        status = read_space_splits(r, pre, 0);
    }
    r->err = err;
    if (status == SLUICE_OK && (!v->meta_front || v->meta == VOCAB_META_NORMALIZER) &&
        (v->meta == VOCAB_META_NONE || json_object_get(r->ids, VOCAB_SPACE))) {
        return 1;
    }
    v->meta = VOCAB_META_NONE;
    v->meta_front = v->meta_cut = 0;
    v->meta_prepend = VOCAB_PREPEND_NEVER;
    return 0;
}

/* Whether a decoder makes U+2581 a space. */
static int decodes_spaces(json_t *node, int depth)
{
    json_t *child;
    size_t i;
    if (strcmp(json_kind(node), "Metaspace") == 0 || is_replace(node, VOCAB_SPACE, " ")) {
        return 1;
    }
    json_array_foreach(json_object_get(node, "decoders"), i, child)
    {
        if (depth < 4 && decodes_spaces(child, depth + 1)) {
            return 1;
        }
    }
    return 0;
}

int32_t json_read_text(struct json_reader *r, json_t *top)
{
    json_t *pre = json_object_get(top, "pre_tokenizer"), *decoder = json_object_get(top, "decoder");
    json_t *normalizer = json_object_get(top, "normalizer");
    const char *model = json_kind(json_object_get(top, "model"));
    struct vocab *v = r->vocab;
    json_t *bpe = json_object_get(top, "model");
    const int affixed = !json_is_nothing(json_object_get(bpe, "continuing_subword_prefix")) ||
                        !json_is_nothing(json_object_get(bpe, "end_of_word_suffix"));
    int closed = 0;
    int32_t status;
    v->model = strcmp(model, "Unigram") == 0        ? VOCAB_MODEL_UNIGRAM
               : strcmp(model, "WordPiece") == 0    ? VOCAB_MODEL_WORDPIECE
               : strcmp(model, "WordLevel") == 0    ? VOCAB_MODEL_WORDPIECE
               : !affixed && has_byte_level(pre, 0) ? VOCAB_MODEL_BYTES
                                                    : VOCAB_MODEL_CHARS;
    v->alphabet = v->model == VOCAB_MODEL_CHARS && affixed && has_byte_level(pre, 0);
    r->spaces = decodes_spaces(decoder, 0);
    status = read_decoder(r, decoder, 0);
    if (status != SLUICE_OK ||
        (v->model == VOCAB_MODEL_CHARS && !affixed && read_only_spaces(r, normalizer, pre))) {
        return status;
    }
    if (v->model == VOCAB_MODEL_BYTES || v->alphabet) {
        status = !v->alphabet && is_nfc(normalizer, 0)
                     ? read_nfc(r, normalizer, 0)
                     : normalizer_read(normalizer, &v->normalizer, r->err);
        return status == SLUICE_OK ? read_byte_level(r, pre, 0, &closed) : status;
    }
    status = normalizer_read(normalizer, &v->normalizer, r->err);
    return status == SLUICE_OK ? splitter_read(pre, &v->splitter, r->err) : status;
}
