/* fuzz_jsonpath.c — libFuzzer target over the JSONPath of dolma_mix: compiled and evaluated on a
 * document that has what the paths of the corpus look for.
 *
 * The first byte chooses the syntax. What doesn't compile has a message; what does names no name
 * that isn't in its text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dolma/jsonpath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char document[] =
        "{\"id\":\"a\",\"source\":\"s\",\"metadata\":{\"length\":12},\"attributes\":"
        "{\"x\":[[0,5,0.5],[6,9,1]],\"y\":[],\"flag\":true,\"pii\":{\"email\":[[1,2,0.9]]}}}";
    struct sluice_error err = { .size = sizeof err };
    struct jsonpath_result result = { 0 };
    struct jsonpath *path;
    const char *name;
    char *text;
    if (size < 1) {
        return 0;
    }
    text = strndup((const char *)data + 1, size - 1);
    check(text != NULL, "memory");
    if (jsonpath_compile(text, data[0] % 2 == 1, &path, &err) != SLUICE_OK) {
        check(path == NULL && err.message[0] != '\0', "errors have a message and give nothing");
    } else {
        json_t *json = json_loads(document, 0, NULL);
        check(json != NULL, "memory");
        for (size_t k = 0; (name = jsonpath_name(path, "attributes", k)) != NULL; k++) {
            check(strstr(text, name) != NULL, "names are in the text");
        }
        check(jsonpath_find(path, json, &result, &err) == SLUICE_OK, "it is evaluated");
        for (size_t k = 0; k < result.n; k++) {
            check(result.values[k] != NULL, "values are there");
        }
        if (jsonpath_only(path, "attributes")) {
            json_t *rest = json_object();
            size_t n = result.n;
            check(rest != NULL &&
                      json_object_set(rest, "attributes", json_object_get(json, "attributes")) == 0,
                  "memory");
            check(jsonpath_find(path, rest, &result, &err) == SLUICE_OK && result.n == n,
                  "only the attributes count");
            json_decref(rest);
        }
        json_decref(json);
        jsonpath_destroy(path);
    }
    jsonpath_result_deinit(&result);
    free(text);
    return 0;
}
