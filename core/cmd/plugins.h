/* `sluice plugins [--json|--md] [--index]`: which plugins were found, where, and what was left out
 * and why. Depends on plugin/registry. */
#ifndef SLUICE_CMD_PLUGINS_H
#define SLUICE_CMD_PLUGINS_H

#include "cmd/inspect.h"

/* argv[0] is "plugins"; returns the process's exit status. --index prints plugins/index.txt for the
 * install tree. */
int cmd_plugins(int argc, char **argv, struct registry *);

/* Call registry_load_all first. */
void plugins_list(const struct registry *, enum inspect_format, int width, struct buf *out);

#endif
