/* plugins/dolma: repetitions against a backtracking engine written plainly, numbers, edits of
 * spans, JSONPath. The taggers' vectors are in tests/pipeline/dolma.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dolma/dolma_out.h"
#include "dolma/dolma_repeat.h"
#include "dolma/jsonpath.h"
#include "dolma/span_edit.h"

/* ---- (.+?)(\s?\1){3,} ---- */

static size_t space_width(const char *text, size_t n, size_t at)
{
    uint32_t cp;
    size_t width;
    if (at >= n) {
        return 0;
    }
    width = text_utf8_decode(text, n, at, &cp);
    return (text_classes(cp) & TEXT_SPACE) != 0 ? width : 0;
}

/* What re does behind `at` when `count` copies were found: the end, or 0. */
static size_t plain_copies(const char *text, size_t n, size_t begin, size_t piece, size_t at,
                           int count)
{
    size_t space = space_width(text, n, at);
    size_t end;
    for (int behind = space > 0; behind >= 0; behind--) {
        size_t from = at + (behind ? space : 0);
        if (from + piece <= n && memcmp(text + from, text + begin, piece) == 0) {
            end = plain_copies(text, n, begin, piece, from + piece, count + 1);
            if (end > 0) {
                return end;
            }
        }
    }
    return count >= 3 ? at : 0;
}

static size_t plain_find(const char *text, size_t n, struct dolma_repeat_match *out, size_t most)
{
    size_t found = 0;
    for (size_t at = 0; at < n;) {
        size_t end = 0;
        size_t piece = 0;
        while (end == 0 && at + piece < n && text[at + piece] != '\n') {
            piece = text_utf8_next(text, n, at + piece) - at;
            end = plain_copies(text, n, at, piece, at + piece, 0);
        }
        if (end > 0 && found < most) {
            out[found++] =
                (struct dolma_repeat_match){ (uint32_t)at, (uint32_t)end, (uint32_t)piece };
        }
        at = end > 0 ? end : text_utf8_next(text, n, at);
    }
    return found;
}

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % n);
}

static void same_as_plain(struct dolma_repeat *repeat, const char *text, size_t n)
{
    static struct dolma_repeat_match plain[4096];
    char *copy = malloc(n + 1); /* exactly as long as it is: a sanitizer sees reads behind it */
    size_t count = plain_find(text, n, plain, 4096);
    assert_non_null(copy);
    memcpy(copy, text, n);
    copy = realloc(copy, n > 0 ? n : 1);
    assert_int_equal(dolma_repeat_find(repeat, copy, n, NULL), SLUICE_OK);
    if (repeat->n != count ||
        (count > 0 && memcmp(repeat->matches, plain, count * sizeof *plain) != 0)) {
        fail_msg("'%.*s': found %zu matches, expected %zu", (int)n, text, repeat->n, count);
    }
    free(copy);
}

static void repeats_as_re(void **unused)
{
    static const char *const pieces[] = { "a",    "b",        "ab",         " ",
                                          "\n",   "\xC3\xA9", "\xC2\xA0",   "\xE3\x80\x80",
                                          "\x1c", "x",        "abcdefghij", "\xF0\x9F\x98\x80" };
    struct dolma_repeat repeat = { 0 };
    char text[6000];
    (void)unused;
    for (int round = 0; round < 6000; round++) {
        size_t kinds = 1 + below(sizeof pieces / sizeof pieces[0]);
        size_t first = below(sizeof pieces / sizeof pieces[0] - kinds + 1);
        size_t parts = below(40);
        size_t n = 0;
        for (size_t k = 0; k < parts; k++) {
            const char *piece = pieces[first + below(kinds)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        if (round % 3 == 0 &&
            n > 0) { /* a long piece, several times, sometimes with a space between */
            size_t copies = 2 + below(4);
            size_t length = n;
            for (size_t k = 1; k < copies && n + length + 2 < sizeof text; k++) {
                if (below(3) == 0) {
                    text[n++] = ' ';
                }
                memcpy(text + n, text, length);
                n += length;
            }
        }
        same_as_plain(&repeat, text, n);
    }
    dolma_repeat_deinit(&repeat);
}

/* Pieces at and around the bounds of the levels, behind other text. */
static void repeats_of_any_length(void **unused)
{
    static const size_t lengths[] = { 1,  2,   7,   8,   9,   15,  16,  17,   31,   32,
                                      63, 127, 128, 129, 130, 200, 511, 1023, 1024, 1025 };
    struct dolma_repeat repeat = { 0 };
    char *text = malloc(20000);
    (void)unused;
    assert_non_null(text);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        for (int round = 0; round < 8; round++) {
            size_t length = lengths[k];
            size_t n = below(100);
            size_t begin = n;
            for (size_t i = 0; i < n; i++) {
                text[i] = (char)('a' + below(26));
            }
            for (size_t i = 0; i < length; i++) {
                text[n++] = (char)('a' + below(round % 2 == 0 ? 2 : 26));
            }
            for (int copy = 1; copy < 4 + round % 2; copy++) {
                if (round >= 4 && below(2) == 0) {
                    memcpy(text + n, "\xE2\x80\x83", 3);
                    n += 3;
                }
                memcpy(text + n, text + begin, length);
                n += length;
            }
            memcpy(text + n, "zyx", 3);
            same_as_plain(&repeat, text, n + 3);
        }
    }
    free(text);
    dolma_repeat_deinit(&repeat);
}

/* A megabyte in one line, where an engine of backtracking never ends: also a word without fourth
 * powers but with many cubes. */
static void repeats_in_long_lines(void **unused)
{
    struct dolma_repeat repeat = { 0 };
    size_t n = 1000000;
    char *text = malloc(n);
    size_t a = 1;
    size_t b = 2;
    clock_t begin = clock();
    (void)unused;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)('a' + below(26));
    }
    assert_int_equal(dolma_repeat_find(&repeat, text, n, NULL), SLUICE_OK);
    assert_true(repeat.n < 200);
    memset(text, 'x', n);
    assert_int_equal(dolma_repeat_find(&repeat, text, n, NULL), SLUICE_OK);
    assert_int_equal(repeat.n, 1);
    assert_int_equal(dolma_repeat_count(text, &repeat.matches[0]), n);
    n = 30000; /* Fibonacci's word */
    memcpy(text, "ab", 2);
    while (b + a <= n) {
        memcpy(text + b, text, a);
        b += a;
        a = b - a;
    }
    assert_int_equal(dolma_repeat_find(&repeat, text, b, NULL), SLUICE_OK);
    assert_int_equal(repeat.n, 0);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 30);
    free(text);
    dolma_repeat_deinit(&repeat);
}

/* ---- numbers ---- */

static void scores_are_rounded(void **unused)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = { { 0, "0.0" },
                  { 1, "1.0" },
                  { -3, "-3.0" },
                  { 1.0 / 3, "0.33333" },
                  { 2.0 / 3, "0.66667" },
                  { 0.5, "0.5" },
                  { 0.000004, "0.0" },
                  { -0.000004, "-0.0" },
                  { 0.000015, "0.00002" },
                  { 2.5e-6, "0.0" },
                  { 12345678.9, "12345678.9" },
                  { 1e6, "1000000.0" },
                  { 3000000000.5, "3000000000.5" },
                  { 1e16, "1e+16" } };
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct dolma_out out = { 0 };
        char expected[100];
        dolma_out_span(&out, "t", 1, 20, cases[k].value);
        dolma_out_tagger(&out, "e__x__");
        assert_false(out.failed);
        assert_true(sluice_bytes_add(&out.json, "", 1));
        (void)snprintf(expected, sizeof expected, "\"e__x__t\":[[1,20,%s]]", cases[k].text);
        assert_string_equal(out.json.data, expected);
        dolma_out_deinit(&out);
    }
}

static void members_are_kept(void **unused)
{
    struct dolma_out out = { 0 };
    (void)unused;
    assert_true(dolma_out_members(&out, "", 0));
    assert_true(dolma_out_members(&out, " null ", 6));
    assert_true(dolma_out_members(&out, "{ }", 3));
    assert_int_equal(out.json.size, 0);
    assert_false(dolma_out_members(&out, "[1]", 3));
    assert_false(dolma_out_members(&out, "{", 1));
    assert_true(dolma_out_members(&out, " { \"a\":1}\n", 10));
    dolma_out_span(&out, "t", 0, 1, 1);
    dolma_out_tagger(&out, "");
    assert_true(sluice_bytes_add(&out.json, "", 1));
    assert_string_equal(out.json.data, "\"a\":1,\"t\":[[0,1,1.0]]");
    dolma_out_deinit(&out);
}

/* ---- spans ---- */

static void edit(const char *text, struct span_edit *edits, size_t n, const char *expected)
{
    struct text_buffer out = { 0 };
    for (size_t k = 0; k < n; k++) {
        edits[k].order = k;
    }
    assert_int_equal(span_edit_apply(text, strlen(text), edits, n, &out, NULL), SLUICE_OK);
    assert_int_equal(text_buffer_append(&out, "", 1, NULL), SLUICE_OK);
    assert_string_equal(out.data, expected);
    text_buffer_deinit(&out);
}

#define EDIT(text, expected, ...)                                    \
    do {                                                             \
        struct span_edit edits[] = { __VA_ARGS__ };                  \
        edit(text, edits, sizeof edits / sizeof edits[0], expected); \
    } while (0)

static void spans_are_replaced(void **unused)
{
    (void)unused;
    EDIT("h\xC3\xA9llo world", "[h\xC3\xA9llo] world", { 0, 5, "[{}]", 0 });
    EDIT("abcdef", "aXdef", { 1, 3, "X", 0 });
    EDIT("abcdef", "Yf", { 0, 2, "", 0 }, { 2, 5, "Y", 0 });
    EDIT("abcdef", "YX", { 3, 6, "X", 0 }, { 0, 3, "Y", 0 });     /* sorted; to the end */
    EDIT("abcdefgh", "Xfgh", { 0, 5, "X", 0 }, { 3, 8, "Y", 0 }); /* the second overlaps */
    EDIT("abcdefgh", "XYh", { 0, 5, "X", 0 }, { 3, 4, "Z", 0 }, { 5, 7, "Y", 0 });
    EDIT("abcdef", "abEdefE", { 2, 2, "E", 0 },
         { 4, 5, "X", 0 }); /* no characters: as the mixer, which waits on to the end */
    EDIT("abc", "abcX", { 9, 12, "X", 0 });
    EDIT("", "X", { 0, 0, "X", 0 });
    EDIT("abc", "", { 0, 3, "", 0 });
}

/* ---- JSONPath ---- */

static int matches(const char *text, int jq)
{
    static const char document[] =
        "{\"source\":\"s\",\"n\":5,\"f\":5.0,\"attributes\":{\"x\":[[0,5,0.5],[6,9,1]],\"y\":[],"
        "\"flag\":true,\"name\":\"it\"}}";
    struct sluice_error err = { .size = sizeof err };
    struct jsonpath_result result = { 0 };
    struct jsonpath *path = NULL;
    json_t *json = json_loads(document, 0, NULL);
    int n;
    assert_non_null(json);
    if (jsonpath_compile(text, jq, &path, &err) != SLUICE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(jsonpath_find(path, json, &result, &err), SLUICE_OK);
    n = (int)result.n;
    jsonpath_result_deinit(&result);
    jsonpath_destroy(path);
    json_decref(json);
    return n;
}

static void paths_match(void **unused)
{
    (void)unused;
    assert_int_equal(matches("$.attributes[?(@.x[0][2] >= 0.5)]", 0), 1);
    assert_int_equal(matches("$.attributes[?(@.x[0][2] > 0.5)]", 0), 0);
    assert_int_equal(matches("$@.attributes[?( @.x && @.x[1] && @.x[1][2] > 0.5 )]", 0), 1);
    assert_int_equal(matches("$.attributes[?(@.z[0][2] < 1)]", 0), 0);
    assert_int_equal(matches("$.attributes[?(@.z[0][2] != 1)]", 0), 1);
    assert_int_equal(matches("$.attributes[?(!(@.z) && (@.flag == false || @.name == 'it'))]", 0),
                     1);
    assert_int_equal(matches("$.attributes.x[?(@[2] > 0.1)]", 0), 2);
    assert_int_equal(matches("$.attributes.x[*][2]", 0), 2);
    assert_int_equal(matches("$['attributes'].*", 0), 4);
    assert_int_equal(matches("$.attributes.y[0]", 0), 0);
    assert_int_equal(matches("$[?(@.n == 5 && @.f != 5)]", 0), 1);
    assert_int_equal(matches("$.attributes[?(@.x[0][1] == $.n)]", 0), 1);
    assert_int_equal(matches(".attributes?.x?", 1), 1);
    assert_int_equal(matches(".[\"attributes\"].x[1]", 1), 1);
    assert_int_equal(matches(".nothing?.x", 1), 0);
}

static void paths_are_refused(void **unused)
{
    static const char *const bad[] = { "",
                                       "x",
                                       "$.",
                                       "$..x",
                                       "$[",
                                       "$['x",
                                       "$[x]",
                                       "$[-1]",
                                       "$[1:2]",
                                       "$[?(@.x]",
                                       "$[?(@.x > )]",
                                       "$[?(!@.x)]",
                                       "$.x y",
                                       "$.x.length()",
                                       "$[?(@.x ~= 'a')]",
                                       "$[?(@.x == 1e999)]",
                                       "$[?(@.x == 1234567890123456789012)]",
                                       "$[?('\\n' == @.x)]" };
    struct sluice_error err = { .size = sizeof err };
    struct jsonpath *path;
    char deep[1000] = "$[?(";
    (void)unused;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(jsonpath_compile(bad[k], 0, &path, &err), SLUICE_E_CONFIG);
        assert_null(path);
        assert_non_null(strstr(err.message, "expected"));
    }
    memset(deep + 4, '(', 500);
    assert_int_equal(jsonpath_compile(deep, 0, &path, &err), SLUICE_E_CONFIG);
    assert_int_equal(jsonpath_compile(".a | length", 1, &path, &err), SLUICE_E_CONFIG);
}

static void names_are_found(void **unused)
{
    struct jsonpath *path;
    (void)unused;
    assert_int_equal(
        jsonpath_compile("$.attributes[?(@.a[0][2] > 1 || !(@.b.c) || $.attributes.d == 1)]", 0,
                         &path, NULL),
        SLUICE_OK);
    assert_string_equal(jsonpath_name(path, "attributes", 0), "a");
    assert_string_equal(jsonpath_name(path, "attributes", 1), "b");
    assert_string_equal(jsonpath_name(path, "attributes", 2), "d");
    assert_null(jsonpath_name(path, "attributes", 3));
    assert_null(jsonpath_name(path, "metadata", 0));
    assert_false(jsonpath_only(path, "attributes"));
    jsonpath_destroy(path);
    assert_int_equal(jsonpath_compile("$[?(@.attributes.a == 1)].x", 0, &path, NULL), SLUICE_OK);
    assert_string_equal(jsonpath_name(path, "attributes", 0), "a");
    jsonpath_destroy(path);
    assert_int_equal(jsonpath_compile("$.attributes[?(@.a && 1 < 2)]", 0, &path, NULL), SLUICE_OK);
    assert_true(jsonpath_only(path, "attributes"));
    jsonpath_destroy(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_as_re),         cmocka_unit_test(repeats_of_any_length),
        cmocka_unit_test(repeats_in_long_lines), cmocka_unit_test(scores_are_rounded),
        cmocka_unit_test(members_are_kept),      cmocka_unit_test(spans_are_replaced),
        cmocka_unit_test(paths_match),           cmocka_unit_test(paths_are_refused),
        cmocka_unit_test(names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
