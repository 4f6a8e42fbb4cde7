/* Private to sluice why: what why.c, why_way.c, why_document.c and why_rows.c share. */
#ifndef SLUICE_CMD_WHYINT_H
#define SLUICE_CMD_WHYINT_H

#include "cmd/look/look.h"
#include "cmd/look/places.h"

struct why {
    struct look look;
    const char *run_text; /* as the user gave it */
    const char *stage;    /* --stage, or NULL */
    uint64_t n;           /* -n */
    size_t columns;       /* of the terminal; 0 = no limit */
    uint32_t old;         /* tasks looked at as they were before a change */
    bool json, near, text;
};

/* The fate of the documents with an id; or of row `row` of task `task`. */
sluice_status why_id(struct why *, const char *id, struct sluice_error *) MUST_USE;
sluice_status why_row(struct why *, uint64_t task, uint64_t row, struct sluice_error *) MUST_USE;
/* why_way.c: what became of the document that place names, as a JSON array of events in order (a
 * reference is given, also after an error, or NULL). */
sluice_status why_way(struct why *, const struct place *, json_t **events,
                      struct sluice_error *) MUST_USE;
/* Documents dropped for a reason. */
sluice_status why_reason(struct why *, const char *reason, struct sluice_error *) MUST_USE;
/* Quarantined records. */
sluice_status why_quarantine(struct why *, struct sluice_error *) MUST_USE;

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
/* "short_doc, value 3, limit 50, duplicate of x (similarity 0.91)" */
void drop_print(const struct drop *, struct buf *out);
void drop_json(const struct drop *, json_t *object);
/* Adds file, begin, end, id. */
void place_json(const struct place *, json_t *object);
/* "web/a.jsonl.zst bytes 12 to 345" */
void place_print(const struct place *, struct buf *out);
/* Says on standard error which part of the run has no records yet. */
void why_incomplete(const struct why *);

#endif
