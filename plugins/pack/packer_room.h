/* The open rows of a best-fit packer, found by the room they have left. Used by packer_best_fit.c
 * only.
 *
 * Owns: for each amount of room the set of rows with it, and a bitmap of the amounts that occur.
 * Depends on nothing. Promises: the row with the least sufficient room, of several the one opened
 * first. */
#ifndef PACKER_ROOM_H
#define PACKER_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define PACKER_ROOM_LEVELS 5 /* 64^5 > any sequence_length */
#define PACKER_ROOM_NONE UINT32_MAX

struct packer_room {
    uint32_t most;  /* the largest room */
    uint32_t *heap; /* [most + 1]: the first row with that room or NONE */
    uint32_t *left; /* [rows]: skew heaps, smallest row on top */
    uint32_t *right;
    uint64_t *bits[PACKER_ROOM_LEVELS]; /* bits[0]: a bit per room; bits[k + 1]: a bit per non-zero
                                           word of bits[k] */
    uint32_t levels;
};

/* For room 0..most and row numbers below rows. false = out of memory (deinit all the same). */
bool packer_room_init(struct packer_room *room, uint32_t most, uint32_t rows);
void packer_room_deinit(struct packer_room *room);

/* Adds a row that is in no set. */
void packer_room_add(struct packer_room *room, uint32_t amount, uint32_t row);

/* Takes the row with the least room >= amount, the earliest of several, and sets *found to its
 * room. NONE if there is none. */
uint32_t packer_room_take(struct packer_room *room, uint32_t amount, uint32_t *found);

#endif
