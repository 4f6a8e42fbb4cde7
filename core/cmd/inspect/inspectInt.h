/* What the printers of `inspect` and `plugins` share. */
#ifndef SLUICE_CMD_INSPECTINT_H
#define SLUICE_CMD_INSPECTINT_H

#include "cmd/inspect/inspect.h"

const char *inspect_role(uint32_t role, bool many); /* "reader", "readers" */
const char *inspect_mode(uint32_t mode);            /* "stateless" */
bool inspect_hidden(const struct registry_entry *);
void inspect_reasons(const struct sluice_stage *, struct buf *out); /* "a, b" */
void inspect_facts(const struct sluice_stage *, struct buf *out);   /* flags in words */
/* Ends the sentence of an option's doc and adds what its flags mean. */
void inspect_remarks(const struct sluice_option *, struct buf *out);

/* inspect_formats.c */
void inspect_json(const struct registry_entry *, struct buf *out); /* one object, no newline */
void inspect_markdown(const struct registry_entry *, int level,
                      struct buf *out); /* level of its heading */
void inspect_list_format(const struct registry *, enum inspect_format, bool all, struct buf *out);
void inspect_text_json(struct buf *out, const char *text); /* a JSON string or null */

/* inspect_luals.c: annotations of all stages and text methods for editors. */
void inspect_luals(const struct registry *, struct buf *out);

/* Writes out to stdout and frees it; the process's exit status. */
int inspect_print(struct buf *out, bool json);

#endif
