/* Text primitives as methods of strings in the sandbox (s:share "digit"), on sdk/text. The analysis
 * of a text (its words, lines, hashes) is kept while the same string is asked again, so that
 * several measures of a document share the work. The table of methods with their documentation is
 * in textlib.c. Depends on sdk/text and sandbox. */
#ifndef SLUICE_LUA_TEXTLIB_H
#define SLUICE_LUA_TEXTLIB_H

#include <lua.h>
#include <stddef.h>

struct textlib;

/* Adds the methods to the string metatable's table; an unknown method is an error with a
 * suggestion. Called once, protected. */
void textlib_open(lua_State *);
void textlib_close(struct textlib *); /* NULL is fine */
/* Before each call: what is known of texts by then is found out again, so that a row costs the same
 * whatever was before it. NULL is fine. */
void textlib_forget(struct textlib *);
/* What the k-th method does, for people ("chars(): code points."); NULL past the end. */
const char *textlib_doc(size_t k);

#endif
