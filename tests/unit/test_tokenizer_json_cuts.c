/* test_tokenizer_json_cuts.c — byte pairs over characters against a slow program that follows the
 * rules word by word, on random vocabularies over tricky alphabets: merging as such, and that
 * cutting where charbpe_cut says so changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/charbpe.h"
#include "split/pretoken_unicode.h"

static uint64_t state_of_random = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return (uint32_t)(state_of_random >> 20) % n;
}

/* Few characters, so that merges meet often; two share bytes; the last are in no vocabulary. */
static const char *const alphabet[] = {
    "a", "b",           " ", "\n", "\xC3\xA9", "\xC3\xA8", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80",
    "c", "\xE6\xBC\xA3"
};
#define KNOWN 8u
#define ALL 10u

/* A vocabulary with `n` random merges. `kind` bits: 1 byte_fallback, 2 not all bytes, 4 unk, 8
 * fuse_unk, 16 late with equal ranks, 32 cut_space, 64 the unknown token merges, 128 bytes merge */
static void make_vocab(struct vocab *v, unsigned kind, uint32_t n)
{
    struct sluice_error err = { .size = sizeof(err) };
    uint32_t id = 0, i, b;
    memset(v, 0, sizeof(*v));
    v->model = VOCAB_MODEL_CHARS;
    v->unk = VOCAB_NONE;
    memset(v->fallback, 0xFF, sizeof(v->fallback));
    v->byte_fallback = (kind & 1) != 0;
    v->fuse_unk = (kind & 8) != 0;
    v->late_fallback = (kind & 16) != 0;
    v->meta_cut = (kind & 32) != 0;
    if (kind & (4 | 16)) {
        v->unk = id;
        assert_int_equal(vocab_put(v, id++, "<unk>", 5, VOCAB_OPAQUE, &err), SLUICE_OK);
    }
    for (b = 0; v->byte_fallback && b < 256; b++) {
        const uint8_t byte = (uint8_t)b;
        if (!(kind & 2) || b % 7 != 3) {
            v->fallback[b] = id;
            assert_int_equal(vocab_put(v, id++, &byte, 1, VOCAB_BYTE, &err), SLUICE_OK);
        }
    }
    for (i = 0; i < KNOWN; i++) {
        if (random_below(8) > 0) {
            assert_int_equal(
                vocab_put(v, id++, alphabet[i], strlen(alphabet[i]), VOCAB_BYTES, &err), SLUICE_OK);
        }
    }
    v->merges = calloc(n, sizeof(*v->merges));
    assert_non_null(v->merges);
    for (i = 0; i < n && id > 2; i++) {
        struct vocab_merge *m = &v->merges[v->n_merges];
        uint8_t both[VOCAB_TOKEN_MOST];
        size_t k, l;
        m->a = random_below(id);
        m->b = random_below(id);
        if ((!(kind & 64) && (m->a == v->unk || m->b == v->unk)) ||
            (!(kind & 128) &&
             (v->tokens[m->a].kind == VOCAB_BYTE || v->tokens[m->b].kind == VOCAB_BYTE))) {
            if (v->byte_fallback && random_below(4) > 0) { /* there are so many bytes */
                i--;
            }
            continue;
        }
        k = v->tokens[m->a].len;
        l = v->tokens[m->b].len;
        if (k + l > 24) {
            continue;
        }
        memcpy(both, v->bytes + v->tokens[m->a].at, k);
        memcpy(both + k, v->bytes + v->tokens[m->b].at, l);
        for (b = 0; b < id; b++) { /* equal strings are one token, as in a file */
            if (v->tokens[b].kind == VOCAB_BYTES && v->tokens[b].len == k + l &&
                memcmp(v->bytes + v->tokens[b].at, both, k + l) == 0) {
                break;
            }
        }
        if (b == id) {
            assert_int_equal(vocab_put(v, id++, both, k + l, VOCAB_BYTES, &err), SLUICE_OK);
        }
        m->id = b;
        m->rank = v->late_fallback ? i / 3 : i;
        v->n_merges++;
    }
}

/* ---- the slow program ---- */

static uint32_t token_of_character(const struct vocab *v, const uint8_t *p, size_t n)
{
    uint32_t id;
    for (id = 0; id < v->n_tokens; id++) {
        if (v->tokens[id].kind == VOCAB_BYTES && v->tokens[id].len == n &&
            memcmp(v->bytes + v->tokens[id].at, p, n) == 0) {
            return id;
        }
    }
    return VOCAB_NONE;
}

static int all_bytes(const struct vocab *v, const uint8_t *p, size_t n)
{
    size_t k;
    for (k = 0; v->byte_fallback && k < n && v->fallback[p[k]] != VOCAB_NONE; k++) {
    }
    return v->byte_fallback && k == n;
}

static size_t slow_symbols(const struct vocab *v, const uint8_t *p, size_t len, uint32_t *out)
{
    const uint8_t *end = p + len;
    size_t n = 0, k, c;
    int waits = 0;
    for (; p < end; p += c) {
        uint32_t cp, id;
        c = utf8_decode(p, end, &cp);
        id = token_of_character(v, p, c);
        if (id != VOCAB_NONE) {
            if (waits) {
                out[n++] = v->unk;
            }
            waits = 0;
            out[n++] = id;
        } else if (v->late_fallback) {
            out[n++] = CHARBPE_RAW + cp;
        } else if (all_bytes(v, p, c)) {
            for (k = 0; k < c; k++) {
                out[n++] = v->fallback[p[k]];
            }
        } else if (v->unk != VOCAB_NONE) {
            if (waits && !v->fuse_unk) {
                out[n++] = v->unk;
            }
            waits = 1;
        }
    }
    if (waits) {
        out[n++] = v->unk;
    }
    return n;
}

static size_t slow_merge(const struct vocab *v, uint32_t *s, size_t n)
{
    for (;;) {
        const struct vocab_merge *best = NULL;
        size_t at = 0, i, k;
        for (i = 0; i + 1 < n; i++) {
            const struct vocab_merge *found = NULL;
            for (k = 0; k < v->n_merges; k++) { /* the last of equal pairs wins */
                found =
                    v->merges[k].a == s[i] && v->merges[k].b == s[i + 1] ? &v->merges[k] : found;
            }
            if (found && (!best || found->rank < best->rank)) {
                best = found;
                at = i;
            }
        }
        if (!best) {
            return n;
        }
        s[at] = best->id;
        n--;
        memmove(&s[at + 1], &s[at + 2], (n - at - 1) * sizeof(*s));
    }
}

static size_t slow_late(const struct vocab *v, const uint32_t *s, size_t n, uint32_t *out)
{
    size_t count = 0, i, k;
    int before = 0;
    for (i = 0; i < n; i++) {
        const char *text = NULL;
        if (s[i] < CHARBPE_RAW) {
            out[count++] = s[i];
            before = 0;
            continue;
        }
        for (k = 0; k < ALL; k++) {
            uint32_t cp;
            const uint8_t *p = (const uint8_t *)alphabet[k];
            (void)utf8_decode(p, p + strlen(alphabet[k]), &cp);
            text = cp + CHARBPE_RAW == s[i] ? alphabet[k] : text;
        }
        assert_non_null(text);
        if (all_bytes(v, (const uint8_t *)text, strlen(text))) {
            for (k = 0; text[k]; k++) {
                out[count++] = v->fallback[(uint8_t)text[k]];
            }
            before = 0;
        } else {
            if (!before || !v->fuse_unk) {
                out[count++] = v->unk;
            }
            before = 1;
        }
    }
    return count;
}

static size_t slow_encode(const struct vocab *v, const uint8_t *p, size_t len, uint32_t *out)
{
    uint32_t s[2048];
    size_t n = slow_merge(v, s, slow_symbols(v, p, len, s));
    if (v->late_fallback) {
        return slow_late(v, s, n, out);
    }
    memcpy(out, s, n * sizeof(*s));
    return n;
}

/* ---- tests ---- */

#define TEXT_MOST 1200u

static size_t cuts_made;

static void compare(const struct vocab *v, const struct charbpe *c, const uint8_t *text, size_t len,
                    unsigned kind)
{
    static uint64_t scratch[CHARBPE_SCRATCH(TEXT_MOST) / 8 + 1];
    uint32_t fast[TEXT_MOST], slow[TEXT_MOST];
    size_t pos = 0, n = 0, m = 0, from = 0, part = 0;
    while (pos <
           len) { /* the parts that Metaspace makes are the pieces; the slow program cuts there */
        size_t ends[3], start = pos, i;
        const size_t k = charbpe_cut(c, text, len, &pos, ends, 3);
        assert_true(k > 0 && pos == ends[k - 1] && pos > start);
        for (i = 0; i < k; i++) {
            n += charbpe_merge(c, text + start, ends[i] - start, fast + n, scratch);
            start = ends[i];
            part++;
            if (start == len || (v->meta_cut && text[start] == ' ')) {
                m += slow_encode(v, text + from, start - from, slow + m);
                from = start;
            }
        }
    }
    cuts_made += part - (part > 0);
    if (n != m || memcmp(fast, slow, n * sizeof(*fast)) != 0) {
        fail_msg("kind %u, %u merges: '%.*s' differs", kind, (unsigned)v->n_merges, (int)len, text);
    }
}

static size_t random_text(uint8_t *out, size_t most)
{
    const size_t length = random_below(4) ? 1 + random_below(16) : random_below((uint32_t)most);
    const uint32_t letters = 2 + random_below(ALL - 1);
    size_t n = 0;
    while (n + 4 < length) {
        const char *c = alphabet[random_below(8) ? random_below(letters) : random_below(ALL)];
        memcpy(out + n, c, strlen(c));
        n += strlen(c);
    }
    return n;
}

static void cuts_and_merges_are_exact(void **state)
{
    unsigned round;
    (void)state;
    for (round = 0; round < 600; round++) {
        const unsigned kind = round < 256 ? round : random_below(256);
        struct sluice_error err = { .size = sizeof(err) };
        struct vocab v;
        struct charbpe c;
        int i;
        make_vocab(&v, kind, 4 + random_below(50));
        assert_int_equal(charbpe_init(&c, &v, &err), SLUICE_OK);
        for (i = 0; i < 150; i++) {
            uint8_t text[400];
            compare(&v, &c, text, random_text(text, i % 30 == 0 ? 400 : 60), kind);
        }
        charbpe_deinit(&c);
        vocab_deinit(&v);
    }
    assert_true(cuts_made > 100000); /* else nothing was tested */
}

/* Bytes that are no UTF-8 are taken as they come, one by one. */
static void any_bytes(void **state)
{
    static uint64_t scratch[CHARBPE_SCRATCH(256) / 8 + 1];
    struct sluice_error err = { .size = sizeof(err) };
    struct vocab v;
    struct charbpe c;
    uint8_t text[256];
    uint32_t ids[256];
    size_t pos = 0, ends[256], n, i;
    (void)state;
    make_vocab(&v, 1, 20);
    assert_int_equal(charbpe_init(&c, &v, &err), SLUICE_OK);
    for (i = 0; i < 256; i++) {
        text[i] = (uint8_t)(255 - i);
    }
    n = charbpe_cut(&c, text, 256, &pos, ends, 256);
    assert_int_equal(pos, 256);
    assert_true(n > 1 && ends[n - 1] == 256);
    n = charbpe_merge(&c, text, 256, ids, scratch);
    assert_true(n > 200);
    assert_int_equal(ids[0], v.fallback[255]);
    charbpe_deinit(&c);
    vocab_deinit(&v);
}

/* Windows of a long part give what merging it at once does. */
static void windows_are_exact(void **state)
{
    static uint64_t scratch[CHARBPE_LONG_SCRATCH(TEXT_MOST) / 8 + 1];
    unsigned round, joined = 0;
    (void)state;
    for (round = 0; round < 256; round++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct vocab v;
        struct charbpe c;
        int i;
        make_vocab(&v, round, 4 + random_below(50));
        assert_int_equal(charbpe_init(&c, &v, &err), SLUICE_OK);
        for (i = 0; i < 20; i++) {
            uint8_t text[TEXT_MOST];
            uint32_t once[TEXT_MOST], many[TEXT_MOST];
            const uint32_t window = CHARBPE_WINDOW_LEAST << random_below(4);
            size_t len, n, m;
            do {
                len = random_text(text, TEXT_MOST);
            } while (len < 100);
            n = charbpe_merge(&c, text, len, once, scratch);
            m = charbpe_merge_long(&c, text, len, many, window, scratch);
            if (m == CHARBPE_UNJOINED) {
                continue;
            }
            joined++;
            if (n != m || memcmp(once, many, n * sizeof(*once)) != 0) {
                fail_msg("kind %u, window %u: '%.*s' differs", round, window, (int)len, text);
            }
        }
        charbpe_deinit(&c);
        vocab_deinit(&v);
    }
    assert_true(joined > 2000); /* else nothing was tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_and_merges_are_exact),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(windows_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
