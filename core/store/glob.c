/* Patterns of paths: see glob.h. */
#include "store/glob.h"

#include <stdlib.h>
#include <string.h>

void glob_deinit(struct glob *glob)
{
    for (size_t i = 0; i < glob->n; i++) {
        free(glob->segments[i].tokens);
    }
    for (size_t i = 0; i < glob->n_parts; i++) {
        free(glob->parts[i]);
    }
    free(glob->segments);
    free(glob->prefix);
    memset(glob, 0, sizeof *glob);
}

/* [a-z] at p; *end is behind the bracket. */
static sluice_status parse_class(const char *text, const char *p, const char *stop,
                                 struct glob_token *token, const char **end,
                                 struct sluice_error *err)
{
    const char *begin = p++;
    bool negate = p < stop && (*p == '!' || *p == '^');
    bool first = true;

    token->kind = GLOB_CLASS;
    p += negate;
    for (; p < stop && (first || *p != ']'); first = false) {
        unsigned lo;
        unsigned hi;
        p += *p == '\\' && p + 1 < stop;
        lo = (unsigned char)*p++;
        hi = lo;
        if (p + 1 < stop && *p == '-' && p[1] != ']') {
            p++;
            p += *p == '\\' && p + 1 < stop;
            hi = (unsigned char)*p++;
        }
        if (lo > 127 || hi > 127 || lo > hi) {
            return error_set(err, SLUICE_E_CONFIG,
                             "pattern '%s': the range in '%.*s' is %s; write ASCII characters in "
                             "ascending order",
                             text, (int)(p - begin), begin, lo > hi ? "empty" : "not ASCII");
        }
        for (unsigned c = lo; c <= hi; c++) {
            token->set[c / 32] |= 1u << (c % 32);
        }
    }
    if (p == stop) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "pattern '%s': '[' without ']' in the same path segment; write '\\[' for the character "
            "itself",
            text);
    }
    if (negate) {
        for (int i = 0; i < 8; i++) {
            token->set[i] = ~token->set[i];
        }
    }
    *end = p + 1;
    return SLUICE_OK;
}

static bool name_char(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

/* {name} or, if deep, {name**} at p. */
static sluice_status parse_part(const char *text, const char *p, const char *stop, bool deep,
                                struct glob *glob, struct glob_token *token, const char **end,
                                struct sluice_error *err)
{
    const char *begin = ++p;
    size_t n;

    while (p < stop && name_char(*p, p == begin)) {
        p++;
    }
    n = (size_t)(p - begin);
    if (stop - p > 2 && p[0] == '*' && p[1] == '*' && p[2] == '}' && !deep) {
        return error_set(err, SLUICE_E_CONFIG,
                         "pattern '%s': {%.*s**} stands for whole folders; expected a slash before "
                         "and behind it, as in documents/{dir**}/{file}.jsonl",
                         text, (int)n, begin);
    }
    p += deep ? 2 : 0;
    if (p >= stop || *p != '}' || n == 0 || n > 63) {
        return error_set(err, SLUICE_E_CONFIG,
                         "pattern '%s': expected {name} with a name of letters, digits and _ after "
                         "'{'; give two "
                         "patterns for alternatives, or write '\\{' for the character itself",
                         text);
    }
    for (size_t i = 0; i < glob->n_parts; i++) {
        if (strlen(glob->parts[i]) == n && memcmp(glob->parts[i], begin, n) == 0) {
            return error_set(err, SLUICE_E_CONFIG,
                             "pattern '%s' has the part {%s} twice; give the second another name",
                             text, glob->parts[i]);
        }
    }
    if (glob->n_parts == GLOB_PARTS) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "pattern '%s' has more than %d {parts}; write * for those that need no column", text,
            GLOB_PARTS);
    }
    token->kind = GLOB_PART;
    token->part = (uint32_t)glob->n_parts;
    glob->parts[glob->n_parts] = strndup(begin, n);
    if (glob->parts[glob->n_parts] == NULL) {
        return error_nomem(err, "a pattern");
    }
    glob->n_parts++;
    *end = p + 1;
    return SLUICE_OK;
}

static sluice_status parse_tokens(const char *text, const char *p, const char *stop,
                                  struct glob *glob, struct glob_segment *segment,
                                  struct sluice_error *err)
{
    while (p < stop) {
        struct glob_token *token = &segment->tokens[segment->n];
        memset(token, 0, sizeof *token);
        if (*p == '[') {
            TRY(parse_class(text, p, stop, token, &p, err));
        } else if (*p == '{') {
            TRY(parse_part(text, p, stop, false, glob, token, &p, err));
        } else if (*p == '*') {
            token->kind = GLOB_STAR;
            while (p < stop && *p == '*') {
                p++;
            }
        } else if (*p == '?') {
            token->kind = GLOB_ANY;
            p++;
        } else {
            if (*p == '\\' && ++p == stop) {
                return error_set(
                    err, SLUICE_E_CONFIG,
                    "pattern '%s': nothing follows '\\' in its segment; write '\\\\' for the "
                    "character itself",
                    text);
            }
            token->kind = GLOB_BYTE;
            token->byte = (unsigned char)*p++;
        }
        segment->n++;
    }
    return SLUICE_OK;
}

static sluice_status parse_segment(const char *text, const char *begin, size_t n, struct glob *glob,
                                   struct sluice_error *err)
{
    struct glob_segment *segments = realloc(glob->segments, (glob->n + 1) * sizeof *segments);
    struct glob_segment *segment;

    if (segments == NULL) {
        return error_nomem(err, "a pattern");
    }
    glob->segments = segments;
    segment = &segments[glob->n++];
    memset(segment, 0, sizeof *segment);
    if (n == 2 && begin[0] == '*' && begin[1] == '*') {
        segment->deep = true;
        return SLUICE_OK;
    }
    /* {name**}, a segment of its own. */
    if (n > 5 && begin[0] == '{' && memcmp(begin + n - 3, "**}", 3) == 0 &&
        memchr(begin, '}', n) == begin + n - 1) {
        const char *end;
        segment->deep = true;
        segment->tokens = calloc(1, sizeof *segment->tokens);
        segment->n = segment->tokens != NULL;
        return segment->tokens == NULL
                   ? error_nomem(err, "a pattern")
                   : parse_part(text, begin, begin + n, true, glob, segment->tokens, &end, err);
    }
    if (n == 2 && begin[0] == '.' && begin[1] == '.') {
        return error_set(
            err, SLUICE_E_CONFIG,
            "pattern '%s' has '..' behind a segment with * ? [ or {; write the folder without '..'",
            text);
    }
    segment->hidden = begin[0] == '.';
    segment->tokens = malloc(n * sizeof *segment->tokens);
    if (segment->tokens == NULL) {
        return error_nomem(err, "a pattern");
    }
    return parse_tokens(text, begin, begin + n, glob, segment, err);
}

static bool segment_magic(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\\') {
            i++;
        } else if (strchr("*?[{", p[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Adds a segment without magic to the fixed folder. */
static void prefix_add(struct glob *glob, const char *p, size_t n)
{
    size_t length = strlen(glob->prefix);

    if (length > 0 && glob->prefix[length - 1] != '/') {
        glob->prefix[length++] = '/';
    }
    for (size_t i = 0; i < n; i++) {
        i += p[i] == '\\' && i + 1 < n;
        glob->prefix[length++] = p[i];
    }
    glob->prefix[length] = '\0';
}

sluice_status glob_parse(const char *text, struct glob *out, struct sluice_error *err)
{
    const char *p = text;

    memset(out, 0, sizeof *out);
    out->prefix = calloc(strlen(text) + 2, 1);
    if (out->prefix == NULL) {
        return error_nomem(err, "a pattern");
    }
    if (*p == '/') {
        out->prefix[0] = '/';
    }
    while (*p != '\0') {
        size_t n = strcspn(p, "/");
        if (n > 0 && !(n == 1 && *p == '.')) {
            if (out->n == 0 && !segment_magic(p, n)) {
                prefix_add(out, p, n);
            } else {
                TRY(parse_segment(text, p, n, out, err));
            }
        }
        p += n;
        p += *p == '/';
    }
    return SLUICE_OK;
}

/* Behind one character (of UTF-8, if it is that). */
static const unsigned char *char_after(const unsigned char *p)
{
    if (*p++ >= 0xc0) {
        while ((*p & 0xc0) == 0x80) {
            p++;
        }
    }
    return p;
}

/* One token that takes exactly one character at p; returns its bytes or 0. */
static size_t token_takes(const struct glob_token *token, const unsigned char *p)
{
    switch (token->kind) {
    case GLOB_BYTE:
        return *p == token->byte;
    case GLOB_ANY:
    case GLOB_CLASS:
        if (*p == '\0' ||
            (token->kind == GLOB_CLASS && (token->set[*p / 32] >> (*p % 32) & 1) == 0)) {
            return 0;
        }
        return (size_t)(char_after(p) - p);
    default:
        return 0;
    }
}

bool glob_match(const struct glob_segment *segment, const char *name,
                struct glob_capture captures[GLOB_PARTS])
{
    const unsigned char *begin = (const unsigned char *)name;
    const unsigned char *p = begin;
    const unsigned char *wild_end = NULL; /* how far the last wildcard reaches */
    size_t at = 0;
    size_t wild = 0; /* index of the last wildcard */

    if (*name == '.' && !segment->hidden) {
        return false;
    }
    /* Wildcards take as little as they can; only the last one ever needs to take more, so that
     * this is quadratic at worst. */
    for (;;) {
        const struct glob_token *token = at < segment->n ? &segment->tokens[at] : NULL;
        size_t n = 0;
        if (token == NULL && *p == '\0') {
            return true;
        }
        if (token != NULL &&
            (token->kind == GLOB_STAR || (token->kind == GLOB_PART && *p != '\0'))) {
            wild = at++;
            if (token->kind == GLOB_PART) {
                const unsigned char *after = char_after(p);
                captures[token->part] =
                    (struct glob_capture){ (uint32_t)(p - begin), (uint32_t)(after - p) };
                p = after;
            }
            wild_end = p;
            continue;
        }
        if (token != NULL) {
            n = token_takes(token, p);
        }
        if (n > 0) {
            p += n;
            at++;
            continue;
        }
        if (wild_end == NULL || *wild_end == '\0') {
            return false;
        }
        wild_end = char_after(wild_end);
        p = wild_end;
        at = wild + 1;
        if (segment->tokens[wild].kind == GLOB_PART) {
            struct glob_capture *capture = &captures[segment->tokens[wild].part];
            capture->n = (uint32_t)(p - begin) - capture->begin;
        }
    }
}

static bool match_from(const struct glob *glob, size_t segment, const char *path)
{
    char name[256];
    struct glob_capture captures[GLOB_PARTS];
    size_t n = strcspn(path, "/");
    const char *rest = path[n] == '/' ? path + n + 1 : NULL;

    if (segment == glob->n || n >= sizeof name) {
        return false;
    }
    memcpy(name, path, n);
    name[n] = '\0';
    if (glob->segments[segment].deep) {
        /* No folder at all, or this one and more; at the end files match, too. */
        return match_from(glob, segment + 1, path) ||
               (name[0] != '.' &&
                (rest == NULL ? segment + 1 == glob->n : match_from(glob, segment, rest)));
    }
    if (!glob_match(&glob->segments[segment], name, captures)) {
        return false;
    }
    return rest == NULL ? segment + 1 == glob->n : match_from(glob, segment + 1, rest);
}

bool glob_match_path(const struct glob *glob, const char *path)
{
    return match_from(glob, 0, path);
}
