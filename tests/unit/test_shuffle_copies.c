/* Tests of the stage mix_copies: every copy is there, in order, with an id of its own and the row
 * that it is of; large rows go out in batches of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shuffle/mix_copies.c"
#include "adapter_kit.h"

#define DOCUMENTS 6
#define LARGE (3u << 20)

static const struct kit_column columns[] = { { "id", "utf8", NULL },
                                             { "tokens", "list<uint32>", "vocab_size=9" },
                                             { "_copies", "uint8", NULL },
                                             { "_row", "uint64", NULL } };
static const char *const ids[DOCUMENTS] = { "a", "b", "c", "d", "", "f" };
static const uint8_t copies[DOCUMENTS] = { 1, 0, 3, 2, 2, 65 };

/* Documents of tokens; the third is large. */
static struct ArrowArray make_input(void)
{
    static const uint32_t lengths[DOCUMENTS] = { 2, 3, LARGE / 4, 1, 0, 4 };
    static const uint64_t rows[DOCUMENTS] = { 10, 11, 12, 13, 14, 15 };
    struct ArrowArray arrays[4];
    uint32_t *tokens = malloc((LARGE / 4 + 10) * sizeof *tokens);

    assert_non_null(tokens);
    for (uint32_t i = 0; i < LARGE / 4 + 10; i++) {
        tokens[i] = i;
    }
    arrays[0] = kit_texts(ids, NULL, DOCUMENTS); /* in the order in which the stage asks */
    arrays[1] = kit_fixed(copies, 1, DOCUMENTS);
    arrays[2] = kit_lists(tokens, 4, lengths, DOCUMENTS);
    arrays[3] = kit_fixed(rows, 8, DOCUMENTS);
    free(tokens);
    return kit_input(arrays, 4, DOCUMENTS);
}

static void check_row(const struct ArrowArray *batch, int64_t row, uint32_t document, uint32_t copy)
{
    static const uint32_t firsts[DOCUMENTS] = {
        0, 2, 5, 5 + LARGE / 4, 6 + LARGE / 4, 6 + LARGE / 4
    };
    char wanted[16];
    size_t n;
    const char *id = sluice_text(batch->children[0], row, &n);
    const uint32_t *tokens = sluice_list_u32(batch->children[1], row, &n);

    assert_true(n == 0 || tokens[0] == firsts[document]);
    assert_true(document != 2 || n == LARGE / 4);
    id = sluice_text(batch->children[0], row, &n);
    (void)snprintf(wanted, sizeof wanted, copy > 1 ? "%s#%u" : "%s", ids[document], copy);
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(id, wanted, n);
    assert_int_equal(sluice_uint64(batch->children[2], row), 10 + document);
}

static void test_copies(void **state)
{
    struct ArrowArray input = make_input();
    struct kit_emit *emit = kit_emit_create();
    struct kit_plan plan;
    struct sluice_error err = { .size = sizeof err };
    struct sluice_batch all = { .size = sizeof all, .array = &input, .n = DOCUMENTS };
    uint32_t rows[DOCUMENTS];
    struct sluice_batch some = kit_select(&input, rows, 3, 5);
    struct sluice_batch none = { .size = sizeof none, .array = &input, .rows = rows };
    void *shared = NULL;
    uint32_t batch = 0;
    int64_t at = 0;

    (void)state;
    kit_plan_init(&plan, columns, 4);
    kit_ok(mix_copies_stage.open(&kit_api, NULL, NULL, &shared, &err), &err);
    kit_ok(mix_copies_stage.prepare(shared, &plan.plan, &err), &err);
    assert_int_equal(plan.n_added, 3);
    assert_string_equal(plan.added[1].type, "list<uint32>");
    assert_string_equal(plan.added[2].name, "_origin");
    kit_ok(mix_copies_stage.process(shared, &all, &emit->emit, &err), &err);
    /* The large document's copies stand apart, as two of them are above 4 MiB. */
    assert_int_equal(emit->n_batches, 3);
    for (uint32_t document = 0; document < DOCUMENTS; document++) {
        for (uint32_t copy = 1; copy <= copies[document]; copy++) {
            if (at == emit->batches[batch].length) {
                batch++;
                at = 0;
            }
            check_row(&emit->batches[batch], at++, document, copy);
        }
    }
    assert_int_equal(at, emit->batches[batch].length);
    assert_int_equal(kit_sum(emit, "documents"), 5);
    assert_int_equal(kit_sum(emit, "copies"), 2 + 1 + 1 + 64);
    /* Selected rows only; nothing of nothing. */
    kit_ok(mix_copies_stage.process(shared, &some, &emit->emit, &err), &err);
    assert_int_equal(emit->n_batches, 4);
    assert_int_equal(emit->batches[3].length, 4);
    check_row(&emit->batches[3], 3, 4, 2);
    kit_ok(mix_copies_stage.process(shared, &none, &emit->emit, &err), &err);
    assert_int_equal(emit->n_batches, 4);
    mix_copies_stage.close(shared);
    kit_emit_destroy(emit);
    input.release(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_copies) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
