/* vocab_json.c — reads Hugging Face tokenizer.json files of the byte-level BPE family
 * (huggingface/tokenizers, the `Serialize` implementations). Every member is either honoured, known
 * not to affect the ids of plain text, or refused by name.
 * Depends on: vocab.h, libjansson. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "vocab.h"

struct reader {
    struct vocab *vocab;
    struct pretoken *pretoken;
    struct sluice_error *err;
    json_t *ids;          /* model.vocab: string to id */
    int16_t byte_of[324]; /* code point of the byte alphabet to byte, -1 outside */
};

/* The customary byte alphabet (openai/gpt-2, encoder.py, bytes_to_unicode): printable Latin-1
 * stands for itself, the other bytes are U+0100 and on in order. */
static void alphabet_init(struct reader *r)
{
    int b, next = 256;
    memset(r->byte_of, 0xFF, sizeof(r->byte_of));
    for (b = 0; b < 256; b++) {
        int printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        r->byte_of[printable ? b : next++] = (int16_t)b;
    }
}

/* Writes the bytes that a vocabulary string stands for; -1 when it leaves the byte alphabet. `out`
 * has room for len bytes. */
static long alphabet_decode(const struct reader *r, const char *text, size_t len, uint8_t *out)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + len;
    long n = 0;
    while (p < end) {
        uint32_t cp;
        p += utf8_decode(p, end, &cp);
        if (cp >= 324 || r->byte_of[cp] < 0) {
            return -1;
        }
        out[n++] = (uint8_t)r->byte_of[cp];
    }
    return n;
}

static int32_t refuse(struct reader *r, const char *where, const char *what)
{
    return bpe_fail(r->err, SLUICE_E_CONFIG,
                    "tokenizer.json has %s '%s', which this engine does not honour; it reads "
                    "byte-level BPE files "
                    "(GPT-2, Llama 3, Qwen, DeepSeek, Tekken kinds)",
                    where, what);
}

static int32_t malformed(struct reader *r, const char *where)
{
    return bpe_fail(r->err, SLUICE_E_CONFIG,
                    "tokenizer.json: %s is missing or of the wrong type; the file is damaged or of "
                    "another version",
                    where);
}

/* Refuses an object that has a member outside `names`. */
static int32_t only(struct reader *r, json_t *object, const char *where, const char *const *names)
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
            return refuse(r, place, key);
        }
    }
    return SLUICE_OK;
}

/* A Boolean member, `otherwise` when it is absent or null; *bad is set for another type. */
static int flag(json_t *object, const char *name, int otherwise, int *bad)
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

static const char *type_of(json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

/* ---- normalizer ---- */

static int32_t read_normalizer(struct reader *r, json_t *node, int depth)
{
    const char *type = type_of(node);
    size_t i;
    json_t *child;
    if (!node || json_is_null(node)) {
        return SLUICE_OK;
    }
    if (strcmp(type, "NFC") == 0) {
        static const char *const names[] = { "type", NULL };
        r->vocab->nfc = 1;
        return only(r, node, "normalizer", names);
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        static const char *const names[] = { "type", "normalizers", NULL };
        json_t *list = json_object_get(node, "normalizers");
        int32_t status = only(r, node, "normalizer", names);
        if (status == SLUICE_OK && !json_is_array(list)) {
            return malformed(r, "normalizer.normalizers");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = json_is_object(child) ? read_normalizer(r, child, depth + 1)
                                               : malformed(r, "normalizer");
            }
        }
        return status;
    }
    return refuse(r, "the normalizer", type);
}

/* ---- pre_tokenizer ---- */

static int32_t read_split(struct reader *r, json_t *node)
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
    int bad = 0, invert = flag(node, "invert", 0, &bad);
    int32_t status = only(r, node, "pre_tokenizer Split", names);
    if (status != SLUICE_OK) {
        return status;
    }
    if (bad || !behavior || (!regex && !string) || json_object_size(pattern) != 1) {
        return malformed(r, "pre_tokenizer Split");
    }
    for (i = 0; i < sizeof(behaviors) / sizeof(behaviors[0]); i++) {
        if (strcmp(behaviors[i].name, behavior) == 0) {
            return pretoken_add(r->pretoken, regex ? regex : string,
                                regex ? REGEX_HF : REGEX_LITERAL, behaviors[i].behavior, invert, 0,
                                r->err);
        }
    }
    return refuse(r, "the Split behavior", behavior);
}

/* *closed: ByteLevel has been read, behind which text is no longer text. */
static int32_t read_pre_tokenizer(struct reader *r, json_t *node, int depth, int *closed)
{
    static const char *const byte_level[] = { "type", "add_prefix_space", "trim_offsets",
                                              "use_regex", NULL };
    static const char *const digits[] = { "type", "individual_digits", NULL };
    static const char *const sequence[] = { "type", "pretokenizers", NULL };
    const char *type = type_of(node);
    int bad = 0;
    int32_t status;
    if (*closed) {
        return refuse(r, "behind ByteLevel the pre_tokenizer", type);
    }
    if (strcmp(type, "ByteLevel") == 0) {
        int space = flag(node, "add_prefix_space", 1, &bad),
            regex = flag(node, "use_regex", 1, &bad);
        *closed = 1;
        status = only(r, node, "pre_tokenizer ByteLevel", byte_level);
        if (status != SLUICE_OK || bad) {
            return status != SLUICE_OK ? status : malformed(r, "pre_tokenizer ByteLevel");
        }
        if (space && r->pretoken->n_steps > 0) {
            return refuse(r, "behind another pre_tokenizer ByteLevel's", "add_prefix_space");
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
        int individual = flag(node, "individual_digits", 0, &bad);
        status = only(r, node, "pre_tokenizer Digits", digits);
        if (status != SLUICE_OK || bad) {
            return status != SLUICE_OK ? status : malformed(r, "pre_tokenizer Digits");
        }
        return pretoken_add(r->pretoken, "\\p{N}", REGEX_HF,
                            individual ? PRETOKEN_ISOLATED : PRETOKEN_CONTIGUOUS, 0, 0, r->err);
    }
    if (strcmp(type, "Sequence") == 0 && depth < 4) {
        json_t *list = json_object_get(node, "pretokenizers"), *child;
        size_t i;
        status = only(r, node, "pre_tokenizer Sequence", sequence);
        if (status == SLUICE_OK && !json_is_array(list)) {
            return malformed(r, "pre_tokenizer.pretokenizers");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = read_pre_tokenizer(r, child, depth + 1, closed);
            }
        }
        return status;
    }
    return refuse(r, "the pre_tokenizer", type);
}

/* ---- model ---- */

/* NULL, or an empty string, which means the same. */
static int is_empty(json_t *value)
{
    return !value || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static int32_t read_vocabulary(struct reader *r)
{
    const char *key;
    size_t len;
    json_t *value;
    int32_t status = SLUICE_OK;
    json_object_keylen_foreach(r->ids, key, len, value)
    {
        uint8_t bytes[VOCAB_TOKEN_MOST * 2];
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        long n;
        if (id < 0 || id >= (json_int_t)VOCAB_IDS_MOST) {
            return malformed(r, "an id in model.vocab");
        }
        if (len == 0) {
            continue; /* an empty entry, which no text can give */
        }
        n = len <= sizeof(bytes) ? alphabet_decode(r, key, len, bytes) : -1;
        status = n >= 0 ? vocab_put(r->vocab, (uint32_t)id, bytes, (size_t)n, VOCAB_BYTES, r->err)
                        : vocab_put(r->vocab, (uint32_t)id, key, len, VOCAB_OPAQUE, r->err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

/* Gives 1 and the id of a vocabulary string, or 0. */
static int id_of(struct reader *r, const char *text, size_t len, uint32_t *id)
{
    json_t *value = json_object_getn(r->ids, text, len);
    if (!value) {
        return 0;
    }
    *id = (uint32_t)json_integer_value(value); /* read_vocabulary checked the range */
    return 1;
}

static int32_t read_merge(struct reader *r, json_t *node, size_t rank)
{
    const char *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    char both[VOCAB_TOKEN_MOST * 4];
    struct vocab_merge *merge = &r->vocab->merges[r->vocab->n_merges];
    if (json_is_string(node)) {
        const char *space;
        a = json_string_value(node);
        n = json_string_length(node);
        space = memchr(a, ' ', n);
        if (space) {
            b = space + 1;
            m = n - (size_t)(b - a);
            n = (size_t)(space - a);
        }
    } else if (json_array_size(node) == 2) {
        json_t *x = json_array_get(node, 0), *y = json_array_get(node, 1);
        a = json_string_value(x);
        n = json_string_length(x);
        b = json_string_value(y);
        m = json_string_length(y);
    }
    if (!a || !b || n == 0 || m == 0 || n + m > sizeof(both) ||
        (json_is_string(node) && memchr(b, ' ', m))) {
        return bpe_fail(r->err, SLUICE_E_CONFIG,
                        "tokenizer.json: merge %zu is not a pair of tokens; the file is damaged",
                        rank);
    }
    memcpy(both, a, n);
    memcpy(both + n, b, m);
    if (!id_of(r, a, n, &merge->a) || !id_of(r, b, m, &merge->b) ||
        !id_of(r, both, n + m, &merge->id)) {
        return bpe_fail(
            r->err, SLUICE_E_CONFIG,
            "tokenizer.json: merge %zu, '%.*s' + '%.*s', has a part or result that is not in the "
            "vocabulary; the file is damaged",
            rank, (int)n, a, (int)m, b);
    }
    r->vocab
        ->n_merges++; /* an opaque part never occurs in a text, so that such a merge is harmless */
    return SLUICE_OK;
}

static int32_t read_model(struct reader *r, json_t *model)
{
    static const char *const names[] = { "type",
                                         "dropout",
                                         "unk_token",
                                         "continuing_subword_prefix",
                                         "end_of_word_suffix",
                                         "fuse_unk",
                                         "byte_fallback",
                                         "ignore_merges",
                                         "vocab",
                                         "merges",
                                         NULL };
    json_t *merges = json_object_get(model, "merges"), *dropout = json_object_get(model, "dropout"),
           *merge;
    const char *type = type_of(model);
    size_t i;
    int bad = 0;
    int32_t status;
    if (!json_is_object(model)) {
        return malformed(r, "model");
    }
    if (strcmp(type, "BPE") != 0 && (type[0] || !merges)) { /* old files have no type */
        return refuse(r, "the model", type);
    }
    status = only(r, model, "model", names);
    if (status != SLUICE_OK) {
        return status;
    }
    if (dropout && !json_is_null(dropout) &&
        !(json_is_number(dropout) && !(json_number_value(dropout) > 0.0))) {
        return refuse(r, "the model option", "dropout");
    }
    if (!is_empty(json_object_get(model, "continuing_subword_prefix"))) {
        return refuse(r, "the model option", "continuing_subword_prefix");
    }
    if (!is_empty(json_object_get(model, "end_of_word_suffix"))) {
        return refuse(r, "the model option", "end_of_word_suffix");
    }
    if (flag(model, "byte_fallback", 0, &bad)) {
        return refuse(r, "the model option", "byte_fallback");
    }
    r->vocab->whole_piece = flag(model, "ignore_merges", 0, &bad);
    (void)flag(model, "fuse_unk", 0, &bad); /* nothing is unknown: all 256 bytes are tokens */
    r->ids = json_object_get(model, "vocab");
    if (bad || !json_is_object(r->ids) || !json_is_array(merges)) {
        return malformed(r, "model.vocab or model.merges or an option of model");
    }
    status = read_vocabulary(r);
    if (status != SLUICE_OK) {
        return status;
    }
    if (json_array_size(merges) >= UINT32_MAX / 4) {
        return malformed(r, "model.merges");
    }
    r->vocab->merges = malloc((json_array_size(merges) + 1) * sizeof(*r->vocab->merges));
    if (!r->vocab->merges) {
        return bpe_fail_memory(r->err, "a vocabulary");
    }
    json_array_foreach(merges, i, merge)
    {
        status = read_merge(r, merge, i);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

/* ---- added tokens, post-processor, decoder ---- */

/* tokenizers gives an added token the id of the equal vocabulary entry, else the next free one; the
 * file's id is only compared. A file whose ids disagree is refused. */
static int32_t read_added(struct reader *r, json_t *list)
{
    static const char *const names[] = { "id",     "content",    "single_word", "lstrip",
                                         "rstrip", "normalized", "special",     NULL };
    uint32_t size = (uint32_t)json_object_size(r->ids), expected, most = 0;
    int any = 0;
    size_t i;
    json_t *node;
    if (!list || json_is_null(list)) {
        return SLUICE_OK;
    }
    if (!json_is_array(list)) {
        return malformed(r, "added_tokens");
    }
    json_array_foreach(list, i, node)
    {
        json_t *content = json_object_get(node, "content"), *id = json_object_get(node, "id");
        struct vocab_added like;
        int bad = 0;
        int32_t status = json_is_object(node) ? only(r, node, "added_tokens", names)
                                              : malformed(r, "added_tokens");
        if (status != SLUICE_OK) {
            return status;
        }
        if (!json_is_string(content) || !json_is_integer(id)) {
            return malformed(r, "added_tokens");
        }
        memset(&like, 0, sizeof(like));
        like.special = (uint8_t)flag(node, "special", 0, &bad);
        like.normalized = (uint8_t)flag(node, "normalized", !like.special, &bad);
        like.single_word = (uint8_t)flag(node, "single_word", 0, &bad);
        like.lstrip = (uint8_t)flag(node, "lstrip", 0, &bad);
        like.rstrip = (uint8_t)flag(node, "rstrip", 0, &bad);
        if (bad) {
            return malformed(r, "added_tokens");
        }
        if (!id_of(r, json_string_value(content), json_string_length(content), &expected)) {
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
static int32_t read_post_processor(struct reader *r, json_t *node, int depth)
{
    const char *type = type_of(node);
    size_t i;
    json_t *child, *list;
    if (!node || json_is_null(node) || strcmp(type, "ByteLevel") == 0) {
        return SLUICE_OK;
    }
    if (strcmp(type, "TemplateProcessing") == 0) {
        int behind = 0;
        list = json_object_get(node, "single");
        if (!json_is_array(list)) {
            return malformed(r, "post_processor.single");
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
            return malformed(r, "post_processor.processors");
        }
        json_array_foreach(list, i, child)
        {
            if (status == SLUICE_OK) {
                status = read_post_processor(r, child, depth + 1);
            }
        }
        return status;
    }
    return refuse(r, "the post_processor", type);
}

static int32_t read_top(struct reader *r, json_t *top)
{
    static const char *const names[] = {
        "version",       "truncation", "padding",        "added_tokens", "normalizer",
        "pre_tokenizer", "model",      "post_processor", "decoder",      NULL
    };
    json_t *pre = json_object_get(top, "pre_tokenizer"), *decoder = json_object_get(top, "decoder");
    int closed = 0;
    int32_t status = only(r, top, "the file", names);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!is_empty(json_object_get(top, "truncation"))) {
        return refuse(r, "the member", "truncation");
    }
    if (!is_empty(json_object_get(top, "padding"))) {
        return refuse(r, "the member", "padding");
    }
    status = read_normalizer(r, json_object_get(top, "normalizer"), 0);
    if (status == SLUICE_OK) {
        status = !pre || json_is_null(pre) ? refuse(r, "the pre_tokenizer", "null")
                                           : read_pre_tokenizer(r, pre, 0, &closed);
    }
    if (status == SLUICE_OK && !closed) {
        status = refuse(r, "a pre_tokenizer without", "ByteLevel");
    }
    if (status == SLUICE_OK && decoder && !json_is_null(decoder) &&
        strcmp(type_of(decoder), "ByteLevel") != 0) {
        status = refuse(r, "the decoder", type_of(decoder));
    }
    if (status == SLUICE_OK) {
        status = read_model(r, json_object_get(top, "model"));
    }
    if (status == SLUICE_OK) {
        status = read_added(r, json_object_get(top, "added_tokens"));
    }
    return status == SLUICE_OK ? read_post_processor(r, json_object_get(top, "post_processor"), 0)
                               : status;
}

int32_t vocab_read_json(struct vocab *v, struct pretoken *pretoken, const char *data, size_t size,
                        const struct bpe_options *options, struct sluice_error *err)
{
    struct reader r;
    json_error_t at;
    json_t *top;
    int32_t status;
    memset(&r, 0, sizeof(r));
    r.vocab = v;
    r.pretoken = pretoken;
    r.err = err;
    alphabet_init(&r);
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
    status = json_is_object(top) ? read_top(&r, top) : malformed(&r, "the file");
    json_decref(top);
    return status;
}
