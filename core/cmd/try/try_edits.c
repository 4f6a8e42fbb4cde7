/* What a stage changed in a text: the shortest edit script over words (E. Myers, "An O(ND)
 * Difference Algorithm and Its Variations", 1986), as the places where words differ. See try.h. */
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/facts/facts.h"

#define MOST_EDITS 400 /* of words; texts that are further apart are one place */
#define AROUND 40      /* bytes of what stayed, on either side of a place */
#define MOST_SHOWN 400 /* bytes of what was removed, or added */

struct words {
    const char *text;
    uint32_t *begin; /* n + 1 of them; owned */
    uint32_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A word has the blanks behind it. */
static bool words_of(const char *text, size_t n, struct words *words)
{
    size_t i = 0;

    *words = (struct words){ text, malloc((n + 1) * sizeof *words->begin), 0 };
    if (words->begin == NULL || n > UINT32_MAX) {
        return false;
    }
    while (i < n) {
        words->begin[words->n++] = (uint32_t)i;
        while (i < n && !is_blank(text[i])) {
            i++;
        }
        while (i < n && is_blank(text[i])) {
            i++;
        }
    }
    words->begin[words->n] = (uint32_t)n;
    return true;
}

static bool same_word(const struct words *a, uint32_t i, const struct words *b, uint32_t k)
{
    uint32_t n = a->begin[i + 1] - a->begin[i];

    return n == b->begin[k + 1] - b->begin[k] &&
           memcmp(a->text + a->begin[i], b->text + b->begin[k], n) == 0;
}

/* Words from..to of each text, which differ. */
struct place_edited {
    uint32_t from[2], to[2];
};

struct diff {
    struct words words[2];
    struct place_edited *places;
    size_t n, room;
    bool failed;
};

static void add_place(struct diff *diff, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
    struct place_edited *last = diff->n > 0 ? &diff->places[diff->n - 1] : NULL;

    if (last != NULL && last->to[0] == a && last->to[1] == b) {
        last->to[0] = a_end;
        last->to[1] = b_end;
        return;
    }
    if (diff->n == diff->room) {
        size_t room = diff->room == 0 ? 8 : 2 * diff->room;
        struct place_edited *more = realloc(diff->places, room * sizeof *more);
        if (more == NULL) {
            diff->failed = true;
            return;
        }
        diff->places = more;
        diff->room = room;
    }
    diff->places[diff->n++] = (struct place_edited){ { a, b }, { a_end, b_end } };
}

/* The furthest place on diagonal k after d edits: from an insertion or a removal, then along what
 * is equal. reach has those of d - 1. */
static int32_t step(const struct diff *diff, const int32_t *reach, int32_t k, int32_t d,
                    const uint32_t begin, const uint32_t ends[2])
{
    int32_t x = d == 0                                               ? 0
                : k == -d || (k != d && reach[k - 1] < reach[k + 1]) ? reach[k + 1]
                                                                     : reach[k - 1] + 1;
    int32_t y = x - k;

    while (begin + (uint32_t)x < ends[0] && begin + (uint32_t)y < ends[1] &&
           same_word(&diff->words[0], begin + (uint32_t)x, &diff->words[1], begin + (uint32_t)y)) {
        x++;
        y++;
    }
    return x;
}

/* Goes back through what each number of edits reached, and adds the places, the first first. */
static void trace_back(struct diff *diff, const int32_t *all, int32_t d, uint32_t begin,
                       const uint32_t ends[2])
{
    const size_t width = 2 * MOST_EDITS + 3;
    struct place_edited *steps = calloc((size_t)d + 1, sizeof *steps);
    int32_t x = (int32_t)(ends[0] - begin);
    int32_t y = (int32_t)(ends[1] - begin);
    int32_t n = 0;

    if (steps == NULL) {
        diff->failed = true;
        return;
    }
    for (; d > 0; d--) {
        const int32_t *reach = all + (size_t)(d - 1) * width + MOST_EDITS + 1;
        int32_t k = x - y;
        bool added = k == -d || (k != d && reach[k - 1] < reach[k + 1]);
        int32_t from_x = added ? reach[k + 1] : reach[k - 1];
        int32_t from_y = from_x - (added ? k + 1 : k - 1);
        steps[n++] = (struct place_edited){ { begin + (uint32_t)from_x, begin + (uint32_t)from_y },
                                            { begin + (uint32_t)from_x + !added,
                                              begin + (uint32_t)from_y + added } };
        x = from_x;
        y = from_y;
    }
    while (n > 0) {
        const struct place_edited *s = &steps[--n];
        add_place(diff, s->from[0], s->to[0], s->from[1], s->to[1]);
    }
    free(steps);
}

static void compare(struct diff *diff)
{
    const size_t width = 2 * MOST_EDITS + 3;
    const struct words *a = &diff->words[0];
    const struct words *b = &diff->words[1];
    uint32_t ends[2] = { a->n, b->n };
    uint32_t begin = 0;
    int32_t *all;

    while (begin < a->n && begin < b->n && same_word(a, begin, b, begin)) {
        begin++;
    }
    while (ends[0] > begin && ends[1] > begin && same_word(a, ends[0] - 1, b, ends[1] - 1)) {
        ends[0]--;
        ends[1]--;
    }
    if (begin == ends[0] && begin == ends[1]) {
        return;
    }
    all = calloc((MOST_EDITS + 1) * width, sizeof *all);
    if (all == NULL) {
        diff->failed = true;
        return;
    }
    for (int32_t d = 0; d <= MOST_EDITS; d++) {
        int32_t *reach = all + (size_t)d * width + MOST_EDITS + 1;
        const int32_t *before = d == 0 ? reach : reach - width;
        for (int32_t k = -d; k <= d; k += 2) {
            int32_t x;
            /* Outside of the texts there is nothing to reach. */
            if (k > (int32_t)(ends[0] - begin) || -k > (int32_t)(ends[1] - begin)) {
                reach[k] = -1;
                continue;
            }
            x = step(diff, before, k, d, begin, ends);
            reach[k] = x;
            if (x >= (int32_t)(ends[0] - begin) && x - k >= (int32_t)(ends[1] - begin)) {
                trace_back(diff, all, d, begin, ends);
                free(all);
                return;
            }
        }
    }
    free(all);
    add_place(diff, begin, ends[0], begin, ends[1]);
}

/* Bytes from..to of a text, at most so many: the last of them, or the first; whole characters. */
static json_t *part(const char *text, uint32_t from, uint32_t to, uint32_t most, bool last)
{
    if (to - from > most && last) {
        from = to - most;
        while (from < to && ((unsigned char)text[from] & 0xc0) == 0x80) {
            from++;
        }
    } else if (to - from > most) {
        to = from + most;
        while (to > from && ((unsigned char)text[to] & 0xc0) == 0x80) {
            to--;
        }
    }
    return facts_text(text + from, to - from);
}

static json_t *place_json_of(const struct diff *diff, size_t i)
{
    const struct place_edited *place = &diff->places[i];
    const struct words *a = &diff->words[0];
    const struct words *b = &diff->words[1];
    uint32_t low = i == 0 ? 0 : a->begin[diff->places[i - 1].to[0]];
    uint32_t high = i + 1 == diff->n ? a->begin[a->n] : a->begin[diff->places[i + 1].from[0]];
    uint32_t from = a->begin[place->from[0]];
    uint32_t to = a->begin[place->to[0]];

    return json_pack(
        "{s:o, s:o, s:o, s:o}", "before", part(a->text, low, from, AROUND, true), "removed",
        part(a->text, from, to, MOST_SHOWN, false), "added",
        part(b->text, b->begin[place->from[1]], b->begin[place->to[1]], MOST_SHOWN, false), "after",
        part(a->text, to, high, AROUND, false));
}

json_t *edits_json(const char *before, size_t n_before, const char *after, size_t n_after,
                   size_t most)
{
    struct diff diff = { 0 };
    json_t *list = json_array();
    bool ok = words_of(before, n_before, &diff.words[0]) &&
              words_of(after, n_after, &diff.words[1]) && list != NULL;

    if (ok) {
        compare(&diff);
    }
    for (size_t i = 0; ok && !diff.failed && i < diff.n && i < most; i++) {
        json_array_append_new(list, place_json_of(&diff, i));
    }
    free(diff.words[0].begin);
    free(diff.words[1].begin);
    free(diff.places);
    if (!ok || diff.failed) {
        json_decref(list);
        return NULL;
    }
    return list;
}
