/* See attribute_text.h. */
#include "attribute_text.h"

#include <stdio.h>

/* A JSON string: valid UTF-8 is the host's promise. */
static int put_string(struct sluice_bytes *out, const char *text, size_t n)
{
    int ok = sluice_bytes_add(out, "\"", 1);

    for (size_t i = 0; ok && i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        char escaped[8];
        if (c == '"' || c == '\\') {
            ok = sluice_bytes_add(out, "\\", 1) && sluice_bytes_add(out, text + i, 1);
        } else if (c < 0x20) {
            int length = snprintf(escaped, sizeof escaped, "\\u%04x", c);
            ok = sluice_bytes_add(out, escaped, (uint64_t)length);
        } else {
            ok = sluice_bytes_add(out, text + i, 1);
        }
    }
    return ok && sluice_bytes_add(out, "\"", 1);
}

/* One value in one line: line breaks in JSON are white space between tokens. */
static int put_json(struct sluice_bytes *out, const char *json, size_t n)
{
    uint64_t begin = out->size;

    if (n == 0 || (n == 4 && memcmp(json, "null", 4) == 0)) {
        return sluice_bytes_add(out, "{}", 2);
    }
    if (!sluice_bytes_add(out, json, n)) {
        return 0;
    }
    for (uint64_t i = begin; i < out->size; i++) {
        if (out->data[i] == '\n' || out->data[i] == '\r') {
            out->data[i] = ' ';
        }
    }
    return 1;
}

int attribute_text_add(struct sluice_bytes *out, const char *id, size_t id_n, const char *json,
                       size_t json_n)
{
    return sluice_bytes_add(out, "{\"id\":", 6) && put_string(out, id, id_n) &&
           sluice_bytes_add(out, ",\"attributes\":", 14) && put_json(out, json, json_n) &&
           sluice_bytes_add(out, "}\n", 2);
}
