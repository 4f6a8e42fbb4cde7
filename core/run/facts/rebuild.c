/* What building a dataset anew would change; see rebuild.h. The stages that find a new document to
 * be the duplicate of several published ones count these in the measure rebuild_changes of their
 * ledger, which every snapshot keeps. */
#include "run/facts/rebuild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/facts/facts.h"
#include "store/snapshot.h"

/* The sum of a measure over all stages of a ledger. */
static json_int_t measured(const json_t *ledger, const char *name)
{
    json_int_t sum = 0;
    const char *stage;
    json_t *counts;

    json_object_foreach((json_t *)(uintptr_t)ledger, stage, counts)
    {
        sum += json_integer_value(json_object_get(json_object_get(counts, "measures"), name));
    }
    return sum;
}

/* The snapshot that this one carried on; 0 = it was built from nothing. */
static uint32_t carried_on(const struct snapshot *snapshot)
{
    const char *key;
    json_t *value;

    json_object_foreach(snapshot->notes, key, value)
    {
        const char *dot = strrchr(key, '.');
        if (dot != NULL && strcmp(dot, ".append") == 0 && json_is_integer(value) &&
            json_integer_value(value) > 0 && json_integer_value(value) < snapshot->number) {
            return (uint32_t)json_integer_value(value);
        }
    }
    return 0;
}

static sluice_status dataset_json(const char *dataset, json_t *list, struct sluice_error *err)
{
    json_int_t appends = 0;
    json_int_t documents = 0;
    json_int_t changes = 0;
    uint32_t newest = 0;
    uint32_t number = 0;

    do {
        struct snapshot *snapshot = NULL;
        TRY(snapshot_open(dataset, number, &snapshot, err));
        newest = newest == 0 ? snapshot->number : newest;
        number = carried_on(snapshot);
        appends += number > 0;
        changes += number > 0 ? measured(snapshot->ledger, "rebuild_changes") : 0;
        documents += measured(snapshot->ledger, "documents");
        snapshot_destroy(snapshot);
    } while (number > 0);
    json_array_append_new(list, json_pack("{s:o, s:i, s:I, s:I, s:I}", "dataset",
                                          facts_text(dataset, strlen(dataset)), "snapshot",
                                          (int)newest, "appends", appends, "documents", documents,
                                          "rebuild_changes", changes));
    return SLUICE_OK;
}

sluice_status rebuild_json(const struct plan *plan, json_t *list, struct sluice_error *err)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            bool appends = false;
            uint32_t *numbers = NULL;
            size_t n = 0;
            for (uint32_t k = 0; op_writes(op) && k < op_stage(op)->n_notes; k++) {
                const struct stage_note *note = &op_stage(op)->notes[k];
                appends =
                    appends || (strcmp(note->key, "append") == 0 && strcmp(note->json, "0") != 0);
            }
            if (!appends) {
                continue;
            }
            TRY(snapshot_list(op_stage(op)->dataset, &numbers, &n, err));
            free(numbers);
            if (n > 0) {
                TRY(dataset_json(op_stage(op)->dataset, list, err));
            }
        }
    }
    return SLUICE_OK;
}
