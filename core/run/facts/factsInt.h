/* Private to core/run/facts: dropped rows, and places as JSON. */
#ifndef SLUICE_RUN_FACTSINT_H
#define SLUICE_RUN_FACTSINT_H

#include "run/facts/facts.h"
#include "run/facts/places.h"
#include "run/runview.h"

/* One row of the drops table, copied. */
struct drop {
    uint32_t phase, task;
    uint64_t row;
    const struct op *stage; /* NULL: no stage of this plan has the name */
    char *reason, *dup_of;  /* owned; dup_of NULL = none */
    double value, limit, similarity;
    bool has_value, has_limit, has_similarity;
};
void drop_deinit(struct drop *);
sluice_status drop_copy(const struct run *, uint32_t phase, uint32_t task, const struct batch *,
                        int64_t row, struct drop *, struct sluice_error *) MUST_USE;
/* Adds reason, value, limit, dup_of, similarity. */
void drop_json(const struct drop *, json_t *object);
/* Adds split, row, uri, path, begin, end, id. */
void place_json(const struct place *, json_t *object);

/* Dropped rows, the first of them or those nearest to their limits. */
struct reasons {
    const struct facts_query *query;
    const char *reason;   /* borrowed; NULL: any */
    uint32_t phase, task; /* of the rows that are added next */
    struct drop *drops;   /* at most query->most; near: sorted by closeness */
    size_t n;
    uint64_t total;
};
sluice_status reasons_init(struct reasons *, const struct facts_query *,
                           struct sluice_error *) MUST_USE;
sluice_status reasons_add(struct reasons *, const struct batch *, int64_t row,
                          struct sluice_error *) MUST_USE;
/* Appends them to list, as facts_reason does. */
sluice_status reasons_list(const struct reasons *, json_t *list, struct sluice_error *) MUST_USE;
void reasons_deinit(struct reasons *);

/* Appends a row of a unit as JSON: record.c. */
sluice_status place_scan(const struct place *, struct buf *out, struct sluice_error *) MUST_USE;

/* What became of the document that place names, as a JSON array of events in order (a reference is
 * given, also after an error, or NULL). */
sluice_status way_of(const struct run *, const struct place *, json_t **events,
                     struct sluice_error *) MUST_USE;

/* What servers answered a stage about the document that place names: {asks: [{request, found, code,
 * refused, bytes, type}], journal}, in the order of asking; a reference is given. *out NULL: it
 * can't be told, because another stage that asks or something that is written stands before it, or
 * because its phase does not read the document. Reads the document's split, and asks nobody. */
sluice_status answers_of(const struct run *, const struct place *, uint32_t phase, uint32_t task,
                         const struct op *asker, json_t **out, struct sluice_error *) MUST_USE;
/* [{stage, asks, journal}] of all stages of the run of which it can be told, in order; a reference
 * is given, NULL = there are none. */
json_t *answers_all(const struct run *, const struct place *);

/* Whether what a filter drops goes on elsewhere in its composite: nothing is lost. */
bool facts_consumes(const struct op *);
/* "reader", "filter", ..., "again" of a reader that reads once more; NULL = op has no role. */
const char *facts_role(const struct op *);

/* One pair of near-duplicates that people can look at: {stage, similarity, dropped, kept}, each of
 * the two {id, file, text} with the text's first words. Reads a bounded part of the run's tables.
 * Gives a reference; NULL = there is none at hand. */
json_t *example_of(const struct run *);

#endif
