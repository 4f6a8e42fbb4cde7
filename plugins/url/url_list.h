/* url_list.h - lists of strings, one a line, and sets of them; the normal form of words in URLs.
 *
 * Depends on sdk/text (text_list.h reads lines). A line whose first character is # is a comment,
 * white space around an entry is not part of it, an empty line is the empty entry. Sets of lines
 * borrow the list's bytes. */
#ifndef URL_LIST_H
#define URL_LIST_H

#include <sluice.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text_list.h"

/* The next entry of a list; comments are passed over. 0 at its end. */
int url_lines_next(struct text_list *lines, const char **entry, size_t *n);

/* A set of the lines of one list, of up to 4 GiB and 2^31 entries; about 16 bytes an entry beside
 * the list itself. */
struct url_set {
    const char *data;
    size_t size;
    uint64_t *slots; /* hash << 32 | offset of the line + 1 */
    size_t n_slots, n;
    int has_empty;
};

/* host services give the memory. skip_empty: empty lines are no entries. Nothing to free when it
 * fails. */
sluice_status url_set_build(struct url_set *set, const char *data, size_t size, int skip_empty,
                            const struct sluice_host_api *api, struct sluice_host *host,
                            struct sluice_error *err);
void url_set_free(struct url_set *set, const struct sluice_host_api *api, struct sluice_host *host);
int url_set_has(const struct url_set *set, const char *key, size_t n);

/* Appends the ASCII letters, lower-cased, and digits of text to out, which has room for n bytes;
 * their number. */
size_t url_normalise(const char *text, size_t n, char *out);

#endif
