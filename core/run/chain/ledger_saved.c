/* An op's account, saved and restored: see ledger.h. */
#include <string.h>

#include "base/buf.h"
#include "base/varint.h"
#include "run/chain/ledger.h"
#include "store/saved.h"

#define NAME_MAX_BYTES 256u /* of a measure */

void ledger_save(const struct ledger_op *entry, struct saved *out)
{
    const uint64_t counts[] = { entry->in[0],       entry->in[1],      entry->kept,
                                entry->quarantined, entry->consumed,   entry->emitted,
                                entry->written,     entry->text_bytes, entry->source };

    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        saved_put(out, counts[k]);
    }
    for (uint32_t k = 1; k <= entry->n_reasons; k++) {
        saved_put(out, entry->dropped[k]);
    }
    saved_put(out, entry->n_measures);
    for (uint32_t k = 0; k < entry->n_measures; k++) {
        const struct ledger_measure *measure = &entry->measures[k];
        saved_put_bytes(out, measure->name, strlen(measure->name));
        saved_put(out, varint_fold(measure->in));
        saved_put(out, varint_fold(measure->out));
    }
}

static sluice_status restore_measure(struct ledger_op *entry, struct buf *name, struct restored *in,
                                     struct sluice_error *err)
{
    uint32_t before = entry->n_measures;

    restored_get_bytes(in, NAME_MAX_BYTES, name);
    TRY(restored_status(in, err));
    TRY(ledger_measure(entry, buf_str(name), 0, err));
    if (entry->n_measures == before) {
        restored_refuse(in, "a measure is there twice");
        return restored_status(in, err);
    }
    entry->measures[before].in = varint_unfold(restored_get(in, UINT64_MAX));
    entry->measures[before].out = varint_unfold(restored_get(in, UINT64_MAX));
    return restored_status(in, err);
}

sluice_status ledger_restore(struct ledger_op *entry, struct restored *in, struct sluice_error *err)
{
    uint64_t *const counts[] = { &entry->in[0],       &entry->in[1],     &entry->kept,
                                 &entry->quarantined, &entry->consumed,  &entry->emitted,
                                 &entry->written,     &entry->text_bytes };
    struct buf name = BUF_INIT;
    uint64_t n;
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        *counts[k] = restored_get(in, UINT64_MAX);
    }
    entry->source = restored_get(in, 1) != 0;
    for (uint32_t k = 1; k <= entry->n_reasons; k++) {
        entry->dropped[k] = restored_get(in, UINT64_MAX);
    }
    n = restored_get(in, UINT32_MAX);
    for (uint64_t k = 0; k < n && status == SLUICE_OK; k++) {
        status = restore_measure(entry, &name, in, err);
    }
    buf_deinit(&name);
    return status == SLUICE_OK ? restored_status(in, err) : status;
}
