/* Fuzzes the saved states of stages (load of struct sluice_stage), with the right frame around
 * them: what is nonsense is refused, and what is taken up does no harm to the rows that follow, to
 * the end and to saving it again.
 *
 * The first byte chooses the stage. The second one: odd, the rest is the state; even, the rest says
 * which bytes of a state after some rows are others (place as two bytes, value). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dedup/dedup.h"
#include "dolma/dolma.h"
#include "megatron_index.h"
#include "minhash_stages.h"
#include "pack/pack_stage.h"
#include "plugin/stage_state.h"
#include "shuffle/shuffle.h"
#include "stats/stats.h"
#include "testkit/kitInt.h"

#define ROWS 30

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct {
    const struct sluice_stage *stage;
    const char *options; /* NULL = none */
} choices[] = {
    { &pack_stage, "loss_mask=" },
    { &pack_stage, "loss_mask=,strategy=concat,sequence_length=50,position_ids=true" },
    { &pack_stage, "loss_mask=,window=100,sequence_length=50" },
    { &pack_carry_stage, "loss_mask=" },
    { &minhash_edges_stage, NULL },
    { &minhash_components_stage, NULL },
    { &minhash_components_stage, "keep=peer" },
    { &minhash_members_stage, NULL },
    { &minhash_pick_stage, NULL },
    { &minhash_pick_stage, "verify=0.5" },
    { &minhash_index_rows_stage, NULL },
    { &minhash_index_keys_stage, NULL },
    { &exact_drops_stage, NULL },
    { &exact_index_rows_stage, NULL },
    { &drop_listed_stage, NULL },
    { &span_marks_stage, NULL },
    { &span_filter_stage, NULL },
    { &bloom_marks_stage, "expected=200" },
    { &bloom_collect_stage, "expected=200" },
    { &bloom_filter_stage, NULL },
    { &mix_count_stage, NULL },
    { &mix_targets_stage, NULL },
    { &mix_cuts_stage, NULL },
    { &mix_draw_stage, NULL },
    { &mix_rows_stage, NULL },
    { &holdout_first_stage, NULL },
    { &stats_collect_stage, NULL },
    { &stats_merge_stage, NULL },
    { &write_attributes_stage, "aligned=false" },
    { &write_attribute_files_stage, NULL },
    { &dolma_line_keys_stage, "aligned=false" },
    { &dolma_line_match_stage, "aligned=false" },
    { &dolma_line_join_stage, "aligned=false" },
};

#define N_CHOICES (sizeof choices / sizeof choices[0])

/* An opened stage, kept from input to input. */
struct bed {
    struct kit kit;
    struct kit_bench bench;
    struct kit_rows rows[STAGE_PORTS];
    struct kit_view views[STAGE_PORTS];
    struct buf state; /* after some rows */
    char name[32];    /* of its plugin */
};

static void must(bool good)
{
    if (!good) {
        abort();
    }
}

static bool has_side(const struct bed *bed)
{
    return (bed->kit.kind->flags & SLUICE_STAGE_SIDE_INPUT) != 0;
}

static void make_rows(struct bed *bed, uint32_t port)
{
    static uint64_t ids[ROWS];
    static uint32_t pick[ROWS];
    struct kit_rows_spec spec = { .ids = ids, .n = ROWS, .main_ids = ids, .n_main = ROWS };

    for (uint32_t i = 0; i < ROWS; i++) {
        ids[i] = i;
        pick[i] = i;
    }
    must(kit_rows_make(&bed->bench, port, &spec, &bed->rows[port], NULL) == SLUICE_OK);
    must(kit_view_make(&bed->rows[port], port, pick, ROWS, NULL, 0, true, 0, &bed->views[port],
                       NULL) == SLUICE_OK);
}

/* The rows of both ports; whatever the stage says of them. */
static void give_rows(struct bed *bed, struct stage_worker *worker, struct stage_result *result)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status = SLUICE_OK;

    if (has_side(bed)) {
        status = stage_process(worker, &bed->views[1].batch, result, &err);
        stage_result_clear(result);
    }
    if (status == SLUICE_OK) {
        status = stage_process(worker, &bed->views[0].batch, result, &err);
        stage_result_clear(result);
    }
    if (status == SLUICE_OK) {
        struct buf again = BUF_INIT;
        must(stage_save(worker, &again, &err) == SLUICE_OK);
        buf_deinit(&again);
        (void)!stage_flush(worker, result, &err);
    }
}

static void save_state(struct bed *bed)
{
    struct sluice_error err = ERROR_INIT;
    struct stage_worker *worker;
    struct stage_result result;

    stage_result_init(&result);
    must(stage_worker_open(bed->bench.stage, &worker, &err) == SLUICE_OK);
    for (uint32_t port = STAGE_PORTS; port-- > 0;) {
        if (port == 0 || has_side(bed)) {
            make_rows(bed, port);
            must(stage_process(worker, &bed->views[port].batch, &result, &err) == SLUICE_OK ||
                 port == 0);
            stage_result_clear(&result);
        }
    }
    stage_worker_close(worker);
    must(stage_worker_open(bed->bench.stage, &worker, &err) == SLUICE_OK);
    if (!has_side(bed) || stage_process(worker, &bed->views[1].batch, &result, &err) == SLUICE_OK) {
        stage_result_clear(&result);
        if (stage_process(worker, &bed->views[0].batch, &result, &err) == SLUICE_OK) {
            must(stage_save(worker, &bed->state, &err) == SLUICE_OK);
        }
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
}

static struct bed *bed_of(size_t choice)
{
    static struct bed *beds[N_CHOICES];
    static struct registry *registry;
    struct bed *bed = beds[choice];
    const struct sluice_stage *stage = choices[choice].stage;
    struct kit_bench_options options = { .text = choices[choice].options };
    struct registry_options none = { 0 };
    const struct registry_entry *entry;

    if (bed != NULL) {
        return bed;
    }
    if (registry == NULL) {
        must(registry_create(&none, &registry, NULL) == SLUICE_OK);
    }
    bed = beds[choice] = calloc(1, sizeof *bed);
    must(bed != NULL);
    (void)snprintf(bed->name, sizeof bed->name, "choice%zu", choice);
    must(registry_add(registry, stage, bed->name, bed->name, (struct hash128){ 1, choice }, &entry,
                      NULL) == SLUICE_OK);
    bed->kit = (struct kit){ .scratch = "/tmp",
                             .entry = entry,
                             .kind = &entry->stage,
                             .seed = 1,
                             .report = calloc(1, sizeof *bed->kit.report) };
    must(bed->kit.report != NULL && kit_bench_open(&bed->kit, &options, &bed->bench));
    save_state(bed);
    return bed;
}

static void load(struct bed *bed, const void *bytes, size_t n)
{
    struct stage_frame begun;
    struct buf framed = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    struct stage_worker *worker;
    struct stage_result result;

    stage_frame_begin(&begun, &framed, bed->kit.kind->state_version);
    buf_append(&framed, bytes, n);
    stage_frame_end(&begun, &framed);
    stage_result_init(&result);
    must(stage_worker_open(bed->bench.stage, &worker, &err) == SLUICE_OK);
    if (stage_load(worker, framed.data, framed.size, &err) == SLUICE_OK) {
        give_rows(bed, worker, &result);
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    buf_deinit(&framed);
}

/* A state with other bytes at some places. */
static void load_patched(struct bed *bed, const uint8_t *patches, size_t n)
{
    struct buf state = BUF_INIT;
    size_t size = bed->state.size - STAGE_FRAME_HEADER;

    buf_append(&state, bed->state.data + STAGE_FRAME_HEADER, size);
    for (size_t k = 0; size > 0 && k + 3 <= n; k += 3) {
        state.data[(size_t)(patches[k] << 8 | patches[k + 1]) % size] = (char)patches[k + 2];
    }
    load(bed, state.data, size);
    buf_deinit(&state);
}

/* The index of write_megatron by itself. */
struct bytes {
    const uint8_t *data;
    size_t n;
};

static sluice_status read_bytes(struct sluice_io *io, void *out, uint64_t n)
{
    struct bytes *bytes = io->ctx;

    if (n > bytes->n) {
        return SLUICE_E_DATA;
    }
    memcpy(out, bytes->data, n);
    bytes->data += n;
    bytes->n -= n;
    return SLUICE_OK;
}

static int32_t give_nowhere(void *user, const void *bytes, size_t size, struct sluice_error *err)
{
    (void)user;
    (void)bytes;
    (void)size;
    (void)err;
    return SLUICE_OK;
}

static void load_index(const uint8_t *data, size_t n)
{
    struct bytes bytes = { data, n };
    struct sluice_io io = { .size = sizeof io, .ctx = &bytes, .read = read_bytes };
    struct megatron_index *index;

    must(megatron_index_create(MEGATRON_U16, &index, NULL) == SLUICE_OK);
    if (megatron_index_load(index, &io, NULL) == SLUICE_OK) {
        (void)!megatron_index_append(index, 5, NULL);
        (void)!megatron_index_end_document(index, NULL);
        (void)!megatron_index_write(index, give_nowhere, NULL, NULL);
    }
    megatron_index_destroy(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bed *bed;

    if (n < 2 || n > 1 << 16) {
        return 0;
    }
    if (data[0] >= N_CHOICES) {
        load_index(data + 1, n - 1);
        return 0;
    }
    bed = bed_of(data[0]);
    if (data[1] % 2 == 1) {
        load(bed, data + 2, n - 2);
    } else if (bed->state.size > STAGE_FRAME_HEADER) {
        load_patched(bed, data + 2, n - 2);
    }
    return 0;
}
