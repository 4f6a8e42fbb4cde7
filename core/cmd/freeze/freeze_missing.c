/* What of a frozen plan is not there any more, or another: see freeze.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/freeze/freezeInt.h"
#include "cmd/plan/used.h"
#include "store/store.h"

struct looking {
    struct session *session;
    freeze_missing_fn tell;
    void *ctx;
};

/* The program shapes every byte, and is not kept. */
static sluice_status look_program(const struct looking *looking, struct sluice_error *err)
{
    const struct freeze *freeze = looking->session->freeze;
    const char *version;
    const char *sha256;
    char message[400];
    json_t *own = NULL;

    TRY(used_program(looking->session, NULL, &own, err));
    if (json_unpack(own, "{s:{s:s, s:s}}", "program", "version", &version, "sha256", &sha256) ==
            0 &&
        strcmp(sha256, freeze->sha256) != 0) {
        snprintf(message, sizeof message,
                 "the plan was made with sluice %.60s (core library %.16s…), this is sluice %.60s "
                 "(%.16s…)",
                 freeze->version, freeze->sha256, version, sha256);
        looking->tell(looking->ctx, "program", "", message);
    }
    json_decref(own);
    return SLUICE_OK;
}

static sluice_status look_input(const struct looking *looking, const struct listing_file *file,
                                struct sluice_error *err)
{
    struct store_version now;
    char message[200];
    bool found = false;

    TRY(store_stat(file->path, &now, &found, err));
    if (found && store_version_holds(&file->version, &now)) {
        return SLUICE_OK;
    }
    if (!found) {
        snprintf(message, sizeof message, "is gone");
    } else if (now.size != file->version.size) {
        snprintf(message, sizeof message, "changed: %" PRIu64 " bytes then, %" PRIu64 " now",
                 file->version.size, now.size);
    } else {
        snprintf(message, sizeof message, "was written again (%" PRIu64 " bytes, as then)",
                 now.size);
    }
    looking->tell(looking->ctx, "input", file->path, message);
    return SLUICE_OK;
}

static sluice_status look_inputs(const struct looking *looking, const struct frozen *list,
                                 struct sluice_error *err)
{
    struct sluice_error damage = ERROR_INIT;
    const struct hash128 *hashes;
    struct listing files;
    sluice_status status = freeze_files(looking->session, list, &files, &hashes, &damage);

    if (status == SLUICE_E_DATA) {
        looking->tell(looking->ctx, "input", list->place, damage.message);
        return SLUICE_OK;
    }
    if (status != SLUICE_OK) {
        if (err != NULL) {
            *err = damage;
        }
        return status;
    }
    for (size_t i = 0; i < files.n && status == SLUICE_OK; i++) {
        status = look_input(looking, &files.files[i], err);
    }
    listing_deinit(&files);
    return status;
}

static sluice_status look_kept(const struct looking *looking, const struct frozen *file,
                               struct sluice_error *err)
{
    struct sluice_error damage = ERROR_INIT;
    char message[1200];
    sluice_status status = freeze_check(file, NULL, &damage);

    if (status == SLUICE_E_DATA) {
        const char *from = file->path[0] != '\0' ? file->path : file->name;
        snprintf(message, sizeof message, "the copy of it in the run is gone or was changed: %s",
                 file->far != NULL ? file->far : file->place);
        looking->tell(looking->ctx, frozen_kinds[file->kind], from, message);
        return SLUICE_OK;
    }
    if (status != SLUICE_OK && err != NULL) {
        *err = damage;
    }
    return status;
}

sluice_status freeze_missing(struct session *session, freeze_missing_fn tell, void *ctx,
                             struct sluice_error *err)
{
    struct looking looking = { session, tell, ctx };
    const struct freeze *freeze = session->freeze;
    sluice_status status = look_program(&looking, err);

    for (uint32_t i = 0; i < freeze->n && status == SLUICE_OK; i++) {
        const struct frozen *file = &freeze->files[i];
        status = file->kind == FROZEN_INPUTS ? look_inputs(&looking, file, err)
                                             : look_kept(&looking, file, err);
    }
    return status;
}
