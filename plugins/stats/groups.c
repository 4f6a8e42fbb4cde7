/* groups.c - a hash table of groups (groups.h). Hashes find candidates only; names are compared. */
#include "groups.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool grow(struct groups *groups)
{
    if (groups->n == groups->capacity) {
        uint32_t capacity = groups->capacity * 2 + 64;
        struct group **list = realloc(groups->list, capacity * sizeof *list);
        if (list == NULL) {
            return false;
        }
        groups->list = list;
        groups->capacity = capacity;
    }
    if (2 * (groups->n + 1) > groups->n_slots) {
        uint32_t n_slots = groups->n_slots * 2 + 128;
        uint32_t *slots;
        n_slots = (n_slots & (n_slots - 1)) == 0 ? n_slots : 1u << (32 - __builtin_clz(n_slots));
        slots = calloc(n_slots, sizeof *slots);
        if (slots == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < groups->n; i++) {
            uint64_t at = groups->list[i]->hash & (n_slots - 1);
            while (slots[at] != 0) {
                at = (at + 1) & (n_slots - 1);
            }
            slots[at] = i + 1;
        }
        free(groups->slots);
        groups->slots = slots;
        groups->n_slots = n_slots;
    }
    return true;
}

struct group *groups_meet(struct groups *groups, uint32_t kind, const void *name,
                          uint32_t name_size, int n)
{
    uint64_t hash = XXH3_64bits_withSeed(name, name_size, kind);
    size_t size = sizeof(struct group) + (size_t)n * sizeof(struct moments);
    struct group *group;
    uint64_t at;

    if (!grow(groups)) {
        return NULL;
    }
    for (at = hash & (groups->n_slots - 1); groups->slots[at] != 0;
         at = (at + 1) & (groups->n_slots - 1)) {
        group = groups->list[groups->slots[at] - 1];
        if (group->hash == hash && group->kind == kind && group->name_size == name_size &&
            memcmp(group->name, name, name_size) == 0) {
            return group;
        }
    }
    group = calloc(1, size + name_size + 1);
    if (group == NULL) {
        return NULL;
    }
    memcpy((char *)group + size, name, name_size);
    group->name = (const char *)group + size;
    group->hash = hash;
    group->kind = kind;
    group->name_size = name_size;
    group->n = n;
    groups->list[groups->n++] = group;
    groups->slots[at] = groups->n;
    groups->bytes += size + name_size + (size_t)n * sizeof(struct moments_sums) + 32;
    return group;
}

void groups_deinit(struct groups *groups)
{
    for (uint32_t i = 0; i < groups->n; i++) {
        for (int k = 0; k < groups->list[i]->n; k++) {
            moments_deinit(&groups->list[i]->moments[k]);
        }
        free(groups->list[i]);
    }
    free(groups->list);
    free(groups->slots);
    *groups = (struct groups){ 0 };
}
