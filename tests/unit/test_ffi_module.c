/* The module ffi of scripts over tests/conform/native_lib.c: calls from rows, arguments and results
 * of each type, what is refused, where a function may be called, and what it does to a stage's
 * hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/builder.h"
#include "lua/stage/luastage.h"
#include "lua/script/script.h"
#include "plugin/stage.h"

struct scene {
    char folder[64], path[128], modules[4096], lib[4096];
    struct registry *registry;
    struct script *script;
    struct graph *graph;
    const struct registry_entry *entry;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct stage_services services;
    struct schema schema;
    struct stage_inputs inputs;
    struct sluice_error err;
};

static void scene_init(struct scene *scene)
{
    struct registry_options options = { .bare = true };
    const char *src = getenv("SRC");
    const char *build = getenv("BUILD");
    char here[2048];

    memset(scene, 0, sizeof *scene);
    scene->err = (struct sluice_error)ERROR_INIT;
    snprintf(scene->folder, sizeof scene->folder, "/tmp/test-ffi-module-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof scene->path, "%s/t.lua", scene->folder);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(scene->modules, sizeof scene->modules, "%s/scripts", src != NULL ? src : here);
    snprintf(scene->lib, sizeof scene->lib, "%s/tests/conform/native_lib.so",
             build != NULL ? build : "build");
    assert_int_equal(registry_create(&options, &scene->registry, &scene->err), SLUICE_OK);
    schema_init(&scene->schema);
    stage_result_init(&scene->result);
    scene->inputs.n_ports = 1;
    scene->inputs.schemas[0] = &scene->schema;
}

/* Loads a script; its first line sets s, ffi and lib. */
static sluice_status scene_load(struct scene *scene, bool foreign, const char *code)
{
    struct script_options options = { .path = scene->path,
                                      .base_dir = scene->folder,
                                      .cwd = scene->folder,
                                      .module_dir = scene->modules,
                                      .registry = scene->registry,
                                      .testing = true,
                                      .foreign = foreign };
    FILE *file = fopen(scene->path, "w");

    assert_non_null(file);
    fprintf(file, "local s, ffi, lib = require \"sluice\", require \"ffi\", \"%s\"\n%s\n",
            scene->lib, code);
    fclose(file);
    return script_load(&options, &scene->script, &scene->graph, &scene->err);
}

static void scene_close(struct scene *scene)
{
    stage_worker_close(scene->worker);
    stage_close(scene->stage);
    stage_result_deinit(&scene->result);
    stage_prepared_deinit(&scene->prepared);
    schema_deinit(&scene->schema);
    graph_destroy(scene->graph);
    registry_destroy(scene->registry);
    script_destroy(scene->script);
    unlink(scene->path);
    rmdir(scene->folder);
}

static sluice_status scene_open(struct scene *scene)
{
    struct option_table table;
    struct option_args args = { 0 };
    struct options *parsed = NULL;

    assert_int_equal(registry_find(scene->registry, "x", &scene->entry, &scene->err), SLUICE_OK);
    assert_int_equal(schema_add_text(&scene->schema, "text", "utf8", NULL, &scene->err), SLUICE_OK);
    table = option_table_of(&scene->entry->stage);
    assert_int_equal(options_parse(&table, &args, scene->folder, &parsed, &scene->err), SLUICE_OK);
    assert_int_equal(
        stage_open(scene->entry, parsed, "x", &scene->services, &scene->stage, &scene->err),
        SLUICE_OK);
    assert_int_equal(stage_prepare(scene->stage, &scene->inputs, &scene->prepared, &scene->err),
                     SLUICE_OK);
    return stage_worker_open(scene->stage, &scene->worker, &scene->err);
}

static void scene_process(struct scene *scene, const char *text)
{
    struct ArrowArray children[2], array;
    struct sluice_batch batch = { .size = sizeof batch, .array = &array, .n = 1 };
    struct type *type = NULL;
    struct builder *builder = NULL;
    uint32_t n = scene->prepared.n_needs[0];

    assert_true(n >= 1 && n <= 2);
    for (uint32_t k = 0; k < n; k++) {
        bool is_text = strcmp(scene->prepared.needs[0][k].name, "text") == 0;
        assert_int_equal(type_parse(is_text ? "utf8" : "uint64", &type, &scene->err), SLUICE_OK);
        assert_int_equal(builder_create(type, &builder, &scene->err), SLUICE_OK);
        assert_true(is_text ? builder_bytes_add(builder, text, strlen(text))
                            : builder_uint(builder, 0));
        assert_int_equal(builder_finish(builder, &children[k], &scene->err), SLUICE_OK);
        builder_destroy(builder);
        type_destroy(type);
    }
    assert_int_equal(array_struct(&array, 1, n, children, &scene->err), SLUICE_OK);
    if (stage_process(scene->worker, &batch, &scene->result, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    array.release(&array);
}

static void assert_says(const char *message, const char *part)
{
    if (strstr(message, part) == NULL) {
        fail_msg("found: %s\nexpected: %s", message, part);
    }
}

/* In a row on "some text", with f defined by the prototype, the expression holds. */
static void holds(const char *prototype, const char *expression)
{
    struct scene scene;
    char code[2000];

    scene_init(&scene);
    snprintf(code, sizeof code,
             "local f = ffi.def { lib = lib, '%s' }\n"
             "s.filter { 'x', function(doc) if not (%s) then return 'wrong' end end }",
             prototype, expression);
    if (scene_load(&scene, true, code) != SLUICE_OK || scene_open(&scene) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    assert_int_equal(scene.entry->isolation, REGISTRY_ALWAYS_ISOLATED);
    scene_process(&scene, "some text");
    if (scene.result.verdicts[0].reason != 0) {
        fail_msg("%s does not hold: %s", expression,
                 scene.result.verdicts[0].reason < 0 ? scene.result.verdicts[0].dup_of : "false");
    }
    scene_close(&scene);
}

/* The row is bad, for this reason. */
static void raises(const char *prototype, const char *expression, const char *part)
{
    struct scene scene;
    char code[2000];

    scene_init(&scene);
    snprintf(code, sizeof code,
             "local f = ffi.def { lib = lib, '%s' }\ns.filter { 'x', function(doc) return %s, "
             "doc.text end }",
             prototype, expression);
    if (scene_load(&scene, true, code) != SLUICE_OK || scene_open(&scene) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    scene_process(&scene, "some text");
    assert_int_equal(scene.result.verdicts[0].reason, SLUICE_VERDICT_BAD);
    assert_says(scene.result.verdicts[0].dup_of, "lua_error: t.lua:3: ");
    assert_says(scene.result.verdicts[0].dup_of, part);
    scene_close(&scene);
}

/* The script can't be loaded. */
static void refused(bool foreign, const char *code, const char *part)
{
    struct scene scene;

    scene_init(&scene);
    assert_int_equal(scene_load(&scene, foreign, code), SLUICE_E_CONFIG);
    assert_says(scene.err.message, part);
    assert_int_equal(strncmp(scene.err.message, "t.lua:2: ffi.def: ", 18), 0);
    scene_close(&scene);
}

/* ---- tests ---- */

static void test_calls(void **state)
{
    (void)state;
    holds("double lib_share_e(const char *, size_t)", "f(doc.text) == 2 / 9");
    holds("double lib_share_e(const char *, size_t)",
          "math.type(f('')) == 'float' and f('a\\0e') == 1 / 3");
    holds("int lib_length(const char *, int len)",
          "f(doc.text) == 9 and math.type(f('')) == 'integer'");
    holds("size_t lib_strlen(const char *)", "f(doc.text) == 9");
    holds("uint32_t lib_bytes(const void *, size_t)", "f('\\0\\xff') == 255");
    holds("uint32_t lib_octets(const uint8_t *, size_t)",
          "f('\\1\\xff') == 256 and f({ 1, 255 }) == 256");
    holds("const char *lib_language(const char *, size_t)",
          "f(doc.text) == 'long' and f('') == nil and f('?') == '\\xff'");
    holds("int lib_compare(const char *, const char *, size_t)",
          "f('abc', doc.text) == 3009 + 115");
    holds("bool lib_not(bool)", "f(true) == false and f(false) == true");
    holds("int8_t lib_int8(int8_t)", "f(-127) == -128 and f(5.0) == 4");
    holds("uint8_t lib_uint8(uint8_t)", "f(254) == 255");
    holds("int16_t lib_int16(int16_t)", "f(-32767) == -32768");
    holds("uint16_t lib_uint16(uint16_t)", "f(65534) == 65535");
    holds("int lib_int(int)", "f(-2147483647) == -2147483648");
    holds("unsigned lib_unsigned(unsigned)", "f(4294967294) == 4294967295");
    holds("long lib_long(long)", "f(math.mininteger + 1) == math.mininteger");
    holds("uint64_t lib_uint64(uint64_t)", "f(-1) == -1");
    holds("float lib_float(float)", "f(3) == 1.5");
    holds("double lib_double(double)", "f(0) ~= f(0) and f(1) == -math.huge and f(5) == 2.5");
    holds("double lib_nan(double)", "('%q'):format(f(1)) == ('%q'):format(f(-1))");
    holds("double lib_many(int8_t, uint16_t, float, int64_t, double, bool, uint8_t, int, long, "
          "double)",
          "f(1, 1, 1, 1, 0, true, 7, -8, 1, 0.5) == 15");
    holds("int lib_nothing(void)", "f() == 42");
    holds("double lib_sum(const double *, size_t)", "f({ 1, 2.5 }) == 3.5 and f({}) == 0");
    holds("float lib_mean(const float *, size_t)", "f({ 1, 2 }) == 1.5");
    holds("int64_t lib_dot(const int32_t *, size_t count, int32_t)", "f({ 1, -2, 3.0 }, 5) == 10");
}

static void test_wrong_calls(void **state)
{
    (void)state;
    raises("double lib_share_e(const char *, size_t)", "f()",
           "lib_share_e: found 0 arguments, expected 1 (a text or list and its length");
    raises("double lib_share_e(const char *, size_t)", "f('a', 1)",
           "found 2 arguments, expected 1");
    raises("double lib_share_e(const char *text, size_t)", "f(5)",
           "lib_share_e: argument 1 text: found the integer 5, expected a string");
    raises("double lib_share_e(const char *, size_t)", "f(nil)",
           "argument 1: found a nil, expected a string");
    raises("size_t lib_strlen(const char *)", "f('a\\0b')", "without a NUL in it");
    raises("int lib_int(int)", "f('5')",
           "found a string, expected an integer from -2147483648 to 2147483647");
    raises("int lib_int(int)", "f(2147483648)",
           "found the integer 2147483648, expected an integer from");
    raises("int lib_int(int)", "f(0.5)", "found the float 0.5, expected an integer");
    raises("uint8_t lib_uint8(uint8_t)", "f(-1)", "expected an integer from 0 to 255");
    raises("long lib_long(long)", "f(1e300)", "expected an integer");
    raises("bool lib_not(bool)", "f(1)", "expected a boolean");
    raises("double lib_double(double)", "f(true)", "found a boolean, expected a number");
    raises("double lib_sum(const double *, size_t)", "f(3)", "expected a list of numbers");
    raises("double lib_sum(const double *, size_t)", "f({ 1, 'a' })",
           "item 2 is string, expected a number");
    raises("int64_t lib_dot(const int32_t *, size_t, int32_t)", "f({ 1, 4294967296 }, 1)",
           "item 2 is out of range, expected an integer from");
}

static void test_definitions(void **state)
{
    struct scene scene;

    (void)state;
    refused(false, "ffi.def(5)", "found a number, expected { lib = ");
    refused(false, "ffi.def { 'int f(int)' }", "lib, the path of a shared library, is missing");
    refused(false, "ffi.def { lib = lib }", "the prototype of a function is missing");
    refused(false, "ffi.def { lib = 5, 'int f(int)' }", "lib: found a number");
    refused(false, "ffi.def { lib = lib, thread_safe = 1, 'int f(int)' }",
            "thread_safe: found a number, expected true or false");
    refused(false, "ffi.def { lib = lib, thread_saf = true, 'int f(int)' }",
            "unknown member 'thread_saf', did you mean 'thread_safe'?");
    refused(false, "ffi.def { lib = lib, {} }", "item 1 is a table, expected a prototype");
    refused(false, "ffi.def { lib = lib, 'int f(int' }", "expected , or )");
    refused(false, "ffi.def { lib = './no.so', 'int f(int)' }",
            "/no.so; a relative path begins at the script's folder");
    refused(false,
            "ffi.def { lib = lib, 'void lib_scale(const double *, double *, size_t, double)' }",
            "are for s.native");
    /* Only where it may be loaded does anybody look into the library. */
    refused(true, "ffi.def { lib = lib, 'int lib_nt(int)' }",
            "has no function 'lib_nt'; did you mean 'lib_int'?");
    refused(true, "ffi.def { lib = lib, 'unsigned lib_int(int)' }",
            "the type of the result is different");

    scene_init(&scene);
    if (scene_load(&scene, true,
                   "local f, g = ffi.def { lib = lib, 'int lib_int(int)', 'long lib_long(long)', "
                   "thread_safe = true }\n"
                   "local h = ffi.def { lib = lib, 'const char *lib_language(const char *, "
                   "size_t)', thread_safe = true }\n"
                   "s.filter { 'x', function(doc) if f(5) ~= 4 or g(-1) ~= -2 or h('') then return "
                   "'wrong' end end }") != SLUICE_OK ||
        scene_open(&scene) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    scene_process(&scene, "");
    assert_int_equal(scene.result.verdicts[0].reason, 0);
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(scene_load(&scene, false, "ffi.def = 5"), SLUICE_E_CONFIG);
    assert_says(scene.err.message, "'ffi.def' can't be assigned");
    scene_close(&scene);
}

/* The planner, a worker outside of a child, and a row that defines. */
static void test_where_it_may_be_called(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(scene_load(&scene, true, "ffi.def { lib = lib, 'int lib_int(int)' } (5)"),
                     SLUICE_E_CONFIG);
    assert_says(scene.err.message, "t.lua:2: 'lib_int' is a function of ");
    assert_says(scene.err.message, "which only rows of stages call");
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(
        scene_load(&scene, false,
                   "local f = ffi.def { lib = lib, 'int lib_int(int)' }\n"
                   "s.filter { 'x', function(doc) if f(5) == 4 then return 'called' end end }"),
        SLUICE_OK);
    assert_int_equal(scene_open(&scene), SLUICE_OK);
    assert_int_equal(scene.entry->isolation, REGISTRY_ALWAYS_ISOLATED);
    scene_process(&scene, "");
    assert_int_equal(scene.result.verdicts[0].reason, SLUICE_VERDICT_BAD);
    assert_says(scene.result.verdicts[0].dup_of, "which only rows of stages call");
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(scene_load(&scene, true,
                                "local lib = lib s.filter { 'x', function(doc) ffi.def { lib = "
                                "lib, 'int lib_int(int)' } end }"),
                     SLUICE_OK);
    assert_int_equal(scene_open(&scene), SLUICE_OK);
    assert_int_equal(scene.entry->isolation, REGISTRY_IN_PROCESS);
    scene_process(&scene, "");
    assert_int_equal(scene.result.verdicts[0].reason, SLUICE_VERDICT_BAD);
    assert_says(scene.result.verdicts[0].dup_of,
                "defines other functions in a worker than in the planner");
    scene_close(&scene);
}

/* Reached through helpers and tables as well; other stages of the script stay in the process. */
static void test_what_is_isolated(void **state)
{
    struct scene scene;
    const struct registry_entry *entry;

    (void)state;
    scene_init(&scene);
    assert_int_equal(
        scene_load(
            &scene, true,
            "local f = ffi.def { lib = lib, 'int lib_int(int)' }\n"
            "local t = { deep = { f = f } }\n"
            "local function helper(n) return t.deep.f(n) end\n"
            "s.filter { 'x', function(doc) if helper(5) ~= 4 then return 'wrong' end end }\n"
            "s.filter { 'y', function(doc) return nil end }\n"
            "s.heuristic { 'z', options = { max = { 'float', 1 } }, drop = { above = 'max' },\n"
            "  measure = function(doc) return helper(1) end }\n"
            "local g = ffi.def { lib = lib, 'int lib_int(int)', thread_safe = true }\n"
            "s.filter { 'safe', function(doc) g(1) end }"),
        SLUICE_OK);
    assert_int_equal(scene_open(&scene), SLUICE_OK);
    assert_int_equal(scene.entry->isolation, REGISTRY_ALWAYS_ISOLATED);
    assert_true(scene.entry->serial);
    assert_int_equal(registry_find(scene.registry, "y", &entry, &scene.err), SLUICE_OK);
    assert_int_equal(entry->isolation, REGISTRY_IN_PROCESS);
    assert_int_equal(registry_find(scene.registry, "z", &entry, &scene.err), SLUICE_OK);
    assert_int_equal(entry->isolation, REGISTRY_ALWAYS_ISOLATED);
    assert_int_equal(registry_find(scene.registry, "safe", &entry, &scene.err), SLUICE_OK);
    assert_int_equal(entry->isolation, REGISTRY_ALWAYS_ISOLATED);
    assert_false(entry->serial);
    scene_process(&scene, "");
    assert_int_equal(scene.result.verdicts[0].reason, 0);
    scene_close(&scene);
}

static struct hash128 hash_of(const char *lib, const char *prototype)
{
    struct scene scene;
    struct hash128 hash;
    char code[1000];

    scene_init(&scene);
    snprintf(
        code, sizeof code,
        "local f = ffi.def { lib = \"%s\", \"%s\" } s.filter { 'x', \nfunction(doc) f(1) end }",
        lib, prototype);
    if (scene_load(&scene, false, code) != SLUICE_OK ||
        registry_find(scene.registry, "x", &scene.entry, &scene.err) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    hash = scene.entry->hash;
    scene_close(&scene);
    return hash;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_the_hash_knows_library_and_prototype(void **state)
{
    char folder[] = "/tmp/test-ffi-hash-XXXXXX";
    char a[64], b[64];
    struct hash128 first;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(a, sizeof a, "%s/a.so", folder);
    snprintf(b, sizeof b, "%s/b.so", folder);
    write_text(a, "one");
    write_text(b, "one");
    first = hash_of(a, "int f(int)");
    assert_true(hash_equal(first, hash_of(a, "int f(int)")));
    assert_true(hash_equal(first, hash_of(b, "int f(int)"))); /* by content, not by path */
    assert_true(hash_equal(first, hash_of(a, "extern int f ( int number );")));
    assert_false(hash_equal(first, hash_of(a, "long f(int)")));
    assert_false(hash_equal(first, hash_of(a, "int g(int)")));
    write_text(b, "two");
    assert_false(hash_equal(first, hash_of(b, "int f(int)")));
    unlink(a);
    unlink(b);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_where_it_may_be_called),
        cmocka_unit_test(test_what_is_isolated),
        cmocka_unit_test(test_the_hash_knows_library_and_prototype),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
