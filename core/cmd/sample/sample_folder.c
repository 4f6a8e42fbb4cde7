/* The run directory that `sluice sample` works in: beside the others, under a name that a sweep
 * removes when its process died. See sampleInt.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/sample/sampleInt.h"
#include "store/pending.h"
#include "store/temp.h"

/* Links every file of a folder of one run into another: commits and what they name never change. */
static void lend_files(const char *from, const char *to)
{
    struct sluice_error err = ERROR_INIT;
    struct disk_names names;

    if (disk_list(from, &names, &err) != SLUICE_OK) {
        return;
    }
    for (size_t i = 0; i < names.n; i++) {
        char *source = disk_join(from, names.names[i]);
        char *target = disk_join(to, names.names[i]);
        struct stat info;
        if (source != NULL && target != NULL && names.names[i][0] != '.' &&
            lstat(source, &info) == 0) {
            if (S_ISREG(info.st_mode)) {
                (void)disk_link(source, target); /* without it the task runs */
            } else if (S_ISDIR(info.st_mode) && disk_mkdir(target) == 0) {
                lend_files(source, target);
            }
        }
        free(source);
        free(target);
    }
    disk_names_deinit(&names);
}

/* A run in a place lends nothing: its files can't get a second name here, and to fetch them all may
 * cost more than to make the few again that are needed. */
static void lend(struct sampling *sampling, const char *run)
{
    static const char *const folders[] = { "spill", "tasks" };
    struct sluice_error err = ERROR_INIT;
    struct buf inputs = BUF_INIT;
    struct published published;
    bool found = false;
    char *from;
    char *to;

    if (!store_is_local(run)) {
        return;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        from = disk_join(run, folders[i]);
        to = disk_join(sampling->work, folders[i]);
        if (from != NULL && to != NULL && disk_mkdir(to) == 0) {
            lend_files(from, to);
        }
        free(from);
        free(to);
    }
    /* What is known of input files: a copy, since it is written to. */
    from = disk_join(run, "cache/inputs");
    to = disk_join(sampling->work, "cache");
    if (from != NULL && to != NULL && disk_mkdir(to) == 0 &&
        disk_read_file(from, UINT64_C(1) << 30, &inputs, &found, &err) == SLUICE_OK && found &&
        pending_put(to, "inputs", inputs.data, inputs.size, 0, &published, &err) != SLUICE_OK) {
        err.code = SLUICE_OK; /* without it inputs are looked at again */
    }
    buf_deinit(&inputs);
    free(from);
    free(to);
}

sluice_status sample_folder_make(struct sampling *sampling, const struct session *session,
                                 struct sluice_error *err)
{
    const char *given = sampling->scratch;
    char *parent = given == NULL     ? str_printf("%s/.sluice", session->base_dir)
                   : given[0] == '/' ? str_copy(given, strlen(given))
                                     : disk_join(session->cwd, given);
    char *run = NULL;
    sluice_status status =
        parent == NULL ? error_nomem(err, "a path") : temp_folder(parent, &sampling->work, err);

    if (status != SLUICE_OK && status != SLUICE_E_NOMEM && given == NULL) {
        error_prefix(err, "sample needs a place to work in; give one with --scratch DIR");
    }
    if (status == SLUICE_OK) {
        run = sampling->run_dir != NULL
                  ? session_run_dir(sampling->run_dir)
                  : str_printf("%s/.sluice/%s", session->base_dir, session->graph->name);
        sampling->dataset = disk_join(sampling->work, "sample");
        if (run == NULL || sampling->dataset == NULL) {
            status = error_nomem(err, "a path");
        } else {
            lend(sampling, run);
        }
    }
    free(run);
    free(parent);
    return status;
}
