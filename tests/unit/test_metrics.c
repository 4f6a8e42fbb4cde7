/* Tests of meters: work is processor time, waiting is the rest, many short spans lose nothing, and
 * what a child works is work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "run/metrics.h"

#define MS UINT64_C(1000000)

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void work(uint64_t ns)
{
    uint64_t end = cpu_ns() + ns;

    while (cpu_ns() < end) {
    }
}

static void wait(uint64_t ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

static void test_apart(void **state)
{
    struct meter meter = { 0 };
    struct time_spent time = { 0 };
    uint64_t ns = 0;

    (void)state;
    for (int k = 0; k < 5; k++) {
        meter_begin(&meter);
        work(10 * MS);
        ns += meter_end(&meter, &time, false);
        meter_begin(&meter);
        wait(20 * MS);
        ns += meter_end(&meter, &time, false);
    }
    assert_int_equal(METRIC_GET(time.work_ns) + METRIC_GET(time.wait_ns), ns);
    assert_true(METRIC_GET(time.work_ns) >= 45 * MS);
    assert_true(METRIC_GET(time.work_ns) <= 100 * MS);
    assert_true(METRIC_GET(time.wait_ns) >= 95 * MS);
}

/* Spans too short to ask the kernel about, with work between them that belongs to none. */
static void test_short(void **state)
{
    struct meter meter = { 0 };
    struct time_spent time = { 0 };
    uint64_t begin = cpu_ns();
    uint64_t ns = 0;

    (void)state;
    for (int k = 0; k < 400; k++) {
        meter_begin(&meter);
        work(MS / 20);
        ns += meter_end(&meter, &time, false);
        work(MS / 20);
    }
    assert_int_equal(METRIC_GET(time.work_ns) + METRIC_GET(time.wait_ns), ns);
    assert_true(METRIC_GET(time.work_ns) <= cpu_ns() - begin + 10 * MS);
    assert_true(METRIC_GET(time.work_ns) >= 5 * MS);
}

static void test_away(void **state)
{
    struct meter meter = { 0 };
    struct time_spent time = { 0 };

    (void)state;
    meter_begin(&meter);
    wait(20 * MS);
    meter_end(&meter, &time, true);
    assert_true(METRIC_GET(time.work_ns) >= 20 * MS);
    assert_int_equal(METRIC_GET(time.wait_ns), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
