/* The folders of datasets that a plan writes: each has one writer, none lies in another's own
 * folders, none is taken in by the plan's inputs, be it by a pattern, a list or as a dataset.
 * Folders are compared by their canonical names. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/planInt.h"
#include "store/glob.h"
#include "store/outcodec.h"
#include "store/paths.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/tags.h"

/* Does inner lie in one of the folders that the dataset outer makes? */
static bool inside(const char *outer, const char *inner)
{
    const char *below = path_below(outer, inner);

    return below != NULL && *below != '\0' && dataset_part(below, strcspn(below, "/"));
}

static sluice_status check_pair(const struct op *one, const char *folder, const struct op *two,
                                const char *other, const char *where, struct sluice_error *err)
{
    if (strcmp(folder, other) == 0) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "%s: '%s' and '%s' write the same dataset %s%s%s; give each a folder of "
            "its own, or unite the streams",
            where, two->name, one->name, op_stage(one)->dataset,
            strcmp(op_stage(one)->dataset, op_stage(two)->dataset) == 0 ? "" : ", also written ",
            strcmp(op_stage(one)->dataset, op_stage(two)->dataset) == 0 ? ""
                                                                        : op_stage(two)->dataset);
    }
    if (inside(other, folder) || inside(folder, other)) {
        const struct op *within = inside(other, folder) ? one : two;
        const struct op *around = within == one ? two : one;
        return error_set(
            err, SLUICE_E_CONFIG,
            "%s: the dataset %s of '%s' lies in a folder that the dataset %s of '%s' "
            "keeps for itself (data, snapshots, latest, tags, v000001 ...); give it another",
            where, op_stage(within)->dataset, within->name, op_stage(around)->dataset,
            around->name);
    }
    return SLUICE_OK;
}

sluice_status planner_check_dataset(const struct planner *planner, const struct op *op,
                                    const char *where, struct sluice_error *err)
{
    char *folder;
    char *around;
    sluice_status status = store_check(op_stage(op)->dataset, err);

    if (status != SLUICE_OK) {
        return error_prefix(err, "%s: stage '%s'", where, op->name);
    }
    folder = path_canonical(op_stage(op)->dataset);
    around = folder == NULL ? NULL : dataset_around(folder);
    status = folder == NULL ? error_nomem(err, "the plan") : SLUICE_OK;
    if (around != NULL) {
        status =
            error_set(err, SLUICE_E_CONFIG,
                      "%s: '%s' writes to %s, which lies in a folder of the dataset %s; give a "
                      "folder outside of it",
                      where, op->name, op_stage(op)->dataset, around);
    }
    for (uint32_t p = 0; status == SLUICE_OK && p < planner->plan->n_phases; p++) {
        for (uint32_t i = 0; status == SLUICE_OK && i < planner->plan->phases[p]->n_ops; i++) {
            const struct op *other = planner->plan->phases[p]->ops[i];
            char *second;
            if (other == op || !op_writes(other) || op_stage(other)->dataset == NULL) {
                continue;
            }
            second = path_canonical(op_stage(other)->dataset);
            status = second == NULL ? error_nomem(err, "the plan")
                                    : check_pair(op, folder, other, second, where, err);
            free(second);
        }
    }
    free(around);
    free(folder);
    return status;
}

/* ---- patterns that catch what the plan writes ---- */

/* Does the pattern match a file that the writer may put into its dataset? below: where that is in
 * the fixed folder of the pattern; NULL: the fixed folder is one of the dataset's own. */
static sluice_status catches(const struct glob *glob, const char *below, const struct op *writer,
                             bool *caught, struct sluice_error *err)
{
    static const char *const folders[] = { "data/", "v000001/", "latest/" };

    for (uint32_t k = 0; !*caught && k < op_stage(writer)->n_outputs; k++) {
        enum outcodec_kind codec;
        TRY(outcodec_parse(op_stage(writer)->outputs[k].codec, &codec, err));
        for (size_t i = 0; !*caught && i < sizeof folders / sizeof folders[0]; i++) {
            bool deeper = below != NULL && *below != '\0';
            char *path = str_printf("%s%s%spart-00000-0123456789ab%s%s", deeper ? below : "",
                                    deeper ? "/" : "", below == NULL ? "" : folders[i],
                                    op_stage(writer)->outputs[k].suffix, outcodec_suffix(codec));
            if (path == NULL) {
                return error_nomem(err, "the plan");
            }
            *caught = glob_match_path(glob, path);
            free(path);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_pattern(const char *base_dir, const char *text, const struct op *writer,
                                   const char *folder, bool *caught, struct sluice_error *err)
{
    static struct glob_segment everything = { .deep = true };
    struct glob all = { .segments = &everything, .n = 1 };
    struct glob glob;
    sluice_status status;
    char *full;
    char *fixed;

    *caught = false;
    if (text[0] == '@') { /* a list: its files are looked at when it is read */
        return SLUICE_OK;
    }
    status = glob_parse(text, &glob, err);
    if (status == SLUICE_OK) {
        full = store_absolute(base_dir, glob.prefix);
        fixed = full == NULL ? NULL : path_canonical(full);
        if (fixed == NULL) {
            status = error_nomem(err, "the plan");
        } else if (path_below(fixed, folder) != NULL || inside(folder, fixed)) {
            status =
                catches(glob.n == 0 ? &all : &glob, path_below(fixed, folder), writer, caught, err);
        }
        free(fixed);
        free(full);
    }
    glob_deinit(&glob);
    return status;
}

/* The newest snapshot of what the writer writes? One with a number stays what it is. */
static sluice_status check_reference(const char *base_dir, const char *text, const char *folder,
                                     bool *caught, struct sluice_error *err)
{
    uint32_t number;
    char *full = NULL;
    char *canonical;

    TRY(tags_resolve(base_dir, text, &full, &number, err));
    canonical = path_canonical(full);
    *caught = number == 0 && canonical != NULL && strcmp(canonical, folder) == 0;
    free(full);
    if (canonical == NULL) {
        return error_nomem(err, "the plan");
    }
    free(canonical);
    return SLUICE_OK;
}

static sluice_status takes_in(const char *where, const char *input, const struct op *writer,
                              struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CONFIG,
                     "%s: the input '%s' takes in what '%s' writes to %s: each run would read what "
                     "the last one wrote; write somewhere else, or give an input that leaves that "
                     "folder out",
                     where, input, writer->name, op_stage(writer)->dataset);
}

/* Against all patterns of one source. */
static sluice_status check_source(const struct planner *planner, const struct node *files,
                                  const struct op *writer, const char *folder,
                                  struct sluice_error *err)
{
    const char *base_dir = planner->plan->options.base_dir;

    for (uint32_t i = 0; i < files->n_patterns; i++) {
        const char *text = files->patterns[i];
        bool caught = false;
        sluice_status status = files->kind == NODE_DATASET
                                   ? check_reference(base_dir, text, folder, &caught, err)
                                   : check_pattern(base_dir, text, writer, folder, &caught, err);
        if (status != SLUICE_OK) {
            return error_prefix(err, "%s", files->where);
        }
        if (caught) {
            return takes_in(files->where, text, writer, err);
        }
    }
    return SLUICE_OK;
}

/* Does a folder (canonical) hold files that one of the plan's writers put there? */
static sluice_status written_in(const struct planner *planner, const char *where,
                                const char *folder, const struct listing_file *file,
                                struct sluice_error *err)
{
    const struct plan *plan = planner->plan;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            char *dataset = op_writes(op) ? path_canonical(op_stage(op)->dataset) : NULL;
            bool caught = dataset != NULL && inside(dataset, folder);
            if (op_writes(op) && dataset == NULL) {
                return error_nomem(err, "the plan");
            }
            free(dataset);
            if (caught) {
                return takes_in(where, file->path, op, err);
            }
        }
    }
    return SLUICE_OK;
}

sluice_status planner_check_files(const struct planner *planner, const struct node *files,
                                  const struct listing *found, struct sluice_error *err)
{
    const char *last = "";
    size_t n_last = 0;

    for (size_t i = 0; i < found->n; i++) {
        const char *path = found->files[i].path;
        size_t n = (size_t)(strrchr(path, '/') - path);
        char *folder;
        char *canonical;
        sluice_status status;
        if (n == n_last && memcmp(path, last, n) == 0) {
            continue; /* beside the one before it */
        }
        last = path;
        n_last = n;
        folder = str_copy(path, n > 0 ? n : 1);
        canonical = folder == NULL ? NULL : path_canonical(folder);
        status = canonical == NULL
                     ? error_nomem(err, "the plan")
                     : written_in(planner, files->where, canonical, &found->files[i], err);
        free(canonical);
        free(folder);
        TRY(status);
    }
    return SLUICE_OK;
}

sluice_status planner_check_inputs(const struct planner *planner, struct sluice_error *err)
{
    const struct plan *plan = planner->plan;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            char *folder = op_writes(op) ? path_canonical(op_stage(op)->dataset) : NULL;
            sluice_status status =
                op_writes(op) && folder == NULL ? error_nomem(err, "the plan") : SLUICE_OK;
            for (uint32_t k = 0;
                 op_writes(op) && status == SLUICE_OK && k < planner->graph->n_nodes; k++) {
                const struct node *node = planner->graph->nodes[k];
                if (node->kind == NODE_FILES || node->kind == NODE_DATASET) {
                    status = check_source(planner, node, op, folder, err);
                }
            }
            free(folder);
            TRY(status);
        }
    }
    return SLUICE_OK;
}
