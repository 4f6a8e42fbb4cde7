/* fasttext - what fastText models say about texts: their language, or any other label. This file is
 * what the stages share. */
#include "fasttext.h"

#include <stdio.h>

sluice_status fasttext_load(const struct sluice_host_api *api, struct sluice_host *host,
                            const char *path, struct ft_model **out, struct sluice_error *err)
{
    const void *data;
    uint64_t size;
    sluice_status status = api->read_file(host, path, &data, &size, err);

    *out = NULL;
    return status == SLUICE_OK ? ft_model_load(data, (size_t)size, out, err) : status;
}

int64_t fasttext_find(const struct ft_model *model, const char *label)
{
    for (size_t i = 0; i < ft_model_labels(model); i++) {
        const char *name = ft_model_label(model, i);
        size_t n = strlen(FASTTEXT_LABEL);
        if (strncmp(name, FASTTEXT_LABEL, n) == 0 && strcmp(name + n, label) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

sluice_status fasttext_no_label(const struct ft_model *model, const char *option, const char *label,
                                struct sluice_error *err)
{
    char message[700];
    int at = snprintf(message, sizeof message, "the model has no label '%.100s'; it has", label);

    for (size_t i = 0; i < ft_model_labels(model); i++) {
        const char *name = ft_model_label(model, i);
        const char *plain = strncmp(name, FASTTEXT_LABEL, strlen(FASTTEXT_LABEL)) == 0
                                ? name + strlen(FASTTEXT_LABEL)
                                : name;
        if ((size_t)at + strlen(plain) + 12 > sizeof message) {
            (void)snprintf(message + at, sizeof message - (size_t)at, " ...");
            break;
        }
        at +=
            snprintf(message + at, sizeof message - (size_t)at, "%s %s", i == 0 ? "" : ",", plain);
    }
    return sluice_fail(err, SLUICE_E_CONFIG, option, message);
}

int fasttext_json_string(struct sluice_bytes *out, const char *text, size_t n)
{
    int ok = sluice_bytes_add(out, "\"", 1);

    for (size_t i = 0; ok && i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        char code[8];
        if (c == '"' || c == '\\' || c < 0x20) {
            int length = snprintf(code, sizeof code, "\\u%04x", c);
            ok = sluice_bytes_add(out, code, (uint64_t)length);
        } else {
            ok = sluice_bytes_add(out, text + i, 1);
        }
    }
    return ok && sluice_bytes_add(out, "\"", 1);
}

int fasttext_json_number(struct sluice_bytes *out, double value)
{
    char text[40];
    int n = snprintf(text, sizeof text, "%.17g", value);

    return sluice_bytes_add(out, text, (uint64_t)n);
}
