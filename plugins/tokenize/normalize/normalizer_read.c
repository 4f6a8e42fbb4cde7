/* normalizer_read.c — reads the member `normalizer` of tokenizer.json (huggingface/tokenizers 0.23,
 * src/normalizers) and SentencePiece's normalizer_spec. See normalizer.h. */
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "vocab/json_member.h"
#include "normalize/normalizer_steps.h"

#define DEPTH_MOST 8

static int32_t add_form(struct normalizer *n, enum normalizer_form form, struct sluice_error *err)
{
    struct step *step = normalizer_add(n, STEP_FORM, err);
    return step ? normalizer_forms_init(&step->forms, &n->unicode, form, err) : SLUICE_E_CONFIG;
}

static int32_t add_drop(struct normalizer *n, unsigned flags, struct sluice_error *err)
{
    struct step *step = normalizer_add(n, STEP_DROP, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->flags = flags;
    return SLUICE_OK;
}

static int32_t add_plain(struct normalizer *n, enum step_kind kind, struct sluice_error *err)
{
    return normalizer_add(n, kind, err) ? SLUICE_OK : SLUICE_E_CONFIG;
}

/* A step named by its type alone. */
static int32_t read_plain(struct normalizer *n, json_t *node, struct sluice_error *err)
{
    static const char *const none[] = { NULL };
    const char *type = json_member_type(node);
    int32_t status = json_member_only(node, "normalizer", none, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (strcmp(type, "NFC") == 0) {
        return add_form(n, FORM_NFC, err);
    }
    if (strcmp(type, "NFD") == 0) {
        return add_form(n, FORM_NFD, err);
    }
    if (strcmp(type, "NFKC") == 0) {
        return add_form(n, FORM_NFKC, err);
    }
    if (strcmp(type, "NFKD") == 0) {
        return add_form(n, FORM_NFKD, err);
    }
    if (strcmp(type, "StripAccents") == 0) {
        return add_drop(n, NU_MARK, err);
    }
    if (strcmp(type, "Lowercase") == 0) {
        return add_plain(n, STEP_LOWERCASE, err);
    }
    return add_plain(n, strcmp(type, "Nmt") == 0 ? STEP_NMT : STEP_BYTE_LEVEL, err);
}

static int32_t read_strip(struct normalizer *n, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "strip_left", "strip_right", NULL };
    json_t *left = json_object_get(node, "strip_left"),
           *right = json_object_get(node, "strip_right");
    struct step *step;
    int32_t status = json_member_only(node, "normalizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!json_is_boolean(left) || !json_is_boolean(right)) {
        return json_member_malformed(err, "normalizer", "Strip");
    }
    step = normalizer_add(n, STEP_STRIP, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->flags = (json_is_true(left) ? 1u : 0u) | (json_is_true(right) ? 2u : 0u);
    return SLUICE_OK;
}

static int32_t read_prepend(struct normalizer *n, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "prepend", NULL };
    json_t *text = json_object_get(node, "prepend");
    struct step *step;
    int32_t status = json_member_only(node, "normalizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!json_is_string(text)) {
        return json_member_malformed(err, "normalizer", "Prepend");
    }
    if (json_string_length(text) == 0) {
        return json_member_refuse(err, "the normalizer Prepend with the string", "");
    }
    step = normalizer_add(n, STEP_PREPEND, err);
    return step ? normalizer_keep(&step->content, &step->n_content, json_string_value(text),
                                  json_string_length(text), err)
                : SLUICE_E_CONFIG;
}

static int32_t add_regex(struct normalizer *n, struct step *step, json_t *pattern,
                         struct sluice_error *err)
{
    if (n->classes.n_blocks == 0 && unicode_table_init(&n->classes) != 0) {
        return bpe_fail_memory(err, "a normalizer");
    }
    return regex_compile(&n->classes, json_string_value(pattern), json_string_length(pattern),
                         REGEX_HF, &step->regex, err);
}

static int32_t read_replace(struct normalizer *n, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "pattern", "content", NULL };
    json_t *pattern = json_object_get(node, "pattern"), *content = json_object_get(node, "content"),
           *string = json_object_get(pattern, "String"), *regex = json_object_get(pattern, "Regex");
    struct step *step;
    int32_t status = json_member_only(node, "normalizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!json_is_string(content) || json_object_size(pattern) != 1 ||
        !(json_is_string(string) || json_is_string(regex))) {
        return json_member_malformed(err, "normalizer", "Replace");
    }
    if (string && json_string_length(string) == 0) {
        return json_member_refuse(err, "the normalizer Replace with the pattern", "");
    }
    step = normalizer_add(n, string ? STEP_REPLACE : STEP_REGEX, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    status = normalizer_keep(&step->content, &step->n_content, json_string_value(content),
                             json_string_length(content), err);
    if (status != SLUICE_OK) {
        return status;
    }
    return string ? normalizer_keep(&step->pattern, &step->n_pattern, json_string_value(string),
                                    json_string_length(string), err)
                  : add_regex(n, step, regex, err);
}

/* bert.rs, in its order. */
static int32_t read_bert(struct normalizer *n, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "clean_text", "handle_chinese_chars", "strip_accents",
                                         "lowercase", NULL };
    json_t *clean = json_object_get(node, "clean_text"),
           *chinese = json_object_get(node, "handle_chinese_chars"),
           *accents = json_object_get(node, "strip_accents"),
           *lower = json_object_get(node, "lowercase");
    int32_t status = json_member_only(node, "normalizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!json_is_boolean(clean) || !json_is_boolean(chinese) || !json_is_boolean(lower) ||
        (accents && !json_is_null(accents) && !json_is_boolean(accents))) {
        return json_member_malformed(err, "normalizer", "BertNormalizer");
    }
    if (json_is_true(clean)) {
        status = add_plain(n, STEP_CLEAN, err);
    }
    if (status == SLUICE_OK && json_is_true(chinese)) {
        status = add_plain(n, STEP_CHINESE, err);
    }
    if (status == SLUICE_OK && json_is_true(json_is_boolean(accents) ? accents : lower)) {
        status = add_form(n, FORM_NFD, err);
        if (status == SLUICE_OK) {
            status = add_drop(n, NU_NONSPACING, err);
        }
    }
    return status == SLUICE_OK && json_is_true(lower) ? add_plain(n, STEP_LOWERCASE, err) : status;
}

static int32_t read_precompiled(struct normalizer *n, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "precompiled_charsmap", NULL };
    json_t *text = json_object_get(node, "precompiled_charsmap");
    struct step *step;
    void *blob = NULL;
    size_t size = 0;
    int32_t status = json_member_only(node, "normalizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!json_is_string(text)) {
        return json_member_malformed(err, "normalizer", "Precompiled");
    }
    step = normalizer_add(n, STEP_CHARSMAP, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    status = charsmap_decode(json_string_value(text), json_string_length(text), &blob, &size, err);
    if (status == SLUICE_OK) {
        status = charsmap_init(&step->charsmap, blob, size, err);
    }
    free(blob);
    return status;
}

static int32_t read_node(struct normalizer *n, json_t *node, int depth, struct sluice_error *err);

static int32_t read_sequence(struct normalizer *n, json_t *node, int depth,
                             struct sluice_error *err)
{
    static const char *const names[] = { "normalizers", NULL };
    json_t *list = json_object_get(node, "normalizers"), *child;
    size_t i;
    int32_t status = json_member_only(node, "normalizer", names, err);
    if (status == SLUICE_OK && !json_is_array(list)) {
        return json_member_malformed(err, "normalizer", "Sequence");
    }
    json_array_foreach(list, i, child)
    {
        if (status == SLUICE_OK) {
            status = read_node(n, child, depth + 1, err);
        }
    }
    return status;
}

static int32_t read_node(struct normalizer *n, json_t *node, int depth, struct sluice_error *err)
{
    static const char *const plain[] = { "NFC",          "NFD",       "NFKC", "NFKD",
                                         "StripAccents", "Lowercase", "Nmt",  "ByteLevel" };
    const char *type = json_member_type(node);
    size_t i;
    for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strcmp(plain[i], type) == 0) {
            return read_plain(n, node, err);
        }
    }
    if (strcmp(type, "Sequence") == 0 && depth < DEPTH_MOST) {
        return read_sequence(n, node, depth, err);
    }
    if (strcmp(type, "Replace") == 0) {
        return read_replace(n, node, err);
    }
    if (strcmp(type, "Prepend") == 0) {
        return read_prepend(n, node, err);
    }
    if (strcmp(type, "Strip") == 0) {
        return read_strip(n, node, err);
    }
    if (strcmp(type, "BertNormalizer") == 0) {
        return read_bert(n, node, err);
    }
    if (strcmp(type, "Precompiled") == 0) {
        return read_precompiled(n, node, err);
    }
    return json_member_refuse(err, "the normalizer", type);
}

int32_t normalizer_read(const json_t *spec, struct normalizer **out, struct sluice_error *err)
{
    int32_t status = normalizer_create(out, err);
    if (status == SLUICE_OK && spec && !json_is_null(spec)) {
        status = read_node(*out, (json_t *)(uintptr_t)spec, 0, err);
        if (status != SLUICE_OK) {
            normalizer_destroy(*out);
            *out = NULL;
        }
    }
    return status;
}

static int32_t add_spm(struct normalizer *n, const struct normalizer_spm *spec,
                       struct sluice_error *err)
{
    struct unigram_trie_string *strings;
    struct step *step = normalizer_add(n, STEP_SPM, err);
    size_t i;
    int failed;
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->dummy_prefix = spec->add_dummy_prefix;
    step->extra_spaces = !spec->remove_extra_whitespaces;
    step->escape = spec->escape_whitespaces;
    step->suffix = spec->whitespace_as_suffix;
    if (spec->charsmap_size > 0) {
        int32_t status = charsmap_init(&step->charsmap, spec->charsmap, spec->charsmap_size, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    strings = calloc(spec->n_symbols + 1, sizeof(*strings));
    if (!strings) {
        return bpe_fail_memory(err, "a normalizer");
    }
    for (i = 0; i < spec->n_symbols; i++) {
        strings[i] = (struct unigram_trie_string){ spec->symbols[i].bytes, spec->symbols[i].len,
                                                   (uint32_t)i };
    }
    failed = unigram_trie_init(&step->symbols, strings, spec->n_symbols);
    free(strings);
    for (i = 0; !failed && i < 0x80; i++) {
        uint32_t node = 0;
        step->plain[i] =
            i != ' ' && charsmap_is_plain(&step->charsmap, (uint8_t)i) &&
            !(step->symbols.nodes && unigram_trie_go(&step->symbols, &node, (uint8_t)i));
    }
    return failed ? bpe_fail_memory(err, "a normalizer") : SLUICE_OK;
}

int32_t normalizer_from_spm(const struct normalizer_spm *spec, struct normalizer **out,
                            struct sluice_error *err)
{
    int32_t status = normalizer_create(out, err);
    if (status == SLUICE_OK) {
        status = add_spm(*out, spec, err);
        if (status != SLUICE_OK) {
            normalizer_destroy(*out);
            *out = NULL;
        }
    }
    return status;
}
