/* Showing facts to people: what a command found out, as JSON values, goes to a script of
 * scripts/views, which prints it. With --json a command prints the facts themselves and needs no
 * view. Depends on base, jansson and Lua. One thread a view.
 *
 * A view is a Lua file that returns a function; it is called with the facts and with a table of how
 * they are to be shown. Objects and arrays are tables, null is nil; pairs goes through an object's
 * members in the order of the JSON, those that are null among them (next does not: tables are
 * filled when they are first looked into). There are string, table, math, utf8 and `require "lib"`
 * (scripts/views/lib.lua), and nothing that reads, writes or loads: what is printed goes through
 * base/say.h. */
#ifndef SLUICE_CMD_VIEW_H
#define SLUICE_CMD_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"

struct view;

/* Loads NAME.lua of a folder; what it prints goes to out. What it requires is looked for beside it,
 * then in shared (NULL: nowhere else). SLUICE_E_CONFIG says file and line. */
sluice_status view_open(const char *folder, const char *name, const char *shared, FILE *out,
                        struct view **, struct sluice_error *) MUST_USE;
/* Calls the view, once or again and again; what it left in its variables stays. style: an object,
 * or NULL. Errors as above; what was printed before stays. */
sluice_status view_show(struct view *, const json_t *facts, const json_t *style,
                        struct sluice_error *) MUST_USE;
void view_close(struct view *);

/* The option of commands that show facts. */
#define VIEW_SPEC                                                                                \
    {                                                                                            \
        "--view", "FILE.lua", "show the facts, which are those of --json, by this view of yours" \
    }
/* Opens a view on standard output: the program's own of that name or, where it is not NULL, the
 * user's file, which may require what the program's views do. */
sluice_status view_find(const char *name, const char *file, struct view **,
                        struct sluice_error *) MUST_USE;
/* The same, called once and closed. *Takes* style (may be NULL; a failed json_pack would be). */
sluice_status view_once(const char *name, const char *file, const json_t *facts, json_t *style,
                        struct sluice_error *) MUST_USE;
/* Writes a page: what the program's own view NAME prints of facts goes to a file, whole or not at
 * all, in place of one that is there. *Takes* style (may be NULL). */
sluice_status view_page(const char *name, const char *path, const json_t *facts, json_t *style,
                        struct sluice_error *err) MUST_USE;
#define PAGE_SPEC(of)                                                           \
    {                                                                           \
        "--html", "FILE", "write " of " as a page: one file that loads nothing" \
    }

#endif
