/* What view.h says, and every view of scripts/views over facts that are missing, hostile or huge:
 * tests/data/views/NAME.json has facts, one or more, that touch all of a view, and the styles it
 * knows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/view/view.h"

struct printed {
    char *text;
    size_t size;
    FILE *file;
};

static struct view *open_view(const char *folder, const char *name, struct printed *printed)
{
    struct sluice_error err = ERROR_INIT;
    struct view *view = NULL;

    printed->file = open_memstream(&printed->text, &printed->size);
    assert_non_null(printed->file);
    if (view_open(folder, name, NULL, printed->file, &view, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return view;
}

static void close_view(struct view *view, struct printed *printed)
{
    view_close(view);
    fclose(printed->file);
    free(printed->text);
}

/* ---- views that are written here ---- */

static void put_view(const char *folder, const char *name, const char *text)
{
    char path[4200];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.lua", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *folder(void)
{
    const char *tmp = getenv("TMP");

    return tmp == NULL ? "." : tmp;
}

/* What a view prints of facts and style. */
static void prints(const char *text, const char *facts, const char *style, const char *expected)
{
    struct printed printed = { 0 };
    struct sluice_error err = ERROR_INIT;
    json_t *json = json_loads(facts, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    json_t *how = style == NULL ? NULL : json_loads(style, 0, NULL);
    struct view *view;

    assert_non_null(json);
    put_view(folder(), "given", text);
    view = open_view(folder(), "given", &printed);
    if (view_show(view, json, how, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    fflush(printed.file);
    assert_string_equal(printed.text, expected);
    close_view(view, &printed);
    json_decref(json);
    json_decref(how);
}

static void test_facts(void **state)
{
    (void)state;
    prints(
        "local h = require 'host' return function(f, s) h.write(f.a .. #f.list .. f.list[2].x .. "
        "tostring(f.none) .. math.type(f.r) .. tostring(s.md)) end",
        "{\"a\":\"t\",\"list\":[1,{\"x\":7}],\"none\":null,\"r\":2.0}", "{\"md\":true}",
        "t27nilfloattrue");
    /* Members in the order of the JSON, those that are null among them. */
    prints("local h = require 'host' return function(f) for k, v in pairs(f) do h.write(k .. "
           "h.json(v)) end "
           "for k in pairs(f) do h.write(k) end end",
           "{\"z\":1,\"a\":\"\\u0000\",\"n\":null,\"m\":{\"y\":[2.5,true],\"x\":0}}", NULL,
           "z1a\"\\u0000\"nnullm{\"y\":[2.5,true],\"x\":0}zanm");
    prints("local h = require 'host' return function(f, s) for i, v in ipairs(f) do h.write(i .. "
           "v) end "
           "h.write(tostring(next(s))) end",
           "[4,5]", NULL, "1425nil");
}

static void test_say(void **state)
{
    (void)state;
    prints("local h = require 'host' return function(f) h.say('%s|%5d|%s', f.a, f.n, nil) end",
           "{\"a\":\"x\\u001b\\u0000\\n\\u202ey\",\"n\":7}", NULL,
           "x\\u001b\\u0000\\n\\u202ey|    7|nil");
    /* A format is the view's own and keeps its lines; what is written keeps them too. */
    prints("local h = require 'host' return function(f) h.say 'a\\n' h.write(f) end",
           "\"b\\n\\u001bc\"", NULL, "a\nb\n\\u001bc");
    prints("local h = require 'host' return function(f) h.write(h.excerpt(f, 4) .. h.width(f) .. "
           "h.width 'abc' .. h.excerpt('abc', 2) .. h.excerpt('abc', 3)) end",
           "\"\\u6f22\\u6f22\\u6f22\"", NULL, "\xe6\xbc\xa2…63a…abc");
    prints("local h = require 'host' return function() h.write(h.count(1234567) .. ' ' .. "
           "h.bytes(1.2e6) .. ' ' .. h.time(125)) end",
           "{}", NULL, "1234.6k 1.2 MB 2:05 min");
}

static void test_again(void **state)
{
    struct printed printed = { 0 };
    struct sluice_error err = ERROR_INIT;
    struct view *view;

    (void)state;
    put_view(folder(), "again",
             "local h, n, old = require 'host', 0, {} return function(f) n = n + 1 "
             "for k in pairs(old) do h.write('old ' .. k) end h.write(n .. f.a) old = f end");
    view = open_view(folder(), "again", &printed);
    for (int k = 0; k < 2; k++) {
        json_t *json = json_pack("{s:s}", "a", k == 0 ? "x" : "y");
        assert_int_equal(view_show(view, json, NULL, &err), SLUICE_OK);
        json_decref(json);
    }
    fflush(printed.file);
    assert_string_equal(printed.text, "1xold a2y");
    close_view(view, &printed);
}

/* ---- what goes wrong ---- */

static void refused(const char *name, const char *text, const char *expected)
{
    struct printed printed = { 0 };
    struct sluice_error err = ERROR_INIT;
    struct view *view = NULL;
    json_t *facts = json_pack("{s:[]}", "list");
    sluice_status status;

    if (text != NULL) {
        put_view(folder(), name, text);
    }
    printed.file = open_memstream(&printed.text, &printed.size);
    status = view_open(folder(), name, NULL, printed.file, &view, &err);
    if (status == SLUICE_OK) {
        status = view_show(view, facts, NULL, &err);
    } else {
        assert_null(view);
    }
    assert_int_equal(status, SLUICE_E_CONFIG);
    if (strstr(err.message, expected) == NULL || strstr(err.message, "--json") == NULL) {
        fail_msg("found '%s', expected '%s'", err.message, expected);
    }
    json_decref(facts);
    close_view(view, &printed);
}

static void test_refused(void **state)
{
    (void)state;
    refused("absent", NULL, "absent.lua");
    refused("broken", "return function(", "broken.lua:1:");
    refused("noview", "return 7", "expected a file that returns a function, found a number");
    refused("raises", "return function(f)\n\n  return f.a.b end", "raises.lua:3:");
    refused("throws", "return function() error {} end", "its error is no text");
    refused("needs", "require '../needs'", "expected the name of a file beside the view");
    refused("needs", "require 'nothere'", "nothere.lua");
    /* There is no way around say.h, and none to files or code of elsewhere. */
    refused("prints", "return function() print 'x' end", "global 'print'");
    refused("reads", "return function() io.open '/etc/hostname' end", "global 'io'");
    refused("loads", "return function() load 'x' end", "global 'load'");
}

/* ---- the views of the program ---- */

static const char *const hostile[] = {
    "\"\\u001b[31m\\u0000\\n\\t\\u007f\\u009b\\u202e\\ufffd\\u6f22\"",
    "9223372036854775807",
    "-9223372036854775808",
    "1e300",
    "0.5",
    "true",
    "null",
    "[[], 3]",
    "{\"a\": {}, \"1\": \"\\u001b\"}",
    "\"<script>\\\"'><b>&\""
};

/* Removes the n-th value below json (put NULL) or replaces it; false = there are fewer. */
static bool change(json_t *json, size_t *n, json_t *put)
{
    const char *key;
    json_t *value;
    void *next;
    size_t i;

    json_object_foreach_safe(json, next, key, value)
    {
        if ((*n)-- == 0) {
            if (put == NULL) {
                json_object_del(json, key);
            } else {
                json_object_set(json, key, put);
            }
            return true;
        }
        if (change(value, n, put)) {
            return true;
        }
    }
    json_array_foreach(json, i, value)
    {
        if ((*n)-- == 0) {
            if (put == NULL) {
                json_array_remove(json, i);
            } else {
                json_array_set(json, i, put);
            }
            return true;
        }
        if (change(value, n, put)) {
            return true;
        }
    }
    return false;
}

static void show(struct view *view, struct printed *printed, const char *name, const json_t *facts,
                 const json_t *style)
{
    struct sluice_error err = ERROR_INIT;

    rewind(printed->file);
    if (view_show(view, facts, style, &err) != SLUICE_OK) {
        char *text = json_dumps(facts, JSON_SORT_KEYS | JSON_ENCODE_ANY);
        fail_msg("%s: %s\nfacts: %s", name, err.message, text);
    }
    fflush(printed->file);
    if (strstr(name, "_page") != NULL && memmem(printed->text, printed->size, "<script>\"", 9)) {
        fail_msg("%s printed a text as markup", name);
    }
    for (size_t i = 0; i < printed->size; i++) {
        unsigned char byte = (unsigned char)printed->text[i];
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
            fail_msg("%s printed the byte %u", name, byte);
        }
    }
}

static void show_changed(struct view *view, struct printed *printed, const char *name,
                         const json_t *facts, const json_t *style)
{
    for (size_t k = 0; k <= sizeof hostile / sizeof hostile[0]; k++) {
        json_t *put =
            k == 0 ? NULL : json_loads(hostile[k - 1], JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        bool changed = true;
        assert_true(k == 0 || put != NULL);
        for (size_t at = 0; changed; at++) {
            json_t *copy = json_deep_copy(facts);
            size_t n = at;
            changed = change(copy, &n, put);
            show(view, printed, name, copy, style);
            json_decref(copy);
        }
        json_decref(put);
    }
}

static void test_view(const char *views, const char *name)
{
    char path[4200];
    struct printed printed = { 0 };
    json_error_t where;
    json_t *fixture;
    json_t *facts;
    json_t *style;
    json_t *nothing = json_object();
    struct view *view;
    size_t i;
    size_t k;

    snprintf(path, sizeof path, "tests/data/views/%s.json", name);
    fixture = json_load_file(path, 0, &where);
    if (fixture == NULL) {
        fail_msg("%s:%d: %s; every view has facts to be tested with", path, where.line, where.text);
    }
    view = open_view(views, name, &printed);
    json_array_foreach(json_object_get(fixture, "styles"), i, style)
    {
        show(view, &printed, name, nothing, style);
        json_array_foreach(json_object_get(fixture, "facts"), k, facts)
        {
            show_changed(view, &printed, name, facts, style);
        }
        assert_true(k > 0);
    }
    assert_true(i > 0);
    close_view(view, &printed);
    json_decref(nothing);
    json_decref(fixture);
}

static void test_views(void **state)
{
    static const char views[] = "scripts/views";
    DIR *dir = opendir(views);
    struct dirent *entry;
    size_t n = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".lua") == 0) {
            char name[256];
            snprintf(name, sizeof name, "%.*s", (int)length - 4, entry->d_name);
            if (strcmp(name, "lib") != 0 && strcmp(name, "page") != 0 &&
                strcmp(name, "bound") != 0) {
                test_view(views, name);
                n++;
            }
        }
    }
    closedir(dir);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),   cmocka_unit_test(test_say),   cmocka_unit_test(test_again),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
