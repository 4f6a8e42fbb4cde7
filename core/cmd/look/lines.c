/* Lines of a file: see lines.h. */
#include "cmd/look/lines.h"

#include <string.h>

#include "base/buf.h"
#include "store/input.h"

#define READ_BYTES (1u << 20)
#define LINE_MOST (UINT64_C(1) << 30)

sluice_status lines_read(const char *path, lines_fn *take, void *ctx, bool *stop,
                         struct sluice_error *err)
{
    struct input *input = NULL;
    struct buf text = BUF_INIT;
    size_t begin = 0; /* of the line that is not complete yet */
    size_t scanned = 0;
    size_t got = 1;
    sluice_status status = input_open(path, &input, err);

    while (status == SLUICE_OK && !*stop && got > 0) {
        char *end;
        if (!buf_reserve(&text, READ_BYTES)) {
            status = error_nomem(err, "a row");
            break;
        }
        status = input_read(input, text.data + text.size, READ_BYTES, &got, err);
        text.size += status == SLUICE_OK ? got : 0;
        while (status == SLUICE_OK && !*stop &&
               (end = memchr(text.data + scanned, '\n', text.size - scanned)) != NULL) {
            status = take(ctx, text.data + begin, (size_t)(end - text.data) - begin, stop, err);
            begin = (size_t)(end - text.data) + 1;
            scanned = begin;
        }
        scanned = text.size;
        if (begin > 0) {
            memmove(text.data, text.data + begin, text.size - begin);
            text.size -= begin;
            scanned -= begin;
            begin = 0;
        }
        if (status == SLUICE_OK && text.size > LINE_MOST) {
            status = error_set(err, SLUICE_E_DATA, "%s has a line of more than %llu bytes", path,
                               (unsigned long long)LINE_MOST);
        }
    }
    if (status == SLUICE_OK && !*stop && text.size > 0) {
        status = take(ctx, text.data, text.size, stop, err);
    }
    input_close(input);
    buf_deinit(&text);
    return status;
}
