/* charbpe_long.c — a long part in windows that overlap, in memory that does not depend on its
 * length. See charbpe.h.
 *
 * Merging takes, again and again, the pair of the lowest (rank, place). Two facts about it, for any
 * list of merges:
 *   (1) Let a window be some of the symbols side by side. As long as nothing has been merged across
 *   its
 *       two ends, the merges done inside are, in order, the first ones of the window on its own:
 *       what is taken inside is the lowest there, and nothing else changes the window.
 *   (2) So if a text ends up as the tokens t1 .. tn, each two neighbours on their own end up as
 *   these two
 *       (by 1, with ends that are never crossed). And if each two neighbours t(i), t(i + 1) on
 *       their own end up as these two, then the text ends up as t1 .. tn: were anything merged
 *       across some border, take the first such merge, between t(i) and t(i + 1). Until then no
 *       border was crossed, so by (1) the two on their own would do this merge too.
 * Let two windows that overlap have a token in common, over the same symbols. By (2) all neighbours
 * in each window end up as themselves; so do those of the sequence that takes the first window's
 * tokens up to the common one and the second's from there; by (2) that is what both windows'
 * symbols end up as. And so on for more windows.
 *
 * Symbols are read beforehand and from left to right, so that unknown characters are what they are
 * in the whole part. */
#include <string.h>

#include "model/charbpe_int.h"

struct window {
    uint32_t *raw, *tokens, *places; /* symbols; what they merge to, and where that begins in raw */
    size_t n_raw, n;
    uint32_t *held, *held_places; /* the tokens of the window before from raw[0] on */
    size_t n_held;
    void *scratch;
};

static void lay_out(struct window *w, size_t size, void *scratch)
{
    memset(w, 0, sizeof(*w));
    w->scratch = scratch;
    w->tokens = (uint32_t *)(void *)((uint64_t *)scratch + 2 * size) + 3 * size;
    w->raw = w->tokens + size;
    w->places = w->raw + size;
    w->held = w->places + size;
    w->held_places = w->held + size / 2;
}

/* Where token k of the window ends in raw. */
static size_t end_of(const uint32_t *places, size_t n, size_t k, size_t end)
{
    return k + 1 < n ? places[k + 1] : end;
}

/* Finds a token that is both held and in the window. 0 when there is none. `end`: of what is
 * held. */
static int find_common(const struct window *w, size_t end, size_t *held, size_t *own)
{
    size_t i = 0, j = 0;
    while (i < w->n_held && j < w->n) {
        if (w->held_places[i] < w->places[j]) {
            i++;
        } else if (w->held_places[i] > w->places[j]) {
            j++;
        } else if (end_of(w->held_places, w->n_held, i, end) ==
                   end_of(w->places, w->n, j, w->n_raw)) {
            *held = i;
            *own = j;
            return 1;
        } else {
            i++;
            j++;
        }
    }
    return 0;
}

size_t charbpe_merge_long(const struct charbpe *c, const uint8_t *p, size_t n, uint32_t *out,
                          size_t size, void *scratch)
{
    struct charbpe_reader r = { p, p, p + n, 0 };
    struct window w;
    size_t count = 0, held_end = 0;
    int unknown = 0, last;
    lay_out(&w, size, scratch);
    do {
        size_t i = 0, j = 0, keep, k;
        w.n_raw += charbpe_read(c, &r, w.raw + w.n_raw, size - w.n_raw);
        last = r.p == r.end && !r.unknown;
        memcpy(w.tokens, w.raw, w.n_raw * sizeof(*w.raw));
        w.n = charbpe_merge_symbols(c, w.tokens, w.n_raw, w.places, w.scratch);
        if (w.n_held > 0) {
            if (!find_common(&w, held_end, &i, &j)) {
                return CHARBPE_UNJOINED;
            }
            count += charbpe_resolve(c, w.held, i, &unknown, out + count);
        }
        /* The last eighth stays for the next window, which begins with a token of this one. */
        keep = w.n;
        while (!last && keep > j && w.places[keep - 1] + size / 8 > w.n_raw) {
            keep--;
        }
        if (!last && (keep <= j + 1 || w.n_raw - w.places[keep - 1] > size / 2)) {
            return CHARBPE_UNJOINED; /* tokens nearly as long as windows */
        }
        keep -= !last;
        count += charbpe_resolve(c, w.tokens + j, keep - j, &unknown, out + count);
        if (!last) {
            const uint32_t from = w.places[keep];
            w.n_held = w.n - keep;
            for (k = 0; k < w.n_held; k++) {
                w.held[k] = w.tokens[keep + k];
                w.held_places[k] = w.places[keep + k] - from;
            }
            w.n_raw -= from;
            held_end = w.n_raw;
            memmove(w.raw, w.raw + from, w.n_raw * sizeof(*w.raw));
        }
    } while (!last);
    return count;
}
