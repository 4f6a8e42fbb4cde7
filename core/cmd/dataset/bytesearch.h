/* Ids of a list in bytes of any kind: files that a run keeps for itself. Depends on ids,
 * data/frame. */
#ifndef SLUICE_CMD_BYTESEARCH_H
#define SLUICE_CMD_BYTESEARCH_H

#include "cmd/dataset/ids.h"

struct bytesearch {
    const struct ids *ids;
    size_t *sizes; /* of the ids: ascending, each once; owned */
    size_t n_sizes;
    unsigned char first[8192]; /* a bit for each two bytes that an id begins with */
};

sluice_status bytesearch_init(struct bytesearch *, const struct ids *,
                              struct sluice_error *) MUST_USE;
void bytesearch_deinit(struct bytesearch *);

/* Whether an id is in the n bytes. words: with neither a letter, a digit, '_' nor '-' beside it.
 * Of a stream: inside: the first byte is only looked at as what stands beside; more: bytes
 * follow, so that what ends with the last one need be no word. */
bool bytesearch_piece(const struct bytesearch *, const char *data, size_t n, bool words,
                      bool inside, bool more);

enum bytesearch_hit {
    BYTESEARCH_NONE,
    BYTESEARCH_WORD, /* an id stands by itself: in JSON, in a text */
    BYTESEARCH_ROWS, /* the bytes of an id are in spilled rows, where texts stand one behind the
                        other, so that it may be a part of another text */
};

/* The same in a file: what is compressed is decoded, rows of spill frames are unpacked. found
 * false: it is gone. */
sluice_status bytesearch_file(const struct bytesearch *, const char *path, bool *found,
                              enum bytesearch_hit *, struct sluice_error *) MUST_USE;

#endif
