/* Patterns of file paths, segment by segment: parsing and matching, without touching a file
 * system. Depends on base/. The language is described in listing.h. */
#ifndef SLUICE_STORE_GLOB_H
#define SLUICE_STORE_GLOB_H

#include "base/error.h"

enum glob_token_kind { GLOB_BYTE, GLOB_ANY, GLOB_CLASS, GLOB_STAR, GLOB_PART };

struct glob_token {
    enum glob_token_kind kind;
    unsigned char byte; /* GLOB_BYTE */
    uint32_t part;      /* GLOB_PART: number in this pattern */
    uint32_t set[8];    /* GLOB_CLASS: bit per byte */
};

struct glob_segment {
    struct glob_token *tokens;
    size_t n;
    bool deep;   /* **, or {name**}: then tokens[0] is its part */
    bool hidden; /* begins with a literal dot, so hidden names match */
};

#define GLOB_PARTS 32 /* {parts} in a pattern at most */

struct glob {
    /* The fixed folder: leading segments without magic, unescaped; "" if there are none. */
    char *prefix;
    struct glob_segment *segments;
    size_t n;                /* 0: no magic at all, prefix is the path */
    char *parts[GLOB_PARTS]; /* names */
    size_t n_parts;
};

/* Where a part stands in the name that matched. */
struct glob_capture {
    uint32_t begin, n;
};

/* Parses text; SLUICE_E_CONFIG names what is malformed. Release with glob_deinit, after errors
 * too. */
sluice_status glob_parse(const char *text, struct glob *out, struct sluice_error *err) MUST_USE;
void glob_deinit(struct glob *);

/* Whether a name matches a segment that is not `**`; fills captures[part] for its parts. Time
 * O(name x segment). */
bool glob_match(const struct glob_segment *, const char *name,
                struct glob_capture captures[GLOB_PARTS]);

/* Whether a relative path ("a/b.txt") matches the segments behind the prefix, as a walk would match
 * it. */
bool glob_match_path(const struct glob *, const char *path);

#endif
