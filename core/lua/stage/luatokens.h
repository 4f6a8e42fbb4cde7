/* Tokens of a Lua text, for the identity of functions: what comments, spaces and line breaks do not
 * change (Lua 5.4 reference manual, 3.1). The text is one that Lua took. Thread-safe. */
#ifndef SLUICE_LUA_LUATOKENS_H
#define SLUICE_LUA_LUATOKENS_H

#include "base/hash.h"

/* Adds the tokens that stand, also in part, on lines first to last, counted from 1. Functions of
 * the same tokens do the same, but for the lines that their errors name; that two are told apart
 * which do the same is possible. */
void luatokens_hash(struct hasher *, const char *text, size_t n, int first, int last);

#endif
