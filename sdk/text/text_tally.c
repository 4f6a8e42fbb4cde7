/* text_tally.c — see text_tally.h. */
#include "text/text_tally.h"

#include "text/text_hash.h"
#include "text/text_utf8.h"

#include <string.h>

size_t text_tally_bytes(size_t most)
{
    return text_hash_slots(most) * sizeof(uint64_t) + most * sizeof(struct text_tally_entry);
}

void text_tally_init(struct text_tally *tally, void *memory, size_t most)
{
    size_t slots = text_hash_slots(most);

    tally->slots = memory;
    tally->entries = (struct text_tally_entry *)(void *)(tally->slots + slots);
    tally->mask = slots - 1;
    tally->count = 0;
    tally->total = 0;
    memset(tally->slots, 0, slots * sizeof *tally->slots);
}

/* Slots are found by the lower half of a hash and told apart by the upper one. */
static inline size_t first_slot(const struct text_tally *tally, uint64_t hash)
{
    return (size_t)hash & tally->mask;
}

static inline void add_entry(struct text_tally *tally, size_t at, uint64_t hash, size_t place)
{
    tally->entries[tally->count] = (struct text_tally_entry){ (uint32_t)place, 1 };
    tally->slots[at] = text_hash_slot(hash, (uint32_t)tally->count++);
}

/* ---- pieces ---- */

/* The slot of those bytes: theirs, or the free one where they belong. */
static inline size_t find_piece(const struct text_tally *tally, const char *text,
                                const struct text_span *pieces, const char *bytes, size_t len,
                                uint64_t hash)
{
    size_t at = first_slot(tally, hash);

    for (; tally->slots[at] != 0; at = (at + 1) & tally->mask) {
        if (text_hash_same(tally->slots[at], hash)) {
            uint32_t first = tally->entries[text_hash_index(tally->slots[at])].first;
            struct text_span piece = pieces[first];
            if (piece.end - piece.begin == len && memcmp(text + piece.begin, bytes, len) == 0) {
                break;
            }
        }
    }
    return at;
}

void text_tally_pieces(struct text_tally *tally, const char *text, const struct text_span *pieces,
                       size_t n, uint32_t *ids)
{
    for (size_t i = 0; i < n; i++) {
        const char *bytes = text + pieces[i].begin;
        size_t len = pieces[i].end - pieces[i].begin;
        uint64_t hash = text_hash_bytes(bytes, len);
        size_t at = find_piece(tally, text, pieces, bytes, len, hash);
        if (tally->slots[at] == 0) {
            add_entry(tally, at, hash, i);
        } else {
            tally->entries[text_hash_index(tally->slots[at])].count++;
        }
        if (ids != NULL) {
            ids[i] = text_hash_index(tally->slots[at]);
        }
    }
    tally->total = n;
}

const struct text_tally_entry *text_tally_find(const struct text_tally *tally, const char *text,
                                               const struct text_span *pieces, const char *bytes,
                                               size_t len)
{
    size_t at = find_piece(tally, text, pieces, bytes, len, text_hash_bytes(bytes, len));

    return tally->slots[at] == 0 ? NULL : &tally->entries[text_hash_index(tally->slots[at])];
}

/* ---- runs ---- */

static inline uint64_t item_hash(uint32_t item)
{
    return text_hash_mix(item ^ TEXT_HASH_A, TEXT_HASH_B);
}

void text_tally_runs(struct text_tally *tally, const uint32_t *items, size_t count, size_t n,
                     uint8_t *again)
{
    uint64_t rolling =
        0; /* of a run: the sum of its items' hashes, each times a power of TEXT_HASH_A */
    uint64_t leaving = 1; /* the power of the item that leaves */

    if (n == 0 || count < n) {
        return;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        rolling = rolling * TEXT_HASH_A + item_hash(items[i]);
        leaving *= TEXT_HASH_A;
    }
    for (size_t i = 0; i + n <= count; i++) {
        uint64_t hash;
        size_t at;
        rolling = rolling * TEXT_HASH_A + item_hash(items[i + n - 1]);
        hash = text_hash_mix(rolling ^ TEXT_HASH_B, TEXT_HASH_A);
        rolling -= item_hash(items[i]) * leaving;
        for (at = first_slot(tally, hash); tally->slots[at] != 0; at = (at + 1) & tally->mask) {
            if (text_hash_same(tally->slots[at], hash) &&
                memcmp(items + tally->entries[text_hash_index(tally->slots[at])].first, items + i,
                       n * sizeof *items) == 0) {
                break;
            }
        }
        if (again != NULL) {
            again[i] = tally->slots[at] != 0;
        }
        if (tally->slots[at] == 0) {
            add_entry(tally, at, hash, i);
        } else {
            tally->entries[text_hash_index(tally->slots[at])].count++;
        }
    }
    tally->total = count - n + 1;
}

const uint32_t *text_tally_times(struct text_tally *tally, uint32_t *most)
{
    uint32_t *times = (uint32_t *)(void *)tally->slots; /* more than `total` of them */

    *most = 0;
    for (size_t k = 0; k < tally->count; k++) {
        *most = tally->entries[k].count > *most ? tally->entries[k].count : *most;
    }
    memset(times, 0, ((size_t)*most + 1) * sizeof *times);
    for (size_t k = 0; k < tally->count; k++) {
        times[tally->entries[k].count]++;
    }
    return times;
}

size_t text_tally_characters(const char *text, size_t len, uint32_t *items)
{
    size_t n = 0;

    for (size_t at = 0; at < len; n++) {
        uint32_t cp = (unsigned char)text[at];
        at += cp < 128 ? 1 : text_utf8_decode(text, len, at, &cp);
        if (items != NULL) {
            items[n] = cp;
        }
    }
    return n;
}
