/* Fuzzes what write_jsonl does to outside bytes: splicing the members of a JSON object, verbatim
 * values, strings. Beside what the sanitizers find: nothing holds a line break; whatever jansson
 * takes as an object comes out as the same object but for the members left out; a string reads back
 * equal. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "write_jsonl/jsonl_text.h"

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void no_breaks(const struct sluice_bytes *out)
{
    require(out->size == 0 || (memchr(out->data, '\n', out->size) == NULL &&
                               memchr(out->data, '\r', out->size) == NULL));
}

static void splice(const char *text, size_t n)
{
    static const char *const names[] = { "text", "id" };
    struct sluice_bytes out = { 0 };
    size_t written;
    json_t *whole = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    int done;

    require(sluice_bytes_add(&out, "{", 1));
    done = jsonl_members(&out, text, n, names, 2, 0, &written);
    require(done != 0);
    no_breaks(&out);
    if (json_is_object(whole)) {
        json_t *spliced;
        require(done == 1);
        require(sluice_bytes_add(&out, "}", 1));
        spliced = json_loadb(out.data, out.size, JSON_ALLOW_NUL, NULL);
        json_object_del(whole, "text");
        json_object_del(whole, "id");
        require(json_equal(whole, spliced) && json_object_size(spliced) == written);
        json_decref(spliced);
    } else if (whole != NULL) {
        require(done == -1 && out.size == 1);
    }
    out.size = 0;
    require(jsonl_raw(&out, text, n));
    no_breaks(&out);
    if (whole != NULL) {
        json_t *same = json_loadb(out.data, out.size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        require(same != NULL);
        json_decref(same);
    }
    json_decref(whole);
    sluice_bytes_free(&out);
}

static void string(const char *text, size_t n)
{
    struct sluice_bytes out = { 0 };
    json_t *expected = json_stringn(text, n); /* NULL: no UTF-8 */

    require(jsonl_string(&out, text, n));
    no_breaks(&out);
    if (expected != NULL) {
        json_t *found = json_loadb(out.data, out.size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        require(found != NULL && json_equal(expected, found));
        json_decref(found);
        json_decref(expected);
    }
    sluice_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splice((const char *)data, size);
    string((const char *)data, size);
    return 0;
}
