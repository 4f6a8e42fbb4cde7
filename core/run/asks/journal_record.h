/* A record of the journal (journal.h) as it stands in a file: a head, the content type, the body.
 * Depends on base. */
#ifndef SLUICE_RUN_JOURNAL_RECORD_H
#define SLUICE_RUN_JOURNAL_RECORD_H

#include "base/buf.h"
#include "run/asks/journal.h"

struct record_head { /* little-endian machines */
    uint32_t magic, version;
    uint32_t code, refused;
    uint32_t type_n, reserved;
    uint64_t body_n;
    struct hash128 key;
    uint64_t check; /* low half of XXH3-128 of all else */
    uint64_t when;  /* milliseconds since 1970; in version 1: 0, not known */
};

/* The record at offset of a file, or of bytes in memory: type, body and padding, given. NULL: there
 * is none, or not all of it. */
char *record_read(int fd, uint64_t offset, struct record_head *head);
char *record_find(const struct buf *bytes, uint64_t offset, struct record_head *head);
/* Makes an answer of what was read; takes rest. */
void record_answer(const struct record_head *head, char *rest, struct journal_answer *out);
/* Appends. *head: as it was written, if out has not failed. */
void record_put(struct hash128 key, const struct journal_answer *, struct record_head *head,
                struct buf *out);

#endif
