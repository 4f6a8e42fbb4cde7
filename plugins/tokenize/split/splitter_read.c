/* splitter_read.c — reads the member `pre_tokenizer` of tokenizer.json (huggingface/tokenizers
 * 0.23, src/pre_tokenizers). See splitter.h. */
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "vocab/json_member.h"
#include "split/pretoken_unicode.h"
#include "split/splitter_int.h"

#define DEPTH_MOST 8

static struct splitter_step *add(struct splitter *s, enum splitter_kind kind,
                                 struct sluice_error *err)
{
    if (s->n_steps == SPLITTER_STEPS) {
        (void)bpe_fail(err, SLUICE_E_CONFIG,
                       "tokenizer.json has a pre_tokenizer of more than %u steps, which this "
                       "engine does not honour",
                       SPLITTER_STEPS);
        return NULL;
    }
    s->steps[s->n_steps].kind = kind;
    return &s->steps[s->n_steps++];
}

static int32_t add_flags(struct splitter *s, unsigned flags, enum splitter_behavior behavior,
                         struct sluice_error *err)
{
    struct splitter_step *step = add(s, SPLITTER_FLAGS, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->flags = flags;
    step->behavior = behavior;
    return SLUICE_OK;
}

/* A string of exactly one character; -1 otherwise. */
static int read_char(json_t *node, uint32_t *cp)
{
    const uint8_t *p = (const uint8_t *)json_string_value(node);
    size_t len = json_string_length(node);
    return p && len > 0 && utf8_decode(p, p + len, cp) == len ? 0 : -1;
}

static int32_t read_behavior(json_t *node, enum splitter_behavior *behavior,
                             struct sluice_error *err)
{
    static const char *const names[] = { "Isolated", "Removed", "MergedWithPrevious",
                                         "MergedWithNext", "Contiguous" };
    const char *name = json_string_value(node);
    size_t i;
    for (i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0) {
            *behavior = (enum splitter_behavior)i;
            return SLUICE_OK;
        }
    }
    return name ? json_member_refuse(err, "the pre_tokenizer's behavior", name)
                : json_member_malformed(err, "pre_tokenizer", "behavior");
}

/* An absent or null Boolean is `otherwise`; -1 for another type. */
static int read_flag(json_t *node, int otherwise)
{
    if (!node || json_is_null(node)) {
        return otherwise;
    }
    return json_is_boolean(node) ? json_is_true(node) : -1;
}

static int32_t read_metaspace(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "replacement",    "add_prefix_space",
                                         "prepend_scheme", "str_rep",
                                         "split",          NULL };
    json_t *given = json_object_get(node, "prepend_scheme");
    const char *scheme = given ? json_string_value(given) : "always";
    int space = read_flag(json_object_get(node, "add_prefix_space"), 1),
        split = read_flag(json_object_get(node, "split"), 1);
    uint32_t cp;
    struct splitter_step *step;
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (read_char(json_object_get(node, "replacement"), &cp) != 0 || !scheme || space < 0 ||
        split < 0) {
        return json_member_malformed(err, "pre_tokenizer", "Metaspace");
    }
    if (strcmp(scheme, "always") != 0 && strcmp(scheme, "first") != 0 &&
        strcmp(scheme, "never") != 0) {
        return json_member_refuse(err, "the prepend_scheme", scheme);
    }
    if (!space && strcmp(scheme, "never") != 0) { /* as tokenizers refuses it */
        return json_member_refuse(err, "add_prefix_space false beside the prepend_scheme", scheme);
    }
    step = add(s, SPLITTER_METASPACE, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->n_replacement = nu_encode(cp, step->replacement);
    step->split = split;
    step->prepend = scheme[0] == 'a'   ? SPLITTER_ALWAYS
                    : scheme[0] == 'f' ? SPLITTER_FIRST
                                       : SPLITTER_NEVER;
    return SLUICE_OK;
}

static int32_t read_digits(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "individual_digits", NULL };
    int single = read_flag(json_object_get(node, "individual_digits"), -1);
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status == SLUICE_OK && single < 0) {
        return json_member_malformed(err, "pre_tokenizer", "Digits");
    }
    return status == SLUICE_OK
               ? add_flags(s, NU_NUMERIC, single ? SPLITTER_ISOLATED : SPLITTER_CONTIGUOUS, err)
               : status;
}

static int32_t read_punctuation(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "behavior", NULL };
    enum splitter_behavior behavior = SPLITTER_ISOLATED;
    json_t *given = json_object_get(node, "behavior");
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status == SLUICE_OK && given) {
        status = read_behavior(given, &behavior, err);
    }
    return status == SLUICE_OK ? add_flags(s, NU_PUNCTUATION, behavior, err) : status;
}

static int32_t read_delimiter(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "delimiter", NULL };
    uint32_t cp;
    struct splitter_step *step;
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (read_char(json_object_get(node, "delimiter"), &cp) != 0) {
        return json_member_malformed(err, "pre_tokenizer", "CharDelimiterSplit");
    }
    step = add(s, SPLITTER_DELIMITER, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->cp = cp;
    step->behavior = SPLITTER_REMOVED;
    return SLUICE_OK;
}

static int32_t read_length(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "length", NULL };
    json_t *length = json_object_get(node, "length");
    struct splitter_step *step;
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (length && (!json_is_integer(length) || json_integer_value(length) < 1)) {
        return json_member_malformed(err, "pre_tokenizer", "FixedLength");
    }
    step = add(s, SPLITTER_LENGTH, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->length = length ? (size_t)json_integer_value(length) : 5; /* tokenizers' default */
    return SLUICE_OK;
}

static int32_t read_split(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const names[] = { "pattern", "behavior", "invert", NULL };
    json_t *pattern = json_object_get(node, "pattern"),
           *string = json_object_get(pattern, "String"), *regex = json_object_get(pattern, "Regex"),
           *text = string ? string : regex;
    int invert = read_flag(json_object_get(node, "invert"), -1);
    enum splitter_behavior behavior = SPLITTER_ISOLATED;
    struct splitter_step *step;
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (invert < 0 || json_object_size(pattern) != 1 || !json_is_string(text)) {
        return json_member_malformed(err, "pre_tokenizer", "Split");
    }
    if (json_string_length(text) == 0) {
        return json_member_refuse(err, "the pre_tokenizer Split with the pattern", "");
    }
    status = read_behavior(json_object_get(node, "behavior"), &behavior, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (s->classes.n_blocks == 0 && unicode_table_init(&s->classes) != 0) {
        return bpe_fail_memory(err, "a pre-tokenizer");
    }
    step = add(s, SPLITTER_PATTERN, err);
    if (!step) {
        return SLUICE_E_CONFIG;
    }
    step->behavior = behavior;
    step->invert = invert;
    return regex_compile(&s->classes, json_string_value(text), json_string_length(text),
                         string ? REGEX_LITERAL : REGEX_HF, &step->regex, err);
}

/* A step named by its type alone. */
static int32_t read_plain(struct splitter *s, json_t *node, struct sluice_error *err)
{
    static const char *const none[] = { NULL };
    const char *type = json_member_type(node);
    int32_t status = json_member_only(node, "pre_tokenizer", none, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (strcmp(type, "WhitespaceSplit") == 0) {
        return add_flags(s, NU_SPACE, SPLITTER_REMOVED, err);
    }
    if (strcmp(type, "BertPreTokenizer") == 0) {
        status = add_flags(s, NU_SPACE, SPLITTER_REMOVED, err);
        return status == SLUICE_OK ? add_flags(s, NU_PUNCTUATION, SPLITTER_ISOLATED, err) : status;
    }
    return add(s, strcmp(type, "Whitespace") == 0 ? SPLITTER_WORDS : SPLITTER_SCRIPTS, err)
               ? SLUICE_OK
               : SLUICE_E_CONFIG;
}

static int32_t read_node(struct splitter *s, json_t *node, int depth, struct sluice_error *err);

static int32_t read_sequence(struct splitter *s, json_t *node, int depth, struct sluice_error *err)
{
    static const char *const names[] = { "pretokenizers", NULL };
    json_t *list = json_object_get(node, "pretokenizers"), *child;
    size_t i;
    int32_t status = json_member_only(node, "pre_tokenizer", names, err);
    if (status == SLUICE_OK && !json_is_array(list)) {
        return json_member_malformed(err, "pre_tokenizer", "Sequence");
    }
    json_array_foreach(list, i, child)
    {
        if (status == SLUICE_OK) {
            status = read_node(s, child, depth + 1, err);
        }
    }
    return status;
}

static int32_t read_node(struct splitter *s, json_t *node, int depth, struct sluice_error *err)
{
    static const struct {
        const char *name;
        int32_t (*read)(struct splitter *s, json_t *node, struct sluice_error *err);
    } types[] = { { "Metaspace", read_metaspace },     { "Digits", read_digits },
                  { "Punctuation", read_punctuation }, { "CharDelimiterSplit", read_delimiter },
                  { "FixedLength", read_length },      { "Split", read_split },
                  { "Whitespace", read_plain },        { "WhitespaceSplit", read_plain },
                  { "UnicodeScripts", read_plain },    { "BertPreTokenizer", read_plain } };
    const char *type = json_member_type(node);
    size_t i;
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, type) == 0) {
            return types[i].read(s, node, err);
        }
    }
    if (strcmp(type, "Sequence") == 0 && depth < DEPTH_MOST) {
        return read_sequence(s, node, depth, err);
    }
    return json_member_refuse(err, "the pre_tokenizer", type);
}

int32_t splitter_read(const json_t *spec, struct splitter **out, struct sluice_error *err)
{
    struct splitter *s = calloc(1, sizeof(*s));
    int32_t status = SLUICE_OK;
    *out = NULL;
    if (!s || normalizer_unicode_init(&s->unicode) != 0) {
        free(s);
        return bpe_fail_memory(err, "a pre-tokenizer");
    }
    if (spec && !json_is_null(spec)) {
        status = read_node(s, (json_t *)(uintptr_t)spec, 0, err);
    }
    if (status != SLUICE_OK) {
        splitter_destroy(s);
        return status;
    }
    *out = s;
    return SLUICE_OK;
}

void splitter_destroy(struct splitter *s)
{
    size_t i;
    if (!s) {
        return;
    }
    for (i = 0; i < s->n_steps; i++) {
        regex_destroy(s->steps[i].regex);
    }
    normalizer_unicode_deinit(&s->unicode);
    unicode_table_deinit(&s->classes);
    free(s);
}

size_t splitter_memory(const struct splitter *s)
{
    return sizeof(*s) + normalizer_unicode_memory(&s->unicode) + s->classes.n_blocks * 512 +
           s->classes.n_runs * sizeof(*s->classes.starts);
}

/* Before a Metaspace behind another step, each character may be a piece, which gets a prefix. */
size_t splitter_bound(const struct splitter *s, size_t len)
{
    size_t i;
    for (i = 0; i < s->n_steps; i++) {
        size_t n = s->steps[i].n_replacement, more = i == 0 ? n : 0;
        if (s->steps[i].kind == SPLITTER_METASPACE && len > 0) {
            n = i == 0 ? n : 2 * n;
            len = len > (SIZE_MAX - more) / n ? SIZE_MAX : len * n + more;
        }
    }
    return len;
}
