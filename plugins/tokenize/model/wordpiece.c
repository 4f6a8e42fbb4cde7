/* wordpiece.c — see the header. Source: huggingface/tokenizers (0.23), src/models/wordpiece/mod.rs,
 * which tries ever shorter strings; the longest is the same, as tokens and text are UTF-8; and
 * src/models/wordlevel/mod.rs. */
#include "model/wordpiece.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/unigram_trie.h"

#define IDS_MOST (1u << 30)

struct wordpiece_entry {
    size_t at, len;
    int used;
};

struct wordpiece {
    struct unigram_trie trie;
    struct wordpiece_entry *entries; /* by id */
    char *bytes;
    size_t n_bytes;
    uint32_t n, unk;
    char *prefix;
    size_t n_prefix;
    uint32_t inside; /* the trie's node behind the prefix; UNIGRAM_TRIE_NONE: no token has it */
    size_t chars_most;
    int whole; /* WordLevel: a word is a token or unknown */
};

static int32_t malformed(struct sluice_error *err, const char *what)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "tokenizer.json: %s is missing or of the wrong type; the file is damaged or of "
                    "another version",
                    what);
}

static int32_t check_members(json_t *model, int whole, struct sluice_error *err)
{
    static const char *const names[] = { "type", "unk_token", "continuing_subword_prefix",
                                         "max_input_chars_per_word", "vocab" };
    static const char *const level[] = { "type", "unk_token", "vocab" };
    const char *const *known = whole ? level : names;
    const size_t n = whole ? sizeof(level) / sizeof(level[0]) : sizeof(names) / sizeof(names[0]);
    const char *key;
    json_t *value;
    json_object_foreach(model, key, value)
    {
        size_t i;
        for (i = 0; i < n && strcmp(known[i], key) != 0; i++) {
        }
        if (i == n) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "tokenizer.json has in the model %s the member '%s', which this "
                            "engine does not honour; remove it if it is of no consequence",
                            whole ? "WordLevel" : "WordPiece", key);
        }
    }
    return SLUICE_OK;
}

/* Sizes the table of ids. */
static int32_t measure(struct wordpiece *w, json_t *vocab, struct sluice_error *err)
{
    const char *key;
    size_t len, size = 0;
    json_t *value;
    json_object_keylen_foreach(vocab, key, len, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= (json_int_t)IDS_MOST) {
            return malformed(err, "an id in model.vocab");
        }
        w->n = (uint32_t)id >= w->n ? (uint32_t)id + 1 : w->n;
        size += len;
    }
    if (w->n > json_object_size(vocab) * 16 + 1024) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "tokenizer.json: model.vocab has %zu tokens, but ids up to %u; it is "
                        "damaged",
                        json_object_size(vocab), w->n - 1);
    }
    w->entries = calloc((size_t)w->n + 1, sizeof(*w->entries));
    w->bytes = malloc(size + 1);
    return w->entries && w->bytes ? SLUICE_OK : bpe_fail_memory(err, "a vocabulary");
}

static int32_t read_vocabulary(struct wordpiece *w, json_t *vocab, struct sluice_error *err)
{
    struct unigram_trie_string *strings;
    const char *key;
    size_t len, n = 0;
    json_t *value;
    int32_t status = measure(w, vocab, err);
    if (status != SLUICE_OK) {
        return status;
    }
    strings = malloc((json_object_size(vocab) + 1) * sizeof(*strings));
    if (!strings) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    json_object_keylen_foreach(vocab, key, len, value)
    {
        uint32_t id = (uint32_t)json_integer_value(value);
        struct wordpiece_entry *entry = &w->entries[id];
        if (entry->used) {
            free(strings);
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "tokenizer.json: the tokens '%.*s' and '%s' have the id %u; give each "
                            "its own",
                            (int)entry->len, w->bytes + entry->at, key, id);
        }
        *entry = (struct wordpiece_entry){ .at = w->n_bytes, .len = len, .used = 1 };
        memcpy(w->bytes + w->n_bytes, key, len);
        strings[n++] = (struct unigram_trie_string){ w->bytes + w->n_bytes, len, id };
        w->n_bytes += len;
    }
    status = unigram_trie_init(&w->trie, strings, n) == 0 ? SLUICE_OK
                                                          : bpe_fail_memory(err, "a vocabulary");
    free(strings);
    return status;
}

static int32_t fill(struct wordpiece *w, json_t *model, struct sluice_error *err)
{
    json_t *unk = json_object_get(model, "unk_token"),
           *prefix = json_object_get(model, "continuing_subword_prefix"),
           *most = json_object_get(model, "max_input_chars_per_word"),
           *vocab = json_object_get(model, "vocab");
    const char *type = json_string_value(json_object_get(model, "type"));
    size_t i;
    int32_t status;
    w->whole = type && strcmp(type, "WordLevel") == 0;
    status = check_members(model, w->whole, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!json_is_string(unk) || !json_is_object(vocab)) {
        return malformed(err, "model.unk_token or vocab");
    }
    if (!w->whole &&
        (!json_is_string(prefix) || !json_is_integer(most) || json_integer_value(most) < 0)) {
        return malformed(err, "model.continuing_subword_prefix or max_input_chars_per_word");
    }
    status = read_vocabulary(w, vocab, err);
    if (status != SLUICE_OK) {
        return status;
    }
    w->chars_most = w->whole ? SIZE_MAX : (size_t)json_integer_value(most);
    w->unk = unigram_trie_find(&w->trie, json_string_value(unk), json_string_length(unk));
    if (w->unk == UNIGRAM_TRIE_NONE && !w->whole) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "tokenizer.json: the unk_token '%s' is not in model.vocab; add it there",
                        json_string_value(unk));
    }
    w->n_prefix = w->whole ? 0 : json_string_length(prefix);
    w->prefix = malloc(w->n_prefix + 1);
    if (!w->prefix) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    memcpy(w->prefix, w->whole ? "" : json_string_value(prefix), w->n_prefix + 1);
    for (i = 0; i < w->n_prefix && w->inside != UNIGRAM_TRIE_NONE; i++) {
        if (!unigram_trie_go(&w->trie, &w->inside, (uint8_t)w->prefix[i])) {
            w->inside = UNIGRAM_TRIE_NONE;
        }
    }
    return SLUICE_OK;
}

int32_t wordpiece_read(const json_t *model, struct wordpiece **out, struct sluice_error *err)
{
    struct wordpiece *w = calloc(1, sizeof(*w));
    int32_t status;
    *out = NULL;
    if (!w) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    status = fill(w, (json_t *)(uintptr_t)model, err);
    if (status != SLUICE_OK) {
        wordpiece_destroy(w);
        return status;
    }
    *out = w;
    return SLUICE_OK;
}

void wordpiece_destroy(struct wordpiece *w)
{
    if (w) {
        unigram_trie_deinit(&w->trie);
        free(w->entries);
        free(w->bytes);
        free(w->prefix);
        free(w);
    }
}

uint32_t wordpiece_size(const struct wordpiece *w)
{
    return w->n;
}

const char *wordpiece_token(const struct wordpiece *w, uint32_t id, size_t *len)
{
    int used = id < w->n && w->entries[id].used;
    *len = used ? w->entries[id].len : 0;
    return used ? w->bytes + w->entries[id].at : NULL;
}

const char *wordpiece_prefix(const struct wordpiece *w, size_t *len)
{
    *len = w->n_prefix;
    return w->prefix;
}

size_t wordpiece_memory(const struct wordpiece *w)
{
    return sizeof(*w) + w->n * sizeof(*w->entries) + w->n_bytes +
           w->trie.n * sizeof(*w->trie.nodes) + w->n_prefix;
}

static int is_too_long(const struct wordpiece *w, const uint8_t *p, size_t len)
{
    size_t i, chars = 0;
    if (len <= w->chars_most) {
        return 0;
    }
    for (i = 0; i < len && chars <= w->chars_most; i++) {
        chars += (p[i] & 0xC0) != 0x80;
    }
    return chars > w->chars_most;
}

static int32_t encode_level(const struct wordpiece *w, const char *word, size_t len, uint32_t *ids,
                            size_t cap, size_t *n, struct sluice_error *err)
{
    uint32_t id = unigram_trie_find(&w->trie, word, len);
    *n = 0;
    if (cap == 0) {
        return bpe_fail(err, SLUICE_E_CONFIG, "room for 0 ids is too little for the text");
    }
    id = id == UNIGRAM_TRIE_NONE ? w->unk : id;
    if (id == UNIGRAM_TRIE_NONE) {
        return bpe_fail(
            err, SLUICE_E_DATA,
            "the word '%.*s' is not in the vocabulary, and the unk_token is not either; "
            "add that to model.vocab",
            (int)(len < 80 ? len : 80), word);
    }
    ids[(*n)++] = id;
    return SLUICE_OK;
}

int32_t wordpiece_encode(const struct wordpiece *w, const char *word, size_t len, uint32_t *ids,
                         size_t cap, size_t *n, struct sluice_error *err)
{
    const uint8_t *begin = (const uint8_t *)word, *p = begin, *end = begin + len;
    int bad = is_too_long(w, begin, len);
    if (w->whole && len > 0) {
        return encode_level(w, word, len, ids, cap, n, err);
    }
    *n = 0;
    while (p < end && !bad) {
        const uint8_t *q = p, *found = p;
        uint32_t node = p == begin ? 0 : w->inside, id = 0;
        while (node != UNIGRAM_TRIE_NONE && q < end && unigram_trie_go(&w->trie, &node, *q)) {
            q++;
            if (w->trie.nodes[node].value != UNIGRAM_TRIE_NONE) {
                id = w->trie.nodes[node].value;
                found = q;
            }
        }
        bad = found == p;
        if (!bad) {
            if (*n == cap) {
                return bpe_fail(err, SLUICE_E_CONFIG, "room for %zu ids is too little for the text",
                                cap);
            }
            ids[(*n)++] = id;
            p = found;
        }
    }
    if (bad) {
        if (cap == 0) {
            return bpe_fail(err, SLUICE_E_CONFIG, "room for 0 ids is too little for the text");
        }
        ids[0] = w->unk;
        *n = 1;
    }
    return SLUICE_OK;
}
