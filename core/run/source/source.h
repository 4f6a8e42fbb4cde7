/* The bytes of one split, in chunks for a reader stage (struct sluice_chunk). Owns files and
 * buffers of the split's ranges. Depends on run/source/feeder.h and plan/splits.h. One thread at a
 * time; any number of sources over one feeder.
 *
 * Cut by newline: a chunk holds whole lines that begin in the split's ranges, each exactly once
 * over all ranges of a file, and ends with '\n' unless the file ends there. A line longer than
 * max_record (without its '\n') is reported and skipped, never buffered whole. A UTF-8 byte
 * order mark at the start of a file is skipped; offsets count it. Not cut: the whole file goes
 * by; bytes that the reader did not consume come again with more behind them. Chunk boundaries
 * depend on the bytes and options only. */
#ifndef SLUICE_RUN_SOURCE_H
#define SLUICE_RUN_SOURCE_H

#include "base/hash.h"
#include "plan/splits.h"
#include "run/source/feeder.h"

#define SOURCE_MAX_RECORD (UINT64_C(64) << 20)
#define SOURCE_CHUNK (UINT64_C(1) << 20)
#define SOURCE_HEAD (UINT64_C(64) << 10) /* bytes of a refused line that are shown */

struct source_options {
    enum split_cut cut;
    uint64_t max_record;   /* bytes; 0 = SOURCE_MAX_RECORD */
    uint64_t target_chunk; /* bytes; 0 = SOURCE_CHUNK */
    bool digest;           /* source_digest is wanted */
    /* A line that is too long: file is the index within the split (as in the chunk), [begin,
     * end) its decoded bytes without '\n', head its first n <= SOURCE_HEAD bytes. Called from
     * source_next, before any chunk that follows the line. May be NULL. */
    sluice_status (*too_long)(void *ctx, uint32_t file, uint64_t begin, uint64_t end,
                              const char *head, size_t n, struct sluice_error *err);
    /* Called before as many bytes are taken for records that do not fit in chunks of the usual
     * size, in all; 0: no more. May wait, and refuse. May be NULL. */
    sluice_status (*grow)(void *ctx, uint64_t bytes, struct sluice_error *err);
    void *ctx;
};

struct source;

/* split->ranges[k].file indexes files. Borrows all until source_close; reads nothing yet. */
sluice_status source_open(struct feeder *, const struct source_file *files, const struct split *,
                          const struct source_options *, struct source **out,
                          struct sluice_error *err) MUST_USE;
void source_close(struct source *);

/* The next chunk, or *more = false after the last. chunk->data is borrowed until the next call;
 * 64 zero bytes follow it. chunk->uri is the file's name, chunk->file the range's index within
 * the split, chunk->consumed is set to n. SLUICE_CHUNK_LAST is always set on the last chunk of a
 * file that is not cut (which may be empty for an empty file); for newline it is left out when a
 * refused line ends the range. SLUICE_E_DATA: a file is damaged or changed, or (not cut) a
 * record is longer than max_record. */
sluice_status source_next(struct source *, struct sluice_chunk *chunk, bool *more,
                          struct sluice_error *err) MUST_USE;

/* Says how many bytes of the last chunk were used, before the next source_next. Only the rest of
 * a chunk of a file that is not cut comes again. Without this call all of it counts as used.
 * SLUICE_E_INTERNAL: more than there were. */
sluice_status source_consumed(struct source *, uint64_t n, struct sluice_error *err) MUST_USE;

/* The bytes of the last chunk, all of which were used, are not looked at again: memory that only
 * they needed goes back (grow is told). Nothing happens where a file is not cut, or its ranges were
 * decoded whole. */
sluice_status source_shrink(struct source *, struct sluice_error *err) MUST_USE;

/* What the split held: a hash of all bytes that chunks showed and the reader used, of refused
 * lines, and of where in their files they began. Behind the last chunk. It depends on the bytes,
 * the cut and max_record only: not on codecs, files' names or sizes of chunks. */
struct hash128 source_digest(const struct source *);

/* Where reading stands, for progress: bytes of files eaten in this split so far. */
uint64_t source_position_raw(const struct source *);

#endif
