/* The units of one split through a reader that reads at random, call by call. Owns files and
 * surveys of the split's ranges. Depends on survey.h and plan/splits.h. One thread at a time.
 *
 * A range owns the units whose first byte lies in it ("own"), or is one unit ("sync"). Units that
 * the survey rules out are told of and not read. */
#ifndef SLUICE_RUN_SCANNER_H
#define SLUICE_RUN_SCANNER_H

#include "plan/splits.h"
#include "run/source/survey.h"

struct scanner_options {
    enum split_cut cut; /* SPLIT_CUT_OWN, SPLIT_CUT_SYNC */
    struct hash128 key; /* of the stage, for surveys */
    struct stage_worker *worker;
    bool digest; /* scanner_digest is wanted */
    /* As in struct fetch, of the unit at hand; 0: it is done with. */
    sluice_status (*hold)(void *ctx, uint64_t bytes, struct sluice_error *err);
    void (*meter)(void *ctx, bool begins, bool reads);
    int32_t (*cancelled)(void *ctx);
    /* A unit that is not read. Any of these may be NULL. */
    sluice_status (*skipped)(void *ctx, const struct survey_unit *, struct sluice_error *err);
    void *ctx;
};

struct scanned {   /* what one call gave, beside its result */
    uint32_t file; /* index of the range within the split */
    const char *uri;
    struct survey_unit unit; /* "sync": the range */
    bool first, last;        /* call of the unit */
};

struct scanner;
/* split->ranges[k].file indexes files. Borrows all until scanner_close; reads nothing yet. */
sluice_status scanner_open(const struct source_file *files, const struct split *,
                           const struct scanner_options *, struct scanner **out,
                           struct sluice_error *) MUST_USE;
void scanner_close(struct scanner *); /* NULL is fine */

/* The next call, or *more = false after the last. result is the caller's, and cleared. Errors name
 * file, unit and byte. SLUICE_E_DATA: a file is damaged or changed, or a unit has another number of
 * rows than the survey says. */
sluice_status scanner_next(struct scanner *, struct stage_result *, struct scanned *, bool *more,
                           struct sluice_error *) MUST_USE;

/* Behind the last call: a hash of the units, of what the survey says of their files, and of all
 * that was asked for and read. */
struct hash128 scanner_digest(const struct scanner *);
uint64_t scanner_raw(const struct scanner *);   /* bytes of files that were read */
uint64_t scanner_asked(const struct scanner *); /* those that scans asked for */

#endif
