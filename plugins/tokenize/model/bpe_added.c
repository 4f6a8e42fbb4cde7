/* bpe_added.c — see the header. tokenizers/src/tokenizer/added_vocabulary.rs, find_matches. */
#include "model/bpe_added.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"

/* Gives a copy of what the normalizer makes of a token's content. */
static int32_t copy_normalized(const struct vocab_added *token, const struct vocab *vocab,
                               added_normalize *normalize, void *context, uint8_t **copy,
                               size_t *len, struct sluice_error *err)
{
    const uint8_t *content = vocab->bytes + token->at;
    int32_t status = normalize(context, content, token->len, &content, len, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (*len == 0) {
        return bpe_fail(
            err, SLUICE_E_CONFIG,
            "the normalizer leaves nothing of the added token '%s', which would then be "
            "everywhere; give it \"normalized\": false",
            (const char *)vocab->bytes + token->at);
    }
    *copy = malloc(*len);
    if (!*copy) {
        return bpe_fail_memory(err, "the added tokens");
    }
    memcpy(*copy, content, *len);
    return SLUICE_OK;
}

int32_t added_init(struct added *added, const struct vocab *vocab, int keep_special,
                   added_normalize *normalize, void *context, struct sluice_error *err)
{
    struct trie_string *strings = malloc((vocab->n_added + 1) * sizeof(*strings));
    uint8_t **copies = calloc(vocab->n_added + 1, sizeof(*copies)); /* normalized contents */
    int32_t status = SLUICE_OK;
    size_t at;
    int k;
    memset(added, 0, sizeof(*added));
    if (!strings || !copies) {
        free(strings);
        free(copies);
        return bpe_fail_memory(err, "the added tokens");
    }
    for (k = 0; k < 2 && status == SLUICE_OK; k++) {
        struct added_pass *pass = &added->pass[k];
        size_t n = 0, i;
        int firsts = 0;
        pass->visible = k == 1 && vocab->meta == VOCAB_META_NORMALIZER;
        for (i = 0; i < vocab->n_added && status == SLUICE_OK; i++) {
            const struct vocab_added *token = &vocab->added[i];
            const uint8_t *content = vocab->bytes + token->at;
            size_t len = token->len;
            if (token->normalized != k) {
                continue;
            }
            if (k == 1 && normalize && !token->as_is) {
                status = copy_normalized(token, vocab, normalize, context, &copies[i], &len, err);
                if (status != SLUICE_OK) {
                    break;
                }
                content = copies[i];
            }
            strings[n].bytes = content;
            strings[n].len = (uint32_t)len;
            strings[n++].value = (uint32_t)i;
            firsts += !pass->first[content[0]];
            pass->first[content[0]] = 1;
            pass->only_first = content[0];
            pass->active |= !(token->special && keep_special);
        }
        if (status == SLUICE_OK && trie_init(&pass->trie, strings, n, NULL) != 0) {
            status = bpe_fail_memory(err, "the added tokens");
        }
        if (firsts != 1) {
            pass->only_first = -1;
        }
    }
    for (at = 0; at < vocab->n_added; at++) {
        free(copies[at]);
    }
    free(copies);
    free(strings);
    if (status != SLUICE_OK) {
        added_deinit(added);
    }
    return status;
}

void added_deinit(struct added *added)
{
    trie_deinit(&added->pass[0].trie);
    trie_deinit(&added->pass[1].trie);
}

/* The character that ends at `at` > 0; *n gets its length. */
static uint32_t char_before(const uint8_t *text, size_t at, size_t *n)
{
    size_t k;
    uint32_t cp;
    for (k = at < 4 ? at : 4; k > 1; k--) {
        if (utf8_decode(text + at - k, text + at, &cp) == k) {
            *n = k;
            return cp;
        }
    }
    *n = 1;
    (void)utf8_decode(text + at - 1, text + at, &cp);
    return cp;
}

static int inside_word(const struct unicode_table *unicode, const uint8_t *text, size_t len,
                       size_t begin, size_t end)
{
    uint32_t cp;
    size_t n;
    if (begin > 0 && unicode_is_word(unicode, char_before(text, begin, &n))) {
        return 1;
    }
    if (end < len) {
        (void)utf8_decode(text + end, text + len, &cp);
        return unicode_is_word(unicode, cp);
    }
    return 0;
}

/* What lstrip and rstrip swallow. */
static int is_white(const struct added_pass *pass, const struct unicode_table *unicode, uint32_t cp)
{
    return (unicode_value(unicode, cp) & UNICODE_SPACE) && !(cp == ' ' && pass->visible);
}

int added_next(const struct added_pass *pass, const struct vocab *vocab,
               const struct unicode_table *unicode, int keep_special, const uint8_t *text,
               size_t len, size_t *from, size_t floor, struct added_match *match)
{
    size_t at = *from;
    while (at < len) {
        const struct vocab_added *token;
        uint32_t index = 0;
        size_t n;
        if (pass->only_first >= 0) {
            const uint8_t *found = memchr(text + at, pass->only_first, len - at);
            at = found ? (size_t)(found - text) : len;
        } else {
            while (at < len && !pass->first[text[at]]) {
                at++;
            }
        }
        if (at >= len) {
            break;
        }
        n = trie_longest(&pass->trie, text + at, text + len, &index);
        if (n == 0) {
            at++;
            continue;
        }
        token = &vocab->added[index];
        match->begin = at;
        match->end = at + n;
        at += n;
        if ((token->special && keep_special) ||
            (token->single_word && inside_word(unicode, text, len, match->begin, match->end))) {
            continue;
        }
        *from = at;
        match->token = token;
        if (token->lstrip) {
            while (match->begin > floor) {
                uint32_t cp = char_before(text, match->begin, &n);
                if (!is_white(pass, unicode, cp) || match->begin - floor < n) {
                    break;
                }
                match->begin -= n;
            }
        }
        while (token->rstrip && match->end < len) {
            uint32_t cp;
            n = utf8_decode(text + match->end, text + len, &cp);
            if (!is_white(pass, unicode, cp)) {
                break;
            }
            match->end += n;
        }
        return 1;
    }
    *from = len;
    return 0;
}
