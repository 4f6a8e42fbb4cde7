/* Tests of the stage pack: no token is lost, rows don't depend on batches, padding and metadata. The plans are test_packer's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pack/pack.c"
#include "adapter_kit.h"

#define DOCUMENTS 400

static const struct kit_column columns[] = { { "text", "utf8", NULL },
                                             { "tokens", "list<uint32>",
                                               "vocab_size=100000\ntokenizer=abc\neos=7" },
                                             { "_row", "uint64", NULL } };

/* Documents whose tokens say where they are: document * 1000 + place. */
struct corpus {
    struct ArrowArray input;
    uint32_t lengths[DOCUMENTS];
    uint64_t total;
};

static void corpus_init(struct corpus *corpus, uint32_t longest, uint64_t seed)
{
    struct sluice_bytes tokens = { 0 };
    uint64_t numbers[DOCUMENTS];
    struct ArrowArray arrays[2];

    corpus->total = 0;
    for (uint32_t k = 0; k < DOCUMENTS; k++) {
        corpus->lengths[k] = (uint32_t)(kit_mix(&seed) % longest);
        corpus->total += corpus->lengths[k];
        numbers[k] = 5000 + k * 3;
        for (uint32_t i = 0; i < corpus->lengths[k]; i++) {
            uint32_t token = k * 1000 + i;
            assert_true(sluice_bytes_add(&tokens, &token, 4));
        }
    }
    arrays[0] = kit_lists(tokens.data, 4, corpus->lengths, DOCUMENTS);
    arrays[1] = kit_fixed(numbers, 8, DOCUMENTS);
    corpus->input = kit_input(arrays, 2, DOCUMENTS);
    sluice_bytes_free(&tokens);
}

static struct kit_emit *pack_all(const struct config *config, const struct corpus *corpus,
                                 int64_t batch_rows, struct kit_plan *plan)
{
    struct kit_emit *emit = kit_emit_create();
    struct sluice_error err = { .size = sizeof err };
    uint32_t rows[DOCUMENTS];
    void *shared = NULL;
    void *worker = NULL;

    kit_plan_init(plan, columns, 3);
    kit_ok(pack_stage.open(&kit_api, NULL, config, &shared, &err), &err);
    kit_ok(pack_stage.prepare(shared, &plan->plan, &err), &err);
    kit_ok(pack_stage.worker_open(shared, &worker, &err), &err);
    for (int64_t k = 0; k < DOCUMENTS; k += batch_rows) {
        struct sluice_batch batch = kit_select(
            &corpus->input, rows, k, k + batch_rows < DOCUMENTS ? k + batch_rows : DOCUMENTS);
        kit_ok(pack_stage.process(worker, &batch, &emit->emit, &err), &err);
    }
    kit_ok(pack_stage.flush(worker, &emit->emit, &err), &err);
    pack_stage.worker_close(worker);
    pack_stage.close(shared);
    return emit;
}

/* Every token once and at its place, rows of the right length; returns a hash of all rows. */
static uint64_t check_rows(const struct kit_emit *emit, const struct config *config,
                           const struct corpus *corpus)
{
    uint32_t seen[DOCUMENTS] = { 0 };
    bool *place[DOCUMENTS];
    uint64_t hash = 0;
    int64_t sequences = 0;
    int64_t padding = 0;

    for (uint32_t k = 0; k < DOCUMENTS; k++) {
        place[k] = calloc(corpus->lengths[k] + 1, 1);
    }
    for (uint32_t b = 0; b < emit->n_batches; b++) {
        const struct ArrowArray *batch = &emit->batches[b];
        for (int64_t row = 0; row < batch->length; row++) {
            size_t n, n_segments, n_origins;
            const uint32_t *tokens = sluice_list_u32(batch->children[0], row, &n);
            const uint32_t *segments = sluice_list_u32(batch->children[1], row, &n_segments);
            int32_t pad = ((const int32_t *)batch->children[2]->buffers[1])[row];
            const uint64_t *origins = sluice_list_u64(batch->children[3], row, &n_origins);
            size_t at = 0;
            assert_int_equal(n_segments, n_origins);
            assert_true(n_segments > 0);
            for (size_t s = 0; s < n_segments; s++) {
                uint32_t document = (uint32_t)(origins[s] - 5000) / 3;
                assert_true(segments[s] > 0);
                for (uint32_t i = 0; i < segments[s]; i++, at++) {
                    assert_int_equal(tokens[at] / 1000, document);
                    assert_true(i == 0 || tokens[at] == tokens[at - 1] + 1);
                    assert_false(place[document][tokens[at] % 1000]);
                    place[document][tokens[at] % 1000] = true;
                    seen[document]++;
                }
                hash = hash * 31 + segments[s] + origins[s] * 7;
            }
            assert_int_equal(n - at, pad);
            for (; at < n; at++) {
                assert_int_equal(tokens[at], config->pad_id < 0 ? 7 : config->pad_id);
            }
            assert_true(config->pad != 0 ? n == (size_t)config->sequence_length
                                         : n <= (size_t)config->sequence_length && pad == 0);
            sequences++;
            padding += pad;
            hash = hash * 31 + tokens[0] + n;
        }
    }
    for (uint32_t k = 0; k < DOCUMENTS; k++) {
        assert_int_equal(seen[k], corpus->lengths[k]);
        free(place[k]);
    }
    assert_int_equal(kit_sum(emit, "tokens.in"), corpus->total);
    assert_int_equal(kit_sum(emit, "tokens.out"), corpus->total);
    assert_int_equal(kit_sum(emit, "documents"), DOCUMENTS);
    assert_int_equal(kit_sum(emit, "sequences"), sequences);
    assert_int_equal(kit_sum(emit, "padding"), padding);
    return hash;
}

static void test_no_token_lost(void **state)
{
    static const int64_t lengths[] = { 1, 2, 64, 333, 100000, PACKER_LENGTH_MOST };
    static const int64_t batches[] = { 1, 17, DOCUMENTS };
    struct corpus corpus;

    (void)state;
    corpus_init(&corpus, 900, 1);
    for (int strategy = 0; strategy < 2; strategy++) {
        for (size_t l = 0; l < 6; l++) {
            for (int pad = 0; pad < 2; pad++) {
                struct config config = { .sequence_length = lengths[l],
                                         .pad_id = -1,
                                         .strategy = strategy,
                                         .pad = (uint8_t)pad };
                uint64_t hash = 0;
                if (pad == 1 && lengths[l] > 1000000) {
                    continue;
                }
                for (size_t b = 0; b < 3; b++) {
                    struct kit_plan plan;
                    struct kit_emit *emit = pack_all(&config, &corpus, batches[b], &plan);
                    uint64_t one = check_rows(emit, &config, &corpus);
                    assert_true(b == 0 || one == hash);
                    hash = one;
                    if (strategy == 0 && lengths[l] > 900) {
                        assert_int_equal(kit_sum(emit, "documents_cut"), 0);
                    }
                    kit_emit_destroy(emit);
                }
            }
        }
    }
    corpus.input.release(&corpus.input);
}

static void test_columns(void **state)
{
    struct config config = { .sequence_length = 64, .pad_id = 99, .pad = 1 };
    struct corpus corpus;
    struct kit_plan plan;
    struct kit_emit *emit;

    (void)state;
    corpus_init(&corpus, 100, 2);
    emit = pack_all(&config, &corpus, 50, &plan);
    check_rows(emit, &config, &corpus);
    assert_int_equal(plan.n_added, 4);
    assert_string_equal(plan.added[0].metadata,
                        "sequence_length=64\npad_id=99\nvocab_size=100000\ntokenizer=abc\neos=7");
    assert_string_equal(plan.added[1].type, "list<int32>");
    assert_string_equal(plan.added[2].name, "padding");
    assert_string_equal(plan.added[3].name, "_origin");
    kit_emit_destroy(emit);
    corpus.input.release(&corpus.input);
}

static void test_pad_id_outside(void **state)
{
    struct config config = { .sequence_length = 64, .pad_id = 100000, .pad = 1 };
    struct sluice_error err = { .size = sizeof err };
    struct kit_plan plan;
    void *shared = NULL;

    (void)state;
    kit_plan_init(&plan, columns, 3);
    kit_ok(pack_stage.open(&kit_api, NULL, &config, &shared, &err), &err);
    assert_int_equal(pack_stage.prepare(shared, &plan.plan, &err), SLUICE_E_CONFIG);
    assert_string_equal(err.field, "pad_id");
    pack_stage.close(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_token_lost),
                                        cmocka_unit_test(test_columns),
                                        cmocka_unit_test(test_pad_id_outside) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
