/* What `inspect`, `plugins` and `--version` share. Depends on session, view. */
#ifndef SLUICE_CMD_INSPECTINT_H
#define SLUICE_CMD_INSPECTINT_H

#include <jansson.h>

#include "cmd/session.h"
#include "plugin/registry.h"

/* inspect_json.c */
bool inspect_hidden(const struct registry_entry *);
void inspect_json(const struct registry_entry *, struct buf *out); /* one object, no newline */
void inspect_list_json(const struct registry *, bool all, struct buf *out);
void inspect_text_json(struct buf *out, const char *text); /* a JSON string or null */
/* The same object as a value, with what views show beside: the options' limits as text, abi. Gives
 * a reference; NULL = out of memory. */
json_t *inspect_stage(const struct registry_entry *);
/* An array of options, with their limits as text. Gives a reference; NULL = out of memory. */
json_t *inspect_options(const struct option_table *);
/* Ends the sentence of an option's doc and adds what its flags mean. */
void inspect_remarks(const struct sluice_option *, struct buf *out);

/* composites.c */
/* The composites of the standard library, or the one called `name` (then with `stages`, what it is
 * made of): an array of objects as inspect_stage gives, of the role "composite". Gives a reference;
 * an empty one where there is none. NULL = out of memory, or the library can't be loaded: err. */
json_t *inspect_composites(struct session *, const char *name, struct sluice_error *err);

/* inspect_luals.c: annotations of all stages and text methods for editors. */
void inspect_luals(const struct registry *, struct buf *out);

/* inspect.c */
/* Shows facts, which it *takes*, by the view of that name; the process's exit status. */
int inspect_show(const char *view, const struct args *args, json_t *facts);
/* Writes out to stdout and frees it; the process's exit status. */
int inspect_print(struct buf *out, bool json);

#endif
