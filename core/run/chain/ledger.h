/* The ledger of a task: every row is accounted for. Counted at both ends of every link
 * independently, checked before a task commits.
 *
 *   filters, annotators, gates:   in = kept + sum(dropped) + quarantined, emitted = kept
 *   transforms:                   in = consumed + sum(dropped) + quarantined; what they emit is
 *                                 counted apart;
 *                                 a conserved measure goes in and comes out equal
 *   readers:                      records = emitted + quarantined; of those that read at random:
 *                                 units = read + skipped, and where the file says how many rows
 *                                 each unit has: rows = emitted + quarantined + skipped in them
 *   writers:                      in = written
 *   links:                        what the producer emitted = what each consumer counted in */
#ifndef SLUICE_RUN_LEDGER_H
#define SLUICE_RUN_LEDGER_H

#include <jansson.h>

#include "plan/plan.h"

struct ledger_measure {
    char *name;
    int64_t in, out;
};

struct ledger_skip {             /* what was not looked at, by which means */
    const char *how;             /* owned by the ledger once it is there */
    uint64_t units, rows, bytes; /* units: whole ones; rows: those that the file tells of */
};

struct ledger_op {
    uint64_t in[2]; /* rows that arrived on each port (unions: port 0 sums all) */
    uint64_t kept, quarantined, consumed, emitted, written;
    uint64_t *dropped; /* per reason, from 1 */
    uint32_t n_reasons;
    struct ledger_measure *measures;
    uint32_t n_measures;
    uint64_t text_bytes; /* readers: decoded bytes of the records */
    struct ledger_skip *skips;
    uint32_t n_skips;
    /* readers that read at random; counted: those of the read ones whose rows the file tells */
    uint64_t units, units_read, units_counted, rows_said;
    uint64_t rows_skipped; /* in units that were read */
    bool source; /* what it emitted was given to the chain: it has no input to account for */
    /* readers: {"name": {"rows": 7, "there": {"other": 1}}} of what records don't have; or NULL;
     * owned */
    json_t *absent;
};

struct ledger {
    const struct phase *phase;
    struct ledger_op *ops;
};

sluice_status ledger_init(struct ledger *, const struct phase *, struct sluice_error *) MUST_USE;
void ledger_deinit(struct ledger *);
/* "tokens.in", "tokens.out" are the two ends of a conserved measure; any other name is a plain
 * measure (out). */
sluice_status ledger_measure(struct ledger_op *, const char *name, int64_t delta,
                             struct sluice_error *) MUST_USE;
/* Records lack a name that a declared column is read from; what is there is kept of the first of
 * them in the task. */
sluice_status ledger_absent(struct ledger_op *, const struct stage_absence *,
                            struct sluice_error *) MUST_USE;
/* Adds to what was skipped by the same means; how is copied. */
sluice_status ledger_skip(struct ledger_op *, const struct ledger_skip *,
                          struct sluice_error *) MUST_USE;
/* Saves an op's account; restores it where there is none yet. For all ops that are no sources. */
struct saved;
struct restored;
void ledger_save(const struct ledger_op *, struct saved *);
sluice_status ledger_restore(struct ledger_op *, struct restored *, struct sluice_error *) MUST_USE;
/* Checks the equations; SLUICE_E_INTERNAL names the op and both numbers. */
sluice_status ledger_check(const struct ledger *, struct sluice_error *) MUST_USE;
/* {"op": {...}} by op name; gives a reference. NULL = out of memory. */
json_t *ledger_json(const struct ledger *);
/* Adds the integers of one ledger (or a sum) to another, op by op; creates missing members. False =
 * out of memory or not a ledger. */
bool ledger_add(json_t *sum, const json_t *ledger);
/* The same for a ledger as text; NULL is no ledger. */
bool ledger_add_text(json_t *sum, const char *ledger);
/* sum[op][field], or sum[op]["dropped"][...] totals; 0 when absent. */
int64_t ledger_get(const json_t *sum, const char *op, const char *field);
int64_t ledger_dropped(const json_t *sum, const char *op);

#endif
