/* Matching Lua 5.4's patterns, with its messages, and a bound on the steps: see
 * sandbox_pattern.h. */
#include <string.h>

#include "lua/sandbox/sandbox_pattern.h"

#define MAX_DEPTH 200 /* recursions, as in Lua */
#define OPEN (-1)     /* capture lengths */
#define POSITION (-2)
/* A search may take this many steps, and more for each byte of the subject, so that long texts may
 * be searched. */
#define STEPS UINT64_C(5000000)
#define STEPS_A_BYTE 64
#define LOOK UINT64_C(1000000) /* steps between two looks at whether all is to stop */

void matcher_init(struct matcher *m, lua_State *L, const char *s, size_t ls, const char *p,
                  size_t lp)
{
    m->L = L;
    m->subject = s;
    m->subject_end = s + ls;
    m->pattern_end = p + lp;
    m->steps = 0;
    m->charged = 0;
    m->most = STEPS + STEPS_A_BYTE * (uint64_t)ls;
    matcher_resume(m, L);
}

void matcher_charge(struct matcher *m)
{
    const uint64_t steps = m->steps - m->charged;

    m->charged = m->steps;
    sandbox_charge(m->L, steps);
}

/* A call that has less left than the search may take is ended by what it has left. */
static uint64_t end_of(const struct matcher *m)
{
    const uint64_t left = sandbox_left(m->L);

    return left < m->most && m->steps + left < m->most ? m->steps + left : m->most;
}

void matcher_resume(struct matcher *m, lua_State *L)
{
    m->L = L;
    m->end = end_of(m);
    m->look = m->end - m->steps < LOOK || m->end < m->steps ? m->end : m->steps + LOOK;
}

void matcher_begin(struct matcher *m)
{
    m->n = 0;
    m->depth = MAX_DEPTH;
}

/* Time to look: is it the end, or is all to stop? */
static void look(struct matcher *m)
{
    matcher_charge(m);
    if (m->steps > m->end) {
        luaL_error(m->L,
                   "pattern too expensive: more than %I steps on a text of %I bytes; use simpler "
                   "repetitions or the text primitives (s:contains, s:count)",
                   (LUAI_UACINT)m->most, (LUAI_UACINT)(m->subject_end - m->subject));
    }
    sandbox_look(m->L);
    matcher_resume(m, m->L);
}

static inline void step(struct matcher *m, uint64_t n)
{
    m->steps += n;
    if (m->steps > m->look) {
        look(m);
    }
}

/* ---- single characters ---- */

/* Where the item that begins at p ends. */
static const char *item_end(struct matcher *m, const char *p)
{
    char c = *p++;

    if (c == '%') {
        if (p == m->pattern_end) {
            luaL_error(m->L, "malformed pattern (ends with '%%')");
        }
        return p + 1;
    }
    if (c == '[') {
        if (p < m->pattern_end && *p == '^') {
            p++;
        }
        do { /* the first ] is a member */
            if (p == m->pattern_end) {
                luaL_error(m->L, "malformed pattern (missing ']')");
            }
            if (*p++ == '%') {
                if (p == m->pattern_end) {
                    luaL_error(m->L, "malformed pattern (missing ']')");
                }
                p++;
            }
        } while (p == m->pattern_end || *p != ']');
        return p + 1;
    }
    return p;
}

/* The classes in the C locale, without asking libc for it: bytes above 127 are in none. */
enum {
    CLASS_ALPHA = 1,
    CLASS_DIGIT = 2,
    CLASS_LOWER = 4,
    CLASS_PUNCT = 8,
    CLASS_SPACE = 16,
    CLASS_UPPER = 32,
    CLASS_HEX = 64,
    CLASS_CONTROL = 128
};
static const uint8_t class_bits[256] = {
    128, 128, 128, 128, 128, 128, 128, 128, 128, 144, 144, 144, 144, 144, 128, 128, 128, 128, 128,
    128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 16,  8,   8,   8,   8,   8,
    8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   66,  66,  66,  66,  66,  66,  66,  66,  66,
    66,  8,   8,   8,   8,   8,   8,   8,   97,  97,  97,  97,  97,  97,  33,  33,  33,  33,  33,
    33,  33,  33,  33,  33,  33,  33,  33,  33,  33,  33,  33,  33,  33,  33,  8,   8,   8,   8,
    8,   8,   69,  69,  69,  69,  69,  69,  5,   5,   5,   5,   5,   5,   5,   5,   5,   5,   5,
    5,   5,   5,   5,   5,   5,   5,   5,   5,   8,   8,   8,   8,   128,
};

/* The bits of the class that %class names, in either case; 0 for a character that stands for
 * itself. */
static inline unsigned bits_of(char class)
{
    switch (class | 0x20) {
    case 'a':
        return CLASS_ALPHA;
    case 'c':
        return CLASS_CONTROL;
    case 'd':
        return CLASS_DIGIT;
    case 'g':
        return CLASS_ALPHA | CLASS_DIGIT | CLASS_PUNCT;
    case 'l':
        return CLASS_LOWER;
    case 'p':
        return CLASS_PUNCT;
    case 's':
        return CLASS_SPACE;
    case 'u':
        return CLASS_UPPER;
    case 'w':
        return CLASS_ALPHA | CLASS_DIGIT;
    case 'x':
        return CLASS_HEX;
    default:
        return 0;
    }
}

static inline bool in_class(unsigned char c, char class)
{
    const unsigned bits = bits_of(class);

    return bits == 0 ? (unsigned char)class == c
                     : ((class_bits[c] & bits) != 0) != ((class & 0x20) == 0);
}

/* Is c in the set [...]? p is at '[', last at ']'. */
static bool in_set(unsigned char c, const char *p, const char *last)
{
    bool member = true;

    if (p[1] == '^') {
        member = false;
        p++;
    }
    while (++p < last) {
        if (*p == '%') {
            p++;
            if (in_class(c, *p)) {
                return member;
            }
        } else if (p[1] == '-' && p + 2 < last) {
            if ((unsigned char)*p <= c && c <= (unsigned char)p[2]) {
                return member;
            }
            p += 2;
        } else if ((unsigned char)*p == c) {
            return member;
        }
    }
    return !member;
}

/* Does the item p .. end match the character at s? */
static inline bool single(struct matcher *m, const char *s, const char *p, const char *end)
{
    if (s >= m->subject_end) {
        return false;
    }
    switch (*p) {
    case '.':
        return true;
    case '%':
        return in_class((unsigned char)*s, p[1]);
    case '[':
        m->steps += (uint64_t)(end - p) / 4;
        return in_set((unsigned char)*s, p, end - 1);
    default:
        return *p == *s;
    }
}

/* Behind the characters from s on that are (in = true), or are not, in the class that %class
 * names. */
static inline const char *pass_class(const struct matcher *m, const char *s, char class, bool in)
{
    const unsigned bits = bits_of(class);
    const bool set = in == ((class & 0x20) != 0);

    if (bits == 0) {
        while (s < m->subject_end && (*s == class) == in) {
            s++;
        }
    } else {
        while (s < m->subject_end && ((class_bits[(unsigned char)*s] & bits) != 0) == set) {
            s++;
        }
    }
    return s;
}

/* ---- repetitions ---- */

static const char *expand_most(struct matcher *m, const char *s, const char *p, const char *end)
{
    ptrdiff_t i = 0;

    if (*p == '%') {
        i = pass_class(m, s, p[1], true) - s;
    } else {
        while (single(m, s + i, p, end)) {
            i++;
        }
    }
    step(m, (uint64_t)i + 1);
    for (; i >= 0; i--) {
        const char *found = matcher_run(m, s + i, end + 1);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static const char *expand_least(struct matcher *m, const char *s, const char *p, const char *end)
{
    for (;;) {
        const char *found = matcher_run(m, s, end + 1);
        if (found != NULL) {
            return found;
        }
        if (!single(m, s, p, end)) {
            return NULL;
        }
        s++;
    }
}

/* ---- captures, %b, %f ---- */

static const char *open_capture(struct matcher *m, const char *s, const char *p, ptrdiff_t what)
{
    const char *found;

    if (m->n >= MAX_CAPTURES) {
        luaL_error(m->L, "too many captures");
    }
    m->captures[m->n].begin = s;
    m->captures[m->n].size = what;
    m->n++;
    found = matcher_run(m, s, p);
    if (found == NULL) {
        m->n--;
    }
    return found;
}

static const char *close_capture(struct matcher *m, const char *s, const char *p)
{
    const char *found;
    int k = m->n - 1;

    while (k >= 0 && m->captures[k].size != OPEN) {
        k--;
    }
    if (k < 0) {
        luaL_error(m->L, "invalid pattern capture");
    }
    m->captures[k].size = s - m->captures[k].begin;
    found = matcher_run(m, s, p);
    if (found == NULL) {
        m->captures[k].size = OPEN;
    }
    return found;
}

/* %bxy: p is at x. */
static const char *balance(struct matcher *m, const char *s, const char *p)
{
    int level = 1;
    const char *at = s;

    if (p + 1 >= m->pattern_end) {
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    }
    if (s >= m->subject_end || *s != p[0]) {
        return NULL;
    }
    while (++at < m->subject_end) {
        if (*at == p[1]) {
            if (--level == 0) {
                step(m, (uint64_t)(at - s));
                return at + 1;
            }
        } else if (*at == p[0]) {
            level++;
        }
    }
    step(m, (uint64_t)(at - s));
    return NULL;
}

/* %1 .. %9 */
static const char *same_again(struct matcher *m, const char *s, char digit)
{
    int k = digit - '1';
    size_t size;

    if (k < 0 || k >= m->n || m->captures[k].size == OPEN) {
        luaL_error(m->L, "invalid capture index %%%d", k + 1);
    }
    if (m->captures[k].size == POSITION) {
        return NULL;
    }
    size = (size_t)m->captures[k].size;
    step(m, size / 8);
    if ((size_t)(m->subject_end - s) >= size && memcmp(m->captures[k].begin, s, size) == 0) {
        return s + size;
    }
    return NULL;
}

/* ---- matching ---- */

/* %b, %f and %1: returns false when p is another % item. *s becomes where to go on, or NULL; *p
 * what follows. */
static bool percent(struct matcher *m, const char **s, const char **p)
{
    const char *at = *p + 1;
    const char *end;
    unsigned char previous, next;

    if (at == m->pattern_end) {
        return false;
    }
    switch (*at) {
    case 'b':
        *s = balance(m, *s, at + 1);
        *p += 4;
        return true;
    case 'f':
        at++;
        if (at >= m->pattern_end || *at != '[') {
            luaL_error(m->L, "missing '[' after '%%f' in pattern");
        }
        end = item_end(m, at);
        previous = *s == m->subject ? '\0' : (unsigned char)(*s)[-1];
        next = *s == m->subject_end ? '\0' : (unsigned char)**s;
        *s = !in_set(previous, at, end - 1) && in_set(next, at, end - 1) ? *s : NULL;
        *p = end;
        return true;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        *s = same_again(m, *s, *at);
        *p += 2;
        return true;
    default:
        return false;
    }
}

/* Matches p against the subject at s; returns where the match ends, or NULL. */
static const char *match_here(struct matcher *m, const char *s, const char *p)
{
    while (p != m->pattern_end) {
        const char *end;
        const char *found;
        char repeat;
        step(m, 1);
        if (*p == '(') {
            return p + 1 < m->pattern_end && p[1] == ')' ? open_capture(m, s, p + 2, POSITION)
                                                         : open_capture(m, s, p + 1, OPEN);
        }
        if (*p == ')') {
            return close_capture(m, s, p + 1);
        }
        if (*p == '$' && p + 1 == m->pattern_end) {
            return s == m->subject_end ? s : NULL;
        }
        if (*p == '%' && percent(m, &s, &p)) {
            if (s == NULL) {
                return NULL;
            }
            continue;
        }
        end = item_end(m, p);
        repeat = end < m->pattern_end ? *end : '\0';
        switch (repeat) {
        case '*':
            return expand_most(m, s, p, end);
        case '+':
            return single(m, s, p, end) ? expand_most(m, s + 1, p, end) : NULL;
        case '-':
            return expand_least(m, s, p, end);
        case '?':
            if (single(m, s, p, end)) {
                found = matcher_run(m, s + 1, end + 1);
                if (found != NULL) {
                    return found;
                }
            }
            p = end + 1;
            break;
        default:
            if (!single(m, s, p, end)) {
                return NULL;
            }
            s++;
            p = end;
            break;
        }
    }
    return s;
}

const char *matcher_run(struct matcher *m, const char *s, const char *p)
{
    const char *found;

    if (m->depth-- == 0) {
        luaL_error(m->L, "pattern too complex");
    }
    found = match_here(m, s, p);
    m->depth++;
    return found;
}

/* ---- captures as values ---- */

void matcher_push(struct matcher *m, int k, const char *s, const char *e)
{
    const struct capture *capture = &m->captures[k];

    if (k >= m->n) {
        if (k != 0) {
            luaL_error(m->L, "invalid capture index %%%d", k + 1);
        }
        lua_pushlstring(m->L, s, (size_t)(e - s));
    } else if (capture->size == POSITION) {
        lua_pushinteger(m->L, capture->begin - m->subject + 1);
    } else if (capture->size == OPEN) {
        luaL_error(m->L, "unfinished capture");
    } else {
        lua_pushlstring(m->L, capture->begin, (size_t)capture->size);
    }
}

int matcher_push_all(struct matcher *m, const char *s, const char *e)
{
    int n = m->n == 0 && s != NULL ? 1 : m->n;

    if (n > 1) { /* there is room for one in every call */
        luaL_checkstack(m->L, n, "too many captures");
    }
    for (int k = 0; k < n; k++) {
        matcher_push(m, k, s, e);
    }
    return n;
}

/* ---- searching ---- */

/* What every match of a pattern must begin with, if it is one literal byte: *byte. */
static bool first_byte(const char *p, const char *end, char *byte)
{
    char c = p < end ? *p : '\0';
    const char *next = p + 1;

    if (c == '%' && next < end && in_class((unsigned char)*next, *next) &&
        !(*next >= 'a' && *next <= 'z') && !(*next >= 'A' && *next <= 'Z') &&
        !(*next >= '0' && *next <= '9')) {
        c = *next++;
    } else if (c == '\0' || strchr("^$*+?.([%-)", c) != NULL) {
        return false;
    }
    if (next < end && (*next == '*' || *next == '?' || *next == '-')) {
        return false;
    }
    *byte = c;
    return true;
}

const char *matcher_skip(struct matcher *m, const char *s, const char *p)
{
    const char *at = s;
    const char *end;

    if (s >= m->subject_end || m->pattern_end - p < 2 || *p != '%' ||
        (p[1] >= '0' && p[1] <= '9') || p[1] == 'b' || p[1] == 'f') {
        return s;
    }
    end = p + 2;
    if (end < m->pattern_end && (*end == '*' || *end == '?' || *end == '-')) {
        return s;
    }
    at = pass_class(m, s, p[1], false);
    step(m, (uint64_t)(at - s));
    return at;
}

const char *matcher_search(struct matcher *m, const char *s, const char *p, const char **e)
{
    bool anchored = p < m->pattern_end && *p == '^';
    char byte = 0;
    bool literal = !anchored && first_byte(p, m->pattern_end, &byte);

    p += anchored;
    do {
        if (literal) {
            s = memchr(s, byte, (size_t)(m->subject_end - s));
            if (s == NULL) {
                return NULL;
            }
        } else if (!anchored) {
            s = matcher_skip(m, s, p);
        }
        matcher_begin(m);
        *e = matcher_run(m, s, p);
        if (*e != NULL) {
            return s;
        }
    } while (s++ < m->subject_end && !anchored);
    return NULL;
}
