/* Strings, base64, verbatim values and members. See jsonl_text.h. */
#include "jsonl_text.h"

#include "text/text_base64.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* 0: as it is; else the letter behind the backslash, 'u' for \u00XX. */
static const char escapes[256] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b',         't',           'n', 'u',
    'f', 'r', 'u', 'u', 'u', 'u', 'u', 'u', 'u',         'u',           'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\',
};

/* The first byte of [p, end) that a JSON string must escape, or end; with to != NULL the bytes up
 * to the end of its block of 16 are copied there as well (16 bytes beyond end - p must be
 * writable). */
static const char *plain(const char *p, const char *end, char *to)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);

    while (end - p >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)),
                         _mm_cmpeq_epi8(_mm_min_epu8(x, control), x));
        int mask = _mm_movemask_epi8(hit);
        if (to != NULL) {
            _mm_storeu_si128((__m128i *)(void *)to, x);
            to += 16;
        }
        if (mask != 0) {
            return p + __builtin_ctz((unsigned)mask);
        }
        p += 16;
    }
#else
    while (end - p >= 8) {
        const uint64_t ones = UINT64_C(0x0101010101010101);
        const uint64_t high = UINT64_C(0x8080808080808080);
        uint64_t x;
        uint64_t q;
        uint64_t b;
        memcpy(&x, p, 8);
        q = x ^ (ones * '"');
        b = x ^ (ones * '\\');
        if (((((x - ones * 0x20) & ~x) | ((q - ones) & ~q) | ((b - ones) & ~b)) & high) != 0) {
            break;
        }
        if (to != NULL) {
            memcpy(to, &x, 8);
            to += 8;
        }
        p += 8;
    }
#endif
    for (; p < end && escapes[(unsigned char)*p] == 0; p++) {
        if (to != NULL) {
            *to++ = *p;
        }
    }
    return p;
}

int jsonl_string(struct sluice_bytes *out, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const char *end = text + n;
    char *to;

    if (!sluice_bytes_reserve(out, n + n / 16 + 2)) {
        return 0;
    }
    out->data[out->size++] = '"';
    for (;;) {
        const char *stop = plain(text, end, out->data + out->size);
        unsigned char c;
        out->size += (uint64_t)(stop - text);
        if (stop == end) {
            break;
        }
        text = stop;
        /* Runs of escapes: what follows is copied again by plain(). */
        if (!sluice_bytes_reserve(out, (uint64_t)(end - text) + 8)) {
            return 0;
        }
        c = (unsigned char)*text++;
        to = out->data + out->size;
        to[0] = '\\';
        to[1] = escapes[c];
        if (escapes[c] == 'u') {
            to[2] = to[3] = '0';
            to[4] = hex[c >> 4];
            to[5] = hex[c & 15];
            out->size += 6;
        } else {
            out->size += 2;
        }
    }
    out->data[out->size++] = '"';
    return 1;
}

int jsonl_raw(struct sluice_bytes *out, const char *json, size_t n)
{
    uint64_t at = out->size;

    if (n == 0) {
        return sluice_bytes_add(out, "null", 4);
    }
    if (!sluice_bytes_add(out, json, n)) {
        return 0;
    }
    if (memchr(json, '\n', n) != NULL || memchr(json, '\r', n) != NULL) {
        for (; at < out->size; at++) {
            if (out->data[at] == '\n' || out->data[at] == '\r') {
                out->data[at] = ' ';
            }
        }
    }
    return 1;
}

int jsonl_base64(struct sluice_bytes *out, const void *data, size_t n)
{
    if (!sluice_bytes_reserve(out, TEXT_BASE64_SIZE(n) + 2)) {
        return 0;
    }
    out->data[out->size++] = '"';
    out->size += text_base64_encode(data, n, out->data + out->size);
    out->data[out->size++] = '"';
    return 1;
}

/* ---- members ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
        p++;
    }
    return p;
}

/* Behind the string that begins at p, or NULL. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end;) {
        p = plain(p, end, NULL);
        if (p < end && *p == '"') {
            return p + 1;
        }
        p += p < end && *p == '\\' ? 2 : 1;
    }
    return NULL;
}

/* Behind the value that begins at p: at the , or } of the object around it (or at white space
 * before), or NULL. */
static const char *value_end(const char *p, const char *end)
{
    size_t depth = 0;

    while (p < end) {
        switch (*p) {
        case '"':
            p = string_end(p, end);
            if (p == NULL) {
                return NULL;
            }
            break;
        case '{':
        case '[':
            depth++;
            p++;
            break;
        case '}':
        case ']':
            if (depth == 0) {
                return p;
            }
            depth--;
            p++;
            break;
        case ',':
            if (depth == 0) {
                return p;
            }
            p++;
            break;
        default:
            p++;
        }
    }
    return NULL;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The four digits at p, or -1. */
static int32_t unit_at(const char *p, const char *end)
{
    int32_t unit = 0;

    if (end - p < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(p[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Reads one escape at *p (behind the backslash) into utf8; returns its bytes, 0 = malformed. */
static size_t unescape(const char **p, const char *end, char utf8[4])
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    int32_t unit;

    if (*p >= end) {
        return 0;
    }
    if (**p != 'u') {
        letter = **p == '\0' ? NULL : strchr(from, **p);
        if (letter == NULL) {
            return 0;
        }
        utf8[0] = to[letter - from];
        (*p)++;
        return 1;
    }
    unit = unit_at(*p + 1, end);
    if (unit < 0) {
        return 0;
    }
    *p += 5;
    if (unit >= 0xd800 && unit < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        int32_t low = unit_at(*p + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            *p += 6;
        }
    }
    if (unit < 0x80) {
        utf8[0] = (char)unit;
        return 1;
    }
    if (unit < 0x800) {
        utf8[0] = (char)(0xc0 | unit >> 6);
        utf8[1] = (char)(0x80 | (unit & 63));
        return 2;
    }
    if (unit < 0x10000) {
        utf8[0] = (char)(0xe0 | unit >> 12);
        utf8[1] = (char)(0x80 | (unit >> 6 & 63));
        utf8[2] = (char)(0x80 | (unit & 63));
        return 3;
    }
    utf8[0] = (char)(0xf0 | unit >> 18);
    utf8[1] = (char)(0x80 | (unit >> 12 & 63));
    utf8[2] = (char)(0x80 | (unit >> 6 & 63));
    utf8[3] = (char)(0x80 | (unit & 63));
    return 4;
}

/* Is the key between p and end (without quotation marks) called name? */
static int key_is(const char *p, const char *end, const char *name)
{
    size_t length = strlen(name);

    if (memchr(p, '\\', (size_t)(end - p)) == NULL) {
        return length == (size_t)(end - p) && memcmp(p, name, length) == 0;
    }
    while (p < end) {
        char utf8[4] = { *p };
        size_t n = 1;
        if (*p++ == '\\') {
            n = unescape(&p, end, utf8);
        }
        if (n == 0 || n > length || memcmp(utf8, name, n) != 0) {
            return 0;
        }
        name += n;
        length -= n;
    }
    return length == 0;
}

int jsonl_walk_begin(struct jsonl_walk *walk, const char *json, size_t n)
{
    walk->end = json + n;
    walk->at = skip_space(json, walk->end);
    if (walk->at == walk->end || *walk->at != '{') {
        return 0;
    }
    walk->at = skip_space(walk->at + 1, walk->end);
    walk->first = 1;
    return 1;
}

int jsonl_walk_next(struct jsonl_walk *walk, struct jsonl_member *member)
{
    const char *end = walk->end;
    const char *p = walk->at;
    const char *stop;

    if (p < end && *p == '}' && (walk->first || walk->ended)) {
        return skip_space(p + 1, end) == end ? 0 : -1;
    }
    if (!walk->first) {
        if (p == end || *p != ',') {
            return -1;
        }
        p = skip_space(p + 1, end);
    }
    walk->first = 0;
    member->key = p;
    stop = p < end && *p == '"' ? string_end(p, end) : NULL;
    p = stop == NULL ? end : skip_space(stop, end);
    member->key_end = stop;
    if (p == end || *p != ':') {
        return -1;
    }
    member->value = skip_space(p + 1, end);
    stop = value_end(p + 1, end);
    if (stop == NULL) {
        return -1;
    }
    walk->at = stop;
    walk->ended = stop < end && *stop == '}';
    while (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\n' || stop[-1] == '\r') {
        stop--;
    }
    member->value_end = stop;
    return 1;
}

int jsonl_is_named(const struct jsonl_member *member, const char *const *names, size_t n_names)
{
    int named = 0;

    for (size_t k = 0; k < n_names && !named; k++) {
        named = key_is(member->key + 1, member->key_end - 1, names[k]);
    }
    return named;
}

int jsonl_members(struct sluice_bytes *out, const char *json, size_t n, const char *const *names,
                  size_t n_names, int comma, size_t *written)
{
    const uint64_t size = out->size;
    struct jsonl_walk walk;
    struct jsonl_member member;
    int more = jsonl_walk_begin(&walk, json, n) ? 1 : -1;

    *written = 0;
    while (more > 0 && (more = jsonl_walk_next(&walk, &member)) > 0) {
        if (jsonl_is_named(&member, names, n_names)) {
            continue;
        }
        if ((comma && !sluice_bytes_add(out, ",", 1)) ||
            !jsonl_raw(out, member.key, (size_t)(member.value_end - member.key))) {
            return 0;
        }
        comma = 1;
        (*written)++;
    }
    if (more == 0) {
        return 1;
    }
    out->size = size;
    *written = 0;
    return -1;
}

/* ---- numbers ---- */

size_t jsonl_uint(uint64_t value, char *at)
{
    char digits[20];
    size_t n = 0;

    do {
        digits[sizeof digits - ++n] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    memcpy(at, digits + sizeof digits - n, n);
    return n;
}

size_t jsonl_int(int64_t value, char *at)
{
    if (value >= 0) {
        return jsonl_uint((uint64_t)value, at);
    }
    *at = '-';
    return 1 + jsonl_uint(UINT64_C(0) - (uint64_t)value, at + 1);
}
