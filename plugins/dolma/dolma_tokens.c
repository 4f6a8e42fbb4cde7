#include "dolma_tokens.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/bpe.h"

#define CACHE_BYTES ((size_t)4 << 20)

struct dolma_tokenizer {
    struct bpe *bpe;
    size_t added;
    bool trims, prefix_space; /* of a ByteLevel post-processor */
};

static int32_t nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for tokens");
}

/* ---- the file's post-processor ---- */

static size_t template_tokens(const json_t *processor)
{
    size_t count = 0;
    size_t i;
    json_t *piece;

    json_array_foreach(json_object_get(processor, "single"), i, piece)
    {
        const json_t *special = json_object_get(piece, "SpecialToken");
        const char *id = json_string_value(json_object_get(special, "id"));
        const json_t *known =
            id == NULL ? NULL : json_object_get(json_object_get(processor, "special_tokens"), id);
        count += json_array_size(json_object_get(known, "ids"));
    }
    return count;
}

static bool flag(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return value == NULL || json_is_true(value); /* both of ByteLevel's are true by default */
}

static void read_processor(struct dolma_tokenizer *tokenizer, const json_t *processor)
{
    const char *type = json_string_value(json_object_get(processor, "type"));
    size_t i;
    json_t *inner;

    if (type == NULL) {
        return;
    }
    if (strcmp(type, "Sequence") == 0) {
        json_array_foreach(json_object_get(processor, "processors"), i, inner)
        {
            const char *kind = json_string_value(json_object_get(inner, "type"));
            if (kind != NULL && strcmp(kind, "Sequence") != 0) {
                read_processor(tokenizer, inner);
            }
        }
    } else if (strcmp(type, "TemplateProcessing") == 0) {
        tokenizer->added += template_tokens(processor);
    } else if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        tokenizer->added += 2;
        tokenizer->trims =
            strcmp(type, "RobertaProcessing") == 0 && flag(processor, "trim_offsets");
        tokenizer->prefix_space = flag(processor, "add_prefix_space");
    } else if (strcmp(type, "ByteLevel") == 0) {
        tokenizer->trims = flag(processor, "trim_offsets");
        tokenizer->prefix_space = flag(processor, "add_prefix_space");
    }
}

int32_t dolma_tokenizer_create(const void *data, size_t n, struct dolma_tokenizer **out,
                               struct sluice_error *err)
{
    struct bpe_options options = { .specials = BPE_SPECIALS_ALLOW };
    struct dolma_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    int32_t status;

    if (tokenizer == NULL) {
        return nomem(err);
    }
    status = bpe_load(data, n, &options, &tokenizer->bpe, err);
    if (status == SLUICE_OK) {
        /* Only a tokenizer.json has one; any other file is no JSON. */
        json_t *root = json_loadb(data, n, 0, NULL);
        read_processor(tokenizer, json_object_get(root, "post_processor"));
        json_decref(root);
    }
    if (status != SLUICE_OK) {
        dolma_tokenizer_destroy(tokenizer);
        return status;
    }
    *out = tokenizer;
    return SLUICE_OK;
}

void dolma_tokenizer_destroy(struct dolma_tokenizer *tokenizer)
{
    if (tokenizer != NULL) {
        bpe_destroy(tokenizer->bpe);
        free(tokenizer);
    }
}

size_t dolma_tokenizer_added(const struct dolma_tokenizer *tokenizer)
{
    return tokenizer->added;
}

/* ---- a worker ---- */

int32_t dolma_tokens_open(struct dolma_tokens *tokens, const struct dolma_tokenizer *tokenizer,
                          struct sluice_error *err)
{
    tokens->tokenizer = tokenizer;
    return bpe_worker_create(tokenizer->bpe, CACHE_BYTES, &tokens->worker, err);
}

void dolma_tokens_deinit(struct dolma_tokens *tokens)
{
    if (tokens->worker != NULL) {
        bpe_worker_destroy(tokens->worker);
    }
    free(tokens->ids);
    free(tokens->offsets);
    free(tokens->places);
    sluice_bytes_free(&tokens->joined);
    memset(tokens, 0, sizeof *tokens);
}

static int32_t make_room(struct dolma_tokens *tokens, size_t n, struct sluice_error *err)
{
    size_t bound = bpe_encode_bound(tokens->tokenizer->bpe, n);

    if (bound <= tokens->capacity && tokens->ids != NULL) {
        return SLUICE_OK;
    }
    free(tokens->ids);
    free(tokens->offsets);
    free(tokens->places);
    tokens->offsets = NULL;
    tokens->places = NULL;
    tokens->capacity = bound + bound / 4 + 16;
    tokens->ids = bound >= SIZE_MAX / 64 ? NULL : malloc(tokens->capacity * sizeof *tokens->ids);
    return tokens->ids == NULL ? nomem(err) : SLUICE_OK;
}

int32_t dolma_tokens_encode(struct dolma_tokens *tokens, const char *text, size_t n,
                            struct sluice_error *err)
{
    int32_t status = make_room(tokens, n, err);

    return status == SLUICE_OK
               ? bpe_encode(tokens->worker, text, n, tokens->ids, tokens->capacity, &tokens->n, err)
               : status;
}

static bool is_start(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Without the spaces at the token's ends. The first token keeps one that the file put in front of
 * the text. */
static void trim_place(const struct dolma_tokenizer *tokenizer, const char *text, uint64_t begin,
                       uint64_t end, size_t k, struct dolma_token_place *place)
{
    uint64_t leading = 0;
    uint64_t trailing = 0;

    while (begin + leading < end && text[begin + leading] == ' ') {
        leading++;
    }
    while (end - trailing > begin && text[end - trailing - 1] == ' ') {
        trailing++;
    }
    if (leading > 0) {
        leading -= (k == 0 || place->begin == 0) && tokenizer->prefix_space;
        place->begin = place->begin + leading < place->end ? place->begin + leading : place->end;
    }
    if (trailing > 0 && place->end >= trailing) {
        place->end = place->end - trailing > place->begin ? place->end - trailing : place->begin;
    }
}

int32_t dolma_tokens_places(struct dolma_tokens *tokens, const char *text, size_t n,
                            struct sluice_error *err)
{
    uint64_t at = 0;
    uint64_t chars = 0; /* that begin before at */
    int32_t status;

    if (tokens->places == NULL) {
        tokens->offsets = malloc(tokens->capacity * sizeof *tokens->offsets);
        tokens->places = malloc(tokens->capacity * sizeof *tokens->places);
        if (tokens->offsets == NULL || tokens->places == NULL) {
            return nomem(err);
        }
    }
    status = bpe_encode_offsets(tokens->worker, text, n, tokens->ids, tokens->offsets,
                                tokens->capacity, &tokens->n, err);
    for (size_t k = 0; status == SLUICE_OK && k < tokens->n; k++) {
        uint64_t begin = tokens->offsets[k];
        uint64_t end = k + 1 < tokens->n ? tokens->offsets[k + 1] : n;
        struct dolma_token_place *place = &tokens->places[k];
        for (; at < begin; at++) {
            chars += is_start(text[at]);
        }
        place->begin = begin < n && !is_start(text[begin]) ? chars - 1 : chars;
        for (; at < end; at++) {
            chars += is_start(text[at]);
        }
        place->end = chars;
        if (tokens->tokenizer->trims) {
            trim_place(tokens->tokenizer, text, begin, end, k, place);
        }
    }
    return status;
}

/* ---- periods ---- */

/* Cells of the row that equal those of the row before: the leading ones, up to the first that
 * differs. Cells behind ids equal none. */
static size_t equal_leading(const uint32_t *ids, size_t n, size_t period, size_t row)
{
    size_t k = 0;

    while (k < period && row * period + k < n &&
           ids[row * period + k] == ids[(row - 1) * period + k]) {
        k++;
    }
    return k;
}

static size_t equal_trailing(const uint32_t *ids, size_t period, size_t row)
{
    size_t k = 0;

    while (row > 0 && k < period &&
           ids[row * period + period - 1 - k] == ids[(row - 1) * period + period - 1 - k]) {
        k++;
    }
    return k;
}

bool dolma_period_next(const uint32_t *ids, size_t n, size_t period, size_t *row,
                       struct dolma_period *out)
{
    size_t rows = n / period; /* whole ones; what is behind them never equals a whole row */

    while (*row < rows) {
        size_t first = *row;
        size_t last;
        if (equal_leading(ids, n, period, first) < period) {
            ++*row;
            continue;
        }
        for (last = first; last + 1 < rows && equal_leading(ids, n, period, last + 1) == period;) {
            last++;
        }
        *row = last + 1;
        out->begin = (first - 1) * period - equal_trailing(ids, period, first - 1);
        out->end = (last + 1) * period + equal_leading(ids, n, period, last + 1);
        out->times = (out->end - out->begin) / period;
        if (out->times > 2) {
            return true;
        }
    }
    return false;
}
