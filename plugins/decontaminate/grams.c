/* A set of n-grams, and words joined into them. See decont.h. */
#include "decont.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void grams_deinit(struct grams *grams)
{
    free(grams->items);
    free(grams->slots);
    sluice_bytes_free(&grams->text);
    *grams = (struct grams){ 0 };
}

/* The slot of the n-gram, or the empty one where it belongs. */
static size_t slot_of(const struct grams *grams, uint64_t hash, const char *text, size_t n)
{
    size_t at = (size_t)hash & (grams->n_slots - 1);

    while (grams->slots[at] != 0) {
        const struct gram *gram = &grams->items[grams->slots[at] - 1];
        if (gram->hash == hash && gram->size == n &&
            memcmp(grams->text.data + gram->text, text, n) == 0) {
            break;
        }
        at = (at + 1) & (grams->n_slots - 1);
    }
    return at;
}

static int grow(struct grams *grams)
{
    size_t n_slots = grams->n_slots == 0 ? 1024 : grams->n_slots * 2;
    size_t capacity = n_slots / 2;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    struct gram *items =
        slots == NULL ? NULL : realloc(grams->items, capacity * sizeof *grams->items);

    if (items == NULL) {
        free(slots);
        return 0;
    }
    free(grams->slots);
    grams->items = items;
    grams->capacity = capacity;
    grams->slots = slots;
    grams->n_slots = n_slots;
    for (size_t i = 0; i < grams->n; i++) {
        size_t at = (size_t)items[i].hash & (n_slots - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (n_slots - 1);
        }
        slots[at] = (uint32_t)i + 1;
    }
    return 1;
}

uint32_t grams_add(struct grams *grams, const char *text, size_t n, uint32_t item, int *fresh)
{
    uint64_t hash = XXH3_64bits(text, n);
    size_t at;

    *fresh = 0;
    if (grams->n == grams->capacity && (grams->n >= UINT32_MAX / 4 || !grow(grams))) {
        return UINT32_MAX;
    }
    at = slot_of(grams, hash, text, n);
    if (grams->slots[at] != 0) {
        return grams->slots[at] - 1;
    }
    grams->items[grams->n] =
        (struct gram){ .hash = hash, .size = (uint32_t)n, .item = item, .text = grams->text.size };
    if (!sluice_bytes_add(&grams->text, text, n)) {
        return UINT32_MAX;
    }
    *fresh = 1;
    grams->slots[at] = (uint32_t)++grams->n;
    return (uint32_t)grams->n - 1;
}

uint32_t grams_find(const struct grams *grams, const char *text, size_t n)
{
    size_t at;

    if (grams->n == 0) {
        return UINT32_MAX;
    }
    at = slot_of(grams, XXH3_64bits(text, n), text, n);
    return grams->slots[at] == 0 ? UINT32_MAX : grams->slots[at] - 1;
}

void joined_deinit(struct joined *joined)
{
    text_buffer_deinit(&joined->text);
    text_spans_deinit(&joined->words);
}

sluice_status joined_add(struct joined *joined, const char *word, size_t n,
                         struct sluice_error *err)
{
    sluice_status status =
        joined->words.count > 0 ? text_buffer_append(&joined->text, " ", 1, err) : SLUICE_OK;
    size_t begin = joined->text.len;

    if (status == SLUICE_OK && begin + n > TEXT_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "", "a text of more than 4 GiB");
    }
    if (status == SLUICE_OK && n > 0) {
        status = text_buffer_append(&joined->text, word, n, err);
    }
    return status == SLUICE_OK
               ? text_spans_push(&joined->words, (uint32_t)begin, (uint32_t)joined->text.len, err)
               : status;
}

void decont_worker_deinit(struct decont_worker *worker)
{
    text_word_cache_deinit(&worker->cache);
    text_buffer_deinit(&worker->simple);
    text_buffer_deinit(&worker->kept);
    text_spans_deinit(&worker->raw);
    joined_deinit(&worker->joined);
    sluice_bytes_free(&worker->numbers);
    free(worker->candidates);
}
