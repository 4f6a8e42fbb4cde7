/* Input splits: coverage, sizes, stability. */
#include "inputfiles.h"

#include "plan/splits.h"

#define MAX_FILES 400

struct set {
    struct split_input files[MAX_FILES];
    uint64_t sizes[MAX_FILES];
    char names[MAX_FILES][24];
    size_t n;
};

static void set_file(struct set *set, size_t i, uint64_t number, uint64_t size)
{
    snprintf(set->names[i], sizeof set->names[i], "f%012llu", (unsigned long long)number);
    set->sizes[i] = size;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void set_finish(struct set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        set->files[i] = (struct split_input){ .name = set->names[i], .size = set->sizes[i] };
    }
}

/* Files in sorted order, sizes after the given shape. */
static uint64_t random_size(int shape, uint64_t target)
{
    uint64_t x = chance(target + 1);

    switch (shape) {
    case 0:
        return x;
    case 1:
        return x / 20;
    case 2:
        return x * x / target * x / target;
    case 3:
        return target / 10;
    case 4:
        return chance(10) == 0 ? x * 8 : x / 3; /* some large ones between */
    default:
        return chance(3) == 0 ? 0 : x / 2;
    }
}

static void set_random(struct set *set, size_t n, int shape, uint64_t target)
{
    uint64_t numbers[MAX_FILES];

    for (size_t i = 0; i < n; i++) {
        numbers[i] = chance(UINT64_C(900000000000));
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(set->names[i], sizeof set->names[i], "f%012llu", (unsigned long long)numbers[i]);
    }
    qsort(set->names, n, sizeof set->names[0], by_name);
    set->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (set->n == 0 || strcmp(set->names[set->n - 1], set->names[i]) != 0) {
            set_file(set, set->n++, strtoull(set->names[i] + 1, NULL, 10),
                     random_size(shape, target));
        }
    }
    set_finish(set);
}

static void plan(const struct set *set, uint64_t target, enum split_cut cut, struct splits *out)
{
    struct split_options options = { .target = target, .cut = cut };
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(splits_plan(set->files, set->n, &options, out, &err), SLUICE_OK);
}

/* Every byte of every file once, in order; sizes as promised. */
static void check_cover(const struct set *set, const struct splits *splits, uint64_t target,
                        enum split_cut cut)
{
    size_t file = 0;
    uint64_t at = 0;

    for (size_t i = 0; i < splits->n; i++) {
        const struct split *split = &splits->items[i];
        char name[64];
        char named[SPLIT_NAME];
        assert_true(split->n_ranges > 0);
        snprintf(name, sizeof name, "%s@%llu", set->names[split->ranges[0].file],
                 (unsigned long long)split->ranges[0].begin);
        assert_string_equal(split_name(split, set->names[split->ranges[0].file], named), name);
        for (size_t k = 0; k < split->n_ranges; k++) {
            const struct split_range *range = &split->ranges[k];
            assert_int_equal(range->file, file);
            assert_int_equal(range->begin, at);
            assert_int_equal(range->last, range->end == SPLIT_TO_END);
            assert_true(range->end > range->begin);
            /* No range of a plain file is empty. */
            assert_true(splits_compressed(set->names[file]) || range->begin == 0 ||
                        range->begin < set->sizes[file]);
            assert_true(range->last || split->n_ranges == 1);
            at = range->last ? 0 : range->end;
            file += range->last;
        }
        if (cut == SPLIT_CUT_NEWLINE) {
            assert_true(split->weight <= 2 * target);
        } else {
            assert_true(split->weight <= 2 * target || split->n_ranges == 1);
        }
    }
    assert_int_equal(file, set->n);
}

static bool has_split(const struct splits *splits, const struct split *split)
{
    for (size_t i = 0; i < splits->n; i++) {
        if (hash_equal(splits->items[i].layout, split->layout)) {
            return true;
        }
    }
    return false;
}

/* Splits of a that b does not have. */
static size_t difference(const struct splits *a, const struct splits *b)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++) {
        n += !has_split(b, &a->items[i]);
    }
    return n;
}

static void test_cover(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        static struct set set;
        struct splits splits;
        uint64_t target = 100 + chance(1000);
        enum split_cut cut = chance(4) == 0 ? SPLIT_CUT_NONE : SPLIT_CUT_NEWLINE;
        set_random(&set, chance(MAX_FILES), (int)chance(6), target);
        for (size_t i = 0; i < set.n; i++) {
            if (chance(3) == 0) {
                strcat(set.names[i], chance(2) == 0 ? ".gz" : ".ZST");
            }
        }
        plan(&set, target, cut, &splits);
        check_cover(&set, &splits, target, cut);
        splits_deinit(&splits);
    }
}

/* Groups between large files have a quarter to twice the target. */
static void test_sizes(void **state)
{
    double sum = 0;
    size_t n = 0;

    (void)state;
    for (int round = 0; round < 1000; round++) {
        static struct set set;
        struct splits splits;
        set_random(&set, 200, round % 4, 1000);
        plan(&set, 1000, SPLIT_CUT_NEWLINE, &splits);
        for (size_t i = 0; i < splits.n; i++) {
            assert_in_range(splits.items[i].weight, 250, 2000);
            sum += (double)splits.items[i].weight;
            n++;
        }
        splits_deinit(&splits);
    }
    print_message("mean group: %.2f of the target\n", sum / (double)n / 1000);
    assert_true(sum / (double)n > 900 && sum / (double)n < 1300);
}

/* One file added, removed or changed, anywhere: how many splits are new and how many are gone. */
static void test_stability(void **state)
{
    size_t histogram[2][16] = { { 0 } };
    size_t rounds = 0;

    (void)state;
    for (int round = 0; round < 12000; round++) {
        static struct set before;
        static struct set after;
        struct splits a;
        struct splits b;
        int shape = round % 4;
        size_t at;
        size_t added;
        size_t gone;
        set_random(&before, 60 + chance(140), shape, 1000);
        after = before;
        at = chance(after.n);
        switch (chance(3)) {
        case 0:
            memmove(&after.names[at], &after.names[at + 1],
                    (after.n - at - 1) * sizeof after.names[0]);
            memmove(&after.sizes[at], &after.sizes[at + 1],
                    (after.n - at - 1) * sizeof after.sizes[0]);
            after.n--;
            break;
        case 1:
            memmove(&after.names[at + 1], &after.names[at], (after.n - at) * sizeof after.names[0]);
            memmove(&after.sizes[at + 1], &after.sizes[at], (after.n - at) * sizeof after.sizes[0]);
            after.n++;
            set_file(&after, at, strtoull(after.names[at] + 1, NULL, 10), random_size(shape, 1000));
            /* A name of its own just before the file that stood here. */
            after.names[at][strlen(after.names[at]) - 1]--;
            strcat(after.names[at], "x");
            break;
        default:
            after.sizes[at] = random_size(shape, 1000);
            break;
        }
        if (at > 0 && strcmp(after.names[at - 1], after.names[at]) >= 0) {
            continue;
        }
        set_finish(&before);
        set_finish(&after);
        plan(&before, 1000, SPLIT_CUT_NEWLINE, &a);
        plan(&after, 1000, SPLIT_CUT_NEWLINE, &b);
        added = difference(&b, &a);
        gone = difference(&a, &b);
        histogram[0][added < 15 ? added : 15]++;
        histogram[1][gone < 15 ? gone : 15]++;
        rounds++;
        splits_deinit(&a);
        splits_deinit(&b);
    }
    for (int side = 0; side < 2; side++) {
        const size_t *h = histogram[side];
        print_message(
            "splits %s by one changed file: 0:%zu 1:%zu 2:%zu 3:%zu 4:%zu 5:%zu 6+:%zu of %zu\n",
            side == 0 ? "new" : "gone", h[0], h[1], h[2], h[3], h[4], h[5],
            rounds - h[0] - h[1] - h[2] - h[3] - h[4] - h[5], rounds);
        assert_true((h[0] + h[1] + h[2]) * 100 >= rounds * 98);
        assert_int_equal(h[0] + h[1] + h[2] + h[3] + h[4] + h[5], rounds);
    }
}

static void test_large(void **state)
{
    static struct set set;
    struct splits s;

    (void)state;
    set.n = 5;
    set_file(&set, 0, 1, 1000); /* not above the target: alone in its run */
    set_file(&set, 1, 2, 3249); /* 1000 1000 1249 */
    set_file(&set, 2, 3, 3250); /* 1000 1000 1000 250 */
    set_file(&set, 3, 4, 1001); /* whole */
    set_file(&set, 4, 5, 700);  /* zstd of 2800 or so, at most 5600 */
    strcat(set.names[4], ".zst");
    set_finish(&set);
    plan(&set, 1000, SPLIT_CUT_NEWLINE, &s);
    assert_int_equal(s.n, 1 + 3 + 4 + 1 + 6);
    assert_int_equal(s.items[3].ranges[0].begin, 2000);
    assert_true(s.items[3].ranges[0].end == SPLIT_TO_END);
    assert_int_equal(s.items[7].ranges[0].begin, 3000);
    assert_true(s.items[8].ranges[0].end == SPLIT_TO_END);
    assert_int_equal(s.items[14].ranges[0].begin, 5000);
    assert_true(s.items[14].ranges[0].end == SPLIT_TO_END);
    assert_int_equal(s.items[14].weight, 600);
    splits_deinit(&s);
    plan(&set, 1000, SPLIT_CUT_NONE, &s);
    assert_int_equal(s.n, 5);
    splits_deinit(&s);
    set.n = 0;
    plan(&set, 1000, SPLIT_CUT_NEWLINE, &s);
    assert_int_equal(s.n, 0);
    splits_deinit(&s);
}

/* What enters the layout: names, ranges and values; not sizes. */
static void test_layout(void **state)
{
    static struct set set;
    static const char *const values[2][2] = { { "en", NULL }, { "en", "" } };
    struct hash128 seen[8];
    size_t n = 0;

    (void)state;
    set.n = 2;
    for (int variant = 0; variant < 8; variant++) {
        struct splits s;
        set_file(&set, 0, 1, 10);
        set_file(&set, 1, 2, 20);
        set_finish(&set);
        switch (variant) {
        case 1:
            strcat(set.names[1], "y");
            break;
        case 2:
            set.names[0][0] = 'a';
            break;
        case 3:
            strcat(set.names[1], ".gz");
            break;
        case 4:
        case 5:
            for (int i = 0; i < 2; i++) {
                set.files[i].values = values[variant - 4];
                set.files[i].n_parts = 2;
            }
            break;
        case 6:
            set.n = 1;
            break;
        default:
            break;
        }
        plan(&set, 1000, SPLIT_CUT_NEWLINE, &s);
        assert_int_equal(s.n, 1);
        if (variant == 7) { /* the first again, with other sizes and options that give the same */
            struct splits again;
            set.n = 2;
            set_file(&set, 1, 2, 21);
            set_finish(&set);
            plan(&set, 5000, SPLIT_CUT_NONE, &again);
            assert_true(hash_equal(again.items[0].layout, seen[0]));
            splits_deinit(&again);
        } else {
            for (size_t i = 0; i < n; i++) {
                assert_false(hash_equal(seen[i], s.items[0].layout));
            }
            seen[n++] = s.items[0].layout;
        }
        splits_deinit(&s);
    }
}

static void test_refused(void **state)
{
    static struct set set;
    struct split_options options = { .target = 1, .cut = SPLIT_CUT_NEWLINE };
    struct sluice_error err = ERROR_INIT;
    struct splits s;

    (void)state;
    set.n = 2;
    set_file(&set, 0, 2, 10);
    set_file(&set, 1, 1, 10);
    set_finish(&set);
    assert_int_equal(splits_plan(set.files, 2, &options, &s, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "sorted"));
    set.n = 1;
    set.files[0].size = UINT64_MAX - 1;
    assert_int_equal(splits_plan(set.files, 1, &options, &s, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "pieces"));
    options.target = UINT64_MAX;
    assert_int_equal(splits_plan(set.files, 1, &options, &s, &err), SLUICE_E_CONFIG);
}

/* A million files take about a second and no recursion. */
static void test_million(void **state)
{
    const size_t n = 1000000;
    struct split_input *files = calloc(n, sizeof *files);
    char *names = malloc(n * 16);
    struct split_options options = { .target = 1000, .cut = SPLIT_CUT_NEWLINE };
    struct sluice_error err = ERROR_INIT;
    struct splits s;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        snprintf(names + i * 16, 16, "%010zu", i);
        files[i] = (struct split_input){ .name = names + i * 16, .size = chance(200) };
    }
    assert_int_equal(splits_plan(files, n, &options, &s, &err), SLUICE_OK);
    assert_in_range(s.n, 50000, 200000);
    splits_deinit(&s);
    free(files);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cover),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_stability), cmocka_unit_test(test_large),
        cmocka_unit_test(test_layout),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_million),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
