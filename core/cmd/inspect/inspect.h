/* `sluice inspect [STAGE] [--json|--md|--luals] [--all]`: what stages there are and what a stage's
 * options are, printed from the option tables. Depends on plugin/registry. */
#ifndef SLUICE_CMD_INSPECT_H
#define SLUICE_CMD_INSPECT_H

#include "plugin/registry.h"

enum inspect_format { INSPECT_TEXT, INSPECT_JSON, INSPECT_MARKDOWN };

/* Width of the terminal on stdout, or 100. */
int inspect_width(void);
/* Appends text wrapped at width, each line after the first indented by indent columns; column =
 * where the cursor is. */
void inspect_wrap(struct buf *out, const char *text, int width, int indent, int column);

#endif
