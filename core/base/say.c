/* What people and programs read: see say.h. */
#include "base/say.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

/* Bytes of the UTF-8 character at text; 0 = it is none. */
static size_t character(const char *text, size_t n)
{
    unsigned char lead = (unsigned char)text[0];
    size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

    return size == 1 || (size <= n && utf8_valid_scalar(text, size)) ? size : 0;
}

/* U+0000 to U+001F but tab and newline, and U+007F to U+009F. */
static bool is_control(const char *text, size_t size)
{
    unsigned char first = (unsigned char)text[0];

    return size == 1 ? (first < 0x20 && first != '\t' && first != '\n') || first == 0x7f
                     : size == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

/* Those of JSON that are no UTF-8 stay: nothing there could stand for them. */
static bool put(FILE *out, const char *text, size_t n, bool json)
{
    size_t done = 0;

    flockfile(out);
    for (size_t at = 0; at < n;) {
        size_t size = character(text + at, n - at);
        size_t used = size > 0 ? size : 1;
        if (size > 0 ? is_control(text + at, size) : !json) {
            fwrite(text + done, 1, at - done, out);
            fprintf(out, size > 0 ? "\\u00%02x" : "\\x%02x", (unsigned char)text[at + used - 1]);
            done = at + used;
        }
        at += used;
    }
    fwrite(text + done, 1, n - done, out);
    funlockfile(out);
    return ferror(out) == 0;
}

static void say_list(FILE *out, const char *format, va_list list) PRINTF_LIKE(2, 0);
static void say_list(FILE *out, const char *format, va_list list)
{
    char text[1024];
    char *whole = NULL;
    va_list again;
    int n;

    va_copy(again, list);
    n = vsnprintf(text, sizeof text, format, list);
    if (n >= (int)sizeof text) {
        n = vasprintf(&whole, format, again);
    }
    va_end(again);
    if (n < 0) { /* out of memory: its beginning */
        n = (int)strlen(text);
        whole = NULL;
    }
    put(out, whole != NULL ? whole : text, (size_t)n, false);
    free(whole);
}

void say(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say_list(stdout, format, list);
    va_end(list);
}

void say_to(FILE *out, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say_list(out, format, list);
    va_end(list);
}

void say_text(FILE *out, const char *text, size_t n)
{
    put(out, text, n, false);
}

bool say_json(const char *text, size_t n)
{
    return put(stdout, text, n, true);
}

bool say_json_line(const char *text)
{
    return say_json(text, strlen(text)) && say_json("\n", 1);
}

bool say_data(const void *data, size_t n)
{
    if (isatty(STDOUT_FILENO)) {
        return put(stdout, data, n, false);
    }
    return fwrite(data, 1, n, stdout) == n;
}

void say_up(int lines)
{
    fprintf(stderr, "\033[%dA\033[J", lines);
}
