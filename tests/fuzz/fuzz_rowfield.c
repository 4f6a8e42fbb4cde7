/* Fuzzes the search for ids: a field of a row (core/cmd/dataset/rowfield), and ids in bytes. Beside
 * what the sanitizers find: of whatever jansson takes as an object without names that come twice,
 * the field's text is the string that jansson has; and an id is found in bytes that hold it. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/dataset/bytesearch.h"
#include "cmd/dataset/rowfield.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void search_field(const char *row, size_t n)
{
    struct buf scratch = BUF_INIT;
    const char *text = NULL;
    size_t size = 0;
    json_t *whole = json_loadb(row, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *value = json_object_get(whole, "id");
    enum rowfield found = rowfield_find(row, n, "id", &scratch, &text, &size);

    if (json_is_object(whole)) {
        require(found != ROWFIELD_NO_JSON);
        require((value == NULL || json_is_null(value)) == (found == ROWFIELD_NONE));
    }
    if (json_is_string(value)) {
        require(found == ROWFIELD_TEXT && size == json_string_length(value) &&
                memcmp(text, json_string_value(value), size) == 0);
    }
    (void)rowfield_find(row, n, "a.b.c", &scratch, &text, &size);
    buf_deinit(&scratch);
    json_decref(whole);
}

static void search_bytes(const char *bytes, size_t n)
{
    const char *items[] = { "7", "id-1" };
    struct ids ids = { .items = items, .n = 2 };
    struct bytesearch search;

    require(bytesearch_init(&search, &ids, NULL) == SLUICE_OK);
    require(bytesearch_piece(&search, bytes, n, false, false, false) ==
            (n > 0 && (memchr(bytes, '7', n) != NULL || memmem(bytes, n, "id-1", 4) != NULL)));
    (void)bytesearch_piece(&search, bytes, n, true, false, false);
    bytesearch_deinit(&search);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    search_field((const char *)data, size);
    search_bytes((const char *)data, size);
    return 0;
}
