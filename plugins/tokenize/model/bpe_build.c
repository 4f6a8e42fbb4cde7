/* bpe_build.c — builds `struct merges` from a vocabulary: which tokens merging can give, each with
 * its one pair, in order of rank; then the tables for encoding. See bpe_merge.h for why. Depends
 * on: bpe_merge.h, bpe_error.h, libxxhash. */
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/bpe_head.h"
#include "model/bpe_index.h"
#include "model/bpe_merge.h"
#include "split/pretoken_unicode.h"

/* While building, pairs are of ids. A pair's slot in an open-addressing table. */
struct id_pair {
    uint64_t key; /* a << 32 | b, UINT64_MAX when empty */
    uint32_t rank, id;
};

struct builder {
    const struct vocab *vocab;
    struct merges *out;
    struct id_pair *pairs; /* tokenizer.json's merges; NULL for .tiktoken */
    size_t pair_mask;
    const struct token_index *all; /* every byte-string token, for .tiktoken */
    uint32_t *two;                 /* [256 * 256]: the token of two bytes, or MERGE_NONE */
    uint32_t (*from)[2];           /* id to its pair of ids */
    uint32_t *rank;   /* id to the rank of that pair, MERGE_NONE when merging does not give it */
    uint32_t *number; /* id to number */
};

static size_t pair_slot(const struct builder *b, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(h ^ h >> 32) & b->pair_mask;
    while (b->pairs[at].key != key && b->pairs[at].key != UINT64_MAX) {
        at = (at + 1) & b->pair_mask;
    }
    return at;
}

static int32_t index_pairs(struct builder *b, struct sluice_error *err)
{
    const struct vocab *v = b->vocab;
    size_t cap = merges_room(v->n_merges), i;
    b->pairs = malloc(cap * sizeof(*b->pairs));
    if (!b->pairs) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    memset(b->pairs, 0xFF, cap * sizeof(*b->pairs));
    b->pair_mask = cap - 1;
    for (i = 0; i < v->n_merges; i++) {
        uint64_t key = (uint64_t)v->merges[i].a << 32 | v->merges[i].b;
        struct id_pair *slot = &b->pairs[pair_slot(b, key)];
        slot->key = key; /* of duplicates the last wins, as in tokenizers */
        slot->rank = (uint32_t)i;
        slot->id = v->merges[i].id;
    }
    return SLUICE_OK;
}

static int32_t index_twos(struct builder *b, struct sluice_error *err)
{
    const struct vocab *v = b->vocab;
    b->two = malloc(65536 * sizeof(*b->two));
    if (!b->two) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    memset(b->two, 0xFF, 65536 * sizeof(*b->two));
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        const uint8_t *p = v->bytes + v->tokens[id].at;
        if (v->tokens[id].kind == VOCAB_BYTES && v->tokens[id].len == 2) {
            b->two[(size_t)p[0] << 8 | p[1]] = id;
        }
    }
    return SLUICE_OK;
}

/* What the symbols of bytes [from, middle) and [middle, to) of p merge to: *rank, and the id;
 * MERGE_NONE for nothing. */
static uint32_t lookup(const struct builder *b, const uint8_t *p, size_t from, size_t to,
                       uint32_t left, uint32_t right, uint32_t *rank)
{
    uint32_t id;
    if (b->pairs) {
        const struct id_pair *slot = &b->pairs[pair_slot(b, (uint64_t)left << 32 | right)];
        *rank = slot->key == UINT64_MAX ? MERGE_NONE : slot->rank;
        return slot->key == UINT64_MAX ? MERGE_NONE : slot->id;
    }
    id = to - from == 2 ? b->two[(size_t)p[from] << 8 | p[from + 1]]
                        : token_index_find(b->all, b->vocab, p + from, to - from);
    *rank = id;
    return id;
}

/* Merges a token's bytes on their own. When one token is left, notes its last pair. */
static void isolate(struct builder *b, uint32_t id)
{
    struct {
        size_t end;
        uint32_t id, rank, merged; /* rank and result of the pair with the next */
    } s[VOCAB_TOKEN_MOST];
    const struct vocab_token *token = &b->vocab->tokens[id];
    uint8_t p[VOCAB_TOKEN_MOST + TOKEN_SHORT]; /* its bytes, and room behind them to read */
    size_t n = token->len, i;
    uint32_t last_left = MERGE_NONE, last_right = MERGE_NONE, last_rank = MERGE_NONE;
    memcpy(p, b->vocab->bytes + token->at, n);
    memset(p + n, 0, TOKEN_SHORT);
    for (i = 0; i < n && b->vocab->byte_id[p[i]] != VOCAB_NONE; i++) {
    }
    if (i < n) {
        return; /* merging begins with bytes, of which one is none */
    }
    for (i = 0; i < n; i++) {
        s[i].id = b->vocab->byte_id[p[i]];
        s[i].end = i + 1;
        s[i].rank = s[i].merged = MERGE_NONE;
        if (i + 1 < n) {
            s[i].merged = lookup(b, p, i, i + 2, s[i].id, b->vocab->byte_id[p[i + 1]], &s[i].rank);
        }
    }
    while (n > 1) {
        size_t best = 0;
        for (i = 1; i + 1 < n; i++) {
            if (s[i].rank < s[best].rank) {
                best = i;
            }
        }
        if (s[best].rank == MERGE_NONE) {
            return;
        }
        last_left = s[best].id;
        last_right = s[best + 1].id;
        last_rank = s[best].rank;
        s[best].id = s[best].merged;
        s[best].end = s[best + 1].end;
        n--;
        memmove(&s[best + 1], &s[best + 2], (n - best - 1) * sizeof(s[0]));
        s[best].rank = s[best].merged = MERGE_NONE;
        if (best + 1 < n) {
            size_t from = best ? s[best - 1].end : 0;
            s[best].merged =
                lookup(b, p, from, s[best + 1].end, s[best].id, s[best + 1].id, &s[best].rank);
        }
        if (best > 0) {
            size_t from = best > 1 ? s[best - 2].end : 0;
            s[best - 1].merged =
                lookup(b, p, from, s[best].end, s[best - 1].id, s[best].id, &s[best - 1].rank);
        }
    }
    if (s[0].id == id && last_rank != MERGE_NONE) {
        b->from[id][0] = last_left;
        b->from[id][1] = last_right;
        b->rank[id] = last_rank;
    }
}

struct ranked {
    uint32_t rank, id;
};

static int ranked_order(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Numbers the tokens that merging gives and fills the tables by number. */
static int32_t number_tokens(struct builder *b, struct sluice_error *err)
{
    const struct vocab *v = b->vocab;
    struct merges *m = b->out;
    struct ranked *order = malloc(((size_t)v->n_tokens + 1) * sizeof(*order));
    uint32_t id, n = 0, i;
    if (!order) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (id = 0; id < v->n_tokens; id++) {
        if (v->tokens[id].kind == VOCAB_BYTES && v->tokens[id].len > 1 &&
            b->rank[id] != MERGE_NONE) {
            order[n].rank = b->rank[id];
            order[n++].id = id;
        }
    }
    qsort(order, n, sizeof(*order), ranked_order);
    m->n = n + 256;
    m->out_id = merges_table(m, m->n, sizeof(*m->out_id), 0);
    m->split = merges_table(m, m->n, sizeof(*m->split), 0);
    m->len = merges_table(m, m->n, sizeof(*m->len), 0);
    m->prefix = merges_table(m, m->n, sizeof(*m->prefix), 0xFF);
    m->byte_pair = merges_table(m, 65536, sizeof(*m->byte_pair), 0xFF);
    if (!m->out_id || !m->split || !m->len || !m->prefix || !m->byte_pair ||
        merge_pairs_init(m, n) != 0) {
        free(order);
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (i = 0; i < 256; i++) {
        if (v->byte_id[i] != VOCAB_NONE) {
            b->number[v->byte_id[i]] = i;
        }
        m->out_id[i] = v->byte_id[i];
        m->split[i][0] = m->split[i][1] = i;
        m->len[i] = 1;
    }
    for (i = 0; i < n; i++) {
        b->number[order[i].id] = i + 256;
    }
    for (i = 256; i < m->n; i++) {
        uint32_t a, c;
        id = order[i - 256].id;
        a = b->number
                [b->from[id]
                        [0]]; /* both parts are tokens that merging gives, by the same argument */
        c = b->number[b->from[id][1]];
        m->out_id[i] = id;
        m->len[i] = v->tokens[id].len;
        m->split[i][0] = a;
        m->split[i][1] = c;
        if (a < 256 && c < 256) {
            m->byte_pair[(size_t)a << 8 | c] = i;
        }
        merge_pairs_put(m, a, c, i);
    }
    free(order);
    return SLUICE_OK;
}

static int32_t build_trie(struct builder *b, struct sluice_error *err)
{
    const struct vocab *v = b->vocab;
    struct merges *m = b->out;
    struct trie_string *strings = malloc(m->n * sizeof(*strings));
    uint8_t bytes[256];
    uint32_t i;
    int failed;
    if (!strings) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (i = 0; i < 256; i++) { /* also those without a token */
        bytes[i] = (uint8_t)i;
        strings[i].bytes = bytes + i;
        strings[i].len = 1;
        strings[i].value = i;
    }
    for (; i < m->n; i++) {
        strings[i].bytes = v->bytes + v->tokens[m->out_id[i]].at;
        strings[i].len = m->len[i];
        strings[i].value = i;
    }
    failed = trie_init(&m->trie, strings, m->n, m->prefix);
    free(strings);
    if (failed) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    m->bytes += m->trie.n * 9u + 65536u * sizeof(uint32_t);
    return SLUICE_OK;
}

static int is_odd(const struct merges *m, uint32_t i)
{
    return m->split[i][0] > i || m->split[i][1] > i;
}

static int32_t build_odd(struct builder *b, struct sluice_error *err)
{
    const struct vocab *v = b->vocab;
    struct merges *m = b->out;
    struct trie_string *strings;
    uint32_t i, n = 0;
    int failed;
    for (i = 256; i < m->n; i++) {
        n += (uint32_t)is_odd(m, i);
    }
    if (n == 0) {
        return SLUICE_OK;
    }
    strings = malloc(n * sizeof(*strings));
    m->odd_pairs = merges_table(m, 65536 / 8, 1, 0);
    if (!strings || !m->odd_pairs) {
        free(strings);
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (i = 256, n = 0; i < m->n; i++) {
        if (is_odd(m, i)) {
            const uint8_t *p = v->bytes + v->tokens[m->out_id[i]].at;
            size_t two = (size_t)p[0] << 8 | p[1];
            m->odd_pairs[two >> 3] = (uint8_t)(m->odd_pairs[two >> 3] | 1u << (two & 7));
            strings[n].bytes = p;
            strings[n].len = m->len[i];
            strings[n++].value = i;
        }
    }
    failed = trie_init(&m->odd, strings, n, NULL);
    free(strings);
    return failed ? bpe_fail_memory(err, "a vocabulary's tables") : SLUICE_OK;
}

/* The highest number among the merges that make token i; 0 for a byte. */
static uint32_t most_of(const struct merges *m, uint32_t i)
{
    uint32_t left, right;
    if (i < 256) {
        return 0;
    }
    left = most_of(m, m->split[i][0]);
    right = most_of(m, m->split[i][1]);
    left = left > right ? left : right;
    return left > i ? left : i;
}

static void merge_char(const struct merges *m, uint32_t cp, struct merged_char *out)
{
    uint32_t symbols[MERGE_SHORT];
    uint8_t p[3] = { (uint8_t)(0xE0 | cp >> 12), (uint8_t)(0x80 | (cp >> 6 & 63)),
                     (uint8_t)(0x80 | (cp & 63)) };
    if (cp < 0x800) {
        p[1] = (uint8_t)(0xC0 | cp >> 6);
    }
    out->n = (uint32_t)merge_short(m, cp < 0x800 ? p + 1 : p, cp < 0x800 ? 2 : 3, symbols);
    out->most = 0;
    for (uint32_t k = 0; k < out->n; k++) {
        uint32_t most = most_of(m, symbols[k]);
        out->symbols[k] = symbols[k];
        out->most = most > out->most ? most : out->most;
    }
}

/* The tables of merge_chars. */
static int32_t index_chars(struct builder *b, struct sluice_error *err)
{
    const struct vocab *v = b->vocab;
    struct merges *m = b->out;
    m->chars = merges_table(m, 65536, sizeof(*m->chars), 0);
    m->border = merges_table(m, 65536, sizeof(*m->border), 0xFF);
    if (!m->chars || !m->border) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (uint32_t cp = 0x80; cp < 0x10000; cp++) {
        merge_char(m, cp, &m->chars[cp]);
    }
    for (uint32_t i = 256; i < m->n; i++) {
        const uint8_t *p = v->bytes + v->tokens[m->out_id[i]].at;
        const size_t len = m->len[i];
        uint32_t cp;
        size_t k, first = 0, last = len;
        while (first < len && (p[first] & 0xC0) == 0x80) {
            first++; /* bytes of a character that began before the token */
        }
        for (k = len; k > 0 && last == len; k--) {
            if ((p[k - 1] & 0xC0) != 0x80) { /* the last that begins a character */
                last = p[k - 1] >= 0x80 && utf8_decode(p + k - 1, p + len, &cp) == 1 ? k - 1 : 0;
            }
        }
        if (first > 0 && first < len) {
            uint32_t *lowest = &m->border[(size_t)p[first - 1] << 8 | p[first]];
            *lowest = i < *lowest ? i : *lowest;
        }
        if (last > 0 && last < len) {
            uint32_t *lowest = &m->border[(size_t)p[last - 1] << 8 | p[last]];
            *lowest = i < *lowest ? i : *lowest;
        }
    }
    return SLUICE_OK;
}

/* What a piece with the bytes of token `id` becomes; see merges_index_pieces. */
static size_t become(void *context, uint32_t id, uint32_t *out)
{
    const struct builder *b = context;
    const struct vocab_token *token = &b->vocab->tokens[id];
    uint32_t numbers[MERGE_SHORT];
    size_t n = 1, i;
    out[0] = id;
    if (b->vocab->whole_piece || token->len == 1 || b->rank[id] != MERGE_NONE) {
        return n;
    }
    if (token->len > PIECE_SHORT) {
        return 0; /* merged when it is met */
    }
    n = merge_short(b->out, b->vocab->bytes + token->at, token->len, numbers);
    for (i = 0; i < n; i++) {
        out[i] = b->out->out_id[numbers[i]];
        if (out[i] == MERGE_NONE) {
            return 0; /* it holds a byte without a token: never met */
        }
    }
    return n;
}

int32_t merges_init(struct merges *m, const struct vocab *v, const struct token_index *all,
                    struct sluice_error *err)
{
    struct builder b;
    uint32_t id;
    int32_t status;
    memset(m, 0, sizeof(*m));
    memset(&b, 0, sizeof(b));
    b.vocab = v;
    b.out = m;
    b.all = all;
    b.from = malloc(((size_t)v->n_tokens + 1) * sizeof(*b.from));
    b.rank = malloc(((size_t)v->n_tokens + 1) * sizeof(*b.rank));
    b.number = malloc(((size_t)v->n_tokens + 1) * sizeof(*b.number));
    if (!b.from || !b.rank || !b.number) {
        status = bpe_fail_memory(err, "a vocabulary's tables");
        goto out;
    }
    memset(b.rank, 0xFF, ((size_t)v->n_tokens + 1) * sizeof(*b.rank));
    status = v->merges ? index_pairs(&b, err) : index_twos(&b, err);
    for (id = 0; status == SLUICE_OK && id < v->n_tokens; id++) {
        if (v->tokens[id].kind == VOCAB_BYTES && v->tokens[id].len > 1) {
            isolate(&b, id);
        }
    }
    if (status == SLUICE_OK) {
        status = number_tokens(&b, err);
    }
    if (status == SLUICE_OK) {
        status = build_trie(&b, err);
    }
    if (status == SLUICE_OK) {
        status = build_odd(&b, err);
    }
    if (status == SLUICE_OK) {
        status = index_chars(&b, err);
    }
    if (status == SLUICE_OK && merge_parts_init(m, v) != 0) {
        status = bpe_fail_memory(err, "a vocabulary's tables");
    }
    if (status == SLUICE_OK) {
        status = merges_index_pieces(m, v, become, &b, err);
    }
out:
    free(b.from);
    free(b.rank);
    free(b.number);
    free(b.pairs);
    free(b.two);
    return status;
}

void merges_deinit(struct merges *m)
{
    free(m->out_id);
    free(m->split);
    free(m->len);
    free(m->prefix);
    free(m->byte_pair);
    free(m->pairs);
    free(m->joined);
    free(m->chars);
    free(m->border);
    trie_deinit(&m->trie);
    trie_deinit(&m->odd);
    free(m->odd_pairs);
    free(m->head);
    free(m->short_keys);
    free(m->short_ids);
    free(m->long_ids);
    memset(m, 0, sizeof(*m));
}
