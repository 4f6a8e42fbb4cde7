/* Tables that tasks commit beside their rows: what was dropped, set aside and counted. See
 * runview.h. */
#include <stdlib.h>
#include <string.h>

#include "run/edge/table.h"
#include "run/labels.h"
#include "run/runInt.h"
#include "run/runview.h"
#include "store/store.h"

/* Opens a table of a done task for reading; *out = NULL when it has none. directory is the caller's
 * to deinit after the reader is closed. */
static sluice_status open_table(const struct run *run, uint32_t p, uint32_t task,
                                enum task_table table, struct schema *schema,
                                struct edge_directory *directory, struct edge_reader **out,
                                struct sluice_error *err)
{
    const struct commit *commit = run->tasks[p][task].commit;
    const struct commit_output *output;
    const struct commit_state *blob;
    struct label label = label_table(table);
    char *path;
    struct edge_input input;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    memset(directory, 0, sizeof *directory);
    schema_init(schema);
    output = commit == NULL ? NULL : commit_find_output(commit, label.text);
    blob = commit == NULL ? NULL : commit_find_state(commit, label.text);
    if (output == NULL || blob == NULL) {
        /* A task commits no table that got no rows. */
        return SLUICE_OK;
    }
    status = table_schema(table, schema, err);
    if (status == SLUICE_OK) {
        status = edge_directory_decode(blob->data, blob->size, directory, err);
    }
    path = store_join(run->spill_dir, output->file);
    if (status == SLUICE_OK) {
        input = (struct edge_input){ .path = path, .directory = directory, .partition = 0 };
        status = path == NULL ? error_nomem(err, "a path")
                              : edge_reader_open(schema, &input, 1, out, err);
    }
    free(path);
    if (status != SLUICE_OK) {
        edge_directory_deinit(directory);
        schema_deinit(schema);
    }
    return status;
}

sluice_status runview_table(const struct run *run, uint32_t p, uint32_t task, enum task_table table,
                            runview_row *fn, void *ctx, struct sluice_error *err)
{
    struct schema schema;
    struct edge_directory directory;
    struct edge_reader *reader = NULL;
    bool stop = false;
    sluice_status status;

    TRY(open_table(run, p, task, table, &schema, &directory, &reader, err));
    if (reader == NULL) {
        return SLUICE_OK;
    }
    do {
        struct batch *batch = NULL;
        status = edge_reader_next(reader, &batch, err);
        if (status != SLUICE_OK || batch == NULL) {
            break;
        }
        for (int64_t k = 0; status == SLUICE_OK && !stop && k < batch->length; k++) {
            status = fn(ctx, batch, k, &stop, err);
        }
        batch_unref(batch);
    } while (status == SLUICE_OK && !stop);
    edge_reader_close(reader);
    edge_directory_deinit(&directory);
    schema_deinit(&schema);
    return status;
}

const struct listing_file *runview_bad_file(const struct phase *phase, uint32_t task,
                                            const struct batch *batch, int64_t row)
{
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);
    const struct split *split;

    if (runview_null(batch, BAD_FILE, row) || lane == NULL || lane->kind != LANE_SPLITS) {
        return NULL;
    }
    split = &lane->splits.items[index];
    return runview_u32(batch, BAD_FILE, row) < split->n_ranges
               ? &lane->files.files[split->ranges[runview_u32(batch, BAD_FILE, row)].file]
               : NULL;
}
