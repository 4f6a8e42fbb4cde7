/* text_list.h — the lines of a list in a text file, as Python reads them: \n, \r and \r\n end a
 * line, an end at the end of the file opens no further line.
 *
 * Depends on text_lines.h. Borrows the file's bytes.
 */
#ifndef TEXT_LIST_H
#define TEXT_LIST_H

#include "text/text_gopher.h" /* struct text_string */

#ifdef __cplusplus
extern "C" {
#endif

/* Zero but for data and size to begin with. */
struct text_list {
    const char *data;
    size_t size, at;
    size_t number; /* of the line last given, from 1 */
};

/* The next line, without its end, in *line, and without white space around it in *entry (either may
 * be NULL). False at the end. Lines of over 4 GiB are cut there. */
bool text_list_next(struct text_list *list, struct text_string *line, struct text_string *entry);

/* Offset of the end of the line that holds the byte at `at` <= size. */
size_t text_list_line_end(const char *data, size_t size, size_t at);

#ifdef __cplusplus
}
#endif

#endif
