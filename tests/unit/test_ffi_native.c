/* The stage "native" over tests/conform/native_lib.c: every type in and out, nulls, bad rows,
 * selections, whole columns, constants, what is refused before any data, and what a library does
 * wrong. It runs in this process here, as it does in an isolated child. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/builder.h"
#include "lua/native/native.h"
#include "plugin/stage.h"
#include "sluice_arrays.h"

#define ROWS 5

struct scene {
    struct registry *registry;
    const struct registry_entry *entry;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct stage_services services;
    struct schema schema;
    struct stage_inputs inputs;
    struct sluice_error err;
    char lib[4096], log[1000];
};

/* Column, type, and the values of five rows as text: "-" is null, items of lists are set apart by
 * blanks. */
static const char *const columns[][2 + ROWS] = {
    { "text", "utf8", "eel", "", "some more letters", "tree", "e" },
    { "maybe", "utf8?", "eel", "-", "more", "-", "?" },
    { "meta", "json", "{}", "[]", "{\"e\":1}", "null", "1" },
    { "raw", "binary", "a", "", "bc", "d", "e" },
    { "flag", "bool", "1", "0", "1", "1", "0" },
    { "i8", "int8", "1", "-127", "3", "4", "127" },
    { "i16", "int16", "1", "-32767", "300", "4", "5" },
    { "i32", "int32", "1", "-2147483647", "3", "-4", "2147483647" },
    { "i64", "int64", "1", "-2", "300", "70000", "9007199254740993" },
    { "i64n", "int64?", "1", "-", "3", "-", "5" },
    { "u8", "uint8", "1", "0", "3", "4", "254" },
    { "u16", "uint16", "1", "0", "3", "4", "65534" },
    { "u32", "uint32", "1", "0", "3", "4", "4294967294" },
    { "u64", "uint64", "1", "0", "3", "4", "18446744073709551615" },
    { "f32", "float32", "1", "-0.5", "3", "1e30", "nan" },
    { "f64", "float64", "0", "1", "3", "4", "nan" },
    { "f64n", "float64?", "2", "-", "3", "1e300", "-" },
    { "list64", "list<float64>", "1 2 3", "", "0.5", "4", "5 5" },
    { "list32", "list<float32>", "1 2", "", "0.5", "4", "5 5" },
    { "listn", "list<float64>?", "1 2", "-", "", "4", "5 5" },
    { "items", "list<float64?>", "1", "2", "3", "4", "5" },
    { "listi", "list<int32>", "1 2", "", "-7", "4", "5 5" },
    { "octets", "list<uint8>", "1 2", "", "7", "255 255", "5 5" },
    { "nul", "utf8", "a", "\1", "b", "c", "d" }, /* \1 stands for a NUL */
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

static void keep_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    (void)level;
    (void)stage;
    snprintf(ctx, 1000, "%s", message);
}

static void scene_init(struct scene *scene)
{
    struct registry_options options = { .bare = true };
    const char *build = getenv("BUILD");

    memset(scene, 0, sizeof *scene);
    scene->err = (struct sluice_error)ERROR_INIT;
    snprintf(scene->lib, sizeof scene->lib, "%s/tests/conform/native_lib.so",
             build != NULL ? build : "build");
    assert_int_equal(registry_create(&options, &scene->registry, &scene->err), SLUICE_OK);
    assert_int_equal(native_register(scene->registry, true, &scene->err), SLUICE_OK);
    schema_init(&scene->schema);
    stage_result_init(&scene->result);
    scene->inputs.n_ports = 1;
    scene->inputs.schemas[0] = &scene->schema;
    scene->services.ctx = scene->log;
    scene->services.log = keep_log;
    scene->services.check = true;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        assert_int_equal(
            schema_add_text(&scene->schema, columns[i][0], columns[i][1], NULL, &scene->err),
            SLUICE_OK);
    }
}

static void scene_close(struct scene *scene)
{
    stage_worker_close(scene->worker);
    stage_close(scene->stage);
    stage_result_deinit(&scene->result);
    stage_prepared_deinit(&scene->prepared);
    schema_deinit(&scene->schema);
    registry_destroy(scene->registry);
}

/* Opens the stage with a prototype and further options as on a command line. */
static sluice_status scene_open(struct scene *scene, const char *prototype, const char *given)
{
    struct option_table table;
    struct value named = VALUE_INIT;
    struct value text;
    struct option_args args = { .named = &named, .text = true };
    struct options *parsed = NULL;
    char here[2048];
    sluice_status status;

    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(registry_find(scene->registry, "native", &scene->entry, &scene->err),
                     SLUICE_OK);
    assert_int_equal(scene->entry->isolation, REGISTRY_ALWAYS_ISOLATED);
    table = option_table_of(&scene->entry->stage);
    value_map_init(&named);
    assert_true(value_string(&text, prototype, strlen(prototype)) &&
                value_map_set(&named, "prototype", text));
    assert_true(value_string(&text, scene->lib, strlen(scene->lib)) &&
                value_map_set(&named, "lib", text));
    assert_int_equal(options_split(given, &named, &scene->err), SLUICE_OK);
    status = options_parse(&table, &args, here, &parsed, &scene->err);
    value_deinit(&named);
    if (status == SLUICE_OK) {
        status = stage_open(scene->entry, parsed, "native", &scene->services, &scene->stage,
                            &scene->err);
    }
    if (status == SLUICE_OK) {
        status = stage_prepare(scene->stage, &scene->inputs, &scene->prepared, &scene->err);
    }
    return status == SLUICE_OK ? stage_worker_open(scene->stage, &scene->worker, &scene->err)
                               : status;
}

/* ---- input ---- */

static void append(struct builder *b, const char *type, const char *text)
{
    char *end;

    if (strcmp(text, "-") == 0 && strchr(type, '?') != NULL) {
        assert_true(builder_null(b));
    } else if (strncmp(type, "list<", 5) == 0) {
        while (*text != '\0') {
            char item[40];
            snprintf(item, sizeof item, "%.*s", (int)strcspn(text, " "), text);
            append(builder_child(b, 0), type + 5, item);
            text += strcspn(text, " ");
            text += *text == ' ';
        }
        assert_true(builder_close(b));
    } else if (strncmp(type, "utf8", 4) == 0 || strncmp(type, "json", 4) == 0 ||
               strncmp(type, "binary", 6) == 0) {
        assert_true(text[0] == '\1' ? builder_bytes_add(b, "a\0b", 3)
                                    : builder_bytes_add(b, text, strlen(text)));
    } else if (strncmp(type, "bool", 4) == 0) {
        assert_true(builder_bool(b, text[0] == '1'));
    } else if (strncmp(type, "float", 5) == 0) {
        assert_true(builder_float(b, strtod(text, &end)));
    } else if (type[0] == 'u') {
        assert_true(builder_uint(b, strtoull(text, &end, 10)));
    } else {
        assert_true(builder_int(b, strtoll(text, &end, 10)));
    }
}

/* The columns that the stage asked for, repeated times over. */
static void make_input(struct scene *scene, int repeated, struct ArrowArray *out)
{
    uint32_t n = scene->prepared.n_needs[0];
    struct ArrowArray *children = calloc(n + 1, sizeof *children);

    for (uint32_t k = 0; k < n; k++) {
        struct type *type = NULL;
        struct builder *builder = NULL;
        size_t i = 0;
        while (strcmp(columns[i][0], scene->prepared.needs[0][k].name) != 0) {
            i++;
        }
        assert_int_equal(type_parse(columns[i][1], &type, &scene->err), SLUICE_OK);
        assert_int_equal(builder_create(type, &builder, &scene->err), SLUICE_OK);
        for (int r = 0; r < repeated * ROWS; r++) {
            append(builder, columns[i][1], columns[i][2 + r % ROWS]);
        }
        assert_int_equal(builder_finish(builder, &children[k], &scene->err), SLUICE_OK);
        builder_destroy(builder);
        type_destroy(type);
    }
    assert_int_equal(array_struct(out, repeated * ROWS, n, children, &scene->err), SLUICE_OK);
    free(children);
}

static sluice_status scene_process(struct scene *scene, int repeated, const uint32_t *rows,
                                   int64_t n)
{
    struct ArrowArray array;
    struct sluice_batch batch = { .size = sizeof batch, .array = &array, .rows = rows, .n = n };
    sluice_status status;

    make_input(scene, repeated, &array);
    status = stage_process(scene->worker, &batch, &scene->result, &scene->err);
    array.release(&array);
    return status;
}

/* ---- output ---- */

/* The values of the column that came out, set apart by commas; "!" = a bad row. */
static void print_output(const struct scene *scene, char *out, size_t size)
{
    const struct ArrowArray *column = scene->result.batches[0].children[0];
    char *type = type_print(scene->prepared.added.fields[0].type);
    size_t n = 0;

    out[0] = '\0';
    for (int64_t row = 0; row < column->length; row++) {
        const void *values = column->buffers[1];
        char cell[100];
        size_t length;
        if (scene->result.has_verdicts &&
            scene->result.verdicts[row].reason == SLUICE_VERDICT_BAD) {
            snprintf(cell, sizeof cell, "!");
        } else if (sluice_is_null(column, row)) {
            snprintf(cell, sizeof cell, "-");
        } else if (strncmp(type, "utf8", 4) == 0) {
            const char *text = sluice_text(column, row, &length);
            snprintf(cell, sizeof cell, "%.*s", (int)length, text);
        } else if (strncmp(type, "bool", 4) == 0) {
            snprintf(cell, sizeof cell, "%d", ((const uint8_t *)values)[row >> 3] >> (row & 7) & 1);
        } else if (strncmp(type, "float64", 7) == 0) {
            snprintf(cell, sizeof cell, "%.6g", ((const double *)values)[row]);
        } else if (strncmp(type, "float32", 7) == 0) {
            snprintf(cell, sizeof cell, "%.6g", (double)((const float *)values)[row]);
        } else if (strncmp(type, "int8", 4) == 0) {
            snprintf(cell, sizeof cell, "%d", ((const int8_t *)values)[row]);
        } else if (strncmp(type, "int16", 5) == 0) {
            snprintf(cell, sizeof cell, "%d", ((const int16_t *)values)[row]);
        } else if (strncmp(type, "int32", 5) == 0) {
            snprintf(cell, sizeof cell, "%d", ((const int32_t *)values)[row]);
        } else if (strncmp(type, "int64", 5) == 0) {
            snprintf(cell, sizeof cell, "%" PRId64, ((const int64_t *)values)[row]);
        } else if (strncmp(type, "uint8", 5) == 0) {
            snprintf(cell, sizeof cell, "%u", ((const uint8_t *)values)[row]);
        } else if (strncmp(type, "uint16", 6) == 0) {
            snprintf(cell, sizeof cell, "%u", ((const uint16_t *)values)[row]);
        } else if (strncmp(type, "uint32", 6) == 0) {
            snprintf(cell, sizeof cell, "%u", ((const uint32_t *)values)[row]);
        } else {
            snprintf(cell, sizeof cell, "%" PRIu64, ((const uint64_t *)values)[row]);
        }
        n += (size_t)snprintf(out + n, size - n, "%s%s", row > 0 ? "," : "", cell);
        assert_true(n < size);
    }
    free(type);
}

static void assert_says(const char *message, const char *part)
{
    if (strstr(message, part) == NULL) {
        fail_msg("found: %s\nexpected: %s", message, part);
    }
}

/* The column has this name, type, and values over the five rows. */
static void gives(const char *prototype, const char *given, const char *column, const char *values)
{
    struct scene scene;
    char found[300];
    char *type;

    scene_init(&scene);
    if (scene_open(&scene, prototype, given) != SLUICE_OK ||
        scene_process(&scene, 1, NULL, ROWS) != SLUICE_OK) {
        fail_msg("%s: %s", prototype, scene.err.message);
    }
    type = type_print(scene.prepared.added.fields[0].type);
    snprintf(found, sizeof found, "%s:%s", scene.prepared.added.fields[0].name, type);
    free(type);
    assert_string_equal(found, column);
    print_output(&scene, found, sizeof found);
    if (strcmp(found, values) != 0) {
        fail_msg("%s %s\nfound:    %s\nexpected: %s", prototype, given, found, values);
    }
    assert_string_equal(scene.log, ""); /* the library has debug information */
    scene_close(&scene);
}

/* Refused before any data, for this reason. */
static void refused(const char *prototype, const char *given, sluice_status code, const char *part)
{
    struct scene scene;
    sluice_status status;

    scene_init(&scene);
    status = scene_open(&scene, prototype, given);
    assert_says(scene.err.message, part);
    assert_int_equal(status, code);
    scene_close(&scene);
}

/* Found out while rows are processed. */
static void fails(const char *prototype, const char *given, const char *part)
{
    struct scene scene;

    scene_init(&scene);
    if (scene_open(&scene, prototype, given) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    assert_int_equal(scene_process(&scene, 1, NULL, ROWS), SLUICE_E_CONFIG);
    assert_says(scene.err.message, part);
    scene_close(&scene);
}

/* ---- tests ---- */

static void test_texts(void **state)
{
    (void)state;
    gives("double lib_share_e(const char *, size_t)", "as=e", "e:float64",
          "0.666667,0,0.235294,0.5,1");
    gives("double lib_share_e(const char *, size_t)", "", "lib_share_e:float64",
          "0.666667,0,0.235294,0.5,1");
    gives("double lib_share_e(const char *, size_t)", "over=maybe,as=e", "e:float64?",
          "0.666667,-,0.25,-,0");
    gives("double lib_share_e(const char *, size_t)", "over=meta,as=e", "e:float64",
          "0,0,0.142857,0,0");
    gives("double lib_typedef(const char *, size_t)", "as=e", "e:float64",
          "0.666667,0,0.235294,0.5,1");
    gives("int lib_length(const char *, int len)", "as=n", "n:int32", "3,0,17,4,1");
    gives("size_t lib_strlen(const char *)", "as=n", "n:uint64", "3,0,17,4,1");
    gives("size_t lib_strlen(const char *)", "as=n,over=nul", "n:uint64", "1,!,1,1,1");
    gives("size_t lib_strlen(const char *)", "as=n,over=maybe", "n:uint64?", "3,-,4,-,1");
    gives("uint32_t lib_bytes(const void *, size_t)", "as=n,over=raw", "n:uint32",
          "97,0,197,100,101");
    gives("uint32_t lib_octets(const uint8_t *, size_t)", "as=n,over=raw", "n:uint32",
          "97,0,197,100,101");
    gives("uint32_t lib_octets(const uint8_t *, size_t)", "as=n,over=octets", "n:uint32",
          "3,0,7,510,10");
    gives("const char *lib_language(const char *, size_t)", "as=l", "l:utf8?",
          "short,-,long,short,short");
    gives("const char *lib_language(const char *, size_t)", "as=l,over=maybe", "l:utf8?",
          "short,-,short,-,!");
    gives("int lib_compare(const char *, const char *, size_t)", "as=c,args=raw", "c:int32",
          "3098,0,17100,4101,1102");
    gives("int lib_compare(const char *, const char *, size_t)", "as=c,args='bb'", "c:int32",
          "3100,100,17100,4100,1100");
}

static void test_numbers(void **state)
{
    (void)state;
    gives("bool lib_not(bool)", "over=flag,as=x", "x:bool", "0,1,0,0,1");
    gives("int8_t lib_int8(int8_t)", "over=i8,as=x", "x:int8", "0,-128,2,3,126");
    gives("int8_t lib_int8(int8_t)", "over=i16,as=x", "x:int8", "0,!,!,3,4");
    gives("uint8_t lib_uint8(uint8_t)", "over=u8,as=x", "x:uint8", "2,1,4,5,255");
    gives("uint8_t lib_uint8(uint8_t)", "over=i64,as=x", "x:uint8", "2,!,!,!,!");
    gives("int16_t lib_int16(int16_t)", "over=i16,as=x", "x:int16", "0,-32768,299,3,4");
    gives("uint16_t lib_uint16(uint16_t)", "over=u16,as=x", "x:uint16", "2,1,4,5,65535");
    gives("int lib_int(int)", "over=i32,as=x", "x:int32", "0,-2147483648,2,-5,2147483646");
    gives("unsigned lib_unsigned(unsigned)", "over=u32,as=x", "x:uint32", "2,1,4,5,4294967295");
    gives("long lib_long(long)", "over=i64,as=x", "x:int64", "0,-3,299,69999,9007199254740992");
    gives("long lib_long(long)", "over=i64n,as=x", "x:int64?", "0,-,2,-,4");
    gives("long lib_long(long)", "over=u64,as=x", "x:int64", "0,-1,2,3,!");
    gives("uint64_t lib_uint64(uint64_t)", "over=u64,as=x", "x:uint64",
          "1,0,3,4,18446744073709551615");
    gives("uint64_t lib_uint64(uint64_t)", "over=i64,as=x", "x:uint64",
          "1,!,300,70000,9007199254740993");
    gives("float lib_float(float)", "over=f32,as=x", "x:float32", "0.5,-0.25,1.5,5e+29,nan");
    gives("float lib_float(float)", "over=u32,as=x", "x:float32", "0.5,0,1.5,2,!");
    gives("double lib_double(double)", "over=f64,as=x", "x:float64", "nan,-inf,1.5,2,nan");
    gives("double lib_double(double)", "over=f64,as=x,nan=null", "x:float64?", "-,-inf,1.5,2,-");
    gives("double lib_double(double)", "over=f32,as=x", "x:float64", "-inf,-0.25,1.5,5e+29,nan");
    gives("double lib_double(double)", "over=f64n,as=x", "x:float64?", "1,-,1.5,5e+299,-");
    gives("double lib_double(double)", "over=i64,as=x", "x:float64", "-inf,-1,150,35000,!");
    gives("double lib_many(int8_t, uint16_t, float, int64_t, double, bool, uint8_t, int, long, "
          "double)",
          "over=i8,as=x,args=\"u16,f32,i32,f64,flag,7,-8,i64,0.5\"", "x:float64",
          "15,-8.58993e+09,2741,3e+30,nan");
}

static void test_arrays(void **state)
{
    (void)state;
    gives("double lib_sum(const double *, size_t)", "over=list64,as=x", "x:float64",
          "6,0,0.5,4,10");
    gives("double lib_sum(const double *, size_t)", "over=listn,as=x", "x:float64?", "3,-,0,4,10");
    gives("float lib_mean(const float *, size_t)", "over=list32,as=x", "x:float32",
          "1.5,0,0.5,4,5");
    gives("int64_t lib_dot(const int32_t *, size_t, int32_t)", "over=listi,as=x,args=2", "x:int64",
          "6,0,-14,8,20");
    gives("int64_t lib_dot(const int32_t *, size_t, int32_t)", "over=listi,as=x,args=i8", "x:int64",
          "3,0,-21,16,1270");
}

static void test_columns(void **state)
{
    struct scene scene;
    const uint32_t rows[] = { 1, 2, 7, 9 };
    char found[300];

    (void)state;
    gives("void lib_scale(const double *, double *, size_t, double)", "over=f64,as=x,args=2",
          "x:float64", "0,2,6,8,nan");
    gives("void lib_scale(const double *, double *, size_t, double)",
          "over=f64n,as=x,args=0.5,nan=null", "x:float64?", "1,-,1.5,5e+299,-");
    gives("void lib_scale(const double *, double *, size_t, double)", "over=i64,as=x,args=1",
          "x:float64", "1,-2,300,70000,!");
    gives("void lib_add(const int64_t *, const int64_t *, int64_t *, size_t)",
          "over=i64,as=x,args=i8", "x:int64", "2,-129,303,70004,9007199254741120");
    gives("void lib_add(const int64_t *, const int64_t *, int64_t *, size_t)",
          "over=i64n,as=x,args=u64", "x:int64?", "2,-,6,-,!");

    scene_init(&scene);
    assert_int_equal(scene_open(&scene, "void lib_scale(const double *, double *, size_t, double)",
                                "over=f64,args=3,as=x"),
                     SLUICE_OK);
    assert_int_equal(scene_process(&scene, 2, rows, 4), SLUICE_OK);
    print_output(&scene, found, sizeof found);
    assert_string_equal(found, "3,9,9,nan");
    assert_int_equal(scene_process(&scene, 2, rows, 0), SLUICE_OK);
    assert_int_equal(scene.result.batches[0].length, 0);
    assert_int_equal(scene_process(&scene, 500, NULL, 2500), SLUICE_OK);
    assert_int_equal(scene.result.batches[0].length, 2500);
    scene_close(&scene);

    fails("void lib_total(const double *, double *, size_t)", "over=i32",
          "gives other results when a column comes in two parts");
    fails("void lib_lazy(const double *, double *, size_t)", "over=i32",
          "and every one must be written");
    fails("void lib_overflow(const double *, double *, size_t)", "over=i32",
          "writes behind the 5 items of its result");
}

static void test_selection_and_batches(void **state)
{
    struct scene scene;
    const uint32_t rows[] = { 0, 3, 4, 12 };
    char found[300];

    (void)state;
    scene_init(&scene);
    assert_int_equal(scene_open(&scene, "size_t lib_strlen(const char *)", "as=n"), SLUICE_OK);
    assert_int_equal(scene_process(&scene, 3, rows, 4), SLUICE_OK);
    print_output(&scene, found, sizeof found);
    assert_string_equal(found, "3,4,1,17");
    assert_int_equal(scene_process(&scene, 3, rows, 0), SLUICE_OK);
    assert_int_equal(scene.result.batches[0].length, 0);
    assert_int_equal(scene_process(&scene, 1, NULL, 5), SLUICE_OK);
    print_output(&scene, found, sizeof found);
    assert_string_equal(found, "3,0,17,4,1");
    scene_close(&scene);
}

static void test_bad_rows_say_why(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(scene_open(&scene, "int8_t lib_int8(int8_t value)", "over=i64,as=x"),
                     SLUICE_OK);
    assert_int_equal(scene_process(&scene, 1, NULL, ROWS), SLUICE_OK);
    assert_string_equal(
        scene.result.verdicts[2].dup_of,
        "native_error: the column 'i64' holds 300, which parameter 'value' can't take");
    assert_int_equal(scene.result.verdicts[0].reason, 0);
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(scene_open(&scene, "long lib_long(long)", "over=u64,as=x"), SLUICE_OK);
    assert_int_equal(scene_process(&scene, 1, NULL, ROWS), SLUICE_OK);
    assert_says(scene.result.verdicts[4].dup_of,
                "holds 18446744073709551615, which parameter 1 can't take");
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(scene_open(&scene, "size_t lib_strlen(const char *)", "over=nul,as=x"),
                     SLUICE_OK);
    assert_int_equal(scene_process(&scene, 1, NULL, ROWS), SLUICE_OK);
    assert_says(scene.result.verdicts[1].dup_of, "native_error: the text holds a NUL");
    scene_close(&scene);

    scene_init(&scene);
    assert_int_equal(
        scene_open(&scene, "const char *lib_language(const char *, size_t)", "over=maybe,as=x"),
        SLUICE_OK);
    assert_int_equal(scene_process(&scene, 1, NULL, ROWS), SLUICE_OK);
    assert_says(scene.result.verdicts[4].dup_of,
                "native_error: 'lib_language' returned a text that is not UTF-8");
    scene_close(&scene);
}

static void test_options_are_checked(void **state)
{
    (void)state;
    refused("double f(const char *, ...)", "", SLUICE_E_CONFIG,
            "functions with a variable number of parameters");
    refused("int lib_nothing(void)", "", SLUICE_E_CONFIG, "'lib_nothing' takes nothing");
    refused("double lib_share_e(const char *, size_t)", "args=text", SLUICE_E_CONFIG,
            "args: found 1, expected 0");
    refused("int lib_compare(const char *, const char *b, size_t)", "", SLUICE_E_CONFIG,
            "args: found 0, expected 1 for 'lib_compare': over = \"text\" gives the first value, "
            "args a column or constant for each "
            "further one: parameter 2 (const char *b)");
    refused("int64_t lib_dot(const int32_t *, size_t, int32_t)", "over=listi,args=0.5",
            SLUICE_E_CONFIG, "found the constant 0.5 for parameter 3 (int32_t)");
    refused("int64_t lib_dot(const int32_t *, size_t, int32_t)", "over=listi,args=4294967296",
            SLUICE_E_CONFIG, "does not take it");
    refused("int64_t lib_dot(const int32_t *, size_t, int32_t)", "over=listi,args='2'",
            SLUICE_E_CONFIG, "does not take it");
    refused("int lib_compare(const char *, const char *, size_t)", "args=5", SLUICE_E_CONFIG,
            "does not take it");
    refused("void lib_scale(const double *, double *, size_t, double)", "over=f64,args=f32",
            SLUICE_E_CONFIG, "takes one number for all rows; give a constant");
    refused("void lib_add(const int64_t *, const int64_t *, int64_t *, size_t)", "over=i64,args=1",
            SLUICE_E_CONFIG, "arrays come from columns");
}

static void test_columns_are_checked(void **state)
{
    (void)state;
    refused("double lib_share_e(const char *, size_t)", "over=txt", SLUICE_E_SCHEMA, "txt");
    refused("double lib_share_e(const char *, size_t)", "over=i64", SLUICE_E_SCHEMA,
            "the column 'i64' is int64, expected utf8, json or binary for parameter 1 (const char "
            "*) of 'lib_share_e'");
    refused("double lib_sum(const double *, size_t)", "over=list32", SLUICE_E_SCHEMA,
            "is list<float32>, expected list<float64>");
    refused("double lib_sum(const double *, size_t)", "over=items", SLUICE_E_SCHEMA,
            "is list<float64?>, expected list<float64>");
    refused("double lib_sum(const double *, size_t)", "over=f64", SLUICE_E_SCHEMA,
            "is float64, expected list<float64>");
    refused("int lib_int(int)", "over=f64", SLUICE_E_SCHEMA,
            "is float64, expected integers for parameter 1 (int32_t)");
    refused("float lib_float(float)", "over=f64", SLUICE_E_SCHEMA,
            "is float64, expected float32 or integers");
    refused("bool lib_not(bool)", "over=i8", SLUICE_E_SCHEMA, "is int8, expected bool");
    refused("void lib_scale(const double *, double *, size_t, double)", "over=list64,args=1",
            SLUICE_E_SCHEMA, "is list<float64>, expected float64 or integers");
}

static void test_the_library_is_checked(void **state)
{
    (void)state;
    refused("double lib_shar_e(const char *, size_t)", "", SLUICE_E_CONFIG,
            "has no function 'lib_shar_e'; did you mean 'lib_share_e'?");
    refused("double zzz(const char *, size_t)", "", SLUICE_E_CONFIG,
            "has no function 'zzz'; it has lib_");
    refused("double lib_data(const char *, size_t)", "", SLUICE_E_CONFIG, "'lib_data' is data in");
    refused("double lib_share_e(const char *)", "", SLUICE_E_CONFIG,
            "the prototype double lib_share_e(const char *) is not that of the function: by its "
            "debug information");
    refused("double lib_share_e(const char *)", "", SLUICE_E_CONFIG,
            "the number of parameters is different in double lib_share_e(const char *, size_t)");
    refused("double lib_strlen(const char *)", "", SLUICE_E_CONFIG,
            "the type of the result is different in size_t lib_strlen(const char *)");
    refused("int lib_length(const char *, size_t len)", "", SLUICE_E_CONFIG,
            "parameter 2 is different in int lib_length(const char *, int)");
    refused("unsigned lib_int(int)", "over=i32", SLUICE_E_CONFIG,
            "the type of the result is different");
    refused("double lib_sum(const float *, size_t)", "over=list32", SLUICE_E_CONFIG,
            "parameter 1 is different in double lib_sum(const double *");
    /* The compiler sets its unlikely part apart, so that it has two ranges of addresses. */
    refused("double lib_crash(const char *)", "", SLUICE_E_CONFIG,
            "the number of parameters is different");
    refused("double lib_struct(double)", "over=f64", SLUICE_E_CONFIG,
            "parameter 1 is different in double lib_struct(struct lib_pair)");
    refused("int lib_variadic(const char *)", "", SLUICE_E_CONFIG,
            "int lib_variadic(const char *, ...)");
    gives("int lib_mutable(const char *, size_t)", "as=n", "n:int32", "3,0,17,4,1");
    gives("int lib_enum(int)", "over=u8,as=x", "x:int32", "1,0,0,0,0");
}

/* Lines alone say nothing of types: no prototype is refused for that, and it is told. */
static void test_lines_alone_tell_no_types(void **state)
{
    static const char *const prototypes[] = { "double lib_lines(const char *, size_t)",
                                              "int lib_lines(const char *)" };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const char *build = getenv("BUILD");
        struct scene scene;

        scene_init(&scene);
        snprintf(scene.lib, sizeof scene.lib, "%s/tests/conform/native_lines.so",
                 build != NULL ? build : "build");
        assert_int_equal(scene_open(&scene, prototypes[k], ""), SLUICE_OK);
        assert_says(scene.log, "no debug information about the types of 'lib_lines'");
        scene_close(&scene);
    }
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
}

static void refused_file(const char *lib, const char *part)
{
    struct scene scene;

    scene_init(&scene);
    snprintf(scene.lib, sizeof scene.lib, "%s", lib);
    assert_int_equal(scene_open(&scene, "double score(const char *, size_t)", ""), SLUICE_E_CONFIG);
    assert_says(scene.err.message, part);
    scene_close(&scene);
}

static void test_files_that_are_no_libraries(void **state)
{
    char folder[] = "/tmp/test-ffi-XXXXXX";
    char path[100];
    unsigned char header[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.so", folder);
    refused_file(path, "there is no /tmp/test-ffi-");
    refused_file(path, "no other place is searched");
    refused_file(folder, "is not a regular file");
    write_file(path, "print(1)\n", 9);
    refused_file(path, "is no shared library (no ELF file)");
    write_file(path, "!<arch>\n", 8);
    refused_file(path, "is a static archive");
    header[16] = 1;
    header[18] = 62;
    header[20] = 1;
    header[52] = 64;
    write_file(path, header, sizeof header);
    refused_file(path, "is an object file");
    header[16] = 2;
    write_file(path, header, sizeof header);
    refused_file(path, "is a program");
    header[16] = 3;
    header[18] = 8; /* MIPS */
    write_file(path, header, sizeof header);
    refused_file(path, "built for another kind of machine");
    assert_int_equal(chmod(path, 0666), 0);
    refused_file(path, "everybody may write to it");
    unlink(path);
    rmdir(folder);
}

static void test_results_must_be_the_same_again(void **state)
{
    (void)state;
    fails("int lib_counter(const char *, size_t)", "", "'lib_counter' of");
    fails("int lib_counter(const char *, size_t)", "", "gave two results for one row");
}

static void test_only_in_children(void **state)
{
    struct scene scene;
    struct registry_options options = { .bare = true };

    (void)state;
    scene_init(&scene);
    registry_destroy(scene.registry);
    assert_int_equal(registry_create(&options, &scene.registry, &scene.err), SLUICE_OK);
    assert_int_equal(native_register(scene.registry, false, &scene.err), SLUICE_OK);
    assert_int_equal(scene_open(&scene, "double lib_share_e(const char *, size_t)", ""),
                     SLUICE_E_INTERNAL);
    assert_says(scene.err.message, "outside of a child process");
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_selection_and_batches),
        cmocka_unit_test(test_bad_rows_say_why),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_columns_are_checked),
        cmocka_unit_test(test_the_library_is_checked),
        cmocka_unit_test(test_lines_alone_tell_no_types),
        cmocka_unit_test(test_files_that_are_no_libraries),
        cmocka_unit_test(test_results_must_be_the_same_again),
        cmocka_unit_test(test_only_in_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
