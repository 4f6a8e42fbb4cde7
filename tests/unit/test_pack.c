/* Tests of the stage pack: no token is lost, rows don't depend on batches, padding and metadata.
 * The plans are test_packer's. */
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

/* What pack leaves incomplete with `carry`, as pack_parts hands it on: of each piece which row it
 * is of, and from which token on. */
static struct ArrowArray gather(const struct kit_emit *emit, uint64_t split, uint64_t *tokens_out)
{
    struct sluice_bytes tokens = { 0 };
    static uint32_t lengths[20 * DOCUMENTS];
    static uint64_t positions[20 * DOCUMENTS];
    static uint64_t origins[20 * DOCUMENTS];
    static uint64_t spans[20 * DOCUMENTS];
    static uint32_t ones[20 * DOCUMENTS];
    struct ArrowArray arrays[4];
    int64_t n = 0;

    *tokens_out = 0;
    for (uint32_t b = 0; b < emit->n_batches; b++) {
        const struct ArrowArray *batch = &emit->batches[b];
        for (int64_t row = 0; row < batch->length; row++) {
            size_t size, n_segments, n_origins, n_spans;
            const uint32_t *ids = sluice_list_u32(batch->children[0], row, &size);
            const uint32_t *segments = sluice_list_u32(batch->children[1], row, &n_segments);
            const uint64_t *from = sluice_list_u64(batch->children[3], row, &n_origins);
            const uint64_t *part = sluice_list_u64(batch->children[4], row, &n_spans);
            int32_t padding = ((const int32_t *)batch->children[2]->buffers[1])[row];
            if (padding != PACK_INCOMPLETE) {
                continue;
            }
            assert_int_equal(n_segments, 1);
            assert_int_equal(n_origins, 1);
            assert_int_equal(n_spans, 1);
            assert_int_equal(part[0] & UINT32_MAX, size);
            assert_int_equal(part[0] >> 32, ids[0] % 1000);
            assert_int_equal(segments[0], size);
            assert_true(n < 20 * DOCUMENTS);
            assert_true(sluice_bytes_add(&tokens, ids, size * 4));
            lengths[n] = (uint32_t)size;
            positions[n] = split << 40 | (uint64_t)row;
            spans[n] = part[0];
            ones[n] = 1;
            origins[n++] = from[0];
            *tokens_out += size;
        }
    }
    arrays[0] = kit_lists(tokens.data, 4, lengths, (uint32_t)n);
    arrays[1] = kit_fixed(positions, 8, n);
    arrays[2] = kit_lists(origins, 8, ones, (uint32_t)n);
    arrays[3] = kit_lists(spans, 8, ones, (uint32_t)n);
    sluice_bytes_free(&tokens);
    return kit_input(arrays, 4, n);
}

static int64_t count_rows(const struct kit_emit *emit, bool whole)
{
    int64_t n = 0;

    for (uint32_t b = 0; b < emit->n_batches; b++) {
        const int32_t *padding = emit->batches[b].children[2]->buffers[1];
        for (int64_t row = 0; row < emit->batches[b].length; row++) {
            n += whole == (padding[row] != PACK_INCOMPLETE);
        }
    }
    return n;
}

static const struct kit_column carried_columns[] = { { "tokens", "list<uint32>",
                                                       "vocab_size=100000\neos=7" },
                                                     { "_pos", "uint64", NULL },
                                                     { "_origin", "list<uint64>", "through=1" },
                                                     { "_span", "list<uint64>", NULL } };

static void test_carry(void **state)
{
    struct config config = { .sequence_length = 333, .pad_id = 7, .pad = 1, .carry = 1 };
    struct sluice_error err = { .size = sizeof err };
    struct corpus corpus;
    struct kit_plan plan;
    uint64_t sums[3]; /* of the rows, by window */

    (void)state;
    corpus_init(&corpus, 900, 5);
    for (int strategy = 0; strategy < 2; strategy++) {
        struct kit_emit *emit;
        struct ArrowArray rest;
        uint64_t carried;
        config.strategy = strategy;
        emit = pack_all(&config, &corpus, 37, &plan);
        rest = gather(emit, 3, &carried);
        /* Complete rows have no padding to speak of: 333 / SLACK is none. */
        assert_int_equal(kit_sum(emit, "padding"), 0);
        assert_int_equal(kit_sum(emit, "sequences"), count_rows(emit, true));
        assert_int_equal(kit_sum(emit, "tokens.out"), corpus.total);
        assert_int_equal(kit_sum(emit, "sequences") * 333 + (int64_t)carried, corpus.total);
        assert_true(strategy == 1 || (carried > 333 && rest.length > 5));
        assert_true(strategy == 0 || carried < 333);
        /* Windows of any size lose nothing, and batches don't matter. */
        for (int window = 0; window < 3; window++) {
            sums[window] = 0;
            for (int64_t step = 1; step < 8; step += 6) {
                struct kit_emit *again = kit_emit_create();
                uint32_t rows[DOCUMENTS * 20];
                void *shared = NULL;
                void *worker = NULL;
                uint64_t sum = 0;
                config.window = window == 0 ? 0 : window == 1 ? 700 : 2000;
                kit_plan_init(&plan, carried_columns, 4);
                kit_ok(pack_carry_stage.open(&kit_api, NULL, &config, &shared, &err), &err);
                kit_ok(pack_carry_stage.prepare(shared, &plan.plan, &err), &err);
                kit_ok(pack_carry_stage.worker_open(shared, &worker, &err), &err);
                for (int64_t k = 0; k < rest.length; k += step) {
                    struct sluice_batch batch =
                        kit_select(&rest, rows, k, k + step < rest.length ? k + step : rest.length);
                    kit_ok(pack_carry_stage.process(worker, &batch, &again->emit, &err), &err);
                }
                kit_ok(pack_carry_stage.flush(worker, &again->emit, &err), &err);
                assert_int_equal(count_rows(again, false), 0);
                assert_int_equal(kit_sum(again, "carried.in"), carried);
                assert_int_equal(kit_sum(again, "carried.out"), carried);
                assert_int_equal(kit_sum(again, "sequences") * 333 - kit_sum(again, "padding"),
                                 carried);
                assert_int_equal(kit_sum(again, "pieces"), rest.length);
                for (uint32_t b = 0; b < again->n_batches; b++) {
                    for (int64_t row = 0; row < again->batches[b].length; row++) {
                        size_t n, n_origins, n_spans;
                        size_t at = 0;
                        const uint32_t *ids =
                            sluice_list_u32(again->batches[b].children[0], row, &n);
                        const uint64_t *from =
                            sluice_list_u64(again->batches[b].children[3], row, &n_origins);
                        const uint64_t *part =
                            sluice_list_u64(again->batches[b].children[4], row, &n_spans);
                        assert_int_equal(n, 333);
                        assert_int_equal(n_spans, n_origins);
                        for (size_t k = 0; k < n; k++) {
                            sum = sum * 31 + ids[k];
                        }
                        /* Each piece is of the document that its tokens name, of split 3, from the
                         * token on that it begins with. */
                        for (size_t k = 0; k < n_origins; k++) {
                            assert_int_equal(from[k] >> 40, 3 | 1 << 23);
                            assert_int_equal(((from[k] & 0xffffffff) - 5000) / 3, ids[at] / 1000);
                            assert_int_equal(part[k] >> 32, ids[at] % 1000);
                            at += part[k] & UINT32_MAX;
                        }
                        assert_true(at <= n);
                    }
                }
                assert_true(sums[window] == 0 || sums[window] == sum);
                sums[window] = sum;
                pack_carry_stage.worker_close(worker);
                pack_carry_stage.close(shared);
                kit_emit_destroy(again);
            }
        }
        /* Smaller windows pack otherwise; concat knows none. */
        assert_int_equal(strategy == 0, sums[0] != sums[1] || sums[0] != sums[2]);
        rest.release(&rest);
        kit_emit_destroy(emit);
        config.window = 0;
    }
    corpus.input.release(&corpus.input);
}

/* A window of a split's own: each token once all the same, whatever the batches, and more padding
 * at most in what was too much to hold. */
static void test_window(void **state)
{
    struct corpus corpus;

    (void)state;
    corpus_init(&corpus, 900, 3);
    for (int64_t window = 1; window < 200000; window = window * 7 + 100) {
        struct config config = { .sequence_length = 1000, .pad_id = 7, .pad = 1, .window = window };
        uint64_t hash = 0;
        for (int64_t step = 1; step <= DOCUMENTS; step = step * 20 + 1) {
            struct kit_plan plan;
            struct kit_emit *emit = pack_all(&config, &corpus, step, &plan);
            uint64_t one = check_rows(emit, &config, &corpus);
            assert_true(step == 1 || one == hash);
            hash = one;
            assert_int_equal(kit_sum(emit, "documents_cut"), 0);
            if (window > 20000) {
                assert_true(kit_sum(emit, "padding") < (int64_t)corpus.total / 20);
            }
            kit_emit_destroy(emit);
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
    assert_int_equal(plan.n_added, 5);
    assert_string_equal(plan.added[0].metadata,
                        "sequence_length=64\npad_id=99\nvocab_size=100000\ntokenizer=abc\neos=7");
    assert_string_equal(plan.added[1].type, "list<int32>");
    assert_string_equal(plan.added[2].name, "padding");
    assert_string_equal(plan.added[3].name, "_origin");
    assert_string_equal(plan.added[3].metadata, "through=1");
    assert_string_equal(plan.added[4].name, "_span");
    kit_emit_destroy(emit);
    corpus.input.release(&corpus.input);
}

/* Documents that say what they come from: their numbers are handed on, with the place in the
 * document where that is known. */
static void test_origins(void **state)
{
    static const struct {
        const char *type, *metadata, *given;
        bool spans, known;
    } cases[] = { { "uint64", "exchange=1", "exchange=1", false, true },
                  { "uint64", "through=1", "through=1", false, true },
                  { "uint64", NULL, "through=1\nparts=1", false, false },
                  { "list<uint64>", "exchange=1", "exchange=1", true, true },
                  { "list<uint64>", "exchange=1\nparts=1", "exchange=1\nparts=1", true, false } };
    /* Three documents of 10, 3 and 4 tokens; as lists, the second was made of two rows. */
    static const uint32_t ids[17] = { 1, 2, 3 }, lengths[3] = { 10, 3, 4 }, two[3] = { 1, 2, 1 };
    static const uint64_t rows[3] = { 100, 101, 102 };
    static const uint64_t flat[3] = { 7, (uint64_t)5 << 40 | 9, SLUICE_ORIGIN_POS | 3 };
    static const uint64_t listed[4] = { 7, 8, 9, SLUICE_ORIGIN_POS | 3 };
    static const uint64_t begins[4] = { (uint64_t)50 << 32 | 10, 0, 0, (uint64_t)6 << 32 | 4 };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct config config = {
            .sequence_length = 6, .pad_id = -1, .pad = 1, .strategy = 1
        };
        const struct kit_column all[] = { { "tokens", "list<uint32>", NULL },
                                          { "_row", "uint64", NULL },
                                          { "_origin", cases[c].type, cases[c].metadata },
                                          { "_span", "list<uint64>", NULL } };
        bool lists = cases[c].type[0] == 'l';
        struct ArrowArray arrays[4] = { kit_lists(ids, 4, lengths, 3), kit_fixed(rows, 8, 3),
                                        lists ? kit_lists(listed, 8, two, 3)
                                              : kit_fixed(flat, 8, 3) };
        struct kit_emit *emit = kit_emit_create();
        struct sluice_error err = { .size = sizeof err };
        struct ArrowArray input;
        struct sluice_batch batch;
        struct kit_plan plan;
        uint32_t selected[3];
        void *shared = NULL;
        void *worker = NULL;
        size_t n, n_spans;
        const uint64_t *from;
        const uint64_t *part;

        if (cases[c].spans) {
            arrays[3] = kit_lists(begins, 8, two, 3);
        }
        input = kit_input(arrays, cases[c].spans ? 4 : 3, 3);
        kit_plan_init(&plan, all, cases[c].spans ? 4 : 3);
        kit_ok(pack_stage.open(&kit_api, NULL, &config, &shared, &err), &err);
        kit_ok(pack_stage.prepare(shared, &plan.plan, &err), &err);
        assert_string_equal(plan.added[3].metadata, cases[c].given);
        kit_ok(pack_stage.worker_open(shared, &worker, &err), &err);
        batch = kit_select(&input, selected, 0, 3);
        kit_ok(pack_stage.process(worker, &batch, &emit->emit, &err), &err);
        kit_ok(pack_stage.flush(worker, &emit->emit, &err), &err);
        assert_int_equal(emit->n_batches, 1);
        /* Rows of 6: 6 of the first; 4 of it and 2 of the second; 1 of the second and the third. */
        from = sluice_list_u64(emit->batches[0].children[3], 1, &n);
        part = sluice_list_u64(emit->batches[0].children[4], 1, &n_spans);
        assert_int_equal(n, lists ? 3 : 2);
        assert_int_equal(n_spans, n);
        assert_int_equal(from[0], 7);
        assert_int_equal(from[1], lists ? 8 : flat[1]);
        assert_int_equal(part[0], !cases[c].known ? 0 : (uint64_t)(lists ? 56 : 6) << 32 | 4);
        assert_int_equal(part[1],
                         !cases[c].known || lists ? 0 : 2); /* of several rows: not known */
        from = sluice_list_u64(emit->batches[0].children[3], 2, &n);
        part = sluice_list_u64(emit->batches[0].children[4], 2, &n_spans);
        assert_int_equal(from[n - 1], SLUICE_ORIGIN_POS | 3);
        assert_int_equal(part[n - 1], !cases[c].known ? 0 : (uint64_t)(lists ? 6 : 0) << 32 | 4);
        pack_stage.worker_close(worker);
        pack_stage.close(shared);
        kit_emit_destroy(emit);
        input.release(&input);
    }
}

/* A mask of another name is loss_mask in the rows, and so for pack_carry, which is given the same
 * options. */
static void test_mask_name(void **state)
{
    static const struct kit_column carried[] = { { "tokens", "list<uint32>", NULL },
                                                 { "_pos", "uint64", NULL },
                                                 { "_origin", "list<uint64>", NULL },
                                                 { "_span", "list<uint64>", NULL },
                                                 { "loss_mask", "list<uint8>", NULL } };
    static const struct kit_column plain[] = { { "tokens", "list<uint32>", NULL },
                                               { "_row", "uint64", NULL },
                                               { "trained", "list<uint8>", NULL } };
    static const char *const names[] = { "trained", "" };

    (void)state;
    for (int k = 0; k < 4; k++) {
        const struct sluice_stage *stage = k % 2 == 0 ? &pack_stage : &pack_carry_stage;
        struct config config = { .sequence_length = 64, .pad_id = -1, .loss_mask = names[k / 2] };
        struct sluice_error err = { .size = sizeof err };
        struct kit_plan plan;
        void *shared = NULL;

        kit_plan_init(&plan, k % 2 == 0 ? plain : carried, k % 2 == 0 ? 3 : 5);
        kit_ok(stage->open(&kit_api, NULL, &config, &shared, &err), &err);
        kit_ok(stage->prepare(shared, &plan.plan, &err), &err);
        assert_int_equal(plan.n_added, k < 2 ? 6 : 5);
        assert_string_equal(plan.added[3].name, k < 2 ? "loss_mask" : "_origin");
        stage->close(shared);
    }
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_token_lost), cmocka_unit_test(test_carry),
        cmocka_unit_test(test_window),        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_origins),       cmocka_unit_test(test_mask_name),
        cmocka_unit_test(test_pad_id_outside)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
