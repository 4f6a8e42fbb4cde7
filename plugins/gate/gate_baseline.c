/* Reading what a gate compares with: numbers in texts and the manifest of a dataset's snapshot. See
 * gate.h. */
#include "gate.h"

#include <jansson.h>
#include <stdio.h>

static sluice_status no_baseline(const char *reference, const char *why, struct sluice_error *err)
{
    char message[900];

    snprintf(message, sizeof message, "the baseline '%.300s': %.400s", reference, why);
    return sluice_fail(err, SLUICE_E_CONFIG, "baseline", message);
}

/* DATASET@12 -> DATASET/snapshots/000012.json; gives. */
static char *manifest_path(const char *reference)
{
    const char *at = strrchr(reference, '@');
    size_t size = strlen(reference) + 40;
    char *path;
    uint32_t number = 0;

    if (at == NULL || at == reference || at[1] == '\0' || strlen(at + 1) > 6) {
        return NULL;
    }
    for (const char *p = at + 1; *p != '\0'; p++) {
        if (*p < '0' || *p > '9') {
            return NULL;
        }
        number = number * 10 + (uint32_t)(*p - '0');
    }
    path = number == 0 ? NULL : malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%.*s/snapshots/%06u.json", (int)(at - reference), reference, number);
    }
    return path;
}

sluice_status gate_baseline(const struct sluice_host_api *api, struct sluice_host *host,
                            const char *reference, int64_t *rows, struct sluice_error *err)
{
    char *path = manifest_path(reference);
    const void *data = NULL;
    uint64_t size = 0;
    struct sluice_error inner = { .size = sizeof inner };
    json_error_t where;
    json_t *root = NULL;
    json_t *number;
    sluice_status status;

    if (path == NULL) {
        return no_baseline(reference,
                           "expected a dataset and the number of a snapshot, such as silver/web@12",
                           err);
    }
    status = SLUICE_HAS(api, read_file) ? api->read_file(host, path, &data, &size, &inner)
                                        : SLUICE_E_INTERNAL;
    free(path);
    if (status != SLUICE_OK) {
        return no_baseline(reference,
                           inner.message[0] != '\0' ? inner.message : "its manifest can't be read",
                           err);
    }
    root = json_loadb(data, (size_t)size, JSON_REJECT_DUPLICATES, &where);
    number = json_object_get(json_object_get(root, "totals"), "rows");
    if (root == NULL) {
        status = no_baseline(reference, where.text, err);
    } else if (!json_is_integer(number) || json_integer_value(number) <= 0) {
        status = no_baseline(reference,
                             json_is_integer(number)
                                 ? "it has no rows, so nothing can be compared with it"
                                 : "its manifest names no number of rows",
                             err);
    } else {
        *rows = json_integer_value(number);
    }
    json_decref(root);
    return status;
}

sluice_status gate_share(const char *option, const char *key, const char *text, double *share,
                         struct sluice_error *err)
{
    char message[300];
    char *end = NULL;

    if (text[0] != '\0' && strspn(text, "0123456789.eE+-") == strlen(text)) {
        *share = strtod(text, &end);
    }
    if (end == NULL || *end != '\0' || !(*share >= 0 && *share <= 1)) {
        snprintf(message, sizeof message,
                 "%.40s of '%.80s': found \"%.80s\", expected a share from 0 to 1 such as 0.01",
                 option, key, text);
        return sluice_fail(err, SLUICE_E_CONFIG, option, message);
    }
    return SLUICE_OK;
}
