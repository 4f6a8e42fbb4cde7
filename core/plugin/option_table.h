/* What the parts of the option engine share, and what printers of option tables use. See options.h.
 */
#ifndef SLUICE_PLUGIN_OPTION_TABLE_H
#define SLUICE_PLUGIN_OPTION_TABLE_H

#include "plugin/options.h"

size_t option_type_size(int32_t type);    /* bytes in the config; 0 = unknown type */
bool option_name_valid(const char *name); /* [a-z][a-z0-9_]*, at most 63 bytes; NULL is not */
bool option_has_limits(const struct sluice_option *);
void option_print_limits(const struct sluice_option *,
                         struct buf *out); /* "[0, 1]", "[0, inf)" or nothing */
void option_print_choices(const struct sluice_option *, struct buf *out); /* "a, b, c" */

/* Do all defaults parse? Required options may be missing. SLUICE_E_INTERNAL. */
sluice_status options_check_defaults(const struct option_table *,
                                     struct sluice_error *err) MUST_USE;

#endif
