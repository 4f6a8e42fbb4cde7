/* url_suffix.c - see url_suffix.h. The rules are a tree of labels from the right, its edges in one
 * hash table; a label outside ASCII has a second edge under its punycode. What matches is
 * tldextract's walk, which differs from the list's own algorithm in corners: no rule, no suffix
 * (there is no implied `*`), and a wildcard counts only where its label has no rule of its own. */
#include "url_suffix.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <sluice_arrays.h>

#include "text/text.h"

#define PRIVATE_BEGINS "// ===BEGIN PRIVATE DOMAINS==="
#define IS_END 1u
#define IS_PRIVATE 2u

struct edge {
    uint32_t parent, child; /* child 0: an empty slot (the root is nobody's child) */
    uint32_t label, length; /* in labels */
};

struct url_suffixes {
    struct edge *edges;
    size_t n_edges, n_slots; /* a power of two */
    uint8_t *flags;          /* of a node */
    size_t n_nodes, capacity;
    struct text_buffer labels;
    size_t n_rules;
};

/* ---- the tree ---- */

static struct edge *edge_slot(const struct url_suffixes *s, uint32_t parent, const char *label,
                              size_t n)
{
    uint64_t hash = XXH3_64bits_withSeed(label, n, parent);
    for (size_t i = (size_t)hash & (s->n_slots - 1);; i = (i + 1) & (s->n_slots - 1)) {
        struct edge *edge = &s->edges[i];
        if (edge->child == 0 || (edge->parent == parent && edge->length == n &&
                                 memcmp(s->labels.data + edge->label, label, n) == 0)) {
            return edge;
        }
    }
}

/* The node under a label, or 0. */
static uint32_t edge_find(const struct url_suffixes *s, uint32_t parent, const char *label,
                          size_t n)
{
    return edge_slot(s, parent, label, n)->child;
}

static sluice_status grow(struct url_suffixes *s, struct sluice_error *err)
{
    struct url_suffixes larger = *s;

    if (s->n_edges + 1 < s->n_slots / 2) {
        return SLUICE_OK;
    }
    larger.n_slots = s->n_slots == 0 ? 1024 : s->n_slots * 2;
    larger.edges = calloc(larger.n_slots, sizeof *larger.edges);
    if (larger.edges == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for suffixes");
    }
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->edges[i].child != 0) {
            *edge_slot(&larger, s->edges[i].parent, s->labels.data + s->edges[i].label,
                       s->edges[i].length) = s->edges[i];
        }
    }
    free(s->edges);
    *s = larger;
    return SLUICE_OK;
}

static sluice_status edge_add(struct url_suffixes *s, uint32_t parent, uint32_t child,
                              const char *label, size_t n, struct sluice_error *err)
{
    sluice_status status = grow(s, err);
    struct edge *edge;

    if (status == SLUICE_OK) {
        status = text_buffer_reserve(&s->labels, n + 1, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    edge = edge_slot(s, parent, label, n);
    if (edge->child == 0) {
        *edge = (struct edge){ parent, child, (uint32_t)s->labels.len, (uint32_t)n };
        memcpy(s->labels.data + s->labels.len, label, n);
        s->labels.len += n;
        s->n_edges++;
    }
    return SLUICE_OK;
}

static sluice_status node_add(struct url_suffixes *s, uint32_t *node, struct sluice_error *err)
{
    if (s->n_nodes == s->capacity) {
        size_t capacity = s->capacity * 2 + 256;
        uint8_t *moved = realloc(s->flags, capacity);
        if (moved == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for suffixes");
        }
        s->flags = moved;
        s->capacity = capacity;
    }
    s->flags[s->n_nodes] = 0;
    *node = (uint32_t)s->n_nodes++;
    return SLUICE_OK;
}

static sluice_status child_of(struct url_suffixes *s, uint32_t parent, const char *label, size_t n,
                              uint32_t *child, struct sluice_error *err)
{
    struct text_buffer ace = { 0 };
    sluice_status status;

    *child = edge_find(s, parent, label, n);
    if (*child != 0) {
        return SLUICE_OK;
    }
    status = node_add(s, child, err);
    if (status == SLUICE_OK) {
        status = edge_add(s, parent, *child, label, n, err);
    }
    if (status == SLUICE_OK && !text_utf8_is_ascii(label, n)) {
        int exception = label[0] == '!';
        status = url_punycode(label + exception, n - (size_t)exception, &ace, err);
        if (status == SLUICE_OK && exception) {
            status = text_buffer_append(&ace, "!", 1, err);
            if (status == SLUICE_OK) {
                memmove(ace.data + 1, ace.data, ace.len - 1);
                ace.data[0] = '!';
            }
        }
        if (status == SLUICE_OK) {
            status = edge_add(s, parent, *child, ace.data, ace.len, err);
        }
        if (status == SLUICE_E_DATA) {
            status = SLUICE_OK; /* no host can have that label */
        }
        text_buffer_deinit(&ace);
    }
    return status;
}

static sluice_status rule_add(struct url_suffixes *s, const char *rule, size_t n, uint32_t flags,
                              struct sluice_error *err)
{
    uint32_t node = 0;
    size_t end = n;
    sluice_status status = SLUICE_OK;

    for (;;) {
        size_t begin = end;
        while (begin > 0 && rule[begin - 1] != '.') {
            begin--;
        }
        status = child_of(s, node, rule + begin, end - begin, &node, err);
        if (status != SLUICE_OK || begin == 0) {
            break;
        }
        end = begin - 1;
    }
    if (status == SLUICE_OK) {
        s->flags[node] = (uint8_t)flags;
        s->n_rules++;
    }
    return status;
}

/* ^[.*!]*\w\S* of each line. */
static sluice_status rules_add(struct url_suffixes *s, const char *list, size_t n, uint32_t flags,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t at = 0; at < n && status == SLUICE_OK;) {
        const char *newline = memchr(list + at, '\n', n - at);
        size_t end = newline == NULL ? n : (size_t)(newline - list);
        size_t stop = at;
        uint32_t point = 0;
        while (stop < end && strchr(".*!", list[stop]) != NULL && list[stop] != '\0') {
            stop++;
        }
        if (stop < end) {
            (void)text_utf8_decode(list, end, stop, &point);
        }
        if (stop < end && (point == '_' || (text_classes(point) & TEXT_ALNUM) != 0)) {
            while (stop < end) {
                size_t step = text_utf8_decode(list, end, stop, &point);
                if ((text_classes(point) & TEXT_SPACE) != 0) {
                    break;
                }
                stop += step;
            }
            status = rule_add(s, list + at, stop - at, flags, err);
        }
        at = end + 1;
    }
    return status;
}

sluice_status url_suffixes_build(const char *list, size_t n, int include_private,
                                 struct url_suffixes **out, struct sluice_error *err)
{
    struct url_suffixes *s;
    size_t public_end = n;
    uint32_t root;
    sluice_status status;

    *out = NULL;
    if (n >= UINT32_MAX / 8 || !text_utf8_valid(list, n, NULL)) {
        return sluice_fail(err, SLUICE_E_CONFIG, "",
                           "found no public suffix list, expected UTF-8 text as publicsuffix.org "
                           "publishes it");
    }
    s = calloc(1, sizeof *s);
    if (s == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for suffixes");
    }
    if (n > 0) {
        const char *border = memmem(list, n, PRIVATE_BEGINS, strlen(PRIVATE_BEGINS));
        public_end = border == NULL ? n : (size_t)(border - list);
    }
    status = node_add(s, &root, err);
    if (status == SLUICE_OK) {
        status = text_buffer_reserve(&s->labels, 1, err);
    }
    if (status == SLUICE_OK) {
        status = grow(s, err);
    }
    if (status == SLUICE_OK) {
        status = rules_add(s, list, public_end, IS_END, err);
    }
    if (status == SLUICE_OK && include_private && public_end < n) {
        status = rules_add(s, list + public_end, n - public_end, IS_END | IS_PRIVATE, err);
    }
    if (status == SLUICE_OK && s->n_rules == 0) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "",
                             "found no rule in the public suffix list, expected lines like co.uk");
    }
    if (status != SLUICE_OK) {
        url_suffixes_destroy(s);
        return status;
    }
    *out = s;
    return SLUICE_OK;
}

void url_suffixes_destroy(struct url_suffixes *s)
{
    if (s != NULL) {
        free(s->edges);
        free(s->flags);
        text_buffer_deinit(&s->labels);
        free(s);
    }
}

size_t url_suffixes_count(const struct url_suffixes *s)
{
    return s->n_rules;
}

/* ---- hosts ---- */

/* Bytes of a dot at `at`: 1 for ".", 3 for the ideographic ones (U+3002, U+FF0E, U+FF61), else
 * 0. */
static size_t dot_at(const char *text, size_t n, size_t at)
{
    if (text[at] == '.') {
        return 1;
    }
    return n - at >= 3 && (memcmp(text + at, "\xE3\x80\x82", 3) == 0 ||
                           memcmp(text + at, "\xEF\xBC\x8E", 3) == 0 ||
                           memcmp(text + at, "\xEF\xBD\xA1", 3) == 0)
               ? 3
               : 0;
}

/* How many bytes at the beginning are a scheme with "//", or just "//". */
static size_t scheme_length(const char *url, size_t n)
{
    const char *slashes = n == 0 ? NULL : memmem(url, n, "//", 2);
    size_t at = slashes == NULL ? 0 : (size_t)(slashes - url);

    if (slashes == NULL || at == 0) {
        return slashes == NULL ? 0 : 2;
    }
    if (at < 2 || url[at - 1] != ':') {
        return 0;
    }
    for (size_t i = 0; i < at - 1; i++) {
        char c = url[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '+' || c == '-' || c == '.')) {
            return 0;
        }
    }
    return at + 2;
}

sluice_status url_host(const char *url, size_t n, struct text_buffer *out, struct sluice_error *err)
{
    size_t begin;
    size_t end;
    struct text_span span;
    sluice_status status;

    out->len = 0;
    status = text_buffer_reserve(out, n + 1, err);
    if (status != SLUICE_OK || n > TEXT_MAX) {
        return status;
    }
    begin = scheme_length(url, n);
    end = begin;
    for (size_t i = begin; i < n && url[i] != '/' && url[i] != '?' && url[i] != '#'; i++) {
        end = i + 1;
    }
    for (size_t i = end; i > begin; i--) {
        if (url[i - 1] == '@') {
            begin = i;
            break;
        }
    }
    const char *bracket =
        end > begin && url[begin] == '[' ? memchr(url + begin, ']', end - begin) : NULL;
    if (bracket != NULL) {
        end = (size_t)(bracket - url) + 1;
    } else {
        const char *colon = end > begin ? memchr(url + begin, ':', end - begin) : NULL;
        end = colon != NULL ? (size_t)(colon - url) : end;
        span = text_strip(url, (struct text_span){ (uint32_t)begin, (uint32_t)end });
        begin = span.begin;
        end = span.end;
        while (end > begin) {
            size_t dot = end - begin >= 3 ? dot_at(url, end, end - 3) : 0;
            dot = url[end - 1] == '.' ? 1 : dot == 3 ? 3 : 0;
            if (dot == 0) {
                break;
            }
            end -= dot;
        }
    }
    for (size_t i = begin; i < end;) {
        size_t dot = dot_at(url, end, i);
        out->data[out->len++] = dot != 0 ? '.' : url[i];
        i += dot != 0 ? dot : 1;
    }
    return SLUICE_OK;
}

/* The label, lower-cased, in scratch: the exception's "!" before it. */
static sluice_status lower_label(const char *label, size_t n, struct text_buffer *scratch,
                                 struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (!text_utf8_is_ascii(label, n)) {
        status = text_lower(label, n, scratch, err);
        if (status == SLUICE_OK) {
            status = text_buffer_append(scratch, "!", 1, err);
        }
        if (status == SLUICE_OK) {
            memmove(scratch->data + 1, scratch->data, scratch->len - 1);
        }
    } else {
        scratch->len = 0;
        status = text_buffer_reserve(scratch, n + 1, err);
        if (status == SLUICE_OK) {
            for (size_t i = 0; i < n; i++) {
                scratch->data[i + 1] =
                    (char)(label[i] >= 'A' && label[i] <= 'Z' ? label[i] + 32 : label[i]);
            }
            scratch->len = n + 1;
        }
    }
    if (status == SLUICE_OK) {
        scratch->data[0] = '!';
    }
    return status;
}

sluice_status url_split(const struct url_suffixes *s, const char *host, size_t n,
                        struct text_buffer *scratch, struct url_parts *parts,
                        struct sluice_error *err)
{
    uint32_t node = 0;
    uint32_t found = 0;
    size_t end = n + 1;    /* one behind the dot that the walk has come to */
    size_t suffix = n + 1; /* where the suffix begins */
    sluice_status status = SLUICE_OK;

    *parts = (struct url_parts){ 0 };
    while (end > 0 && status == SLUICE_OK) {
        size_t stop = end - 1;
        size_t begin = stop;
        uint32_t child;
        while (begin > 0 && host[begin - 1] != '.') {
            begin--;
        }
        status = lower_label(host + begin, stop - begin, scratch, err);
        if (status != SLUICE_OK) {
            return status;
        }
        child = edge_find(s, node, scratch->data + 1, scratch->len - 1);
        if (child != 0) {
            node = child;
            if ((s->flags[node] & IS_END) != 0) {
                suffix = begin;
                found = node;
            }
            end = begin;
            continue;
        }
        child = edge_find(s, node, "*", 1);
        if (child != 0) {
            suffix = edge_find(s, node, scratch->data, scratch->len) != 0 ? end : begin;
            found = child;
        }
        break;
    }
    if (suffix > n) {
        return SLUICE_OK; /* no suffix: nothing is registered */
    }
    parts->is_private = (s->flags[found] & IS_PRIVATE) != 0;
    parts->suffix = (struct text_span){ (uint32_t)suffix, (uint32_t)n };
    if (suffix > 0) {
        size_t dot = suffix - 1;
        size_t begin = dot;
        while (begin > 0 && host[begin - 1] != '.') {
            begin--;
        }
        parts->domain = (struct text_span){ (uint32_t)begin, (uint32_t)dot };
        if (begin > 0) {
            parts->subdomain = (struct text_span){ 0, (uint32_t)(begin - 1) };
        }
    }
    return SLUICE_OK;
}

/* ---- punycode (RFC 3492) ---- */

static uint32_t adapt(uint32_t delta, uint32_t points, int first)
{
    uint32_t k = 0;

    delta = first ? delta / 700 : delta / 2;
    delta += delta / points;
    while (delta > 455) {
        delta /= 35;
        k += 36;
    }
    return k + 36 * delta / (delta + 38);
}

static char digit(uint32_t d)
{
    return (char)(d < 26 ? 'a' + d : '0' + (d - 26));
}

static sluice_status put_number(uint32_t number, uint32_t bias, struct text_buffer *out,
                                struct sluice_error *err)
{
    for (uint32_t k = 36;; k += 36) {
        uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        char c = digit(number < t ? number : t + (number - t) % (36 - t));
        sluice_status status = text_buffer_append(out, &c, 1, err);
        if (status != SLUICE_OK || number < t) {
            return status;
        }
        number = (number - t) / (36 - t);
    }
}

sluice_status url_punycode(const char *label, size_t n, struct text_buffer *out,
                           struct sluice_error *err)
{
    uint32_t points[63];
    uint32_t count = 0;
    uint32_t basic = 0;
    uint32_t last = 128;
    uint32_t delta = 0;
    uint32_t bias = 72;
    sluice_status status;

    out->len = 0;
    status = text_buffer_append(out, "xn--", 4, err);
    for (size_t at = 0; at < n && status == SLUICE_OK; count++) {
        if (count == sizeof points / sizeof points[0]) {
            return sluice_fail(err, SLUICE_E_DATA, "", "a label has over 63 characters");
        }
        at += text_utf8_decode(label, n, at, &points[count]);
        if (points[count] < 128) {
            char c = (char)points[count];
            status = text_buffer_append(out, &c, 1, err);
            basic++;
        }
    }
    if (basic > 0 && status == SLUICE_OK) {
        status = text_buffer_append(out, "-", 1, err);
    }
    for (uint32_t done = basic; done < count && status == SLUICE_OK; delta++, last++) {
        uint32_t next = UINT32_MAX;
        for (uint32_t i = 0; i < count; i++) {
            if (points[i] >= last && points[i] < next) {
                next = points[i];
            }
        }
        delta += (next - last) * (done + 1); /* at most 0x10FFFF * 64 */
        last = next;
        for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
            delta += points[i] < last;
            if (points[i] == last) {
                status = put_number(delta, bias, out, err);
                bias = adapt(delta, done + 1, done == basic);
                delta = 0;
                done++;
            }
        }
    }
    return status;
}
