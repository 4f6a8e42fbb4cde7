/* url_list.c - see url_list.h. */
#include "url_list.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <sluice_arrays.h>

#include "text/text.h"
#include "text/text_list.h"

/* ---- lines ---- */

int url_lines_next(struct text_list *lines, const char **entry, size_t *n)
{
    struct text_string line;
    struct text_string stripped;

    while (text_list_next(lines, &line, &stripped)) {
        if (line.len == 0 || line.data[0] != '#') {
            *entry = stripped.data;
            *n = stripped.len;
            return 1;
        }
    }
    return 0;
}

/* ---- sets ---- */

/* A slot holds where an entry begins; it ends where the rest of its line is blank. */
static int entry_is(const struct url_set *set, size_t at, const char *key, size_t n)
{
    size_t end;
    struct text_span rest = { 0, 0 };

    if (n > set->size - at || memcmp(set->data + at, key, n) != 0) {
        return 0;
    }
    end = text_list_line_end(set->data, set->size, at + n);
    if (end == at + n) {
        return 1;
    }
    rest.end = end - at - n > TEXT_MAX ? (uint32_t)TEXT_MAX : (uint32_t)(end - at - n);
    rest = text_strip(set->data + at + n, rest);
    return rest.begin == rest.end;
}

static uint64_t *slot_of(const struct url_set *set, const char *key, size_t n, uint64_t hash)
{
    for (size_t i = (size_t)((hash & 0xffffffffu) * set->n_slots >> 32);;
         i = i + 1 == set->n_slots ? 0 : i + 1) {
        uint64_t slot = set->slots[i];
        if (slot == 0 ||
            ((slot ^ hash) >> 32 == 0 && entry_is(set, (size_t)(uint32_t)slot - 1, key, n))) {
            return &set->slots[i];
        }
    }
}

sluice_status url_set_build(struct url_set *set, const char *data, size_t size, int skip_empty,
                            const struct sluice_host_api *api, struct sluice_host *host,
                            struct sluice_error *err)
{
    struct text_list lines = { data, size, 0, 0 };
    const char *entry;
    size_t n;
    size_t count = 0;

    *set = (struct url_set){ .data = data, .size = size };
    if (size >= UINT32_MAX) {
        return sluice_fail(err, SLUICE_E_CONFIG, "",
                           "found a list of over 4 GiB, expected a smaller one");
    }
    while (url_lines_next(&lines, &entry, &n)) {
        count++;
    }
    set->n_slots = count + count / 2 + 8;
    set->slots = api->alloc(host, set->n_slots * sizeof *set->slots);
    if (set->slots == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a list");
    }
    memset(set->slots, 0, set->n_slots * sizeof *set->slots);
    lines = (struct text_list){ data, size, 0, 0 };
    while (url_lines_next(&lines, &entry, &n)) {
        if (n == 0) {
            set->has_empty = !skip_empty;
            continue;
        }
        uint64_t hash = XXH3_64bits(entry, n);
        uint64_t *slot = slot_of(set, entry, n, hash);
        if (*slot == 0) {
            *slot = (hash & 0xffffffff00000000u) | (uint64_t)(entry - data + 1);
            set->n++;
        }
    }
    return SLUICE_OK;
}

void url_set_free(struct url_set *set, const struct sluice_host_api *api, struct sluice_host *host)
{
    if (set->slots != NULL) {
        api->free(host, set->slots);
    }
    *set = (struct url_set){ 0 };
}

int url_set_has(const struct url_set *set, const char *key, size_t n)
{
    struct text_span whole = { 0, (uint32_t)n };

    if (n == 0) {
        return set->has_empty;
    }
    if (set->n == 0 || n >= UINT32_MAX - 64) {
        return 0;
    }
    if (*slot_of(set, key, n, XXH3_64bits(key, n)) == 0) {
        return 0;
    }
    /* What entries never hold would make the comparison above run on: white space at an end, line
     * breaks. */
    whole = text_strip(key, whole);
    return whole.end - whole.begin == n && memchr(key, '\n', n) == NULL &&
           memchr(key, '\r', n) == NULL;
}

/* ---- words ---- */

size_t url_normalise(const char *text, size_t n, char *out)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c >= 'A' && c <= 'Z') {
            c = (char)(c + 32);
        }
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            out[k++] = c;
        }
    }
    return k;
}
