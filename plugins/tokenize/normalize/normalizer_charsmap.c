/* normalizer_charsmap.c — see the header. The layout is Darts-clone's (Susumu Yata): a unit has its
 * label in the low byte, bit 8 says that a value hangs on it, the rest is the offset of its
 * children; a value's unit has bit 31 set. */
#include "normalize/normalizer_charsmap.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "text/text_base64.h"

#define CLUSTER_MOST 6 /* tokenizers looks up clusters of fewer bytes */

static int has_leaf(uint32_t unit)
{
    return (int)(unit >> 8 & 1u);
}

static uint32_t value_of(uint32_t unit)
{
    return unit & 0x7FFFFFFFu;
}

static uint32_t label_of(uint32_t unit)
{
    return unit & 0x800000FFu;
}

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << ((unit & 0x200u) >> 6);
}

static int32_t damaged(struct sluice_error *err, const char *what)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "the precompiled_charsmap %s; it is damaged, fetch the tokenizer file again",
                    what);
}

/* Notes how much the rule of `depth` bytes with this value makes of a byte. */
static int note_value(struct charsmap *map, uint32_t value, size_t depth)
{
    size_t len, i, spaces = 0, growth;
    if (value >= map->n_texts) {
        return -1;
    }
    if (((unsigned char)map->texts[value] & 0xC0u) == 0x80) {
        return -1; /* inside a character */
    }
    len = strlen(map->texts + value);
    for (i = 0; i < len; i++) {
        spaces += map->texts[value + i] == ' ';
    }
    growth = (len + depth - 1) / depth;
    map->growth = growth > map->growth ? growth : map->growth;
    growth = (len + 2 * spaces + depth - 1) / depth;
    map->space_growth = growth > map->space_growth ? growth : map->space_growth;
    return 0;
}

struct visit {
    uint32_t node, depth;
};

/* Walks all of the array breadth first, so that a unit that several rules share (the array is made
 * from a graph) counts with the fewest bytes that lead to it. A child outside damages it. */
static int32_t check(struct charsmap *map, struct sluice_error *err)
{
    uint8_t *seen = calloc(map->n_units / 8 + 1, 1);
    struct visit *queue = malloc((map->n_units + 1) * sizeof(*queue));
    size_t n = 0, next;
    int32_t status = SLUICE_OK;
    if (!seen || !queue) {
        free(seen);
        free(queue);
        return bpe_fail_memory(err, "a charsmap");
    }
    queue[n++] = (struct visit){ .node = 0, .depth = 0 };
    for (next = 0; next < n && status == SLUICE_OK; next++) {
        struct visit at = queue[next];
        uint32_t unit = map->units[at.node], base = at.node ^ offset_of(unit), c;
        if (at.depth > 0 && has_leaf(unit) &&
            (base >= map->n_units || note_value(map, value_of(map->units[base]), at.depth) != 0)) {
            status = damaged(err, "has a rule whose replacement lies outside");
        }
        for (c = 1; c < 256 && status == SLUICE_OK; c++) {
            uint32_t child = base ^ c;
            if (child >= map->n_units) {
                status = damaged(err, "has a unit whose children lie outside");
            } else if (label_of(map->units[child]) == c && !(seen[child >> 3] >> (child & 7) & 1)) {
                seen[child >> 3] = (uint8_t)(seen[child >> 3] | 1u << (child & 7));
                queue[n++] = (struct visit){ .node = child, .depth = at.depth + 1 };
            }
        }
    }
    free(seen);
    free(queue);
    return status;
}

static int is_utf8(const uint8_t *p, size_t len)
{
    const uint8_t *end = p + len;
    while (p < end) {
        uint32_t cp;
        size_t n = utf8_decode(p, end, &cp);
        if (n == 1 && *p >= 0x80) {
            return 0;
        }
        p += n;
    }
    return 1;
}

int32_t charsmap_init(struct charsmap *map, const void *blob, size_t size, struct sluice_error *err)
{
    const uint8_t *p = blob;
    size_t i, trie;
    int32_t status;
    memset(map, 0, sizeof(*map));
    map->growth = 1;
    map->space_growth = 3;
    if (size < 4) {
        return damaged(err, "is shorter than its header");
    }
    trie = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (trie % 4 != 0 || trie < 4 || trie >= size - 4) {
        return damaged(err, "is shorter than its header says");
    }
    if (p[size - 1] != 0 || !is_utf8(p + 4 + trie, size - 4 - trie)) {
        return damaged(err, "has replacements that are not UTF-8 ended by zeros");
    }
    map->n_units = trie / 4;
    map->n_texts = size - 4 - trie;
    map->units = malloc(trie);
    map->texts = malloc(map->n_texts);
    if (!map->units || !map->texts) {
        charsmap_deinit(map);
        return bpe_fail_memory(err, "a charsmap");
    }
    for (i = 0; i < map->n_units; i++) {
        const uint8_t *q = p + 4 + 4 * i;
        map->units[i] = q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24;
    }
    memcpy(map->texts, p + 4 + trie, map->n_texts);
    status = check(map, err);
    if (status != SLUICE_OK) {
        charsmap_deinit(map);
    }
    return status;
}

void charsmap_deinit(struct charsmap *map)
{
    free(map->units);
    free(map->texts);
    memset(map, 0, sizeof(*map));
}

int32_t charsmap_decode(const char *text, size_t n, void **out, size_t *size,
                        struct sluice_error *err)
{
    uint8_t *bytes;
    if (n == 0 || n % 4 != 0) {
        return damaged(err, "is not padded base64");
    }
    bytes = malloc(n / 4 * 3);
    if (!bytes) {
        return bpe_fail_memory(err, "a charsmap");
    }
    *size = text_base64_decode(text, n, bytes);
    if (*size == (size_t)-1) {
        free(bytes);
        return damaged(err, "is not base64");
    }
    *out = bytes;
    return SLUICE_OK;
}

/* Walks from the root along [p, end). Calls back at each rule: here, the first or the longest. */
static size_t match(const struct charsmap *map, const uint8_t *p, const uint8_t *end, int longest,
                    const char **text)
{
    const uint8_t *begin = p;
    size_t found = 0;
    uint32_t node = offset_of(map->units[0]);
    for (; p < end && *p != 0; p++) {
        uint32_t unit;
        node ^= *p;
        if (node >= map->n_units) {
            break;
        }
        unit = map->units[node];
        if (label_of(unit) != *p) {
            break;
        }
        node ^= offset_of(unit);
        if (has_leaf(unit)) {
            found = (size_t)(p + 1 - begin);
            *text = map->texts + value_of(map->units[node]);
            if (!longest) {
                break;
            }
        }
    }
    return found;
}

size_t charsmap_longest(const struct charsmap *map, const uint8_t *p, const uint8_t *end,
                        const char **text, size_t *len)
{
    size_t n = map->n_units > 0 ? match(map, p, end, 1, text) : 0;
    *len = n > 0 ? strlen(*text) : 0;
    return n;
}

int charsmap_is_plain(const struct charsmap *map, uint8_t byte)
{
    uint32_t node, c;
    if (map->n_units == 0) {
        return 1;
    }
    node = offset_of(map->units[0]) ^ byte;
    if (node >= map->n_units || label_of(map->units[node]) != byte) {
        return 1;
    }
    if (has_leaf(map->units[node])) {
        return 0;
    }
    for (c = 1; c < 0x80; c++) {
        uint32_t child = node ^ offset_of(map->units[node]) ^ c;
        if (child < map->n_units && label_of(map->units[child]) == c) {
            return 0;
        }
    }
    return 1;
}

/* The characters that wait for the next one: it may still count against the last of them. */
struct emitter {
    struct normalizer_sink *sink;
    uint32_t cp;
    long change;
    int has;
};

static void emit(struct emitter *e, uint32_t cp, long change)
{
    if (e->has) {
        sink_change(e->sink, e->cp, e->change);
    }
    e->cp = cp;
    e->change = change;
    e->has = 1;
}

static long count(const uint8_t *p, const uint8_t *end)
{
    long n = 0;
    for (; p < end; p++) {
        n += (*p & 0xC0) != 0x80;
    }
    return n;
}

/* `new` in place of [p, end): characters beyond the old number are new ones, missing ones count
 * against the last before them (tokenizers, normalizers/precompiled.rs). */
static void replace(struct emitter *e, const uint8_t *p, const uint8_t *end, const char *new)
{
    const uint8_t *q = (const uint8_t *)new, *new_end = q + strlen(new);
    long old = count(p, end), left = count(q, new_end), diff = left - old;
    for (; q < new_end; left--) {
        uint32_t cp;
        q += utf8_decode(q, new_end, &cp);
        emit(e, cp, left <= diff);
    }
    if (diff < 0 && e->has) {
        e->change += diff;
    }
}

static int put_cluster(const struct charsmap *map, struct emitter *e, const uint8_t *p,
                       const uint8_t *end)
{
    const char *text;
    int changed = 0;
    if (end - p < CLUSTER_MOST && match(map, p, end, 0, &text) > 0) {
        replace(e, p, end, text);
        return 1;
    }
    while (p < end) {
        uint32_t cp;
        size_t n = utf8_decode(p, end, &cp);
        if (match(map, p, p + n, 0, &text) > 0) {
            replace(e, p, p + n, text);
            changed = 1;
        } else {
            emit(e, cp, 0);
        }
        p += n;
    }
    return changed;
}

int charsmap_run(const struct charsmap *map, const struct normalizer_unicode *unicode,
                 struct normalizer_sink *sink)
{
    struct emitter e = { .sink = sink };
    const uint8_t *p = sink->in;
    int changed = 0;
    while (p < sink->in_end && !sink->failed) {
        const uint8_t *next = grapheme_end(unicode, p, sink->in_end);
        changed |= put_cluster(map, &e, p, next);
        p = next;
    }
    if (e.has) {
        sink_change(sink, e.cp, e.change);
    }
    return sink->failed ? -1 : changed;
}
