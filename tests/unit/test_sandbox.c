/* The sandbox: what is there and what is not, order, limits, memory, sealing; pattern matching
 * against stock Lua; portable mathematics against long double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "lua/sandbox/portmath.h"
#include "lua/sandbox/sandbox.h"

#define MIB (UINT64_C(1) << 20)

struct scene {
    lua_State *L;
    char printed[4096];
};

static void collect(void *ctx, const char *line, size_t n)
{
    struct scene *scene = ctx;
    size_t used = strlen(scene->printed);

    for (size_t i = 0; i < n && used + 2 < sizeof scene->printed; i++) {
        scene->printed[used++] = line[i] == '\0' ? '?' : line[i];
    }
    scene->printed[used++] = '\n';
    scene->printed[used] = '\0';
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(sandbox_create(64 * MIB, &scene->L, &err), SLUICE_OK);
    sandbox_print(scene->L, collect, scene);
    sandbox_seed(scene->L, 7);
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

/* Runs code; what it prints must be expected. */
static void prints(struct scene *scene, const char *code, const char *expected)
{
    struct sluice_error err = ERROR_INIT;
    int top = lua_gettop(scene->L);

    if (run(scene, code, &err) != SLUICE_OK) {
        fail_msg("%s: %s", code, err.message);
    }
    assert_string_equal(scene->printed, expected);
    assert_int_equal(lua_gettop(scene->L), top);
}

/* Runs code, which must fail with this code and a message that holds part. */
static void fails(struct scene *scene, const char *code, sluice_status status, const char *part)
{
    struct sluice_error err = ERROR_INIT;
    int top = lua_gettop(scene->L);

    assert_int_equal(run(scene, code, &err), status);
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s\n  gives: %s\n  expected: %s", code, err.message, part);
    }
    assert_int_equal(lua_gettop(scene->L), top);
}

/* ---- what is there ---- */

static void test_absent(void **state)
{
    prints(*state,
           "print(os, io, debug, package, load, loadfile, dofile, loadstring, collectgarbage, "
           "coroutine, warn)",
           "nil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\tnil\n");
    prints(*state,
           "print(pcall(function() return string.dump end) and 1, getmetatable(''), "
           "type(utf8.char), type(table.concat))",
           "false\tfalse\tfunction\tfunction\n");
}

static void test_no_addresses(void **state)
{
    prints(*state, "print({}, print, function() end)", "table\tfunction\tfunction\n");
    prints(*state, "print(string.format('%s %5s|%q', {}, print, 'a\\n'))",
           "table function|\"a\\\n\"\n");
    prints(*state, "print(setmetatable({}, { __tostring = function() return 'me' end }))", "me\n");
    fails(*state, "string.format('%d %p', 1, {})", SLUICE_E_CONFIG,
          "t.lua:1: string.format: %p is not available");
    fails(*state, "string.format('%-10p', {})", SLUICE_E_CONFIG, "%p is not available");
    prints(*state, "print(string.format('%%p %d', 3))", "%p 3\n");
    fails(*state, "error({})", SLUICE_E_CONFIG, "t.lua:1: error(table)");
    fails(*state, "error(setmetatable({}, { __tostring = function() return 'mine' end }))",
          SLUICE_E_CONFIG, "mine");
    fails(*state, "error('plain', 0)", SLUICE_E_CONFIG, "t.lua:1: plain");
    fails(*state, "error()", SLUICE_E_CONFIG, "t.lua:1: error(nil)");
}

static void test_numbers(void **state)
{
    prints(*state, "print(string.format('%5.2f|%d|%g|%a|%x|%c', 1.5, 7, 1e100, 1.0, 255, 65))",
           " 1.50|7|1e+100|0x1p+0|ff|A\n");
    prints(*state, "print(0.1, 1e15, 2^53, -0.0, 1/0, 10 // 3, 7 % -3)",
           "0.1\t1e+15\t9.007199254741e+15\t-0.0\tinf\t3\t-2\n");
    /* ^ is the machine's: exact wherever the result can be represented. */
    prints(*state,
           "for i = 0, 62 do assert(2^i == 1 << i and 3.0^2 == 9) end for i = 1, 22 do "
           "assert(10.0^i == tonumber('1e' .. i)) end print(3^33)",
           "5.5590605665555e+15\n");
}

/* ---- order ---- */

static void test_pairs_order(void **state)
{
    prints(*state,
           "local t = { b = 1, a = 2, [3] = 3, [1] = 4, [2.5] = 5, [-7] = 6, [true] = 7, [false] = "
           "8, ['a\\0b'] = 9, aa = 10 }\n"
           "for k, v in pairs(t) do print(k, v) end",
           "-7\t6\n1\t4\n3\t3\n2.5\t5\na\t2\na?b\t9\naa\t10\nb\t1\nfalse\t8\ntrue\t7\n");
}

static void test_pairs(void **state)
{
    prints(*state, "for k, v in pairs { 10, 20, nil, 40 } do print(k, v) end",
           "1\t10\n2\t20\n4\t40\n");
    prints(*state,
           "local t = { b = 1, a = 2, c = 3 } for k, v in pairs(t) do t[k] = nil print(k, v) end "
           "print(next(t))",
           "a\t2\nb\t1\nc\t3\nnil\n");
    prints(*state,
           "local t = { 1, 2, 3 } for k in pairs(t) do if k == 1 then t[2] = nil end print(k) end",
           "1\n3\n");
    prints(*state,
           "for k, v in pairs(setmetatable({}, { __pairs = function() return function(_, k) if not "
           "k then return 1, 2 end end end })) do print(k, v) end",
           "1\t2\n");
    prints(*state, "for k in pairs {} do print(k) end print(next({}), next({ x = 1 }))",
           "nil\tx\t1\n");
    fails(*state, "for k in pairs { [{}] = 1, x = 2 } do end", SLUICE_E_CONFIG,
          "a table with a table as key has no order");
    fails(*state, "pairs(nil)", SLUICE_E_CONFIG, "table expected");
    prints(*state,
           "local t = { x = 1, y = 2, z = 3 } local k = nil repeat k = next(t, k) print(k) until k "
           "== nil",
           "x\ny\nz\nnil\n");
    prints(*state,
           "local t = { x = 1, y = 2, z = 3 } print(next(t, 'x')) print(next(t, 'z')) t.y = nil "
           "print(next(t, 'x'))",
           "y\t2\nnil\nz\t3\n");
    fails(*state, "next({}, 'nowhere')", SLUICE_E_CONFIG, "next: the key is not in the table");
}

/* The order of a hash table's keys differs between states; here it must not. */
static void test_two_states_agree(void **state)
{
    static const char code[] =
        "local t = {} for i = 1, 2000 do t['k' .. (i * 7919 % 2003)] = i t[i * 1.5] = i end\n"
        "local n, h = 0, 5381 for k, v in pairs(t) do n = n + 1 h = (h * 33 + #tostring(k) * v) % "
        "1000003 end\n"
        "print(n, h, math.random(1000000), math.random(), ('x'):rep(3, '-'))";
    struct scene *scene = *state;
    struct scene other;
    struct sluice_error err = ERROR_INIT;

    memset(&other, 0, sizeof other);
    assert_int_equal(sandbox_create(64 * MIB, &other.L, &err), SLUICE_OK);
    sandbox_print(other.L, collect, &other);
    sandbox_seed(other.L, 7);
    assert_int_equal(run(scene, code, &err), SLUICE_OK);
    assert_int_equal(run(&other, code, &err), SLUICE_OK);
    assert_string_equal(scene->printed, other.printed);
    assert_true(strlen(other.printed) > 20);
    sandbox_destroy(other.L);
}

static void test_sort_is_stable(void **state)
{
    prints(*state,
           "local t = {} for i = 1, 300 do t[i] = { k = i * 7 % 5, i = i } end table.sort(t, "
           "function(a, b) return a.k < b.k end)\n"
           "for i = 2, 300 do assert(t[i - 1].k < t[i].k or (t[i - 1].k == t[i].k and t[i - 1].i < "
           "t[i].i)) end print(t[1].i, t[300].i)",
           "5\t297\n");
    prints(*state, "local t = { 3, 1.5, -2, 10 } table.sort(t) print(table.concat(t, ' '))",
           "-2 1.5 3 10\n");
    prints(*state, "local t = { 'b', 'a\\0', 'a', 'B' } table.sort(t) print(#t, t[1], t[2], t[4])",
           "4\tB\ta\tb\n");
    prints(*state,
           "local t = { 5, 3, 9 } table.sort(t, function(a, b) return a > b end) "
           "print(table.concat(t, ' '))",
           "9 5 3\n");
    /* A comparison that contradicts itself ends, and always the same way. */
    prints(*state,
           "local t = { 1, 2, 3, 4, 5 } table.sort(t, function() return true end) print(#t)",
           "5\n");
    fails(*state, "table.sort { 1, 'a' }", SLUICE_E_CONFIG, "attempt to compare");
    fails(*state, "table.sort { 1, 2, {} }", SLUICE_E_CONFIG, "attempt to compare");
}

/* ---- what is refused ---- */

static void test_metatables(void **state)
{
    fails(*state, "setmetatable({}, { __gc = print })", SLUICE_E_CONFIG, "'__gc' is not available");
    fails(*state, "setmetatable({}, { __mode = 'k' })", SLUICE_E_CONFIG,
          "'__mode' is not available");
    fails(*state, "local m = {} setmetatable({}, m) m.__mode = 'v'", SLUICE_E_CONFIG,
          "'__mode' is not available");
    fails(*state, "local m = {} rawset(m, '__gc', 1)", SLUICE_E_CONFIG, "'__gc' is not available");
    fails(*state, "setmetatable(setmetatable({}, { __metatable = 1 }), {})", SLUICE_E_CONFIG,
          "cannot change a protected metatable");
    prints(*state,
           "local C = {} C.__index = C function C.new(x) return setmetatable({ x = x }, C) end "
           "local a = C.new(1)\n"
           "function C:get() return self.x end print(a:get(), C.new(2):get()) setmetatable(C, { "
           "__call = function() return 9 end }) print(C())",
           "1\t2\n9\n");
    fails(*state, "string.rep = nil", SLUICE_E_CONFIG, "'string.rep' can't be assigned");
    fails(*state, "rawset(math, 'x', 1)", SLUICE_E_CONFIG, "this table can't be changed");
    fails(*state, "getmetatable('').__index = {}", SLUICE_E_CONFIG,
          "attempt to index a boolean value");
}

static void test_seal(void **state)
{
    struct scene *scene = *state;

    prints(scene, "count = 1 function helper() return count end", "");
    sandbox_seal(scene->L);
    prints(scene, "print(count, helper())", "1\t1\n");
    fails(scene, "\ncount = 2", SLUICE_E_CONFIG, "t.lua:2: the global 'count' is assigned");
    fails(scene, "fresh = 2", SLUICE_E_CONFIG, "t.lua:1: the global 'fresh' is assigned");
    fails(scene, "_G.fresh = 2", SLUICE_E_CONFIG, "the global 'fresh' is assigned");
    fails(scene, "_ENV['fresh'] = 2", SLUICE_E_CONFIG, "the global 'fresh' is assigned");
    fails(scene, "rawset(_G, 'fresh', 2)", SLUICE_E_CONFIG, "this table can't be changed");
    fails(scene, "setmetatable(_G, nil)", SLUICE_E_CONFIG, "cannot change a protected metatable");
    prints(scene, "local _ENV = { print = print } fresh = 3 print(fresh)", "3\n");
}

/* ---- limits ---- */

static void test_memory_bomb(void **state)
{
    fails(*state, "local t = {} while true do t[#t + 1] = ('x'):rep(1000000) .. #t end",
          SLUICE_E_NOMEM, "the script needs more than its 64 MiB of memory");
    prints(*state, "print(#('x'):rep(1000000))", "1000000\n");
    fails(*state, "local s = 'x' while true do s = s .. s end", SLUICE_E_NOMEM, "64 MiB");
    fails(*state, "local t = {} for i = 1, 1e9 do t[i] = i end", SLUICE_E_NOMEM, "64 MiB");
    /* Not to be caught: whether it is reached depends on what was there before. */
    fails(
        *state,
        "pcall(function() local t = {} while true do t[#t + 1] = ('x'):rep(1000000) .. #t end end)",
        SLUICE_E_NOMEM, "64 MiB");
    fails(*state,
          "xpcall(function() local s = 'x' while true do s = s .. s end end, function() while true "
          "do end end)",
          SLUICE_E_NOMEM, "64 MiB");
    fails(*state, "('x'):rep(1 << 40)", SLUICE_E_CONFIG, "string.rep: the result would be longer");
    fails(*state, "('x'):rep(1 << 62, 'yy')", SLUICE_E_CONFIG,
          "string.rep: the result would be longer");
    prints(*state,
           "print(('ab'):rep(3), ('ab'):rep(2, ', '), ('ab'):rep(0), ('ab'):rep(-1), (''):rep(1 << "
           "60))",
           "ababab\tab, ab\t\t\t\n");
}

/* Many small strings: when Lua's table of them can't grow, each new one would collect all garbage,
 * for hours. And a call that lives close below the cap collects again and again: what is counted,
 * counts that. */
static void test_memory_of_small_strings(void **state)
{
    struct scene scene;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    memset(&scene, 0, sizeof scene);
    assert_int_equal(sandbox_create(16 * MIB, &scene.L, &err), SLUICE_OK);
    sandbox_print(scene.L, collect, &scene);
    fails(&scene,
          "local t, u, c = {}, {}, {} for i = 1, 26 do c[i] = string.char(96 + i) end\n"
          "for a = 1, 26 do for b = 1, 26 do for d = 1, 26 do for e = 1, 26 do for f = 1, 26 do\n"
          "  if #u >= 1024 then t[#t + 1] = u u = {} end\n"
          "  u[#u + 1] = 'longer' .. c[a] .. c[b] .. c[d] .. c[e] .. c[f]\n"
          "end end end end end",
          SLUICE_E_NOMEM, "16 MiB");
    prints(&scene, "print(#('x'):rep(1000000))", "1000000\n");
    sandbox_limit(scene.L, 2000000);
    fails(&scene,
          "local t, x = {}, ('x'):rep(1000000) for i = 1, 12 do t[i] = x .. i end\n"
          "local y = ('y'):rep(2000) for i = 1, 1e9 do local z = y .. i\n"
          "  if i % 10000 == 0 then print(i) end end",
          SLUICE_E_DATA, "endless loop");
    assert_null(strstr(scene.printed, "30000"));
    sandbox_destroy(scene.L);
}

static void test_endless_loop(void **state)
{
    struct scene *scene = *state;

    sandbox_limit(scene->L, 100000);
    fails(scene, "while true do end", SLUICE_E_DATA, "endless loop: more than 100000 steps");
    sandbox_limit(scene->L, 100000);
    fails(scene, "while true do pcall(function() while true do end end) end", SLUICE_E_DATA,
          "endless loop");
    sandbox_limit(scene->L, 100000);
    fails(scene, "xpcall(function() while true do end end, function() while true do end end)",
          SLUICE_E_DATA, "endless loop");
    sandbox_limit(scene->L, 1000000);
    fails(scene, "local s = ('a'):rep(10000) while true do s:count 'b' end", SLUICE_E_DATA,
          "endless loop");
    /* Bytes count as well: few instructions can copy without end. */
    sandbox_limit(scene->L, 1000000);
    fails(scene, "local s = ('a'):rep(1 << 16) for i = 1, 4000 do s = s .. 'a' end", SLUICE_E_DATA,
          "endless loop");
    sandbox_limit(scene->L, 100000);
    prints(scene, "local n = 0 for i = 1, 1000 do n = n + i end print(n)", "500500\n");
    /* The limit was for one call. */
    prints(scene, "local n = 0 for i = 1, 1000000 do n = n + i end print(n)", "500000500000\n");
}

static void interrupt_hook(void *ctx, const char *line, size_t n)
{
    (void)line;
    (void)n;
    sandbox_interrupt(ctx);
}

static void test_interrupt(void **state)
{
    struct scene *scene = *state;

    sandbox_print(scene->L, interrupt_hook, scene->L);
    fails(scene, "print 'now' while true do end", SLUICE_E_CANCELLED, "interrupted");
    fails(scene, "pcall(function() print 'now' while true do end end) while true do end",
          SLUICE_E_CANCELLED, "interrupted");
    sandbox_print(scene->L, collect, scene);
    prints(scene, "local n = 0 for i = 1, 100000 do n = n + 1 end print(n)", "100000\n");
}

/* Lengths that metamethods invent must not keep C busy. */
static void test_loops_in_c(void **state)
{
    fails(*state, "table.move({}, 1, 1 << 60, 2)", SLUICE_E_CONFIG, "too many elements");
    fails(*state, "table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 1)",
          SLUICE_E_CONFIG, "table too big");
    fails(*state, "table.remove(setmetatable({}, { __len = function() return 1 << 60 end }), 1)",
          SLUICE_E_CONFIG, "table too big");
    fails(*state, "table.sort(setmetatable({}, { __len = function() return 1 << 60 end }))",
          SLUICE_E_CONFIG, "array too big");
    prints(*state,
           "local t = { 1, 2, 3 } table.insert(t, 4) table.insert(t, 1, 0) print(table.remove(t), "
           "table.remove(t, 1), table.concat(t, ','), #table.move(t, 1, 3, 2))",
           "4\t0\t1,2,3\t4\n");
}

static void test_recursion(void **state)
{
    struct scene scene;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    memset(&scene, 0, sizeof scene);
    assert_int_equal(sandbox_create(256 * MIB, &scene.L, &err), SLUICE_OK);
    fails(&scene, "local function f() return f() + 1 end f()", SLUICE_E_CONFIG, "stack overflow");
    fails(&scene,
          "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end "
          "local _ = t.x",
          SLUICE_E_CONFIG, "overflow");
    fails(&scene, "local s = ('a'):rep(100000) local function f() return (s:gsub('a', f)) end f()",
          SLUICE_E_CONFIG, "overflow");
    sandbox_destroy(scene.L);
}

static void test_hostile_pattern(void **state)
{
    fails(*state, "(('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(40) .. 'b')", SLUICE_E_CONFIG,
          "pattern too expensive");
    fails(*state, "(('a'):rep(200)):match('.-.-.-.-.-.-b')", SLUICE_E_CONFIG,
          "pattern too expensive");
    fails(*state, "(('a'):rep(200)):gsub('.-.-.-.-.-.-b', '')", SLUICE_E_CONFIG,
          "pattern too expensive");
    fails(*state, "for w in (('a'):rep(200)):gmatch('.-.-.-.-.-.-b') do end", SLUICE_E_CONFIG,
          "pattern too expensive");
    fails(*state, "(('a'):rep(300000)):find(('(a'):rep(300))", SLUICE_E_CONFIG,
          "too many captures");
    prints(
        *state,
        "local s = ('word '):rep(200000) print(select(2, s:gsub('%w+', '')), #s:gsub('%s+', ' '))",
        "200000\t1000000\n");
}

/* ---- mathematics ---- */

static double ulps(double x, long double exact)
{
    double size = fabs((double)exact);
    double ulp = nextafter(size, INFINITY) - size;

    return (double)(fabsl((long double)x - exact) / (long double)ulp);
}

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(mix(state) >> 11) * 0x1p-53);
}

static void near(const char *name, double x, double got, long double exact)
{
    double most = strcmp(name, "exp") == 0 || strcmp(name, "log") == 0 ? 0.9 : 0.51;

    if (!isfinite((double)exact) || fabs((double)exact) < 1e-300) {
        return;
    }
    if (ulps(got, exact) > most) { /* long double has 11 more bits; half an ulp is rounding */
        fail_msg("%s(%a) = %a, expected %La: %g ulp", name, x, got, exact, ulps(got, exact));
    }
}

static void test_mathematics(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        double any = between(&seed, -700, 700);
        double unit = between(&seed, -1, 1);
        double tiny = ldexp(unit, -(int)(mix(&seed) % 60));
        double positive = ldexp(between(&seed, 0.5, 1), (int)(mix(&seed) % 2000) - 1000);
        double one = 1 + tiny;
        double huge = ldexp(unit, (int)(mix(&seed) % 1020));
        near("exp", any, portmath_exp(any), expl(any));
        near("exp", tiny, portmath_exp(tiny), expl(tiny));
        near("log", positive, portmath_log(positive), logl(positive));
        near("log", one, portmath_log(one), logl(one));
        near("log2", positive, portmath_log2(positive), log2l(positive));
        near("log10", positive, portmath_log10(positive), log10l(positive));
        near("sin", any, portmath_sin(any), sinl(any));
        near("sin", tiny, portmath_sin(tiny), sinl(tiny));
        near("cos", any, portmath_cos(any), cosl(any));
        near("tan", any, portmath_tan(any), tanl(any));
        near("sin", huge, portmath_sin(huge), sinl(huge));
        near("cos", huge, portmath_cos(huge), cosl(huge));
        near("asin", unit, portmath_asin(unit), asinl(unit));
        near("asin", tiny, portmath_asin(tiny), asinl(tiny));
        near("acos", unit, portmath_acos(unit), acosl(unit));
        near("atan", any, portmath_atan2(any, 1), atanl(any));
        near("atan", tiny, portmath_atan2(tiny, 1), atanl(tiny));
        near("atan2", huge, portmath_atan2(huge, any), atan2l(huge, any));
        double base = between(&seed, 0, 50);
        double power = between(&seed, -20, 20);
        near("pow", base, portmath_pow(base, power), powl(base, power));
        double steep = any * 1e6;
        near("pow", one, portmath_pow(one, steep), powl(one, steep));
    }
}

static void same(double a, double b)
{
    if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b))) {
        fail_msg("found %a, expected %a", a, b);
    }
}

/* The special cases are those of C's annex F: libm's answer, bit for bit. */
static void test_mathematics_special(void **state)
{
    static const double values[] = { 0.0,    -0.0,  1,      -1,     2,        -2,
                                     3,      -3,    0.5,    -0.5,   INFINITY, -INFINITY,
                                     NAN,    1e308, -1e308, 5e-324, -5e-324,  4503599627370497.0,
                                     1e-310, 0.25 };
    size_t n = sizeof values / sizeof values[0];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        double x = values[i];
        if (x == 0 || isinf(x) || isnan(x)) {
            same(portmath_exp(x), exp(x));
            same(portmath_sin(x), sin(x));
            same(portmath_cos(x), cos(x));
            same(portmath_tan(x), tan(x));
        }
        if (x <= 0 || x == 1 || isinf(x) || isnan(x)) {
            same(portmath_log(x), log(x));
            same(portmath_log2(x), log2(x));
            same(portmath_log10(x), log10(x));
        }
        if (!(fabs(x) < 1) || x == 0) {
            same(portmath_asin(x), asin(x));
            same(portmath_acos(x), acos(x));
        }
        for (size_t k = 0; k < n; k++) {
            double y = values[k];
            if (x == 0 || y == 0 || isinf(x) || isinf(y) || isnan(x) || isnan(y) ||
                (trunc(x) == x && fabs(y) <= 3 && trunc(y) == y && fabs(x) <= 3 && y > 0)) {
                same(portmath_pow(x, y), pow(x, y));
                same(portmath_atan2(x, y), atan2(x, y));
            }
        }
    }
    for (int e = -300; e <= 300; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        if (e >= 0 && e <= 22) {
            same(portmath_pow(10, e), strtod(text, NULL));
        }
        same(portmath_log10(strtod(text, NULL)), (double)e);
        same(portmath_log2(ldexp(1, 3 * e)), 3.0 * e);
    }
    same(portmath_exp(710), INFINITY);
    same(portmath_exp(-746), 0);
    same(portmath_pow(0.5, 1074), 5e-324);
    same(portmath_pow(-2, 3), -8);
    same(portmath_pow(-8, 1.0 / 3), NAN);
}

static void test_math_library(void **state)
{
    prints(*state,
           "print(math.exp(1), math.log(100, 10), math.log(8, 2), math.log(9, 3), math.pow(2, 10), "
           "math.atan(1, -1))",
           "2.718281828459\t2.0\t3.0\t2.0\t1024.0\t2.3561944901923\n");
    prints(*state,
           "local a = math.random(1 << 40) math.randomseed() assert(math.random(1 << 40) == a) "
           "math.randomseed(5) local b = math.random(1 << 40)\n"
           "math.randomseed(5) assert(b == math.random(1 << 40) and a ~= b)\n"
           "local n = 0 for i = 1, 10000 do local x = math.random() assert(x >= 0 and x < 1) n = n "
           "+ math.random(3) local y = math.random(-5, 5) assert(y >= -5 and y <= 5) end\n"
           "assert(n > 19500 and n < 20500) print(math.type(math.random(0)))",
           "integer\n");
    fails(*state, "math.random(0, -1)", SLUICE_E_CONFIG, "interval is empty");
}

/* ---- patterns against stock Lua ---- */

static void random_text(uint64_t *seed, const char *alphabet, size_t most, char *out, size_t *size)
{
    size_t n = (size_t)(mix(seed) % (most + 1));

    for (size_t i = 0; i < n; i++) {
        out[i] = alphabet[mix(seed) % strlen(alphabet)];
    }
    out[n] = '\0';
    *size = n;
}

static void random_pattern(uint64_t *seed, char *out, size_t *size)
{
    static const char *const pieces[] = {
        "a",   "b",      ".",    "%a",    "%d",   "%s",     "%w",     "%W",   "%p",    "%x",
        "%u",  "%l",     "%c",   "%g",    "%%",   "%.",     "[ab]",   "[^a]", "[a-c]", "[%a_]",
        "[]]", "[^]%d]", "[a-]", "[%]x]", "*",    "+",      "-",      "?",    "(",     ")",
        "()",  "%1",     "%2",   "%b()",  "%bab", "%f[%w]", "%f[^a]", "^",    "$",     "%",
        "[",   "]",      "x",    "1",     " ",    "%f",     "%b",     "%S",   "%D"
    };
    size_t n = (size_t)(mix(seed) % 7) + 1;

    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        strcat(out, pieces[mix(seed) % (sizeof pieces / sizeof pieces[0])]);
    }
    *size = strlen(out);
}

static size_t describe(lua_State *L, int first, char *out, size_t used, size_t room)
{
    for (int i = first; i <= lua_gettop(L) && used + 80 < room; i++) {
        size_t n = 0;
        const char *text = lua_isnil(L, i) ? "nil" : lua_tolstring(L, i, &n);
        used += (size_t)snprintf(out + used, room - used, "%.60s(%zu)|", text, n);
    }
    return used;
}

/* Calls string.NAME in L and writes the results, or the message, into out. gmatch is driven to its
 * end. */
static void call(lua_State *L, const char *name, const char *s, size_t ls, const char *p, size_t lp,
                 const char *extra, lua_Integer init, char *out, size_t room)
{
    size_t used = 0;
    int top = lua_gettop(L);
    int status;

    lua_getglobal(L, "string");
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    lua_pushlstring(L, s, ls);
    lua_pushlstring(L, p, lp);
    if (extra != NULL) {
        lua_pushstring(L, extra);
    } else {
        lua_pushinteger(L, init);
    }
    status = lua_pcall(L, 3, LUA_MULTRET, 0);
    if (status == LUA_OK && strcmp(name, "gmatch") == 0) {
        lua_settop(L, top + 1); /* the iterator */
        do {
            lua_settop(L, top + 1);
            lua_pushvalue(L, top + 1);
            status = lua_pcall(L, 0, LUA_MULTRET, 0);
            used = describe(L, top + 2, out, used, room);
        } while (status == LUA_OK && lua_gettop(L) > top + 1 && !lua_isnil(L, top + 2));
    } else {
        used = describe(L, top + 1, out, used, room);
    }
    snprintf(out + used, room - used, "%s", status == LUA_OK ? "ok" : "failed");
    lua_settop(L, top);
}

static void test_patterns_like_stock(void **state)
{
    static const char *const functions[] = { "find", "match", "gmatch", "gsub" };
    static const char *const replacements[] = { "<%0>", "%1", "%2%1", "", "%%", "x%", "%9", "%a" };
    struct scene *scene = *state;
    lua_State *stock = luaL_newstate();
    uint64_t seed = 42;
    int same_results = 0;

    luaL_openlibs(stock);
    for (int i = 0; i < 60000; i++) {
        char s[64], p[64], expected[2000], found[2000];
        size_t ls, lp;
        const char *name = functions[mix(&seed) % 4];
        const char *extra = strcmp(name, "gsub") == 0 ? replacements[mix(&seed) % 8] : NULL;
        lua_Integer init = (lua_Integer)(mix(&seed) % 30) - 12;
        random_text(&seed, "aabbc(1) x._%]\n", 16, s, &ls);
        random_pattern(&seed, p, &lp);
        call(stock, name, s, ls, p, lp, extra, init, expected, sizeof expected);
        call(scene->L, name, s, ls, p, lp, extra, init, found, sizeof found);
        if (strcmp(expected, found) != 0) {
            fail_msg("string.%s(\"%s\", \"%s\", %s %d)\n  stock: %s\n  found: %s", name, s, p,
                     extra == NULL ? "" : extra, (int)init, expected, found);
        }
        same_results += strstr(found, "failed") == NULL;
    }
    assert_true(same_results > 20000);
    lua_close(stock);
}

static void test_gsub_forms(void **state)
{
    prints(*state, "print(('abc'):gsub('%w', { a = 1, c = false }))", "1bc\t3\n");
    fails(*state, "local _ = ('abc'):gsub('%w', { b = true })", SLUICE_E_CONFIG,
          "invalid replacement value (a boolean)");
    fails(*state, "local _ = ('abc'):gsub('%w', function() return {} end)", SLUICE_E_CONFIG,
          "invalid replacement value (a table)");
    prints(*state, "print(('hello world'):gsub('o', function(c) return c:upper() end, 1))",
           "hellO world\t1\n");
    prints(*state,
           "print((('hello'):gsub('', '-')), (('hello'):gsub('l+', 5)), (('a.b'):find('.', 1, "
           "true)), ('abc'):find('b', -1), ('abc'):find('', 10))",
           "-h-e-l-l-o-\the5o\t2\tnil\tnil\n");
    fails(*state, "('a'):gsub('a', nil)", SLUICE_E_CONFIG, "string/function/table expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_absent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pairs_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pairs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_states_agree, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sort_is_stable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_metatables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_seal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_bomb, setup, teardown),
        cmocka_unit_test(test_memory_of_small_strings),
        cmocka_unit_test_setup_teardown(test_endless_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interrupt, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loops_in_c, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_pattern, setup, teardown),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_mathematics),
        cmocka_unit_test(test_mathematics_special),
        cmocka_unit_test_setup_teardown(test_math_library, setup, teardown),
        cmocka_unit_test_setup_teardown(test_patterns_like_stock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gsub_forms, setup, teardown),
    };

    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
