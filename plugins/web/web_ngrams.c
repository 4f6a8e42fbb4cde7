/* web_ngrams.c - see web_ngrams.h.
 *
 * An n-gram that is repeated begins where two (n-1)-grams that are repeated begin side by side, and
 * is known by their two numbers. So each n looks only at the places that n - 1 left, which soon are
 * few. */
#include "web_ngrams.h"

#include <sluice_arrays.h>

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void web_ngrams_deinit(struct web_ngrams *grams)
{
    free(grams->arena);
    memset(grams, 0, sizeof *grams);
}

static size_t slots_for(size_t n)
{
    size_t slots = 64;

    while (slots < 2 * n) {
        slots *= 2;
    }
    return slots;
}

/* Cuts the arena: five arrays of numbers, keys and slots. */
static int32_t arena_cut(struct web_ngrams *grams, size_t n, struct sluice_error *err)
{
    size_t slots = slots_for(n);
    size_t need = n * (5 * sizeof(uint32_t) + sizeof(uint64_t)) + slots * sizeof(uint64_t) + 64;
    char *at;

    if (need > grams->arena_size) {
        void *arena = malloc(need + need / 4);
        if (arena == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for n-grams");
        }
        free(grams->arena);
        grams->arena = arena;
        grams->arena_size = need + need / 4;
    }
    at = grams->arena;
    grams->slots = (uint64_t *)(void *)at;
    at += slots * sizeof(uint64_t);
    grams->keys = (uint64_t *)(void *)at;
    at += n * sizeof(uint64_t);
    grams->lengths = (uint32_t *)(void *)at;
    grams->gram = grams->lengths + n;
    grams->counts = grams->gram + n;
    grams->places = grams->counts + n;
    grams->first = grams->places + n;
    return SLUICE_OK;
}

static uint64_t slot_of(uint64_t hash, size_t number)
{
    return (hash & 0xFFFFFFFF00000000u) | (number + 1);
}

static size_t slot_number(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* Leaves in `places`, from n_places candidates, those whose gram occurs more than once. */
static void places_keep(struct web_ngrams *grams)
{
    size_t kept = 0;

    for (size_t i = 0; i < grams->n_places; i++) {
        uint32_t place = grams->places[i];
        if (grams->counts[grams->gram[place]] > 1) {
            grams->places[kept++] = place;
        }
    }
    grams->n_places = kept;
}

static bool same_bytes(const char *text, struct text_span a, struct text_span b)
{
    size_t n = a.end - a.begin;

    return n == b.end - b.begin && memcmp(text + a.begin, text + b.begin, n) == 0;
}

int32_t web_ngrams_begin(struct web_ngrams *grams, const char *text, const struct text_span *spans,
                         size_t count, bool chars, struct sluice_error *err)
{
    size_t mask = slots_for(count) - 1;
    size_t distinct = 0;
    int32_t status = arena_cut(grams, count, err);

    if (status != SLUICE_OK) {
        return status;
    }
    grams->spans = spans;
    grams->count = count;
    grams->total = 0;
    grams->n = 1;
    memset(grams->slots, 0, (mask + 1) * sizeof grams->slots[0]);
    for (size_t i = 0; i < count; i++) {
        const char *bytes = text + spans[i].begin;
        size_t n = spans[i].end - spans[i].begin;
        uint64_t hash = XXH3_64bits(bytes, n);
        size_t at = (size_t)hash & mask;
        size_t number = distinct;
        grams->lengths[i] = (uint32_t)(chars ? text_utf8_count(bytes, n) : n);
        grams->total += grams->lengths[i];
        for (; grams->slots[at] != 0; at = (at + 1) & mask) {
            size_t other = slot_number(grams->slots[at]);
            if ((grams->slots[at] ^ hash) >> 32 == 0 &&
                same_bytes(text, spans[grams->first[other]], spans[i])) {
                number = other;
                break;
            }
        }
        if (number == distinct) {
            grams->slots[at] = slot_of(hash, number);
            grams->first[number] = (uint32_t)i;
            grams->counts[number] = 0;
            distinct++;
        }
        grams->counts[number]++;
        grams->gram[i] = (uint32_t)number;
        grams->places[i] = (uint32_t)i;
    }
    grams->n_places = count;
    places_keep(grams);
    return SLUICE_OK;
}

static uint64_t key_hash(uint64_t key)
{
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    return key ^ key >> 32;
}

void web_ngrams_next(struct web_ngrams *grams)
{
    size_t candidates = 0;
    size_t distinct = 0;
    size_t mask;

    grams->n++;
    for (size_t i = 0; i + 1 < grams->n_places; i++) {
        if (grams->places[i + 1] == grams->places[i] + 1) {
            grams->places[candidates++] = grams->places[i];
        }
    }
    grams->n_places = candidates;
    mask = slots_for(candidates) - 1;
    memset(grams->slots, 0, (mask + 1) * sizeof grams->slots[0]);
    for (size_t i = 0; i < candidates; i++) {
        uint32_t place = grams->places[i];
        uint64_t key = (uint64_t)grams->gram[place] << 32 | grams->gram[place + 1];
        uint64_t hash = key_hash(key);
        size_t at = (size_t)hash & mask;
        size_t number = distinct;
        for (; grams->slots[at] != 0; at = (at + 1) & mask) {
            if (grams->keys[slot_number(grams->slots[at])] == key) {
                number = slot_number(grams->slots[at]);
                break;
            }
        }
        if (number == distinct) {
            grams->slots[at] = slot_of(hash, number);
            grams->keys[number] = key;
            grams->first[number] = place;
            grams->counts[number] = 0;
            distinct++;
        }
        grams->counts[number]++;
        /* gram[place] is not read again: the next place needs those behind it */
        grams->gram[place] = (uint32_t)number;
    }
    places_keep(grams);
}

void web_ngrams_repeated(const struct web_ngrams *grams, size_t *elements, uint64_t *length)
{
    *elements = grams->n_places;
    *length = 0;
    for (size_t i = 0; i < grams->n_places; i++) {
        *length += grams->lengths[grams->places[i]];
    }
}

static uint64_t length_of(const struct web_ngrams *grams, size_t begin, size_t end)
{
    uint64_t length = 0;

    for (size_t i = begin; i < end; i++) {
        length += grams->lengths[i];
    }
    return length;
}

uint64_t web_ngrams_cover(const struct web_ngrams *grams)
{
    uint64_t length = 0;
    size_t covered = 0;

    for (size_t i = 0; i < grams->n_places; i++) {
        size_t begin = grams->places[i];
        size_t end = begin + grams->n;
        length += length_of(grams, begin > covered ? begin : covered, end);
        covered = end;
    }
    return length;
}

void web_ngrams_top(const struct web_ngrams *grams, uint32_t *count, uint64_t *length,
                    uint64_t *cover)
{
    uint32_t best = 0;
    size_t covered = 0;

    *count = 0;
    *length = 0;
    *cover = 0;
    for (size_t i = 0; i < grams->n_places; i++) {
        uint32_t place = grams->places[i];
        uint32_t number = grams->gram[place];
        if (grams->first[number] == place && grams->counts[number] >= *count) {
            uint64_t here = length_of(grams, place, place + grams->n);
            if (grams->counts[number] > *count || here > *length) {
                best = number;
                *count = grams->counts[number];
                *length = here;
            }
        }
    }
    for (size_t i = 0; *count > 0 && i < grams->n_places; i++) {
        size_t begin = grams->places[i];
        if (grams->gram[begin] == best) {
            *cover += length_of(grams, begin > covered ? begin : covered, begin + grams->n);
            covered = begin + grams->n;
        }
    }
}
