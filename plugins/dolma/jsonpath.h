/* jsonpath.h - the JSONPath of Dolma's mixer configurations: compiled once, evaluated on a JSON
 * value.
 *
 * Depends on jansson. The subset: `$`, `.name`, `['name']`, `[n]`, `[*]`, `.*` and filters
 * `[?(...)]` with `@` paths, numbers, 'strings', true, false, null, == != < <= > >=, &&, ||,
 * parentheses and `!(...)`; a filter on an object asks the object itself, as the Rust library
 * jsonpath-rust 0.3 does, and compares as it does: < and > only compare one number with one number
 * (anything else is false), != is the opposite of ==, 5 and 5.0 are not equal. What is beyond that
 * is refused with its place. With syntax jq: paths alone, `.a.b`, `.a?.b?`, `.["a"]`, `.a[0]`.
 * A compiled path is read-only: many threads may evaluate it. */
#ifndef JSONPATH_H
#define JSONPATH_H

#include <jansson.h>
#include <sluice_arrays.h>
#include <stdbool.h>

struct jsonpath; /* opaque */

/* What a path gave: values borrowed from the document, n of them. */
struct jsonpath_result {
    json_t **values; /* owned */
    size_t n, capacity;
    double value, limit;   /* of the last comparison of numbers that held */
    bool compared, failed; /* failed: memory was refused */
};

void jsonpath_result_deinit(struct jsonpath_result *result);

/* Gives *out. SLUICE_E_CONFIG (the message quotes the path and the place), SLUICE_E_NOMEM. */
sluice_status jsonpath_compile(const char *text, bool jq, struct jsonpath **out,
                               struct sluice_error *err);
void jsonpath_destroy(struct jsonpath *path);

/* Evaluates it; SLUICE_E_NOMEM. */
sluice_status jsonpath_find(const struct jsonpath *path, json_t *document,
                            struct jsonpath_result *result, struct sluice_error *err);

/* Whether the path looks at nothing but the member of this name of the document. */
bool jsonpath_only(const struct jsonpath *path, const char *member);

/* The k-th name that the path, or a filter in it, looks up directly below the document's member;
 * NULL = there are no more. */
const char *jsonpath_name(const struct jsonpath *path, const char *member, size_t k);

#endif
