/* vocab_load.c — reads a tokenizer's file of whichever kind it is, and checks what was read. See
 * vocab.h. */
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "vocab/vocab.h"

static int added_order(const void *a, const void *b)
{
    const struct vocab_added *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The added token with this content, or NULL. */
static const struct vocab_added *find_added(const struct vocab *v, const char *content)
{
    size_t i, len = strlen(content);
    for (i = 0; i < v->n_added; i++) {
        if (v->added[i].len == len && memcmp(v->bytes + v->added[i].at, content, len) == 0) {
            return &v->added[i];
        }
    }
    return NULL;
}

/* Sets *id to the named token, or when nothing was named to the one customary name that the
 * vocabulary holds. */
static int32_t choose_edge(const struct vocab *v, const char *name, const char *const *customary,
                           uint32_t *id, struct sluice_error *err)
{
    size_t i, found = 0;
    *id = VOCAB_NONE;
    if (name[0]) {
        const struct vocab_added *added = find_added(v, name);
        if (!added) {
            return bpe_fail(
                err, SLUICE_E_CONFIG,
                "post_processor names '%s', which is no added token; add it to added_tokens", name);
        }
        *id = added->id;
        return SLUICE_OK;
    }
    for (i = 0; customary[i]; i++) {
        const struct vocab_added *added = find_added(v, customary[i]);
        if (added && added->special) {
            *id = added->id;
            found++;
        }
    }
    if (found != 1) {
        *id = VOCAB_NONE;
    }
    return SLUICE_OK;
}

/* GPT-NeoX has no tokens for the bytes that no UTF-8 holds, and who trains without initial_alphabet
 * none for those that his texts did not hold. Such a vocabulary is good for all other texts; one
 * that holds such a byte is refused when it is met (bpe_text.c). A .tiktoken file that lacks bytes
 * is damaged: tiktoken itself fails on it. */
static int32_t count_lacking(struct vocab *v, struct sluice_error *err)
{
    for (size_t i = 0; v->model == VOCAB_MODEL_BYTES && i < 256; i++) {
        if (v->byte_id[i] != VOCAB_NONE) {
            continue;
        }
        if (!v->merges) {
            return bpe_fail(
                err, SLUICE_E_CONFIG,
                "the file has no token for the byte 0x%02zx; a .tiktoken file holds all "
                "256 bytes, so it is damaged: fetch it again",
                i);
        }
        v->lacking++;
    }
    if (v->lacking == 256) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "no byte has a token of its own, so that every text would be refused; "
                        "expected the byte alphabet (tokenizers: "
                        "initial_alphabet=ByteLevel.alphabet())");
    }
    return SLUICE_OK;
}

static int32_t vocab_check(struct vocab *v, struct sluice_error *err)
{
    static const char *const ends[] = { "<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>",
                                        "</s>",          "<eos>",           NULL };
    static const char *const begins[] = {
        "<|startoftext|>", "<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<s>", "<bos>", NULL
    };
    size_t i;
    int32_t status;
    status = count_lacking(v, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (v->n_added > 0) {
        qsort(v->added, v->n_added, sizeof(*v->added), added_order);
    }
    for (i = 1; i < v->n_added; i++) {
        if (v->added[i].id == v->added[i - 1].id) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "two added tokens have the id %u; ids must be distinct",
                            v->added[i].id);
        }
    }
    status = choose_edge(v, v->bos_name, begins, &v->bos, err);
    return status == SLUICE_OK ? choose_edge(v, v->eos_name, ends, &v->eos, err) : status;
}

/* Special tokens of the options. */
static int32_t put_extra(struct vocab *v, const struct bpe_options *options,
                         struct sluice_error *err)
{
    size_t i;
    for (i = 0; i < options->n_extra; i++) {
        const struct bpe_special *extra = &options->extra[i];
        const struct vocab_added *known = extra->content ? find_added(v, extra->content) : NULL;
        struct vocab_added like = { .special = 1 };
        int32_t status;
        if (!extra->content || extra->content[0] == '\0') {
            return bpe_fail(err, SLUICE_E_CONFIG, "special token %zu of the options has no content",
                            i);
        }
        if (known && known->id == extra->id) {
            continue;
        }
        if (known || (extra->id < v->n_tokens && v->tokens[extra->id].kind != VOCAB_ABSENT)) {
            return bpe_fail(
                err, SLUICE_E_CONFIG,
                "special token '%s' of the options has the id %u, but the vocabulary %s %u",
                extra->content, extra->id, known ? "gives it" : "has another token at",
                known ? known->id : extra->id);
        }
        like.id = extra->id;
        status = vocab_put_added(v, extra->content, strlen(extra->content), &like, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

int32_t vocab_load(struct vocab *v, struct pretoken *pretoken, const void *data, size_t size,
                   const struct bpe_options *options, struct sluice_error *err)
{
    const char *text = data;
    size_t i = 0;
    int32_t status;
    memset(v, 0, sizeof(*v));
    for (i = 0; i < 256; i++) {
        v->byte_id[i] = v->fallback[i] = VOCAB_NONE;
    }
    v->unk = VOCAB_NONE;
    for (i = 0;
         i < size && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n');
         i++) {
    }
    if (i == size) {
        return bpe_fail(
            err, SLUICE_E_CONFIG,
            "the tokenizer file is empty; expected a .tiktoken file, a tokenizer.json or "
            "a SentencePiece .model");
    }
    if (text[i] == '{' && !vocab_is_spm(data, size)) {
        status = vocab_read_json(v, pretoken, text, size, options, err);
    } else if (vocab_is_spm(data, size)) {
        status = vocab_read_spm(v, data, size, options, err);
    } else {
        status = vocab_read_tiktoken(v, pretoken, text, size, options, err);
    }
    if (status == SLUICE_OK) {
        status = put_extra(v, options, err);
    }
    return status == SLUICE_OK ? vocab_check(v, err) : status;
}
