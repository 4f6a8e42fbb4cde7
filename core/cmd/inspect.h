/* `sluice inspect [STAGE] [--json|--md|--luals] [--all]`: what stages there are and what a stage's options
 * are, printed from the option tables. Depends on plugin/registry. */
#ifndef SLUICE_CMD_INSPECT_H
#define SLUICE_CMD_INSPECT_H

#include "plugin/registry.h"

enum inspect_format { INSPECT_TEXT, INSPECT_JSON, INSPECT_MARKDOWN };

/* argv[0] is "inspect"; returns the process's exit status (0, 2 = usage, 1 = internal). Prints to
 * stdout, errors to stderr. */
int cmd_inspect(int argc, char **argv, struct registry *);

/* One stage. width = columns of text output (at least 40). */
void inspect_stage(const struct registry_entry *, enum inspect_format, int width, struct buf *out);
/* All stages by role; hidden ones only with all. Call registry_load_all first. */
void inspect_list(const struct registry *, enum inspect_format, bool all, int width,
                  struct buf *out);

/* Width of the terminal on stdout, or 100. */
int inspect_width(void);
/* Appends text wrapped at width, each line after the first indented by indent columns; column =
 * where the cursor is. */
void inspect_wrap(struct buf *out, const char *text, int width, int indent, int column);

#endif
