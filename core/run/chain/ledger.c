/* The ledger of a task: see ledger.h. */
#include "run/chain/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

sluice_status ledger_init(struct ledger *ledger, const struct phase *phase,
                          struct sluice_error *err)
{
    ledger->phase = phase;
    ledger->ops = calloc(phase->n_ops + 1, sizeof *ledger->ops);
    if (ledger->ops == NULL) {
        return error_nomem(err, "the ledger");
    }
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        struct ledger_op *entry = &ledger->ops[i];
        entry->n_reasons = op_code(op) == NULL ? 0 : stage_n_reasons(op_code(op)->stage);
        entry->dropped = calloc(entry->n_reasons + 1u, sizeof *entry->dropped);
        if (entry->dropped == NULL) {
            return error_nomem(err, "the ledger");
        }
    }
    return SLUICE_OK;
}

void ledger_deinit(struct ledger *ledger)
{
    for (uint32_t i = 0; ledger->ops != NULL && i < ledger->phase->n_ops; i++) {
        struct ledger_op *entry = &ledger->ops[i];
        for (uint32_t k = 0; k < entry->n_measures; k++) {
            free(entry->measures[k].name);
        }
        for (uint32_t k = 0; k < entry->n_skips; k++) {
            free((char *)(uintptr_t)entry->skips[k].how);
        }
        free(entry->skips);
        free(entry->measures);
        free(entry->dropped);
        json_decref(entry->absent);
    }
    free(ledger->ops);
    ledger->ops = NULL;
}

sluice_status ledger_measure(struct ledger_op *entry, const char *name, int64_t delta,
                             struct sluice_error *err)
{
    size_t length = strlen(name);
    bool in = length > 3 && strcmp(name + length - 3, ".in") == 0;
    bool out = length > 4 && strcmp(name + length - 4, ".out") == 0;
    struct ledger_measure *measures;
    uint32_t k;

    length -= in ? 3 : out ? 4 : 0;
    for (k = 0; k < entry->n_measures; k++) {
        if (strlen(entry->measures[k].name) == length &&
            memcmp(entry->measures[k].name, name, length) == 0) {
            break;
        }
    }
    if (k == entry->n_measures) {
        measures = realloc(entry->measures, (k + 1) * sizeof *measures);
        if (measures == NULL) {
            return error_nomem(err, "the ledger");
        }
        entry->measures = measures;
        measures[k] = (struct ledger_measure){ str_copy(name, length), 0, 0 };
        if (measures[k].name == NULL) {
            return error_nomem(err, "the ledger");
        }
        entry->n_measures++;
    }
    if (in) {
        entry->measures[k].in += delta;
    } else {
        entry->measures[k].out += delta;
    }
    return SLUICE_OK;
}

sluice_status ledger_skip(struct ledger_op *entry, const struct ledger_skip *one,
                          struct sluice_error *err)
{
    struct ledger_skip *skips = entry->skips;
    uint32_t k = 0;

    while (k < entry->n_skips && strcmp(skips[k].how, one->how) != 0) {
        k++;
    }
    if (k == entry->n_skips) {
        char *how = str_copy(one->how, strlen(one->how));
        skips = how == NULL ? NULL : realloc(skips, (k + 1) * sizeof *skips);
        if (skips == NULL) {
            free(how);
            return error_nomem(err, "the ledger");
        }
        entry->skips = skips;
        skips[k] = (struct ledger_skip){ .how = how };
        entry->n_skips++;
    }
    skips[k].units += one->units;
    skips[k].rows += one->rows;
    skips[k].bytes += one->bytes;
    entry->rows_skipped += one->units == 0 ? one->rows : 0;
    return SLUICE_OK;
}

/* {"rows": 0, "there": {...}} */
static json_t *absence_json(const struct stage_absence *absence)
{
    json_t *there = json_object();
    const char *name = absence->there;

    for (uint64_t k = 0; there != NULL && k < absence->n_there; k++) {
        if (json_object_set_new(there, name, json_integer(1)) != 0) {
            json_decref(there);
            return NULL;
        }
        name += strlen(name) + 1;
    }
    return json_pack("{s:i, s:o}", "rows", 0, "there", there);
}

sluice_status ledger_absent(struct ledger_op *entry, const struct stage_absence *absence,
                            struct sluice_error *err)
{
    json_t *one;
    json_int_t rows;

    if (entry->absent == NULL) {
        entry->absent = json_object();
    }
    one = json_object_get(entry->absent, absence->name);
    if (one == NULL &&
        json_object_set_new(entry->absent, absence->name, absence_json(absence)) == 0) {
        one = json_object_get(entry->absent, absence->name);
    }
    rows = json_integer_value(json_object_get(one, "rows")) + (json_int_t)absence->rows;
    return json_object_set_new(one, "rows", json_integer(rows)) == 0
               ? SLUICE_OK
               : error_nomem(err, "the ledger");
}

static uint64_t sum_dropped(const struct ledger_op *entry)
{
    uint64_t sum = 0;

    for (uint32_t k = 1; k <= entry->n_reasons; k++) {
        sum += entry->dropped[k];
    }
    return sum;
}

static sluice_status unequal(const char *op, const char *left, uint64_t a, const char *right,
                             uint64_t b, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_INTERNAL,
                     "the ledger of '%s' does not balance: %s = %llu, %s = %llu; rows were lost or "
                     "made up, so nothing of this task is kept",
                     op, left, (unsigned long long)a, right, (unsigned long long)b);
}

static sluice_status check_units(const struct op *op, const struct ledger_op *entry,
                                 struct sluice_error *err)
{
    uint64_t skipped = 0;

    for (uint32_t k = 0; k < entry->n_skips; k++) {
        skipped += entry->skips[k].units;
    }
    if (entry->units != entry->units_read + skipped) {
        return unequal(op->name, "units", entry->units, "read + skipped",
                       entry->units_read + skipped, err);
    }
    if (entry->units_counted > 0 && entry->units_counted == entry->units_read &&
        entry->rows_said != entry->emitted + entry->quarantined + entry->rows_skipped) {
        return unequal(op->name, "rows of the units that were read", entry->rows_said,
                       "emitted + quarantined + skipped",
                       entry->emitted + entry->quarantined + entry->rows_skipped, err);
    }
    return SLUICE_OK;
}

static sluice_status check_op(const struct ledger *ledger, const struct op *op,
                              struct sluice_error *err)
{
    const struct ledger_op *entry = &ledger->ops[op->index];
    uint64_t fate = entry->kept + sum_dropped(entry) + entry->quarantined;

    switch (op->kind) {
    case OP_READ:
        TRY(check_units(op, entry, err));
        break;
    case OP_LOAD:
        break;
    case OP_COLLECT:
        fate = op_earlier_drops(op) == NULL ? 0 : ledger->ops[op_earlier_drops(op)->op].emitted;
        for (uint32_t k = 0; k < op_collect(op)->n_stages; k++) {
            fate += sum_dropped(&ledger->ops[op_collect(op)->stages[k].op]);
        }
        if (fate != entry->emitted) {
            return unequal(op->name, "dropped", fate, "gathered", entry->emitted, err);
        }
        break;
    case OP_UNION:
        if (entry->in[0] != entry->emitted) {
            return unequal(op->name, "in", entry->in[0], "emitted", entry->emitted, err);
        }
        break;
    case OP_STORE:
        if (entry->in[0] != entry->written) {
            return unequal(op->name, "in", entry->in[0], "stored", entry->written, err);
        }
        break;
    case OP_STAGE:
        if (entry->source) {
            break;
        }
        if (op_declared(op)->role == SLUICE_ROLE_WRITER) {
            if (entry->in[0] != entry->written + entry->quarantined) {
                return unequal(op->name, "in", entry->in[0], "written + quarantined",
                               entry->written + entry->quarantined, err);
            }
        } else if (op_declared(op)->role == SLUICE_ROLE_TRANSFORM) {
            fate = entry->consumed + sum_dropped(entry) + entry->quarantined;
            if (entry->in[0] != fate) {
                return unequal(op->name, "in", entry->in[0], "consumed + dropped + quarantined",
                               fate, err);
            }
        } else {
            if (entry->in[0] != fate) {
                return unequal(op->name, "in", entry->in[0], "kept + dropped + quarantined", fate,
                               err);
            }
            if (entry->kept != entry->emitted) {
                return unequal(op->name, "kept", entry->kept, "emitted", entry->emitted, err);
            }
        }
        break;
    }
    if (op_declared(op) != NULL && op_declared(op)->conserves != NULL) {
        for (uint32_t k = 0; k < entry->n_measures; k++) {
            const struct ledger_measure *measure = &entry->measures[k];
            if (strcmp(measure->name, op_declared(op)->conserves) == 0 &&
                measure->in != measure->out) {
                return error_set(err, SLUICE_E_INTERNAL,
                                 "the ledger of '%s' does not balance: %lld %s went in, %lld came "
                                 "out; nothing of this task is kept",
                                 op->name, (long long)measure->in, measure->name,
                                 (long long)measure->out);
            }
        }
    }
    return SLUICE_OK;
}

sluice_status ledger_check(const struct ledger *ledger, struct sluice_error *err)
{
    for (uint32_t i = 0; i < ledger->phase->n_ops; i++) {
        const struct op *op = ledger->phase->ops[i];
        TRY(check_op(ledger, op, err));
        for (uint32_t k = 0; k < op->n_consumers; k++) {
            const struct op *to = ledger->phase->ops[op->consumers[k].op];
            uint64_t in =
                ledger->ops[to->index].in[to->kind == OP_UNION ? 0 : op->consumers[k].port];
            uint64_t emitted = ledger->ops[i].emitted;
            if (to->kind == OP_UNION) {
                if (op->consumers[k].port > 0) {
                    continue;
                }
                emitted = 0;
                for (uint32_t u = 0; u < op_n_inputs(to); u++) {
                    emitted += ledger->ops[op_input(to, u)].emitted;
                }
            }
            if (emitted != in) {
                char link[200];
                snprintf(link, sizeof link, "%s > %s", op->name, to->name);
                return unequal(link, "emitted", emitted, "in", in, err);
            }
        }
    }
    return SLUICE_OK;
}

static bool put(json_t *object, const char *name, uint64_t value)
{
    return value == 0 || json_object_set_new(object, name, json_integer((json_int_t)value)) == 0;
}

/* {"min_max": {"units": 9, "rows": 900, "bytes": 90000}} */
static bool put_skips(json_t *object, const struct ledger_op *entry)
{
    json_t *all = json_object();
    bool ok = all != NULL;

    for (uint32_t k = 0; ok && k < entry->n_skips; k++) {
        json_t *one = json_object();
        ok = one != NULL && put(one, "units", entry->skips[k].units) &&
             put(one, "rows", entry->skips[k].rows) && put(one, "bytes", entry->skips[k].bytes) &&
             json_object_set(all, entry->skips[k].how, one) == 0;
        json_decref(one);
    }
    ok = ok && (entry->n_skips == 0 || json_object_set(object, "skipped", all) == 0);
    json_decref(all);
    return ok;
}

static json_t *op_json(const struct op *op, const struct ledger_op *entry)
{
    json_t *object = json_object();
    json_t *dropped = json_object();
    json_t *measures = json_object();
    bool ok = object != NULL && dropped != NULL && measures != NULL;

    ok = ok && put(object, "in", entry->in[0]) && put(object, "side_in", entry->in[1]) &&
         put(object, "kept", entry->kept) && put(object, "quarantined", entry->quarantined) &&
         put(object, "consumed", entry->consumed) && put(object, "emitted", entry->emitted) &&
         put(object, "written", entry->written) && put(object, "text_bytes", entry->text_bytes) &&
         put(object, "units", entry->units) && put(object, "units_read", entry->units_read) &&
         put_skips(object, entry);
    for (uint32_t k = 1; ok && k <= entry->n_reasons; k++) {
        ok = put(dropped, stage_reason(op_code(op)->stage, k), entry->dropped[k]);
    }
    for (uint32_t k = 0; ok && k < entry->n_measures; k++) {
        ok = json_object_set_new(measures, entry->measures[k].name,
                                 json_integer(entry->measures[k].out)) == 0;
    }
    if (ok && json_object_size(dropped) > 0) {
        ok = json_object_set(object, "dropped", dropped) == 0;
    }
    if (ok && json_object_size(measures) > 0) {
        ok = json_object_set(object, "measures", measures) == 0;
    }
    if (ok && entry->absent != NULL) {
        ok = json_object_set(object, "absent", entry->absent) == 0;
    }
    json_decref(dropped);
    json_decref(measures);
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *ledger_json(const struct ledger *ledger)
{
    json_t *all = json_object();

    for (uint32_t i = 0; all != NULL && i < ledger->phase->n_ops; i++) {
        const struct op *op = ledger->phase->ops[i];
        /* A collector of several phases has a load and a store of one name: their counts are
         * added. */
        json_t *one = json_object();
        bool ok = one != NULL &&
                  json_object_set_new(one, op->name, op_json(op, &ledger->ops[i])) == 0 &&
                  ledger_add(all, one);
        json_decref(one);
        if (!ok) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

bool ledger_add(json_t *sum, const json_t *ledger)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)ledger, name, value)
    {
        json_t *known = json_object_get(sum, name);
        if (json_is_integer(value)) {
            json_int_t total = json_integer_value(value) +
                               (json_is_integer(known) ? json_integer_value(known) : 0);
            if (json_object_set_new(sum, name, json_integer(total)) != 0) {
                return false;
            }
        } else if (json_is_object(value)) {
            if (known == NULL) {
                known = json_object();
                if (known == NULL || json_object_set_new(sum, name, known) != 0) {
                    return false;
                }
            }
            if (!ledger_add(known, value)) {
                return false;
            }
        } else {
            return false;
        }
    }
    return true;
}

bool ledger_add_text(json_t *sum, const char *ledger)
{
    json_t *parsed = ledger == NULL ? NULL : json_loads(ledger, 0, NULL);
    bool ok = json_is_object(parsed) && ledger_add(sum, parsed);

    json_decref(parsed);
    return ok;
}

int64_t ledger_get(const json_t *sum, const char *op, const char *field)
{
    return json_integer_value(json_object_get(json_object_get(sum, op), field));
}

int64_t ledger_dropped(const json_t *sum, const char *op)
{
    const char *name;
    json_t *value;
    int64_t total = 0;

    json_object_foreach(json_object_get(json_object_get(sum, op), "dropped"), name, value)
    {
        total += json_integer_value(value);
    }
    return total;
}
