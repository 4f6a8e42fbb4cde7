/* Tests of exact moments and of Python's texts of numbers: known sums, any order and grouping,
 * edges, stored form, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "moments.h"
#include "number.h"

/* A small generator, so that cases are the same everywhere. */
static uint64_t mix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void known_numbers(void **state)
{
    struct moments m = { 0 };

    (void)state;
    assert_true(moments_mean(&m) == 0 && moments_total(&m) == 0 && moments_variance(&m) == 0);
    for (int i = 1; i <= 4; i++) {
        assert_true(moments_add(&m, i));
    }
    assert_int_equal(m.n, 4);
    assert_true(moments_total(&m) == 10);
    assert_true(moments_mean(&m) == 2.5);
    assert_true(moments_variance(&m) == 5.0 / 3.0);
    assert_true(m.least == 1 && m.greatest == 4);
    /* What a sum of doubles loses. */
    assert_true(moments_add(&m, 0x1p60) && moments_add(&m, 0.5) && moments_add(&m, -0x1p60));
    assert_true(moments_total(&m) == 10.5);
    assert_true(m.least == -0x1p60 && m.greatest == 0x1p60);
    moments_deinit(&m);
    /* Ten times a tenth: the exact sum, rounded once, and the exact mean of equal numbers. */
    for (int i = 0; i < 10; i++) {
        assert_true(moments_add(&m, 0.1));
    }
    assert_null(m.sums);
    assert_true(moments_total(&m) == 1.0 && moments_mean(&m) == 0.1 && moments_variance(&m) == 0);
    moments_deinit(&m);
    /* Far from zero, close together: no cancellation. */
    for (int i = 0; i < 3; i++) {
        assert_true(moments_add(&m, 1e15 + i));
    }
    assert_true(moments_variance(&m) == 1);
    moments_deinit(&m);
}

static void signs_and_sizes(void **state)
{
    struct moments m = { 0 };

    (void)state;
    assert_true(moments_takes(0x1p63) && moments_takes(-1e-300) && !moments_takes(0x1p64));
    assert_false(moments_takes(INFINITY) || moments_takes(NAN) || moments_takes(-INFINITY));
    assert_true(moments_add(&m, -3) && moments_add(&m, -1));
    assert_true(moments_total(&m) == -4 && moments_mean(&m) == -2 && moments_variance(&m) == 2);
    moments_deinit(&m);
    assert_true(moments_add(&m, -0.0) && moments_add(&m, 0.0));
    assert_null(m.sums);
    assert_false(signbit(m.least));
    moments_deinit(&m);
    /* The largest there are, many of them; and the smallest that are kept. */
    for (int i = 0; i < 1000; i++) {
        assert_true(moments_add(&m, i % 2 == 0 ? 0x1.fffffffffffffp63 : 0x1.ffffffffffffep63));
    }
    assert_true(moments_mean(&m) <= 0x1p64 && moments_mean(&m) >= 0x1.ffffffffffffep63);
    moments_deinit(&m);
    assert_true(moments_add(&m, 0x1p-96) && moments_add(&m, 0x1p-200));
    assert_true(moments_total(&m) == 0x1p-96);
    moments_deinit(&m);
}

#define N 5000

static void any_order_and_grouping(void **state)
{
    static double values[N];
    struct moments whole = { 0 };
    struct sluice_bytes expected = { 0 };
    uint64_t random = 7;

    (void)state;
    for (int i = 0; i < N; i++) {
        uint64_t r = mix(&random);
        values[i] =
            r % 5 == 0 ? (double)(r >> 40) : ldexp((double)(r >> 12) - 0x1p51, (int)(r % 60) - 90);
        assert_true(moments_add(&whole, values[i]));
    }
    assert_true(moments_write(&whole, &expected));
    for (int round = 0; round < 20; round++) {
        struct moments parts[7] = { { 0 } };
        struct moments joined = { 0 };
        struct sluice_bytes bytes = { 0 };
        for (int i = N - 1; i > 0; i--) {
            int k = (int)(mix(&random) % (uint64_t)(i + 1));
            double moved = values[i];
            values[i] = values[k];
            values[k] = moved;
        }
        for (int i = 0; i < N; i++) {
            assert_true(moments_add(&parts[mix(&random) % (round % 7 + 1)], values[i]));
        }
        for (int i = 0; i < 7; i++) {
            struct sluice_bytes stored = { 0 };
            struct moments again = { 0 };
            size_t at = 0;
            assert_true(moments_write(&parts[i], &stored));
            assert_int_equal(moments_read(&again, stored.data, stored.size, &at), MOMENTS_READ);
            assert_int_equal(at, stored.size);
            assert_true(moments_merge(&joined, &again));
            moments_deinit(&again);
            moments_deinit(&parts[i]);
            sluice_bytes_free(&stored);
        }
        assert_true(moments_write(&joined, &bytes));
        assert_int_equal(bytes.size, expected.size);
        assert_memory_equal(bytes.data, expected.data, bytes.size);
        moments_deinit(&joined);
        sluice_bytes_free(&bytes);
    }
    moments_deinit(&whole);
    sluice_bytes_free(&expected);
}

/* Equal numbers that are joined with others give the same sums as when they come one by one. */
static void equal_numbers(void **state)
{
    struct moments a = { 0 };
    struct moments b = { 0 };
    struct moments one = { 0 };
    struct sluice_bytes left = { 0 };
    struct sluice_bytes right = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(moments_add(&a, 1.0 / 3) && moments_add(&b, -2.0 / 7));
        assert_true(moments_add(&one, 1.0 / 3) && moments_add(&one, -2.0 / 7));
    }
    assert_true(moments_merge(&a, &b));
    assert_true(moments_write(&a, &left) && moments_write(&one, &right));
    assert_int_equal(left.size, right.size);
    assert_memory_equal(left.data, right.data, left.size);
    moments_deinit(&a);
    moments_deinit(&b);
    moments_deinit(&one);
    sluice_bytes_free(&left);
    sluice_bytes_free(&right);
}

static void damage(void **state)
{
    struct moments m = { 0 };
    struct moments out = { 0 };
    struct sluice_bytes bytes = { 0 };
    const double wrong = INFINITY;
    size_t at;

    (void)state;
    assert_true(moments_add(&m, 1) && moments_add(&m, 2) && moments_write(&m, &bytes));
    for (size_t n = 0; n < bytes.size; n++) {
        at = 0;
        assert_int_equal(moments_read(&out, bytes.data, n, &at), MOMENTS_DAMAGED);
        assert_null(out.sums);
        assert_int_equal(moments_count(bytes.data, n), n == 0 ? 0 : -1);
    }
    assert_int_equal(moments_count(bytes.data, bytes.size), 1);
    bytes.data[0] = 3;
    at = 0;
    assert_int_equal(moments_read(&out, bytes.data, bytes.size, &at), MOMENTS_DAMAGED);
    bytes.data[0] = 2;
    memcpy(bytes.data + 9, &wrong, 8);
    assert_int_equal(moments_count(bytes.data, bytes.size), -1);
    at = 0;
    assert_int_equal(moments_read(&out, bytes.data, bytes.size, &at), MOMENTS_DAMAGED);
    assert_null(out.sums);
    moments_deinit(&m);
    sluice_bytes_free(&bytes);
}

static void python_numbers(void **state)
{
    static const struct {
        double value;
        const char *text; /* Python 3.11's repr */
    } floats[] = { { 0, "0.0" },
                   { -0.0, "-0.0" },
                   { 1, "1.0" },
                   { 45, "45.0" },
                   { 0.1, "0.1" },
                   { 0.1 + 0.2, "0.30000000000000004" },
                   { 1.0 / 3, "0.3333333333333333" },
                   { 2.0 / 3, "0.6666666666666666" },
                   { 0.0001, "0.0001" },
                   { 0.00001, "1e-05" },
                   { 1.5e-7, "1.5e-07" },
                   { 123456789.125, "123456789.125" },
                   { 1e15, "1000000000000000.0" },
                   { 1e16, "1e+16" },
                   { 9999999999999998.0, "9999999999999998.0" },
                   { 1.2345e22, "1.2345e+22" },
                   { -2.5, "-2.5" },
                   { 5e-324, "5e-324" },
                   { 1.7976931348623157e308, "1.7976931348623157e+308" },
                   { 100, "100.0" },
                   { 0.001, "0.001" } };
    static const struct {
        double value;
        int digits;
        const char *text; /* Python's str(round(value, digits)) */
    } bins[] = { { 0.0005, 3, "0.001" },  { 0.0015, 3, "0.002" },   { 0.0025, 3, "0.003" },
                 { 2.0 / 3, 3, "0.667" }, { 0.1235, 3, "0.123" },   { 0.0625, 3, "0.062" },
                 { 0.1875, 3, "0.188" },  { 12.3456, 3, "12.346" }, { 0.9996, 3, "1.0" },
                 { 0.00001, 5, "1e-05" }, { 2.5, 0, "2.0" },        { 0.0, 3, "0.0" } };
    char text[NUMBER_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        number_float(floats[i].value, text);
        assert_string_equal(text, floats[i].text);
    }
    for (size_t i = 0; i < sizeof bins / sizeof bins[0]; i++) {
        number_bin(bins[i].value, false, bins[i].digits, text);
        assert_string_equal(text, bins[i].text);
    }
    number_bin(949383, true, 3, text);
    assert_string_equal(text, "949383");
    number_int(0x1p63, text);
    assert_string_equal(text, "9223372036854775808");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(signs_and_sizes),
        cmocka_unit_test(any_order_and_grouping),
        cmocka_unit_test(equal_numbers),
        cmocka_unit_test(damage),
        cmocka_unit_test(python_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
