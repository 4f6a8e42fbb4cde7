/* Who has claimed which ask: see claim_table.h. */
#include "run/asks/claim_table.h"

#include <stdlib.h>

#define ROOM 256

static struct claim_place *place_of(struct claim_place *places, size_t capacity, struct hash128 key)
{
    size_t at = (size_t)key.lo & (capacity - 1);

    while (!hash_is_zero(places[at].key) && !hash_equal(places[at].key, key)) {
        at = (at + 1) & (capacity - 1);
    }
    return &places[at];
}

static bool is_open(const struct claim_table *table, const struct claim_place *place)
{
    return !hash_is_zero(place->key) && place->holder != CLAIM_NOBODY &&
           !table->over(table->ctx, place->key);
}

/* Leaves out what is over. */
static bool make_room(struct claim_table *table)
{
    size_t open = 0;
    size_t capacity = ROOM;
    struct claim_place *places;

    for (size_t i = 0; i < table->capacity; i++) {
        open += is_open(table, &table->places[i]);
    }
    while (capacity < 4 * (open + 1)) {
        capacity *= 2;
    }
    places = calloc(capacity, sizeof *places);
    if (places == NULL) {
        return false;
    }
    table->n = 0;
    for (size_t i = 0; i < table->capacity; i++) {
        if (is_open(table, &table->places[i])) {
            *place_of(places, capacity, table->places[i].key) = table->places[i];
            table->n++;
        }
    }
    free(table->places);
    table->places = places;
    table->capacity = capacity;
    return true;
}

bool claim_put(struct claim_table *table, struct hash128 key, uint32_t holder)
{
    struct claim_place *place;

    if (4 * (table->n + 1) > 3 * table->capacity && !make_room(table)) {
        return false;
    }
    place = place_of(table->places, table->capacity, key);
    table->n += hash_is_zero(place->key);
    *place = (struct claim_place){ key, holder };
    return true;
}

uint32_t claim_holder(const struct claim_table *table, struct hash128 key)
{
    const struct claim_place *place;

    if (table->capacity == 0) {
        return CLAIM_NOBODY;
    }
    place = place_of(table->places, table->capacity, key);
    return hash_is_zero(place->key) ? CLAIM_NOBODY : place->holder;
}

void claim_table_deinit(struct claim_table *table)
{
    free(table->places);
    table->places = NULL;
    table->n = table->capacity = 0;
}
