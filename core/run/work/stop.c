/* The order to stop a run: see stop.h. */
#include "run/work/stop.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

#define FILE_MAX ((uint64_t)1 << 16)

static sluice_status stop_path(const char *run_dir, char **out, struct sluice_error *err)
{
    *out = store_join(run_dir, "stop");
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

sluice_status stop_read(const char *run_dir, struct stop_order *order, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    char *path;
    sluice_status status;

    *order = (struct stop_order){ .given = false };
    TRY(stop_path(run_dir, &path, err));
    status = store_read_all(path, FILE_MAX, &text, &order->given, err);
    if (status == SLUICE_OK && order->given) {
        json_t *json = json_loadb(text.data, text.size, 0, NULL);
        const char *by = json_string_value(json_object_get(json, "by"));
        order->now = json_is_true(json_object_get(json, "now"));
        snprintf(order->by, sizeof order->by, "%s", by == NULL ? "somebody" : by);
        json_decref(json);
    }
    buf_deinit(&text);
    free(path);
    return status;
}

sluice_status stop_give(const char *run_dir, bool now, const char *by, struct sluice_error *err)
{
    json_t *json = json_pack("{s:b, s:s}", "now", now, "by", by);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    char *path = NULL;
    sluice_status status =
        text == NULL ? error_nomem(err, "an order") : stop_path(run_dir, &path, err);

    if (status == SLUICE_OK) {
        status = store_replace(path, text, strlen(text), STORE_LOOSE, err);
    }
    free(path);
    free(text);
    json_decref(json);
    return status;
}

sluice_status stop_undo(const char *run_dir, struct sluice_error *err)
{
    char *path;
    sluice_status status;

    TRY(stop_path(run_dir, &path, err));
    status = store_remove(path, err);
    free(path);
    return status;
}

sluice_status stop_refuse(const char *run_dir, struct sluice_error *err)
{
    struct stop_order order;

    TRY(stop_read(run_dir, &order, err));
    return order.given ? error_set(err, SLUICE_E_CANCELLED,
                                   "the run was stopped by %s; `sluice run` or `sluice stop RUN "
                                   "--undo` lets it go on",
                                   order.by)
                       : SLUICE_OK;
}
