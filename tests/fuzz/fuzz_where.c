/* fuzz_where.c — libFuzzer target over the expressions that choose rows.
 *
 * The first byte chooses: 0, the rest is an expression as text, which is read or refused with a
 * message, whose canonical form means the same, and for which bounds never say more than the rows;
 * else the rest makes rows and an expression, which is compared with an evaluator that knows three
 * truth values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KIT_CHECK(holds) check((holds), #holds)
static void check(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

#include "tests/unit/where_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct where_bound *bind(const struct where *where)
{
    struct sluice_error err = { .size = sizeof err };
    struct kit_schema schema;
    struct where_bound *bound = NULL;

    kit_make_schema(&schema);
    if (where_bind(where, &schema.all, 0, &bound, &err) != SLUICE_OK) {
        check(bound == NULL && err.message[0] != '\0', "a refusal has a message");
    }
    return bound;
}

static void one_text(const char *text, struct kit_rows *rows, const uint8_t *truths, unsigned lacks)
{
    struct sluice_error err = { .size = sizeof err };
    struct where *where = NULL;
    struct where *again = NULL;
    struct where_bound *bound;
    struct where_bound *other;
    char *canonical;
    char *twice;
    size_t n;

    if (where_parse(text, &where, &err) != SLUICE_OK) {
        check(where == NULL && err.message[0] != '\0' && truths == NULL, "a refusal has a message");
        return;
    }
    n = where_text(where, NULL, 0);
    canonical = malloc(n + 1);
    twice = malloc(n + 1);
    check(canonical != NULL && twice != NULL, "memory");
    check(where_text(where, canonical, n + 1) == n, "it is as long as it said");
    check(where_parse(canonical, &again, &err) == SLUICE_OK, "the canonical form is read");
    check(where_text(again, twice, n + 1) == n && strcmp(canonical, twice) == 0,
          "it is its own canonical form");
    bound = bind(where);
    other = bind(again);
    check((bound == NULL) == (other == NULL), "it has the same columns");
    check(bound != NULL || truths == NULL, "it is bound");
    if (bound != NULL) {
        uint8_t a[KIT_ROWS];
        uint8_t b[KIT_ROWS];
        kit_check(bound, rows, truths, lacks);
        check(where_eval(bound, &rows->array, a, &err) == SLUICE_OK &&
                  where_eval(other, &rows->array, b, &err) == SLUICE_OK &&
                  memcmp(a, b, KIT_ROWS) == 0,
              "it means the same");
    }
    where_unbind(bound);
    where_unbind(other);
    where_destroy(where);
    where_destroy(again);
    free(canonical);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kit_source from = { 0 };
    struct kit_rows rows;
    struct kit_text text = { .n = 0 };
    kit_truths truths;

    if (size < 2) {
        return 0;
    }
    if (data[0] == 0) {
        char *copy = strndup((const char *)data + 1, size - 1);
        check(copy != NULL, "memory");
        from.endless = true;
        kit_make_rows(&rows, &from);
        one_text(copy, &rows, NULL, data[1] % 8);
        free(copy);
    } else {
        /* The expression first: rows need many bytes, and are made by a generator behind them. */
        from.data = data + 2;
        from.n = size - 2;
        from.state = data[1];
        from.endless = true;
        {
            struct kit_source other = { .state = data[1], .endless = true };
            kit_make_rows(&rows, &other);
        }
        kit_expression(&text, &from, &rows, 5, truths);
        if (text.n < sizeof text.data - 1) {
            one_text(text.data, &rows, truths, data[0] % 8);
        }
    }
    rows.array.release(&rows.array);
    return 0;
}
