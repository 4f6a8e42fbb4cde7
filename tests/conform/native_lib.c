/* A library of plain C functions, which knows nothing of Sluice: what scripts call through s.native
 * and ffi.def. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- texts ---- */

EXPORT double lib_share_e(const char *text, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        found += text[i] == 'e';
    }
    return n == 0 ? 0 : (double)found / (double)n;
}

/* Counts by a length that is an int. */
EXPORT int lib_length(const char *text, int len)
{
    (void)text;
    return len;
}

EXPORT size_t lib_strlen(const char *text)
{
    return strlen(text);
}

EXPORT uint32_t lib_bytes(const void *data, size_t n)
{
    const uint8_t *bytes = data;
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += bytes[i];
    }
    return sum;
}

EXPORT uint32_t lib_octets(const uint8_t *bytes, size_t n)
{
    return lib_bytes(bytes, n);
}

EXPORT const char *lib_language(const char *text, size_t n)
{
    return n == 0 ? NULL : text[0] == '?' ? "\xff" : n > 8 ? "long" : "short";
}

EXPORT int lib_compare(const char *a, const char *b, size_t n)
{
    return (int)strlen(a) * 1000 + (int)n + (n > 0 ? b[0] : 0);
}

/* ---- numbers ---- */

EXPORT bool lib_not(bool value)
{
    return !value;
}
EXPORT int8_t lib_int8(int8_t value)
{
    return (int8_t)(value - 1);
}
EXPORT uint8_t lib_uint8(uint8_t value)
{
    return (uint8_t)(value + 1);
}
EXPORT int16_t lib_int16(int16_t value)
{
    return (int16_t)(value - 1);
}
EXPORT uint16_t lib_uint16(uint16_t value)
{
    return (uint16_t)(value + 1);
}
EXPORT int lib_int(int value)
{
    return value - 1;
}
EXPORT unsigned lib_unsigned(unsigned value)
{
    return value + 1;
}
EXPORT long lib_long(long value)
{
    return value - 1;
}
EXPORT uint64_t lib_uint64(uint64_t value)
{
    return value;
}
EXPORT float lib_float(float value)
{
    return value / 2;
}
EXPORT double lib_double(double value)
{
    return value == 0 ? NAN : value == 1 ? -INFINITY : value / 2;
}
EXPORT double lib_nan(double value)
{
    return value > 0 ? NAN : -NAN;
}
EXPORT double lib_many(int8_t a, uint16_t b, float c, int64_t d, double e, bool f, uint8_t g, int h,
                       long i, double j)
{
    return a + 2.0 * b + 3.0 * (double)c + 4.0 * (double)d + 5.0 * e + 6.0 * f + 7.0 * g + 8.0 * h +
           9.0 * (double)i + 10.0 * j;
}
EXPORT int lib_nothing(void)
{
    return 42;
}

/* ---- arrays ---- */

EXPORT double lib_sum(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum;
}

EXPORT int64_t lib_dot(const int32_t *values, size_t count, int32_t factor)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (int64_t)values[i] * factor;
    }
    return sum;
}

EXPORT float lib_mean(const float *values, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return n == 0 ? 0 : sum / (float)n;
}

/* ---- columns ---- */

EXPORT void lib_scale(const double *in, double *out, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i] * factor;
    }
}

EXPORT void lib_add(const int64_t *a, const int64_t *b, int64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = a[i] + b[i];
    }
}

/* Depends on the whole batch. */
EXPORT void lib_total(const double *in, double *out, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += in[i];
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = sum;
    }
}

EXPORT void lib_lazy(const double *in, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (in[i] > 1) {
            out[i] = in[i];
        }
    }
}

EXPORT void lib_overflow(const double *in, double *out, size_t n)
{
    for (size_t i = 0; i <= n; i++) {
        out[i] = i < n ? in[i] : 0;
    }
}

/* ---- what goes wrong ---- */

EXPORT int lib_counter(const char *text, size_t n)
{
    static int calls;

    (void)text;
    return (int)n + ++calls;
}

EXPORT double lib_crash(const char *text, size_t n)
{
    if (n >= 8 && memmem(text, n, "CRASH-ME", 8) != NULL) {
        abort();
    }
    return lib_share_e(text, n);
}

/* Writes to what it was given to read. */
EXPORT int lib_scribble(const char *text, size_t n)
{
    if (n >= 8 && memmem(text, n, "CRASH-ME", 8) != NULL) {
        ((char *)(uintptr_t)text)[0] = 'X';
    }
    return (int)n;
}

/* Never returns for one row. */
EXPORT int lib_hang(const char *text, size_t n)
{
    volatile bool hung = n >= 7 && memmem(text, n, "HANG-ME", 7) != NULL;

    while (hung) {
    }
    return (int)n;
}

struct lib_pair {
    double a, b;
};
EXPORT double lib_struct(struct lib_pair pair)
{
    return pair.a + pair.b;
}
enum lib_choice { LIB_NO, LIB_YES };
EXPORT int lib_enum(enum lib_choice choice)
{
    return choice == LIB_YES;
}
typedef const char *lib_text;
EXPORT double lib_typedef(lib_text text, size_t n)
{
    return lib_share_e(text, n);
}
EXPORT int lib_variadic(const char *format, ...)
{
    return (int)strlen(format);
}
EXPORT const int lib_data = 7;
EXPORT int lib_mutable(char *text, size_t n)
{
    (void)text;
    return (int)n;
}
