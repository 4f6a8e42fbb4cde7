/* The units of a file: what a reader with cut "own" says that it consists of. Surveyed once for
 * all threads, and remembered beside the cache of input files by the file's version and the
 * stage's key, so that no other process or later run surveys it again. Depends on fetch.h.
 * Thread-safe.
 *
 * Units are kept packed, about ten bytes each. Of what nobody uses at the moment no more is kept
 * than SURVEYS_IDLE bytes. */
#ifndef SLUICE_RUN_SURVEY_H
#define SLUICE_RUN_SURVEY_H

#include "run/source/fetch.h"

#define SURVEYS_IDLE ((uint64_t)32 << 20)

struct survey; /* of a file; read-only */

/* key: of the stage and its options. fetch: makes it where nobody knows it; its file is opened
 * for that. uri: the file's name for the stage. *read (may be NULL) grows by the bytes that were
 * read. Gives a reference. */
sluice_status survey_take(const struct source_file *, struct hash128 key, const struct fetch *fetch,
                          const struct survey **out, uint64_t *read,
                          struct sluice_error *) MUST_USE;
void survey_release(const struct source_file *, const struct survey *); /* NULL is fine */

/* What a reader says of the first of the files, before it is prepared: for struct plan_options. The
 * cache may be NULL. */
sluice_status survey_first(struct statcache *, struct stage *, const struct listing *,
                           const struct hash128 *hashes, struct buf *out, bool *said,
                           struct sluice_error *) MUST_USE;

/* What is remembered of the files' units, from whatever run of a stage of this key. No file is
 * read, and one that nobody surveyed as it is now counts for nothing. */
struct survey_sums {
    uint64_t files, units, bytes;          /* bytes of files that units cover */
    uint64_t skipped_units, skipped_bytes; /* of these */
};
void survey_remembered(struct statcache *, const struct listing *, struct hash128 key,
                       struct survey_sums *out);

/* What the reader said of the file; NULL: nothing. */
const void *survey_description(const struct survey *, uint64_t *n);
struct hash128 survey_described(const struct survey *); /* its hash */

struct survey_unit {
    uint64_t number, begin, end, bytes;
    int64_t rows;     /* -1 = not known */
    const char *skip; /* NULL = it is to be read; of the survey */
};
struct survey_cursor {
    const struct survey *survey;
    const uint8_t *at;
    uint64_t number, behind; /* of the next unit; the end of the one before */
};
/* At the first unit that begins at or behind a byte. */
void survey_seek(const struct survey *, uint64_t begin, struct survey_cursor *);
bool survey_next(struct survey_cursor *, struct survey_unit *out);

#endif
