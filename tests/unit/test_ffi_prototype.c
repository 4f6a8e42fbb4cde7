/* Prototypes: what parses and to what, what is refused and where, printing and parsing again, how
 * parameters are grouped into values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lua/native/ffi_foreign.h"
#include "lua/native/ffi_prototype.h"

static void parses(const char *text, const char *printed)
{
    struct sluice_error err = ERROR_INIT;
    struct prototype prototype, again;
    struct buf out = BUF_INIT;

    if (prototype_parse(text, &prototype, &err) != SLUICE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    prototype_print(&prototype, &out);
    assert_string_equal(buf_str(&out), printed);
    assert_int_equal(prototype_parse(buf_str(&out), &again, &err), SLUICE_OK);
    assert_int_equal(again.n_params, prototype.n_params);
    assert_memory_equal(&again.result, &prototype.result, sizeof again.result);
    buf_deinit(&out);
}

static void refused(const char *text, const char *part)
{
    struct sluice_error err = ERROR_INIT;
    struct prototype prototype;

    assert_int_equal(prototype_parse(text, &prototype, &err), SLUICE_E_CONFIG);
    assert_string_equal(err.field, "prototype");
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s\nfound: %s\nexpected: %s", text, err.message, part);
    }
}

static void test_types(void **state)
{
    static const char *const types[][2] = {
        { "char *", "char *" },
        { "signed char", "int8_t" },
        { "unsigned char", "uint8_t" },
        { "short", "int16_t" },
        { "short int", "int16_t" },
        { "unsigned short int", "uint16_t" },
        { "int", "int32_t" },
        { "signed", "int32_t" },
        { "unsigned", "uint32_t" },
        { "unsigned int", "uint32_t" },
        { "int unsigned", "uint32_t" },
        { "long", "int64_t" },
        { "long int", "int64_t" },
        { "unsigned long", "uint64_t" },
        { "long long", "int64_t" },
        { "long unsigned long", "uint64_t" },
        { "float", "float" },
        { "double", "double" },
        { "bool", "bool" },
        { "_Bool", "bool" },
        { "size_t", "size_t" },
        { "ssize_t", "int64_t" },
        { "ptrdiff_t", "int64_t" },
        { "int8_t", "int8_t" },
        { "uint64_t", "uint64_t" },
        { "const int", "int32_t" },
        { "int const", "int32_t" },
        { "const char *", "const char *" },
        { "char const *", "const char *" },
        { "const char *const", "const char *" },
        { "const char *restrict", "const char *" },
        { "const void *", "const void *" },
        { "const double[]", "const double *" },
    };
    char text[100], printed[100];

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        snprintf(text, sizeof text, "int f(%s)", types[i][0]);
        snprintf(printed, sizeof printed, "int32_t f(%s)", types[i][1]);
        parses(text, printed);
    }
}

static void test_functions(void **state)
{
    (void)state;
    parses("double score(const char *, size_t)", "double score(const char *, size_t)");
    parses("  extern double\n\tscore ( const char*text , size_t n ) ; ",
           "double score(const char *, size_t)");
    parses("const char *name(void)", "const char *name(void)");
    parses("char const*name(void);", "const char *name(void)");
    parses("void f(const double in[], double *out, size_t n)",
           "void f(const double *, double *, size_t)");
    parses("int sizes(int size)", "int32_t sizes(int32_t)");
    parses("int f(int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int)",
           "int32_t f(int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, "
           "int32_t, int32_t, int32_t, int32_t, "
           "int32_t, int32_t, int32_t, int32_t)");
}

static void test_refusals(void **state)
{
    char text[3000];

    (void)state;
    refused("", "the prototype is empty");
    refused("  ", "the prototype is empty");
    refused("double", "ends at character 6: expected the name of the function");
    refused("double f", "ends at character 8: expected ( behind the name");
    refused("double f(", "expected a type");
    refused("double f()", "character 10, ')': expected parameters, or (void) for none");
    refused("double f(int", "expected , or )");
    refused("double f(int,)", "character 14, ')': expected a type");
    refused("double f(int) x", "character 15, 'x': expected the end");
    refused("double f(int);;", "character 15, ';': expected the end");
    refused("double f(const char *, ...)",
            "character 24, '...': functions with a variable number of parameters");
    refused("double f(struct pair p)", "character 10, 'struct': structs are not passed");
    refused("struct pair f(void)", "character 1, 'struct'");
    refused("double f(union u u)", "unions are not passed");
    refused("double f(enum e e)", "write int for an enum");
    refused("double f(int (*callback)(int))", "character 14, '(': pointers to functions");
    refused("double f(const char **)", "character 22, '*': pointers to pointers");
    refused("double f(const char *const *)", "pointers to pointers");
    refused("double f(const char *words[])", "arrays of pointers");
    refused("double f(const double v[3])", "character 25, '3': write [] without a size");
    refused("double f(void, int)", "a parameter can't be void");
    refused("double f(void x)", "a parameter can't be void");
    refused("long double f(int)", "character 1, 'long': long double is not passed");
    refused("double f(long double)", "character 10, 'long': long double");
    refused("double f(unsigned double)", "no type together");
    refused("double f(int size_t)", "no type together");
    refused("double f(unsigned signed int)", "no type together");
    refused("double f(long long long)", "no type together");
    refused("double f(short char)", "no type together");
    refused("double f(string)", "character 10, 'string': unknown type; known are");
    refused("double f(sizet)", "did you mean 'size_t'?");
    refused("doubel f(int)", "character 1, 'doubel': unknown type, did you mean 'double'?");
    refused("double f(volatile int *)", "volatile");
    refused("static double f(int)", "character 1, 'static'");
    refused("double f(wchar_t)", "wide characters");
    refused("double 3f(int)", "character 8, '3': expected the name");
    refused("double f(int a b)", "character 16, 'b': expected , or )");
    refused("double f(int\xc3\xa4)", "character 13, '\xc3\xa4'");
    refused("int f(int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int)",
            "more than 16 parameters");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    refused(text, "has 2999 bytes");
    snprintf(text, sizeof text, "int %0200d(int)", 0);
    text[4] = 'f';
    refused(text, "longer than 127 bytes");
}

static void grouped(const char *text, const char *expected)
{
    static const char forms[] = "tcas";
    struct sluice_error err = ERROR_INIT;
    struct foreign_signature signature;
    char found[64] = "";
    size_t n = 0;

    if (foreign_signature_read(text, &signature, &err) != SLUICE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    for (uint32_t k = 0; k < signature.n_values; k++) {
        n += (size_t)snprintf(found + n, sizeof found - n, "%c%u", forms[signature.values[k].form],
                              signature.values[k].param);
    }
    snprintf(found + n, sizeof found - n, "%s", signature.columns ? "*" : "");
    assert_string_equal(found, expected);
}

static void ungrouped(const char *text, const char *part)
{
    struct sluice_error err = ERROR_INIT;
    struct foreign_signature signature;

    assert_int_equal(foreign_signature_read(text, &signature, &err), SLUICE_E_CONFIG);
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s\nfound: %s\nexpected: %s", text, err.message, part);
    }
}

static void test_values(void **state)
{
    (void)state;
    grouped("double f(const char *, size_t)", "t0");
    grouped("double f(const char *)", "c0");
    grouped("double f(const char *, int)", "c0s1");
    grouped("double f(const char *, int len)", "t0");
    grouped("double f(const char *, unsigned long count)", "t0");
    grouped("double f(const char *, short n)", "c0s1");
    grouped("double f(const char *a, const char *b, size_t n)", "c0t1");
    grouped("double f(const void *, size_t)", "t0");
    grouped("double f(const uint8_t *, size_t)", "a0");
    grouped("double f(const float *, size_t, float, size_t)", "a0s2s3");
    grouped("size_t f(size_t, bool)", "s0s1");
    grouped("const char *f(int64_t)", "s0");
    grouped("void f(const double *, double *, size_t)", "a0*");
    grouped("void f(size_t n, float *, const int8_t *, const double *, int)", "a2a3s4*");
    ungrouped("double f(const double *)",
              "character 10: parameter 1 (const double *) has no size_t behind it");
    ungrouped("double f(const void *)", "has no size_t behind it");
    ungrouped("double f(const bool *, size_t)", "is an array of bool");
    ungrouped(
        "double f(char *, size_t)",
        "may be written to, and texts can't be; if the function only reads it, write const char *");
    ungrouped("double f(double *, size_t)",
              "may be written to; if the function only reads it, write const;");
    ungrouped("double f(char)", "is one character");
    ungrouped("char f(int)", "returns one character");
    ungrouped("char *f(int)", "returns a pointer that is not const char *");
    ungrouped("const double *f(int)", "returns a pointer that is not const char *");
    ungrouped("void *f(int)", "returns a pointer that is not const char *");
    ungrouped("void f(int)", "has no column to write to");
    ungrouped("void f(const char *, size_t)", "is not a column of numbers");
    ungrouped("void f(const double *, double *)", "has no size_t");
    ungrouped("void f(double *, size_t)", "has no column to read");
    ungrouped("void f(const double *, double *, double *, size_t)",
              "is the second that is written to");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
