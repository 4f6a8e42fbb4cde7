/* Stages in Lua: definitions, fields and reasons found in the source, verdicts, columns, what a bad
 * row costs, changed upvalues, memory, endless loops, hashes, examples. The stages run through the
 * stage driver as any plugin's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lua/stage/luascan.h"
#include "luastage_kit.h"
#include "run/watchdog.h"

/* ---- definitions ---- */

static void test_definitions(void **state)
{
    (void)state;
    refused("s.filter { 'x', function(doc) end, overs = 1 }",
            "stage 'x': unknown member 'overs', did you mean 'over'?");
    refused("s.filter { 'X', function(doc) end }", "found the name \"X\"");
    refused("s.filter { 'x', print }", "must be written in Lua");
    refused("s.filter { 'x', function(doc) end, run = 'fast' }",
            "run: found fast, expected \"stateless\" or \"ordered\"");
    refused("s.filter { 'x', function(doc) end, needs = 'lang' }", "needs: found a string");
    refused("s.filter { 'x', function(doc) end, needs = { 'score:flot64' } }",
            "needs: \"score:flot64\": unknown type");
    refused("s.filter { 'x', function(doc) end, reasons = { 'Too long' } }",
            "reasons: item 1 must be a word");
    refused("s.filter { 'x', function(doc) end, reasons = {} }", "reasons is empty");
    refused("s.filter { 'x', function(doc) end, options = { max = 3 } }", "option 'max' of 'x'");
    refused("s.annotate { 'x', function(doc) end }", "adds: found nil");
    refused("s.annotate { 'x', function(doc) end, adds = { n = 'int' } }",
            "adds: n: unknown type \"int\"");
    refused("s.annotate { 'x', function(doc) end, adds = { _n = 'int64' } }",
            "names don't begin with _");
    refused("s.heuristic { 'x', measure = function(doc) end, drop = { above = 'mx' }, options = { "
            "max = { 'float', 1 } } }",
            "drop.above names the option 'mx', which is not declared; did you mean 'max'?");
    refused("s.heuristic { 'x', measure = function(doc) end, drop = { above = 'max' }, options = { "
            "max = { 'string', 'a' } } }",
            "must be a float or an int");
    refused("s.heuristic { 'x', measure = function(doc) end, drop = { above = 'max' }, options = { "
            "max = { 'float' } } }",
            "needs a default");
    refused("local io = coroutine s.filter { 'x', function(doc) return io.read end }\ns.filter { "
            "'x', function(doc) end }",
            "");
}

static void test_fields_are_checked(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(
        scene_load(&scene,
                   "s.filter { 'x', function(doc)\n  if doc.txt == '' then return 'e' end\nend }"),
        SLUICE_OK);
    assert_int_equal(scene_open(&scene, "x", ""), SLUICE_E_SCHEMA);
    assert_says(&scene,
                "t.lua:3: unknown field 'txt': rows have no column 'txt', did you mean 'text'?");
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(scene_load(&scene, "s.filter { 'x', function(doc) return doc.odd end }"),
                     SLUICE_OK);
    assert_int_equal(scene_open(&scene, "x", ""), SLUICE_E_SCHEMA);
    assert_says(&scene, "which stages in Lua can't read");
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(
        scene_load(&scene,
                   "s.filter { 'x', function(doc) return doc.text end, needs = { 'n:utf8' } }"),
        SLUICE_OK);
    assert_int_equal(scene_open(&scene, "x", ""), SLUICE_E_SCHEMA);
    assert_says(&scene, "the column 'n' is int32, expected utf8");
    scene_close(&scene);

    /* Only what the function mentions is asked for; _row seeds math.random. */
    scene_ready(&scene,
                "s.filter { 'x', function(doc) local a = doc.text, doc['n'] -- doc.score\n local t "
                "= 'doc.id' return nil end }",
                "x", "");
    assert_int_equal(scene.prepared.n_needs[0], 3);
    assert_string_equal(scene.prepared.needs[0][0].name, "text");
    assert_string_equal(scene.prepared.needs[0][1].name, "n");
    assert_string_equal(scene.prepared.needs[0][2].name, "_row");
    scene_close(&scene);
}

static void test_scan(void **state)
{
    static const char source[] =
        "local a = [[ doc.no ]] -- doc.comment\nf = function(doc) --[==[ doc.long ]==] return "
        "doc.one, doc [ \"two\" ], x.doc.no, doc:no(), \"lit\",\n"
        "  'esc\\n', [[long]], function(y) return y.doc end end g = function(other) return "
        "other.no, \"no\" end\nh = doc.no";
    struct luascan scan = { 0 };
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(luascan_read(&scan, source, sizeof source - 1, 2, 3, "doc", &err), SLUICE_OK);
    assert_int_equal(scan.n_fields, 2);
    assert_string_equal(scan.fields[0].text, "one");
    assert_int_equal(scan.fields[0].line, 2);
    assert_string_equal(scan.fields[1].text, "two");
    assert_int_equal(scan.n_literals, 2);
    assert_string_equal(scan.literals[0].text, "lit");
    assert_string_equal(scan.literals[1].text, "long");
    luascan_deinit(&scan);
    /* Unfinished things end with the text. */
    for (size_t n = 0; n < sizeof source; n++) {
        assert_int_equal(luascan_read(&scan, source, n, 1, 9, "doc", &err), SLUICE_OK);
        luascan_deinit(&scan);
    }
}

/* ---- filters ---- */

static void test_filter(void **state)
{
    struct scene scene;
    static const char *const texts[] = { "fine", "lorem ipsum", "x", "yy" };

    (void)state;
    scene_ready(&scene,
                "s.filter { 'x', function(doc)\n"
                "  if doc.text:contains 'lorem' then return 'lorem' end\n"
                "  if #doc.text < 2 then return \"short\", #doc.text, 2 end\n"
                "  return nil\nend }",
                "x", "");
    processed(&scene, texts, 4);
    assert_string_equal(reason(&scene, 0), "");
    assert_string_equal(reason(&scene, 1), "lorem");
    assert_string_equal(reason(&scene, 2), "short");
    assert_true(scene.result.verdicts[2].value == 1 && scene.result.verdicts[2].limit == 2);
    assert_string_equal(reason(&scene, 3), "");
    assert_string_equal(scene.entry->stage.reasons, "lorem|short|x");
    scene_close(&scene);
}

static void test_values(void **state)
{
    struct scene scene;

    (void)state;
    scene_ready(
        &scene,
        "s.filter { 'x', function(doc)\n"
        "  local n = doc.n + 1\n"
        "  assert(doc.id == 'd' .. n and doc.text == 'row ' .. n and doc.text == doc.text)\n"
        "  assert(math.type(doc.n) == 'integer')\n"
        "  if n % 2 == 1 then assert(doc.score == nil and doc.meta == nil) else assert(doc.score "
        "== n / 2 and doc.meta == '{\"a\":1}') end\n"
        "  assert(doc.flag == (n % 3 == 0) and doc.small == n + 0.5)\n"
        "  assert(doc.big == -1 - n and #doc.tags == n % 3 and table.concat(doc.tags) == "
        "('ab'):sub(1, n % 3))\n"
        "  assert(#doc.words == 2 and doc.words[1] == 1 and doc.words[2] == n)\n"
        "  assert(doc.nothing == nil)\n"
        "end, needs = { 'nothing?' } }",
        "x", "");
    processed(&scene, NULL, 10);
    for (int i = 0; i < 10; i++) {
        if (scene.result.verdicts[i].reason != 0) {
            fail_msg("row %d: %s", i, scene.result.verdicts[i].dup_of);
        }
    }
    scene_close(&scene);
}

static void test_over(void **state)
{
    struct scene scene;
    static const char *const texts[] = { "yes" };

    (void)state;
    scene_ready(&scene,
                "s.filter { 'x', function(doc, o) assert(o.over == 'body') if doc.text == 'yes' "
                "then return 'seen' end end, over = 'body' }",
                "x", "");
    assert_string_equal(scene.prepared.needs[0][0].name, "body");
    processed(&scene, texts, 1);
    assert_string_equal(reason(&scene, 0), "seen");
    scene_close(&scene);
    scene_ready(
        &scene,
        "s.filter { 'x', function(doc, o) if doc.text == 'yes' then return 'seen' end end }", "x",
        "over=body");
    assert_string_equal(scene.prepared.needs[0][0].name, "body");
    scene_close(&scene);
}

/* An error is the row's, with its place; the rows around it are judged. */
static void test_bad_rows(void **state)
{
    struct scene scene;

    (void)state;
    scene_ready(&scene,
                "s.filter { 'x', function(doc)\n"
                "  local n = doc.n + 1\n"
                "  if n == 1 then error('bad luck') end\n"
                "  if n == 2 then return doc.txt end\n"
                "  if n == 3 then return 'un' .. 'listed' end\n"
                "  if n == 4 then return 5 end\n"
                "  if n == 5 then return true end\n"
                "  if n == 6 then doc.text = 'x' end\n"
                "  if n == 7 then error({}) end\n"
                "  if n == 8 then return 'x', 'y' end\n"
                "  if n == 9 then for k in pairs(doc) do end end\n"
                "  if n == 10 then local a = doc[1] end\n"
                "  if n == 11 then stray = 1 end\n"
                "  if n == 12 then error('\\xff\\xfe') end\n"
                "end, needs = { 'txt?' } }",
                "x", "");
    processed(&scene, NULL, 15);
    assert_string_equal(reason(&scene, 0), "");
    assert_bad(&scene, 1, "lua_error: t.lua:4: bad luck");
    assert_string_equal(reason(&scene, 2), "");
    assert_bad(&scene, 3,
               "lua_error: t.lua:2: the function returned the reason \"unlisted\", which is not a "
               "literal in it; list it in reasons");
    assert_bad(
        &scene, 4,
        "lua_error: t.lua:2: the function returned a number, expected nil (keep) or a reason");
    assert_bad(&scene, 5, "returned a boolean");
    assert_bad(&scene, 6, "t.lua:9: a row can't be changed (field 'text')");
    assert_bad(&scene, 7, "t.lua:10: error(table)");
    assert_bad(&scene, 8,
               "behind the reason the function returned a string, expected a number (the value)");
    assert_bad(&scene, 9, "t.lua:12: the fields of a row can't be listed");
    assert_bad(&scene, 10, "t.lua:13: a row has named fields");
    assert_bad(&scene, 11, "t.lua:14: the global 'stray' is assigned");
    assert_bad(&scene, 12, "t.lua:15: ??");
    assert_string_equal(reason(&scene, 13), "");
    processed(&scene, NULL, 1);
    assert_string_equal(reason(&scene, 0), "");
    scene_close(&scene);
}

/* The scan can't see through a helper: the field is refused when it is read, with the remedy. */
static void test_unlisted_field(void **state)
{
    struct scene scene;

    (void)state;
    scene_ready(&scene,
                "local h = { f = function(d)\n return d.title end }\ns.filter { 'x', function(doc) "
                "h.f(doc) return doc.text == '' and 'e' or nil end }",
                "x", "");
    processed(&scene, NULL, 1);
    assert_bad(&scene, 0,
               "t.lua:3: the field 'title' of the row was not asked for; list it in needs = { "
               "\"title\" }");
    scene_close(&scene);
    /* A helper with the same parameter, reached as an upvalue, is scanned. */
    scene_ready(&scene,
                "local function f(doc) if doc.id == 'd1' then return 'first' end end\ns.filter { "
                "'x', function(doc) return f(doc) end }",
                "x", "");
    processed(&scene, NULL, 2);
    assert_string_equal(reason(&scene, 1), "first");
    scene_close(&scene);
}

static void test_kept_row(void **state)
{
    struct scene scene;

    (void)state;
    scene_ready(&scene,
                "local t = {}\ns.filter { 'x', function(doc) if t.doc then return t.doc.text end "
                "t.doc = doc end, run = 'ordered' }",
                "x", "");
    processed(&scene, NULL, 2);
    assert_bad(&scene, 1,
               "row 1"); /* it is the row object of the worker, which is the current row */
    scene_close(&scene);
}

/* ---- heuristics ---- */

static void test_heuristic(void **state)
{
    struct scene scene;
    static const char *const texts[] = { "abc", "a1", "123", "" };
    static const char code[] =
        "s.heuristic { 'digits', options = { max = { 'float', 0.5 }, min = { 'float', 0.1 } }, "
        "measure = function(doc, o) assert(o.max == 0.5 and o.min) "
        "return doc.text:share 'digit' end, drop = { above = 'max', below = 'min' }, reason = "
        "'numbers' }";

    (void)state;
    scene_ready(&scene, code, "digits", "min=0");
    processed(&scene, texts, 4);
    assert_string_equal(reason(&scene, 0), "");
    assert_string_equal(reason(&scene, 1), "");
    assert_string_equal(reason(&scene, 2), "numbers");
    assert_true(scene.result.verdicts[2].value == 1 && scene.result.verdicts[2].limit == 0.5);
    assert_true(scene.result.verdicts[1].value == 0.5 && scene.result.verdicts[1].limit == 0.5);
    scene_close(&scene);
    scene_ready(&scene, code, "digits", "");
    processed(&scene, texts, 4);
    assert_string_equal(reason(&scene, 0), "numbers");
    assert_true(scene.result.verdicts[0].value == 0 && scene.result.verdicts[0].limit == 0.1);
    scene_close(&scene);
    scene_ready(&scene,
                "s.heuristic { 'h', options = { max = { 'int', 3 } }, measure = function(doc) if "
                "doc.n == 0 then return 0/0 end return doc.text end, drop = { above = 'max' } }",
                "h", "");
    processed(&scene, NULL, 2);
    assert_bad(&scene, 0, "measure returned a string, expected a number");
    assert_bad(&scene, 1, "measure returned nan");
    scene_close(&scene);
}

/* ---- annotators ---- */

static void test_annotate(void **state)
{
    struct scene scene;
    const struct ArrowArray *out;
    size_t n;

    (void)state;
    scene_ready(
        &scene,
        "s.annotate { 'a', function(doc)\n"
        "  local n = doc.n + 1\n"
        "  if n == 3 then return nil, 'third' end\n"
        "  if n == 4 then return { i = 1.5 } end\n"
        "  if n == 5 then return { i = 1, f = 2, b = true, t = '\\xff', l = {}, w = {}, m = {} } "
        "end\n"
        "  if n == 6 then return 7 end\n"
        "  if n == 7 then return nil end\n"
        "  if n == 8 then return { i = 128, f = 2, b = true, t = 'x', l = {}, w = {}, m = {} } "
        "end\n"
        "  if n == 9 then return { i = 1, f = 2, b = true, t = 'x', l = { true, 1 }, w = {}, m = "
        "{} } end\n"
        "  return { i = n, f = n > 0 and n / 2 or nil, b = n % 2 == 0, t = ('x'):rep(n), l = { "
        "true, false }, w = { 'a', doc.text }, m = { k = { n } }, h = doc.big, s = 'no column' }\n"
        "end, adds = { i = 'int8', f = 'float64?', b = 'bool', t = 'utf8', l = 'list<bool>', w = "
        "'list<utf8>', m = 'json', h = 'uint64?' } }",
        "a", "");
    assert_int_equal(scene.prepared.added.n, 8);
    processed(&scene, NULL, 12);
    assert_int_equal(scene.result.n_batches, 1);
    out = &scene.result.batches[0];
    assert_int_equal(out->length, 12);
    assert_string_equal(reason(&scene, 0), "");
    assert_string_equal(reason(&scene, 3), "third");
    assert_bad(&scene, 4, "column 'b' is missing");
    assert_bad(&scene, 5, "column 't': found a string that is not UTF-8");
    assert_bad(&scene, 6, "the function returned a number, expected a table of columns");
    assert_bad(&scene, 7, "the function returned nil; expected a table of columns");
    assert_bad(&scene, 8, "column 'i': found an integer out of range, expected int8");
    assert_bad(&scene, 9, "column 'l': found a number, expected list<bool>");
    /* b f h i l m t w */
    assert_int_equal(((const uint8_t *)out->children[0]->buffers[1])[1], 0x04);
    assert_true(((const double *)out->children[1]->buffers[1])[11] == 5.5);
    assert_true(sluice_is_null(out->children[1], 0));
    assert_false(sluice_is_null(out->children[1], 1));
    assert_true(((const uint64_t *)out->children[2]->buffers[1])[11] == UINT64_MAX - 11);
    assert_int_equal(((const int8_t *)out->children[3]->buffers[1])[11], 11);
    assert_int_equal(((const int32_t *)out->children[4]->buffers[1])[12], 10);
    assert_memory_equal(sluice_text(out->children[5], 10, &n), "{\"k\":[10]}", 10);
    sluice_text(out->children[6], 11, &n);
    assert_int_equal(n, 11);
    assert_int_equal(((const int32_t *)out->children[7]->buffers[1])[12], 10);
    sluice_text(out->children[7]->children[0], 9, &n);
    assert_int_equal(n, 6);
    processed(&scene, NULL, 0);
    scene_close(&scene);
}

/* ---- what rows must not share ---- */

static void test_changed_upvalue(void **state)
{
    struct scene scene;

    (void)state;
    scene_ready(&scene,
                "local n = 0\ns.filter { 'x', function(doc)\n n = n + 1 if n > 3 then return "
                "'many' end end }",
                "x", "");
    assert_int_equal(scene_process(&scene, NULL, 5), SLUICE_E_CONFIG);
    assert_says(&scene, "the function at t.lua:3 changes its upvalue 'n'");
    assert_says(&scene, "run = \"ordered\"");
    scene_close(&scene);
    scene_ready(&scene,
                "local seen = { deep = {} }\ns.filter { 'x', function(doc) seen.deep[doc.text] = "
                "true end }",
                "x", "");
    assert_int_equal(scene_process(&scene, NULL, 5), SLUICE_E_CONFIG);
    assert_says(&scene, "t.lua:3: the function changes its upvalue 'seen.deep.row 0'");
    scene_close(&scene);
    /* Behind a function, and back again. */
    scene_ready(
        &scene,
        "local n = 0\nlocal function up() n = n + 1 end\ns.filter { 'x', function(doc) up() end }",
        "x", "");
    assert_int_equal(scene_process(&scene, NULL, 5), SLUICE_E_CONFIG);
    assert_says(&scene, "the function at t.lua:4 changes its upvalue 'n'");
    scene_close(&scene);
    scene_ready(&scene,
                "local n = 0\ns.filter { 'x', function(doc)\n n = n + 1 if n > 3 then return "
                "'many' end end, run = 'ordered' }",
                "x", "");
    assert_int_equal(scene.entry->stage.mode, SLUICE_MODE_ORDERED);
    processed(&scene, NULL, 5);
    assert_string_equal(reason(&scene, 2), "");
    assert_string_equal(reason(&scene, 3), "many");
    scene_close(&scene);
    scene_ready(&scene,
                "local words = { a = 1, b = { 2 } }\ns.filter { 'x', function(doc) if "
                "words[doc.text] then return 'listed' end end }",
                "x", "");
    processed(&scene, NULL, 5);
    scene_close(&scene);
}

/* A row gets the same random numbers whatever was judged before it, in whichever worker. */
static void test_random_by_row(void **state)
{
    static const char code[] =
        "s.annotate { 'r', function(doc) local t = {} for i = 1, doc.n + 2 do t[i] = math.random() "
        "end return { r = math.random(), s = 1 } end,\n"
        "adds = { r = 'float64', s = 'int64' } }";
    struct scene a, b;
    double first[10];

    (void)state;
    scene_ready(&a, code, "r", "");
    processed(&a, NULL, 10);
    memcpy(first, a.result.batches[0].children[0]->buffers[1], sizeof first);
    scene_ready(&b, code, "r", "");
    processed(&b, NULL, 3);
    processed(&b, NULL, 10);
    assert_memory_equal(b.result.batches[0].children[0]->buffers[1], first, sizeof first);
    assert_true(first[0] != first[1] && first[1] != first[2]);
    assert_true(hash_equal(a.entry->hash, b.entry->hash));
    scene_close(&a);
    scene_close(&b);
}

/* ---- limits ---- */

static void test_memory(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    scene.memory = 16 << 20;
    assert_int_equal(scene_load(&scene,
                                "s.filter { 'x', function(doc)\n"
                                "  if doc.text == 'bomb' then local t = {} while true do t[#t + 1] "
                                "= ('x'):rep(100000) .. #t end end\n"
                                "  if doc.text == 'large' then local t = {} for i = 1, 90 do t[i] "
                                "= ('y'):rep(100000) .. i end return 'large' end\nend }"),
                     SLUICE_OK);
    assert_int_equal(scene_open(&scene, "x", ""), SLUICE_OK);
    static const char *const texts[] = { "a", "bomb", "large", "large", "bomb", "large" };
    processed(&scene, texts, 6);
    assert_string_equal(reason(&scene, 0), "");
    assert_bad(&scene, 1, "lua_memory: t.lua:2: the script needs more than its 16 MiB of memory");
    assert_string_equal(reason(&scene, 2), "large");
    assert_string_equal(reason(&scene, 3), "large");
    assert_bad(&scene, 4, "lua_memory");
    assert_string_equal(reason(&scene, 5), "large");
    scene_close(&scene);
}

static void watch_begin(struct script_watching *watching, void (*tick)(void *), void *ctx)
{
    watchdog_begin((struct watchdog *)(void *)watching, tick, ctx);
}

static void watch_end(struct script_watching *watching)
{
    watchdog_end((struct watchdog *)(void *)watching);
}

/* The clock finds the row, the count decides: an endless one is quarantined, a slow one is
 * judged. */
static void test_endless_loop(void **state)
{
    static const struct script_watch watch = { watch_begin, watch_end };
    static const char *const texts[] = { "a", "slow", "endless", "b" };
    struct scene scene;

    (void)state;
    scene_init(&scene);
    scene.watch = &watch;
    assert_int_equal(
        scene_load(&scene,
                   "s.filter { 'x', function(doc)\n"
                   "  if doc.text == 'slow' then local t = ('ab '):rep(200000) for i = 1, 8 do "
                   "t:lower_unicode() t:n_words() t = t .. 'c' end return 'slow' end\n"
                   "  while doc.text == 'endless' do pcall(function() for i = 1, 100000 do end "
                   "end) end\nend }"),
        SLUICE_OK);
    assert_int_equal(scene_open(&scene, "x", ""), SLUICE_OK);
    processed(&scene, texts, 4);
    assert_string_equal(reason(&scene, 0), "");
    assert_string_equal(reason(&scene, 1), "slow");
    assert_bad(&scene, 2, "lua_endless: t.lua:4: endless loop: more than ");
    assert_string_equal(reason(&scene, 3), "");
    scene_close(&scene);
}

/* A worker's state keeps its own stage alone, or a pipeline of a thousand takes gigabytes. */
static void test_one_stage_a_state(void **state)
{
    struct scene scene;
    lua_State *L = NULL;

    (void)state;
    scene_init(&scene);
    assert_int_equal(scene_load(&scene, "for i = 1, 3 do\n"
                                        "  s.filter { 'f' .. i, function(doc) end }\nend"),
                     SLUICE_OK);
    assert_int_equal(script_worker_open(scene.script, 1, &L, &scene.err), SLUICE_OK);
    script_push_stage(L, 1);
    assert_int_equal(lua_type(L, -1), LUA_TFUNCTION);
    lua_getfield(L, LUA_REGISTRYINDEX, "sluice.stages");
    for (int k = 1; k <= 3; k++) {
        assert_int_equal(lua_rawgeti(L, -1, k), k == 2 ? LUA_TTABLE : LUA_TNIL);
        lua_pop(L, 1);
    }
    script_worker_close(L);
    scene_close(&scene);
}

static void test_ordered_endless_loop(void **state)
{
    static const char *const texts[] = { "a", "endless", "b" };
    struct scene scene;

    (void)state;
    scene_ready(
        &scene,
        "local n = 0 s.filter { 'x', function(doc) n = n + 1 local e = doc.text == 'endless' "
        "while e do end if n == 3 then return 'third' end end, run = 'ordered' }",
        "x", "");
    processed(&scene, texts, 3);
    assert_bad(&scene, 1, "lua_endless");
    assert_string_equal(reason(&scene, 2), "third");
    scene_close(&scene);
}

/* ---- hashes ---- */

static struct hash128 hash_of(const char *code)
{
    struct scene scene;
    const struct registry_entry *entry = NULL;
    struct hash128 hash;

    scene_init(&scene);
    if (scene_load(&scene, code) != SLUICE_OK ||
        registry_find(scene.registry, "x", &entry, &scene.err) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    hash = entry->hash;
    scene_close(&scene);
    return hash;
}

static void test_hashes(void **state)
{
    static const char *const different[] = {
        "local t = { a = 1, b = 2 }\ns.filter { 'x', function(doc) return t[doc.text] end }",
        "local t = { a = 1, b = 3 }\ns.filter { 'x', function(doc) return t[doc.text] end }",
        "local t = { a = 1, b = 2.0 }\ns.filter { 'x', function(doc) return t[doc.text] end }",
        "local t = { a = 1, b = 2 }\ns.filter { 'x', function(doc) return t[doc.text] or nil end }",
        "local t = { a = 1, b = 2 }\ns.filter { 'x', function(doc) return t[doc.text] end, reasons "
        "= { 'a' } }",
        "local t = { a = 1, b = 2, c = { d = function() return 1 end } }\ns.filter { 'x', "
        "function(doc) return t[doc.text] end }",
        "local t = { a = 1, b = 2, c = { d = function() return 2 end } }\ns.filter { 'x', "
        "function(doc) return t[doc.text] end }",
        "local t = setmetatable({ a = 1, b = 2 }, { __index = function() return 1 end })\ns.filter "
        "{ 'x', function(doc) return t[doc.text] end }",
        "t = { a = 1, b = 2 }\ns.filter { 'x', function(doc) return t[doc.text] end }",
        "t = { a = 1, b = 3 }\ns.filter { 'x', function(doc) return t[doc.text] end }",
        "local t = math.floor\ns.filter { 'x', function(doc) return t[doc.text] end }",
        "local t = math.ceil\ns.filter { 'x', function(doc) return t[doc.text] end }",
    };
    size_t n = sizeof different / sizeof different[0];
    struct hash128 hashes[20];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_of(different[i]);
        for (size_t k = 0; k < i; k++) {
            if (hash_equal(hashes[i], hashes[k])) {
                fail_msg("%s\n and \n%s\n have one hash", different[k], different[i]);
            }
        }
    }
    /* Order of keys, comments elsewhere, other stages: the same. */
    assert_true(hash_equal(hashes[0], hash_of("-- words\nlocal t = {}\nt.b = 2 t.a = 1\n\ns.filter "
                                              "{ 'x', function(doc) return t[doc.text] end }"
                                              "\ns.filter { 'y', function(doc) return 'z' end }")));
    assert_true(hash_equal(hashes[0], hash_of("-- words\nlocal t = {}\nt.b = 2 t.a = 1\n\ns.filter "
                                              "{ 'x', function(doc) return t[doc.text] end }")));
    assert_true(hash_equal(hashes[0], hash_of("local t = { a = 1, b = 2 }\ns.filter { 'x', "
                                              "function(doc) -- why\n  return  t[ doc.text ] "
                                              "end }")));
    /* A table that holds itself. */
    hash_of("local t = {} t.t = t t.f = function() return t end\ns.filter { 'x', function(doc) "
            "return t.t end }");
    refused("local it = ('a'):gmatch 'a'\ns.filter { 'x', function(doc) return it() end }",
            "the upvalue 'it' holds a function that is not written in Lua");
    refused("local t = { [{}] = 1 }\ns.filter { 'x', function(doc) return t end }", "has no order");
}

/* ---- examples ---- */

struct report {
    uint32_t n, failed;
    char message[4096];
};

static void report(void *ctx, uint32_t number, bool passed, const char *message)
{
    struct report *to = ctx;
    size_t used = strlen(to->message);

    to->n++;
    to->failed += !passed;
    snprintf(to->message + used, sizeof to->message - used, "%u:%s|", number, message);
}

static void test_examples(void **state)
{
    struct scene scene;
    struct report all = { 0 };
    struct luastage_examples found;

    (void)state;
    scene_init(&scene);
    assert_int_equal(
        scene_load(&scene,
                   "return s.heuristic { 'digits', options = { max = { 'float', 0.25 } }, measure "
                   "= function(doc) return doc.text:share 'digit' end,\n"
                   "drop = { above = 'max' }, examples = { { 'abc', keep = true }, { '123', keep = "
                   "false }, { '12a', keep = true }, { 'x', keep = false }, { 'y' },\n"
                   "{ '1', keep = false, reason = 'other' } } }"),
        SLUICE_OK);
    assert_int_equal(script_n_stages(scene.script), 1);
    assert_string_equal(luastage_role(scene.script, 0), "heuristic");
    assert_int_equal(luastage_run_examples(scene.script, 0, report, &all, &found, &scene.err),
                     SLUICE_OK);
    assert_int_equal(all.n, 6);
    assert_int_equal(all.failed, 4);
    assert_int_equal(found.failed, 4);
    assert_string_equal(all.message,
                        "1:|2:|3:is dropped (digits, value 0.666667, limit 0.25), expected to be "
                        "kept|4:is kept (value 0, limit 0.25), expected to be dropped|"
                        "5:the example does not say keep = true or keep = false|6:is dropped for "
                        "digits, expected other|");
    scene_close(&scene);
    scene_init(&scene);
    memset(&all, 0, sizeof all);
    assert_int_equal(
        scene_load(&scene,
                   "s.filter { 'f', function(doc) if doc.lang ~= 'en' then return 'lang' end end, "
                   "examples = { { 'a', lang = 'en', keep = true },\n"
                   "{ 'a', lang = 'de', keep = false, reason = 'lang' }, { 'a', keep = true } } }"),
        SLUICE_OK);
    assert_int_equal(luastage_run_examples(scene.script, 0, report, &all, &found, &scene.err),
                     SLUICE_OK);
    assert_string_equal(all.message,
                        "1:|2:|3:t.lua:2: the example has no field 'lang'; add lang = ... to it|");
    scene_close(&scene);
}

/* Every module of scripts/heuristics keeps and drops what it says. */
static void test_library(void **state)
{
    static const char *const modules[] = { "digits", "boilerplate", "repetition" };

    (void)state;
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        struct scene scene;
        struct report all = { 0 };
        struct luastage_examples found;
        char code[100];
        scene_init(&scene);
        snprintf(code, sizeof code, "return require 'heuristics.%s'", modules[i]);
        if (scene_load(&scene, code) != SLUICE_OK) {
            fail_msg("%s", scene.err.message);
        }
        for (uint32_t k = 0; k < script_n_stages(scene.script); k++) {
            assert_int_equal(
                luastage_run_examples(scene.script, k, report, &all, &found, &scene.err),
                SLUICE_OK);
            if (found.failed > 0 || found.kept == 0 || found.dropped == 0) {
                fail_msg("%s: %s", modules[i], all.message);
            }
        }
        assert_true(all.n >= 2);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_fields_are_checked),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_bad_rows),
        cmocka_unit_test(test_unlisted_field),
        cmocka_unit_test(test_kept_row),
        cmocka_unit_test(test_heuristic),
        cmocka_unit_test(test_annotate),
        cmocka_unit_test(test_changed_upvalue),
        cmocka_unit_test(test_random_by_row),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_endless_loop),
        cmocka_unit_test(test_ordered_endless_loop),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_one_stage_a_state),
        cmocka_unit_test(test_library),
    };

    return cmocka_run_group_tests_name("luastage", tests, NULL, NULL);
}
