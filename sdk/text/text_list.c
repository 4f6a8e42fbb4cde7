/* text_list.c — see text_list.h. */
#include "text/text_list.h"

#include "text/text_lines.h"

#include <string.h>

size_t text_list_line_end(const char *data, size_t size, size_t at)
{
    if (at == size) {
        return size;
    }
    const char *newline = memchr(data + at, '\n', size - at);
    size_t stop = newline == NULL ? size : (size_t)(newline - data);
    const char *earlier = memchr(data + at, '\r', stop - at);
    return earlier == NULL ? stop : (size_t)(earlier - data);
}

bool text_list_next(struct text_list *list, struct text_string *line, struct text_string *entry)
{
    if (list->at >= list->size) {
        return false;
    }
    size_t begin = list->at;
    size_t end = text_list_line_end(list->data, list->size, begin);
    bool pair = end + 1 < list->size && list->data[end] == '\r' && list->data[end + 1] == '\n';
    size_t length = end - begin > TEXT_MAX ? TEXT_MAX : end - begin;
    struct text_span span = { 0, (uint32_t)length };

    list->at = end + 1 + pair;
    list->number++;
    if (line != NULL) {
        *line = (struct text_string){ list->data + begin, length };
    }
    if (entry != NULL) {
        span = text_strip(list->data + begin, span);
        *entry = (struct text_string){ list->data + begin + span.begin, span.end - span.begin };
    }
    return true;
}
