/* Pipelines that a command makes itself: see scripted.h. */
#include "cmd/scripted.h"

#include <stdlib.h>

#include "cmd/common.h"

void scripted_text(struct buf *out, const char *text)
{
    buf_puts(out, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at < 32 || *at == '"' || *at == '\\' || *at == 127) {
            buf_printf(out, "\\%03u", (unsigned)*at);
        } else {
            buf_append(out, (const char *)at, 1);
        }
    }
    buf_puts(out, "\"");
}

sluice_status scripted_session(const struct session_options *options, struct sluice_error *err)
{
    struct run_published *list = NULL;
    struct session session;
    size_t n = 0;
    sluice_status status = session_open(options, SESSION_RUN, &session, err);

    if (status == SLUICE_OK) {
        status = run_all(session.run, &list, &n, err);
        run_published_free(list, n);
    }
    session_close(&session);
    return status;
}

sluice_status scripted_run(const char *work, const char *name, const struct buf *script,
                           uint32_t workers, struct sluice_error *err)
{
    char *path = str_printf("%s/%s.lua", work, name);
    char *run_dir = str_printf("%s/%s", work, name);
    const struct session_options options = {
        .script = path, .run_dir = run_dir, .lock = true, .workers = workers
    };
    sluice_status status = path == NULL || run_dir == NULL
                               ? error_nomem(err, "a path")
                               : common_write(path, script->data, script->size, err);

    if (status == SLUICE_OK) {
        status = scripted_session(&options, err);
    }
    free(path);
    free(run_dir);
    return status;
}
