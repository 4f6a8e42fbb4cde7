/* Projects from templates: copies folders of text files with words replaced. Depends on store.
 *
 * A template is a folder tree. A project is made of several of them laid over each other, later
 * files replacing earlier ones, so that what languages or roles share stands once. In file names
 * and in contents each word (NAME_HERE …) is replaced; it is a plain identifier, so that a
 * template's sources are valid in their own language. "dot-x" becomes ".x". */
#ifndef SLUICE_CMD_NEW_TEMPLATE_H
#define SLUICE_CMD_NEW_TEMPLATE_H

#include "store/disk.h"

struct template_word {
    const char *word, *text;
};

struct template
{
    const char *root;         /* folder of the templates */
    const char *const *parts; /* folders below it, later ones win; one that is absent is an error */
    size_t n_parts;
    const struct template_word *words;
    size_t n_words;
};

/* The files of a project, relative to it, sorted. */
struct template_files {
    char **names; /* owned */
    size_t n;
};

/* Makes the folder `to` and the files in it. SLUICE_E_CONFIG: it is there already (an empty folder
 * too). Nothing is left of it on failure. *out is the caller's to deinit, also on failure. */
sluice_status template_write(const struct template *, const char *to, struct template_files *out,
                             struct sluice_error *) MUST_USE;
/* One file alone: from `file` in the first part to the new file `to`. */
sluice_status template_write_file(const struct template *, const char *file, const char *to,
                                  struct sluice_error *) MUST_USE;
void template_files_deinit(struct template_files *);

#endif
