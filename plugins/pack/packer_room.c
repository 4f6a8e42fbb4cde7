/* Open rows by room; see packer_room.h. The sets are skew heaps (Sleator, Tarjan 1986): melding is
 * all they need. */
#include "packer_room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint32_t words_for(uint32_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

bool packer_room_init(struct packer_room *room, uint32_t most, uint32_t rows)
{
    *room = (struct packer_room){ .most = most };
    room->heap = malloc(((size_t)most + 1) * sizeof(*room->heap));
    room->left = malloc((size_t)rows * sizeof(*room->left) + 1);
    room->right = malloc((size_t)rows * sizeof(*room->right) + 1);
    if (room->heap == NULL || room->left == NULL || room->right == NULL) {
        return false;
    }
    memset(room->heap, 0xff, ((size_t)most + 1) * sizeof(*room->heap));
    uint32_t bits = most + 1;
    do {
        assert(room->levels < PACKER_ROOM_LEVELS);
        bits = words_for(bits);
        room->bits[room->levels] = calloc(bits, sizeof(uint64_t));
        if (room->bits[room->levels] == NULL) {
            return false;
        }
        room->levels++;
    } while (bits > 1);
    return true;
}

void packer_room_deinit(struct packer_room *room)
{
    free(room->heap);
    free(room->left);
    free(room->right);
    for (uint32_t k = 0; k < room->levels; k++) {
        free(room->bits[k]);
    }
    *room = (struct packer_room){ 0 };
}

static uint32_t heap_meld(struct packer_room *room, uint32_t one, uint32_t other)
{
    uint32_t top = PACKER_ROOM_NONE;
    uint32_t *link = &top;
    while (one != PACKER_ROOM_NONE && other != PACKER_ROOM_NONE) {
        if (other < one) {
            uint32_t swap = one;
            one = other;
            other = swap;
        }
        *link = one;
        uint32_t rest = room->right[one];
        room->right[one] = room->left[one];
        link = &room->left[one];
        one = rest;
    }
    *link = one != PACKER_ROOM_NONE ? one : other;
    return top;
}

static void bit_set(struct packer_room *room, uint32_t at)
{
    for (uint32_t k = 0; k < room->levels; k++) {
        uint64_t *word = &room->bits[k][at / 64];
        bool was_empty = *word == 0;
        *word |= (uint64_t)1 << (at % 64);
        if (!was_empty) {
            return;
        }
        at /= 64;
    }
}

static void bit_clear(struct packer_room *room, uint32_t at)
{
    for (uint32_t k = 0; k < room->levels; k++) {
        uint64_t *word = &room->bits[k][at / 64];
        *word &= ~((uint64_t)1 << (at % 64));
        if (*word != 0) {
            return;
        }
        at /= 64;
    }
}

/* The first bit set at or after `from`, or NONE: up until a level has one further right, then down
 * to it. */
static uint32_t bit_next(const struct packer_room *room, uint32_t from)
{
    if (from > room->most) {
        return PACKER_ROOM_NONE;
    }
    uint32_t bits = room->most + 1;
    for (uint32_t k = 0; k < room->levels && from < bits; k++) {
        uint64_t word = room->bits[k][from / 64] >> (from % 64);
        if (word != 0) {
            uint32_t at = from + (uint32_t)__builtin_ctzll(word);
            while (k > 0) {
                k--;
                at = at * 64 + (uint32_t)__builtin_ctzll(room->bits[k][at]);
            }
            return at;
        }
        from = from / 64 + 1;
        bits = words_for(bits);
    }
    return PACKER_ROOM_NONE;
}

void packer_room_add(struct packer_room *room, uint32_t amount, uint32_t row)
{
    assert(amount <= room->most);
    room->left[row] = PACKER_ROOM_NONE;
    room->right[row] = PACKER_ROOM_NONE;
    if (room->heap[amount] == PACKER_ROOM_NONE) {
        bit_set(room, amount);
    }
    room->heap[amount] = heap_meld(room, room->heap[amount], row);
}

uint32_t packer_room_take(struct packer_room *room, uint32_t amount, uint32_t *found)
{
    uint32_t at = bit_next(room, amount);
    if (at == PACKER_ROOM_NONE) {
        return PACKER_ROOM_NONE;
    }
    uint32_t row = room->heap[at];
    room->heap[at] = heap_meld(room, room->left[row], room->right[row]);
    if (room->heap[at] == PACKER_ROOM_NONE) {
        bit_clear(room, at);
    }
    *found = at;
    return row;
}
