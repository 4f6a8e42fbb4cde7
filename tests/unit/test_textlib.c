/* Text primitives: what each gives, against sdk/text and by hand; the analysis kept for the current
 * text; counters; the C filters as methods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>

#include "lua/sandbox/sandbox.h"
#include "lua/text/textlib.h"
#include "text/text.h"

struct scene {
    lua_State *L;
    char printed[8192];
};

static void collect(void *ctx, const char *line, size_t n)
{
    struct scene *scene = ctx;
    size_t used = strlen(scene->printed);

    snprintf(scene->printed + used, sizeof scene->printed - used, "%.*s\n", (int)n, line);
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(sandbox_create(UINT64_C(256) << 20, &scene->L, &err), SLUICE_OK);
    sandbox_print(scene->L, collect, scene);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    sandbox_destroy(scene->L);
    free(scene);
    return 0;
}

static sluice_status run(struct scene *scene, const char *code, struct sluice_error *err)
{
    scene->printed[0] = '\0';
    if (luaL_loadbufferx(scene->L, code, strlen(code), "@t.lua", "t") != LUA_OK) {
        fail_msg("%s", lua_tostring(scene->L, -1));
    }
    return sandbox_call(scene->L, 0, 0, err);
}

static void prints(struct scene *scene, const char *code, const char *expected)
{
    struct sluice_error err = ERROR_INIT;

    if (run(scene, code, &err) != SLUICE_OK) {
        fail_msg("%s: %s", code, err.message);
    }
    assert_string_equal(scene->printed, expected);
}

static void fails(struct scene *scene, const char *code, const char *part)
{
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(run(scene, code, &err), SLUICE_E_CONFIG);
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s\n  gives: %s\n  expected: %s", code, err.message, part);
    }
}

static void test_substrings(void **state)
{
    prints(*state,
           "local s = 'one two one' print(s:contains 'two', s:contains 'three', s:contains '', "
           "s:count 'one', s:count 'o', s:count 'xx', ('aaaa'):count 'aa', ('äb'):count '')",
           "true\tfalse\ttrue\t2\t3\t0\t2\t3\n");
    prints(*state,
           "local s = 'one.two' print(s:find_plain '.', s:find_plain('o', 2), s:find_plain 'x', "
           "s:find_plain('', 8), s:find_plain('', 9))",
           "4\t7\tnil\t8\tnil\n");
    prints(*state, "print(('a.b'):find_plain '.')", "2\t2\n");
    prints(*state,
           "local s = 'prefix' print(s:starts_with 'pre', s:starts_with 'fix', s:ends_with 'fix', "
           "s:ends_with 'pre', s:starts_with '', s:ends_with 'a prefix')",
           "true\tfalse\ttrue\tfalse\ttrue\tfalse\n");
    fails(*state, "('a'):find_plain('a', 0)", "positions begin with 1");
    fails(*state, "('a'):contains()", "string expected");
}

static void test_characters(void **state)
{
    prints(
        *state,
        "local s = 'Ab1 é!€' print(s:chars(), s:share 'letter', s:share 'digit', s:share 'upper', "
        "s:share 'space', s:share 'punct', s:share 'symbol', s:share 'é', s:share 'alnum')",
        "7\t0.42857142857143\t0.14285714285714\t0.14285714285714\t0.14285714285714\t0."
        "14285714285714\t0.14285714285714\t0.14285714285714\t0.57142857142857\n");
    prints(*state,
           "print((''):chars(), (''):share 'letter', ('aab'):count_class 'a', ('aab'):count_class "
           "'letter')",
           "0\t0.0\t2\t3\n");
    fails(*state, "('a'):share 'leter'", "unknown class 'leter'; expected letter");
    fails(*state, "('a'):share ''", "unknown class ''");
}

static void test_pieces(void **state)
{
    prints(*state,
           "local s = \"It's one, two  three\" print(table.concat(s:words(), '|'), s:n_words(), "
           "table.concat(s:words 'uax29', '|'), s:n_words 'uax29')",
           "It's|one,|two|three\t4\tIt's|one|two|three\t4\n");
    prints(*state,
           "local s = 'a\\nb\\r\\n\\nc' print(table.concat(s:lines(), '|'), s:n_lines(), "
           "#(''):lines(), (''):n_lines())",
           "a|b||c\t4\t0\t0\n");
    prints(*state,
           "local s = 'One. Two! Three' print(table.concat(s:sentences(), '|'), s:n_sentences())",
           "One.|Two!|Three\t3\n");
    prints(*state,
           "print('[' .. ('\\u{3000} a b \\n'):strip() .. ']', ('ÄÖ İ ΣΑΣ'):lower_unicode(), ('  "
           "Hello, 12.5 WORLD!'):simplify())",
           "[a b]\täö i̇ σας\thello 0 world\n");
    fails(*state, "('a'):words 'spaces'", "spaces");
}

static void test_unknown_method(void **state)
{
    fails(*state, "('a'):contans 'b'",
          "t.lua:1: a string has no method 'contans', did you mean 'contains'?");
    fails(*state, "('a'):uper()", "did you mean 'upper'?");
    fails(*state, "('a'):frobnicate()", "a string has no method 'frobnicate'");
    fails(*state, "local _ = ('a')[1]",
          "a string has no fields, found [number]; characters are s:sub(i, i)");
    fails(*state, "string.contans('a')", "did you mean 'contains'?");
    prints(*state, "print(string.contains('abc', 'b'), ('x'):upper(), ('a,b'):gsub(',', ';'))",
           "true\tX\ta;b\t1\n");
}

/* A text with everything that repetition measures look at. */
static const char repeated[] =
    "local words = { 'the', 'river', 'rose', 'in', 'night', 'and', 'by', 'morning', 'fields', "
    "'stood', 'under', 'water' }\n"
    "math.randomseed(%d) local t = {} for i = 1, 400 do t[i] = words[math.random(#words)] .. "
    "(math.random(9) == 1 and '\\n' or math.random(30) == 1 and '\\n\\n' or ' ') end\n"
    "local s = table.concat(t)\n";

static void test_repetition(void **state)
{
    struct scene *scene = *state;

    prints(scene,
           "local s = 'a b\\na b\\n\\nc d\\n\\na b' print(s:dup_line_share(), "
           "s:dup_line_char_share(), s:dup_para_share(), s:dup_para_char_share())",
           "0.5\t0.35294117647059\t0.0\t0.0\n");
    prints(scene,
           "print((''):dup_line_share(), (''):top_ngram_share(2), (''):dup_ngram_share(5), "
           "(''):mean_word_length())",
           "0.0\t0.0\t0.0\t0.0\n");
    fails(scene, "('a'):top_ngram_share(0)", "n-grams have 1 to 1000 words");
    fails(scene, "('a'):dup_ngram_share(1001)", "n-grams have 1 to 1000 words");
    for (int seed = 0; seed < 50; seed++) {
        char code[2000];
        int n = snprintf(code, sizeof code, repeated, seed);
        struct sluice_error err = ERROR_INIT;
        struct text_spans words;
        struct text_scratch scratch;
        struct text_doc doc;
        const char *text;
        size_t len;
        char expected[1000] = "";
        size_t used = 0;
        /* The text, then each measure twice and in another order: the second answers come from what
         * is kept. */
        snprintf(code + n, sizeof code - (size_t)n,
                 "text = s local r = {} for round = 1, 2 do for k = 2, 10 do r[k] = "
                 "string.format('%%.17g %%.17g|', s:top_ngram_share(k), s:dup_ngram_share(k)) end\n"
                 "local other = ('x y z '):rep(100 + round) other:dup_line_share() "
                 "other:top_ngram_share(2) end print(table.concat(r, '', 2) .. "
                 "string.format('%%.17g %%.17g %%.17g %%.17g', "
                 "s:dup_line_share(), s:dup_line_char_share(), s:dup_para_share(), "
                 "s:dup_para_char_share()))");
        assert_int_equal(run(scene, code, &err), SLUICE_OK);
        lua_getglobal(scene->L, "text");
        text = lua_tolstring(scene->L, -1, &len);
        text_spans_init(&words);
        text_scratch_init(&scratch);
        assert_int_equal(text_words(TEXT_WORDS_WHITESPACE, text, len, &words, &err), SLUICE_OK);
        assert_int_equal(text_doc_init(&doc, text, len, words.data, words.count, &err), SLUICE_OK);
        for (uint32_t k = 2; k <= 10; k++) {
            double top, dup;
            assert_int_equal(text_top_ngram_share(&doc, k, &scratch, &top, &err), SLUICE_OK);
            assert_int_equal(text_dup_ngram_share(&doc, k, &scratch, &dup, &err), SLUICE_OK);
            used +=
                (size_t)snprintf(expected + used, sizeof expected - used, "%.17g %.17g|", top, dup);
        }
        for (int k = 0; k < 4; k++) {
            double share;
            enum text_unit unit = k < 2 ? TEXT_UNIT_LINE : TEXT_UNIT_PARAGRAPH;
            assert_int_equal(k % 2 == 0 ? text_dup_share(&doc, unit, &scratch, &share, &err)
                                        : text_dup_char_share(&doc, unit, &scratch, &share, &err),
                             SLUICE_OK);
            used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%.17g",
                                     k > 0 ? " " : "", share);
        }
        snprintf(expected + used, sizeof expected - used, "\n");
        assert_string_equal(scene->printed, expected);
        text_spans_deinit(&words);
        text_scratch_deinit(&scratch);
        lua_settop(scene->L, 0);
    }
}

/* With a bound a share is exact when it is above it, and not above it otherwise. */
static void test_bounds(void **state)
{
    struct scene *scene = *state;

    for (int seed = 0; seed < 60; seed++) {
        char code[2400];
        int n = snprintf(code, sizeof code, repeated, seed);
        struct sluice_error err = ERROR_INIT;
        snprintf(code + n, sizeof code - (size_t)n,
                 "local s2 = ('q w e r t ' .. s):sub(11)\n"
                 "for _, limit in ipairs { 0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.9 } do local fresh = s "
                 ".. '!' .. limit\n"
                 "for k = 1, 12 do for _, f in ipairs { 'top_ngram_share', 'dup_ngram_share' } do\n"
                 "local other = ('z '):rep(300) .. k other:n_words()\n"
                 "local bounded, exact = fresh[f](fresh, k, limit), fresh[f](fresh, k)\n"
                 "assert(bounded == (exact > limit and exact or 0), f .. k .. ' ' .. limit)\n"
                 "local again = fresh[f](fresh, k, limit, 'whitespace') assert(again == bounded) "
                 "end end end print(#s2 > 10)");
        if (run(scene, code, &err) != SLUICE_OK) {
            fail_msg("%s", err.message);
        }
    }
}

static void test_word_statistics(void **state)
{
    prints(*state,
           "local s = 'one - two3 4' local w = s:word_stats() print(s:mean_word_length(), w.words, "
           "w.chars, w.content, w.content_chars, w.alphabetic)",
           "2.25\t4\t9\t3\t8\t2\n");
}

static void test_counter(void **state)
{
    prints(*state,
           "local c = ('b a b c a b'):counter() print(c:total(), c:distinct(), #c, c:count 'b', "
           "c:count 'zz', c:count '')\n"
           "for word, n in pairs(c) do print(word, n) end for i, e in ipairs(c:top(2)) do print(i, "
           "e[1], e[2]) end print(#c:top(0), #c:top(99), c)",
           "6\t3\t3\t3\t0\t0\na\t2\nb\t3\nc\t1\n1\tb\t3\n2\ta\t2\n0\t3\tcounter\n");
    prints(*state,
           "local c = (''):counter() print(c:total(), c:distinct(), #c:top(3)) for w in pairs(c) "
           "do print(w) end",
           "0\t0\t0\n");
    prints(*state,
           "local t = {} for i = 1, 5000 do t[i] = 'w' .. i % 701 end local c = table.concat(t, ' "
           "'):counter 'uax29'\n"
           "local n = 0 local last = '' for w, k in pairs(c) do assert(w > last and k == "
           "(tonumber(w:sub(2)) >= 1 and tonumber(w:sub(2)) <= 93 and 8 or 7)) last = w n = n + k "
           "end print(n, c:distinct())",
           "5000\t701\n");
    fails(*state, "local c = ('a'):counter() c:top(-1)", "below 0");
    fails(*state, "local c = ('a'):counter() c.total({})", "counter expected");
    fails(*state, "local c = ('a'):counter() c.x = 1", "attempt to index a counter value");
}

/* Words of a list together: each counts once, however often it is listed. */
static void test_counter_lists(void **state)
{
    prints(*state,
           "local c = ('b a b c a b'):counter() print(c:count { 'a', 'b', 'a', 'zz' }, c:count {}) "
           "for w in pairs(c) do c:count { 'c' } io = w end print(c:count { 'c', '' })",
           "5\t0\n1\n");
    fails(*state, "local c = ('a'):counter() c:count { {} }", "string expected");
    fails(*state, "local c = ('a'):counter() c:count(nil)", "string expected");
}

static void test_cut_pieces(void **state)
{
    struct scene *scene = *state;

    prints(
        scene,
        "local function all(text, how) local t = {} for i, p in ipairs(text:pieces(how)) do t[i] "
        "= '[' .. p .. ']' end print(#text:pieces(how), table.concat(t)) end\n"
        "all(' one  two\\n', 'whitespace') all('a-b', { by = 'uax29' }) all('a\\r\\nb\\n', "
        "'lines') all('One. Two.', 'sentences')\n"
        "all('a\\n\\n\\nb\\n\\n', { at = '\\n\\n' }) all('', { at = 'x' }) all('', { between = "
        "'x' }) all('--a-b--c', { between = '-' }) all('a\\u{2014}b c', { between = ' \\u{2014}' "
        "})\n"
        "all(' a \\n \\n\\u{2003}b', { at = '\\n', strip = true }) all(' a \\n \\n\\nb', { at = "
        "'\\n', drop = 'empty' }) all(' a \\n \\n\\nb', { at = '\\n', drop = 'blank' })\n"
        "all('(a) ... b.', { by = 'whitespace', strip = '().', drop = 'empty' }) all(' a', { at = "
        "'x', strip = false })",
        "2\t[one][two]\n2\t[a][b]\n2\t[a][b]\n2\t[One.][Two.]\n"
        "3\t[a][\nb][]\n1\t[]\n0\t\n3\t[a][b][c]\n3\t[a][b][c]\n"
        "3\t[a][][b]\n3\t[ a ][ ][b]\n2\t[ a ][b]\n2\t[a][b]\n1\t[ a]\n");
    fails(scene, "('a'):pieces()", "table expected");
    fails(scene, "('a'):pieces 'word'", "unknown word rule 'word'");
    fails(scene, "('a'):pieces {}", "expected one of them, found 0");
    fails(scene, "('a'):pieces { at = 'a', between = 'b' }", "expected one of them, found 2");
    fails(scene, "('a'):pieces { at = '' }", "an empty separator cuts nowhere");
    fails(scene, "('a'):pieces { zeta = 1, at = 'a', betwen = 'b' }", "unknown field 'betwen'");
    fails(scene, "('a'):pieces { at = 'a', drop = 'all' }", "invalid option 'all'");
    fails(scene, "('a'):pieces { between = 'z-a' }",
          "ends before it begins: from U+007A to U+0061");
    fails(scene,
          "('a'):count_in((function() local t = {} for i = 1, 1025 do t[i] = utf8.char(1000 + "
          "2 * i) end return table.concat(t) end)())",
          "more than 1024 ranges");
}

static void test_ask_pieces(void **state)
{
    struct scene *scene = *state;

    prints(
        scene,
        "local p = ('xa xb ya \\u{e9}a xa'):pieces 'whitespace'\n"
        "print(#p, p[1], p[5], p[6], p[0], p:chars(), p:longest(), (''):pieces 'lines':longest())\n"
        "print(#p:starting 'x', #p:starting { 'x', 'xa' }, #p:ending 'a', #p:containing { "
        "'\\u{e9}', 'b' }, #p:starting {}, #p:containing '')\n"
        "local d = p:distinct() print(#d, d[1], d[4], d:chars(), d:starting 'x':ending 'b'[1])\n"
        "local c = p:starting 'x':counter() print(c:total(), c:distinct(), c:count 'xa')",
        "5\txa\txa\tnil\tnil\t10\t2\t0\n3\t3\t4\t2\t0\t5\n4\txa\t\u00e9a\t8\txb\n3\t2\t2\n");
    fails(scene, "('a'):pieces('lines'):first()", "pieces have no method 'first'");
    fails(scene, "('a'):pieces('lines'):starting(1)", "table expected");
    fails(scene, "('a'):pieces('lines'):starting { 1 }", "a string or a list of strings");
    fails(scene, "('a'):pieces('lines').chars('a')", "pieces expected");
    fails(scene, "('a'):pieces('lines')[1] = 'b'", "attempt to index a pieces value");
}

/* Against the same in Lua, by strings in tables. */
static void test_ngrams(void **state)
{
    struct scene *scene = *state;

    prints(scene,
           "local function show(t) local s = {} for i, e in ipairs(t) do s[i] = e.times .. 'x' .. "
           "e.ngrams end print(table.concat(s, ' ')) end\n"
           "show(('abababc'):char_ngrams(2)) show(('ab'):char_ngrams(3)) show((''):char_ngrams(1)) "
           "show(('\\u{e9}\\u{e9}\\u{e9}a'):char_ngrams(1))\n"
           "local p = ('a b a b c'):pieces 'whitespace' show(p:ngrams(2)) show(p:ngrams(6)) "
           "print(p:top_ngram(2)) print(p:top_ngram(6)) print(p:dup_ngram_chars(2), "
           "p:dup_ngram_chars(1), p:dup_ngram_chars(6))",
           "3x1 2x1 1x1\n\n\n3x1 1x1\n2x1 1x2\n\na b\t2\nnil\n3\t2\t0\n");
    prints(
        scene,
        "for seed = 1, 120 do math.randomseed(seed) local words, n = {}, math.random(1, 6) for i = "
        "1, math.random(0, 400) do words[i] = ({ 'a', 'bb', '\\u{e9}', 'dddd' })[math.random(1, "
        "4)] "
        "end\n"
        "local text = table.concat(words, ' ') local seen, order, best = {}, {}, nil local chars, "
        "covered, last = 0, {}, 0\n"
        "for i = 1, #words - n + 1 do local g = table.concat(words, ' ', i, i + n - 1) if seen[g] "
        "then for k = math.max(i, last + 1), i + n - 1 do chars = chars + words[k]:chars() + ((k > "
        "i) and 1 or 0) end last = i + n - 1 else order[#order + 1] = g end seen[g] = (seen[g] or "
        "0) "
        "+ 1 end\n"
        "for _, g in ipairs(order) do if not best or seen[g] > seen[best] then best = g end end\n"
        "local p = text:pieces 'whitespace' local top, times = p:top_ngram(n) assert(top == best "
        "and "
        "(not best or times == seen[best])) assert(p:dup_ngram_chars(n) == chars)\n"
        "local total, distinct, before = 0, 0, math.huge for _, e in ipairs(p:ngrams(n)) do "
        "assert(e.times < before) before = e.times total = total + e.times * e.ngrams distinct = "
        "distinct + e.ngrams end assert(total == math.max(0, #words - n + 1) and distinct == "
        "#order) "
        "end print 'ok'",
        "ok\n");
    fails(scene, "('a'):char_ngrams(0)", "1 to 1000");
    fails(scene, "('a'):pieces('lines'):ngrams(1001)", "1 to 1000");
    fails(scene, "local s = ('x'):rep(20 << 20) s:char_ngrams(3)", "is too long");
}

static void test_filters(void **state)
{
    struct scene *scene = *state;
    static const char *const names[] = { "gopher_quality", "gopher_repetition", "fineweb_quality" };

    prints(scene, "print(('a b c'):gopher_quality())", "gopher_short_doc\t3.0\t50.0\n");
    prints(scene,
           "print(('a b c'):gopher_quality { min_doc_words = 0, min_stop_words = 0, "
           "min_avg_word_length = 0, max_non_alpha_words_ratio = 0 })",
           "nil\n");
    prints(scene,
           "print(('x\\nx\\nx'):gopher_repetition { dup_line_frac = 0.9, dup_line_char_frac = 0.9, "
           "dup_para_frac = 0, top_2_gram = 0, top_3_gram = 0 })",
           "nil\n");
    prints(scene, "print(('x\\nx\\nx'):gopher_repetition())",
           "dup_line_frac\t0.66666666666667\t0.3\n");
    prints(scene, "print((''):fineweb_quality())", "empty\t0.0\t0.0\n");
    for (size_t i = 0; i < 3; i++) {
        char code[200];
        snprintf(code, sizeof code, "('a'):%s { no_such = 1 }", names[i]);
        fails(scene, code, "unknown option 'no_such'");
        snprintf(code, sizeof code, "('a'):%s(1)", names[i]);
        fails(scene, code, "table expected");
    }
    fails(scene, "('a'):gopher_quality { min_doc_word = 1 }", "did you mean 'min_doc_words'?");
    fails(scene, "('a'):gopher_quality { min_doc_words = 1.5 }", "must be a whole number");
    fails(scene, "('a'):gopher_quality { min_doc_words = 'x' }",
          "found a string, expected a number");
}

/* The analysis belongs to a string, not to its address: other strings, short and long, in
 * between. */
static void test_kept_analysis(void **state)
{
    prints(*state,
           "local long = ('alpha beta\\n'):rep(100) for i = 1, 200 do local s = ('w'):rep(i) .. ' "
           "' .. ('v '):rep(300) assert(s:n_words() == 301) assert(long:n_words() == 200)\n"
           "assert(s:words()[1] == ('w'):rep(i)) assert(('a b'):n_words() == 2) "
           "assert(long:dup_line_share() == 99 / 101, long:dup_line_share()) end print 'ok'",
           "ok\n");
}

static void test_any_bytes(void **state)
{
    prints(
        *state,
        "for seed = 1, 300 do math.randomseed(seed) local t = {} for i = 1, math.random(0, 700) do "
        "t[i] = string.char(math.random(0, 255)) end local s = table.concat(t)\n"
        "s:chars() s:share 'letter' s:words() s:words 'uax29' s:lines() s:sentences() "
        "s:n_sentences() s:strip() s:lower_unicode() s:simplify() s:dup_line_share() "
        "s:dup_para_share()\n"
        "s:top_ngram_share(2) s:dup_ngram_share(5) s:top_ngram_share(2, 0.2) s:dup_ngram_share(5, "
        "0.1) s:counter():top(3) s:mean_word_length() s:word_stats() s:gopher_quality() "
        "s:gopher_repetition() s:fineweb_quality() s:contains 'a' s:count 'a' s:char_ngrams(3) "
        "s:count_in '\\u{80}-\\u{fff}' s:strip_in 'a-z\\u{fffd}'\n"
        "for _, how in ipairs { 'whitespace', 'lines', { at = ' ' }, { between = 'a-z', strip = "
        "'\\u{fffd}', drop = 'blank' } } do local p = s:pieces(how) p:distinct():chars() "
        "p:ngrams(2) "
        "p:top_ngram(2) p:dup_ngram_chars(1) p:containing { 'a', '' } end end print 'ok'",
        "ok\n");
}

/* Every method is documented, beginning with its name, and is there. */
static void test_documentation(void **state)
{
    size_t n = 0;

    for (const char *doc; (doc = textlib_doc(n)) != NULL; n++) {
        char code[100];
        size_t name = strcspn(doc, "(");
        assert_true(name > 0 && doc[name] == '(');
        snprintf(code, sizeof code, "print(type(string['%.*s']))", (int)name, doc);
        prints(*state, code, "function\n");
    }
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_substrings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_characters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_method, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repetition, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_word_statistics, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counter_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ask_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ngrams, setup, teardown),
        cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_analysis, setup, teardown),
        cmocka_unit_test_setup_teardown(test_any_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_documentation, setup, teardown),
    };

    return cmocka_run_group_tests_name("textlib", tests, NULL, NULL);
}
