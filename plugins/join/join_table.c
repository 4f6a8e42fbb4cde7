/* The table of a join: see join.h. Open addressing over one block of bytes, both counted against
 * the run's memory. */
#include "join.h"

#include <xxhash.h>

#define FIRST_SLOTS 64
#define FIRST_BYTES 4096

void join_table_init(struct join_table *table, const struct sluice_host_api *api,
                     struct sluice_host *host)
{
    memset(table, 0, sizeof *table);
    table->api = api;
    table->host = host;
}

void join_table_deinit(struct join_table *table)
{
    table->api->free(table->host, table->rows);
    table->api->free(table->host, table->slots);
    table->rows = NULL;
    table->slots = NULL;
}

static const char *row_at(const struct join_table *table, uint64_t slot, uint32_t *n)
{
    const char *row = table->rows + slot - 1;

    memcpy(n, row, sizeof *n);
    return row + sizeof *n;
}

/* The slot of the key: its row's, or the free one where it would stand. */
static uint64_t *slot_of(const struct join_table *table, const void *key, uint64_t n)
{
    uint64_t at = XXH3_64bits(key, (size_t)n) & (table->n_slots - 1);

    for (; table->slots[at] != 0; at = (at + 1) & (table->n_slots - 1)) {
        uint32_t n_key;
        const char *found = row_at(table, table->slots[at], &n_key);
        if (n_key == n && memcmp(found, key, n_key) == 0) {
            break;
        }
    }
    return &table->slots[at];
}

const char *join_table_find(const struct join_table *table, const void *key, uint64_t n)
{
    const uint64_t *slot = table->n_slots == 0 ? NULL : slot_of(table, key, n);
    uint32_t n_key;

    if (slot == NULL || *slot == 0) {
        return NULL;
    }
    return row_at(table, *slot, &n_key) + n;
}

/* Half of the slots stay free. */
static sluice_status more_slots(struct join_table *table)
{
    uint64_t n = table->n_slots == 0 ? FIRST_SLOTS : 2 * table->n_slots;
    uint64_t *old = table->slots;
    uint64_t n_old = table->n_slots;
    uint64_t *slots = table->api->alloc(table->host, n * sizeof *slots);

    if (slots == NULL) {
        return SLUICE_E_NOMEM;
    }
    memset(slots, 0, n * sizeof *slots);
    table->slots = slots;
    table->n_slots = n;
    for (uint64_t k = 0; k < n_old; k++) {
        if (old[k] != 0) {
            uint32_t n_key;
            const char *key = row_at(table, old[k], &n_key);
            *slot_of(table, key, n_key) = old[k];
        }
    }
    table->api->free(table->host, old);
    return SLUICE_OK;
}

static sluice_status more_bytes(struct join_table *table, uint64_t need)
{
    uint64_t capacity = table->capacity == 0 ? FIRST_BYTES : table->capacity;
    char *rows;

    if (need <= table->capacity) {
        return SLUICE_OK;
    }
    while (capacity < need) {
        capacity += capacity / 2;
    }
    rows = table->api->realloc(table->host, table->rows, capacity);
    if (rows == NULL) {
        return SLUICE_E_NOMEM;
    }
    table->rows = rows;
    table->capacity = capacity;
    return SLUICE_OK;
}

sluice_status join_table_add(struct join_table *table, const void *key, uint64_t n,
                             const void *values, uint64_t n_values, bool *there)
{
    uint32_t n_key = (uint32_t)n;
    uint64_t *slot;
    sluice_status status = SLUICE_OK;

    *there = false;
    if (n > UINT32_MAX) {
        return SLUICE_E_DATA;
    }
    if (2 * table->n_rows >= table->n_slots) {
        status = more_slots(table);
    }
    if (status == SLUICE_OK) {
        status = more_bytes(table, table->size + sizeof n_key + n + n_values);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    slot = slot_of(table, key, n);
    if (*slot != 0) {
        *there = true;
        return SLUICE_OK;
    }
    *slot = table->size + 1;
    memcpy(table->rows + table->size, &n_key, sizeof n_key);
    memcpy(table->rows + table->size + sizeof n_key, key, n);
    memcpy(table->rows + table->size + sizeof n_key + n, values, n_values);
    table->size += sizeof n_key + n + n_values;
    table->n_rows++;
    return SLUICE_OK;
}
