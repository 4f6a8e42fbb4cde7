/* A plugin's descriptor as text: how what a child process found in a plugin reaches a process that
 * does not load it. Owns the text's layout; private to the registry and the probe. Depends on
 * plugin_file.
 *
 * The text is one JSON object with every field of the descriptor and of its stages and options; of
 * functions only whether they are there. It comes from a process that ran foreign code, so reading
 * it trusts nothing: it must be UTF-8 without NUL, of bounded size, and pass the checks that a
 * loaded descriptor passes. */
#ifndef SLUICE_PLUGIN_PLUGIN_DESCRIBE_H
#define SLUICE_PLUGIN_PLUGIN_DESCRIBE_H

#include "base/buf.h"
#include "plugin/plugin_file.h"

#define PLUGIN_DESCRIPTION_MAX ((size_t)8 << 20)

/* Appends the text. SLUICE_E_CONFIG: a text in it is not UTF-8, or it is longer than
 * PLUGIN_DESCRIPTION_MAX. */
sluice_status plugin_describe(const struct plugin_file *, struct buf *out,
                              struct sluice_error *err) MUST_USE;
/* Rebuilds what the text tells; path is named in messages. Functions that the plugin has are not
 * NULL, but give SLUICE_E_INTERNAL when called: its code is not here. *out needs deinit after
 * success only. */
sluice_status plugin_described(const char *text, size_t n, const char *path,
                               struct plugin_file *out, struct sluice_error *err) MUST_USE;
void plugin_description_destroy(struct plugin_description *); /* NULL is fine */

#endif
