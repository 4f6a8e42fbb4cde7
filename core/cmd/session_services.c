/* What a session does for its stages: see session.h. */
#include <stdlib.h>

#include "cmd/session.h"
#include "store/filemap.h"
#include "store/input.h"
#include "store/store.h"

static sluice_status map_file(void *ctx, const char *path, const void **data, uint64_t *size,
                              struct sluice_error *err)
{
    struct session *session = ctx;

    return session->maps == NULL
               ? error_nomem(err, "a mapped file")
               : filemaps_take(session->maps, path, session->scratch, data, size, err);
}

static void unmap_file(void *ctx, const void *data, uint64_t size)
{
    filemaps_release(((struct session *)ctx)->maps, data, size);
}

static const char *scratch_dir(void *ctx, const char *stage)
{
    struct session *session = ctx;
    struct sluice_error err = ERROR_INIT;

    if (store_make_folder(session->scratch, false, &err) == SLUICE_OK) {
        return session->scratch;
    }
    if (session->options.log != NULL) { /* the stage learns that there is none, people why */
        session->options.log(ctx, SLUICE_LOG_ERROR, stage, err.message);
    }
    return NULL;
}

void session_services(struct session *session)
{
    uint64_t share =
        session->options.memory / 4 / (session->options.workers > 0 ? session->options.workers : 1);

    if (session->maps == NULL) {
        session->maps = filemaps_create();
    }
    session->services =
        (struct stage_services){ .ctx = session,
                                 .budget = &session->budget,
                                 .log = session->options.log,
                                 .read_file = input_lend,
                                 .release_file = input_take_back,
                                 .map_file = map_file,
                                 .unmap_file = unmap_file,
                                 .scratch_dir = scratch_dir,
                                 .seed = session->graph == NULL ? 0 : session->graph->seed,
                                 .memory_share = share,
                                 .cancelled = &session_cancelled,
                                 .check = getenv("SLUICE_CHECK") != NULL };
}
