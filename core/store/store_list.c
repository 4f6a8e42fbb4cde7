/* Lists of places and the texts of versions: see store.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_ops.h"

/* ---- versions ---- */

bool store_version_equal(const struct store_version *a, const struct store_version *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
           strcmp(a->tag, b->tag) == 0;
}

bool store_version_vague(const struct store_version *v)
{
    return v->tag[0] == '\0' && v->mtime_ns == 0 && v->ctime_ns == 0;
}

bool store_version_holds(const struct store_version *known, const struct store_version *now)
{
    return known->size == now->size &&
           (store_version_vague(known) ||
            (known->mtime_ns == now->mtime_ns && strcmp(known->tag, now->tag) == 0));
}

char *store_version_print(const struct store_version *v, char text[STORE_VERSION_TEXT])
{
    if (v->tag[0] != '\0') {
        snprintf(text, STORE_VERSION_TEXT, "%" PRIu64 " %s", v->size, v->tag);
    } else {
        snprintf(text, STORE_VERSION_TEXT, "%" PRIu64 " %" PRId64 " %" PRId64, v->size, v->mtime_ns,
                 v->ctime_ns);
    }
    return text;
}

static bool tag_valid(const char *tag)
{
    for (const unsigned char *p = (const unsigned char *)tag; *p != '\0'; p++) {
        if (*p <= ' ' || *p >= 0x7f) {
            return false;
        }
    }
    return true;
}

bool store_version_parse(const char *text, size_t n, struct store_version *out)
{
    struct store_version v;
    char copy[STORE_VERSION_TEXT];
    char printed[STORE_VERSION_TEXT];
    char *first;
    char *second;
    char *end;

    if (n >= sizeof copy || memchr(text, '\0', n) != NULL) {
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    memset(&v, 0, sizeof v);
    first = strchr(copy, ' ');
    if (first == NULL) {
        return false;
    }
    v.size = strtoull(copy, &end, 10);
    second = strchr(first + 1, ' ');
    if (end != first) {
        return false;
    }
    if (second == NULL) {
        size_t tag = strlen(first + 1);
        if (tag == 0 || tag >= STORE_TAG || !tag_valid(first + 1)) {
            return false;
        }
        memcpy(v.tag, first + 1, tag + 1);
    } else {
        v.mtime_ns = strtoll(first + 1, &end, 10);
        if (end != second) {
            return false;
        }
        v.ctime_ns = strtoll(second + 1, &end, 10);
        if (*end != '\0') {
            return false;
        }
    }
    /* One text for each: signs, spaces, leading zeros and overflow show here. */
    if (strcmp(store_version_print(&v, printed), copy) != 0) {
        return false;
    }
    *out = v;
    return true;
}

/* ---- lists ---- */

bool store_list_add(struct store_list *list, const char *name, size_t n,
                    const struct store_version *version, bool folder)
{
    struct store_entry *entry;

    /* A power of two says that the array is full. */
    if ((list->n & (list->n - 1)) == 0) {
        size_t capacity = list->n == 0 ? 1 : 2 * list->n;
        struct store_entry *entries = realloc(list->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return false;
        }
        list->entries = entries;
    }
    entry = &list->entries[list->n];
    *entry = (struct store_entry){ str_copy(name, n), *version, folder };
    if (entry->name == NULL) {
        return false;
    }
    list->n++;
    return true;
}

static int order_entries(const void *a, const void *b)
{
    const struct store_entry *x = a;
    const struct store_entry *y = b;
    int order = strcmp(x->name, y->name);

    /* Where an object is called as something below it: the file comes first, and stays. */
    return order != 0 ? order : (int)x->folder - (int)y->folder;
}

void store_list_sort(struct store_list *list)
{
    size_t kept = 0;

    if (list->n > 1) {
        qsort(list->entries, list->n, sizeof *list->entries, order_entries);
    }
    for (size_t i = 0; i < list->n; i++) {
        if (kept > 0 && strcmp(list->entries[kept - 1].name, list->entries[i].name) == 0) {
            free(list->entries[i].name);
        } else {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->n = kept;
}

void store_list_deinit(struct store_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->entries[i].name);
    }
    free(list->entries);
    list->entries = NULL;
    list->n = 0;
}
