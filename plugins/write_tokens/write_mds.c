/* write_mds - tokens as MosaicML streaming's shards (streaming/base/format/mds/writer.py), version
 * 2:
 *
 *   X.mds        u32 samples n; u32 [n + 1] where each begins, from the start of the file; the
 *                shard's configuration as JSON; the samples
 *   X.mds.zstd   the same in one zstd frame, with `compression`
 *   index.json   {"shards": [...], "version": 2}, made when the dataset is published (a catalogue,
 *                see sluice.h)
 *
 * With `fixed` every sequence has one length, which stands in the columns' encodings, and a sample
 * is its values alone. Else a sample has the columns loss_mask (where the rows have one) and
 * tokens, in this order: a u32 size of each, then each as [1 << 2 | code of the length's type]
 * [length] [values], an array of one dimension. An array of no elements can't be said: such
 * sequences are left out and counted in the measure `empty`. */
#include <stdio.h>

#include "mds_file.h"
#include "token_writer.h"

enum { OUTPUT_SHARD, OUTPUT_ENTRY };

static const struct sluice_option options[] = {
    TOKEN_WRITER_OPTIONS("64MiB"),
    { .name = "fixed",
      .doc = "Say the rows' length once in the index instead of in each sample; rows must be "
             "padded by pack to one length.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct token_config, fixed) },
    { .name = "compression",
      .doc = "none, zstd (level 3) or zstd:N: shards as .mds.zstd, which StreamingDataset unpacks "
             "when it fetches them.",
      .def = "none",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct token_config, compression) },
    { .name = "hashes",
      .doc = "Hashes of each shard in the index, for StreamingDataset's validate_hash: md5, sha1, "
             "sha256, xxh128, xxh3_64, xxh64, in this order.",
      .def = "",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct token_config, hashes) },
};

/* What stands in a shard and, with more, in the index: keys sorted, as json.dumps(sort_keys=True)
 * writes it. */
static void configuration(const struct token_stage *stage, char *out, size_t room)
{
    bool mask = stage->rows.mask >= 0;
    char shape[16] = "";
    char sizes[2][16] = { "null", "null" };
    char codec[24] = "null";
    char hashes[200] = "";
    int n_hashes = 0;

    if (stage->fixed > 0) {
        snprintf(shape, sizeof shape, ":%u", stage->fixed);
        snprintf(sizes[0], sizeof sizes[0], "%u", stage->fixed);
        snprintf(sizes[1], sizeof sizes[1], "%u", stage->fixed * stage->rows.width);
    }
    if (stage->level > 0) {
        snprintf(codec, sizeof codec, "\"%.20s\"", stage->config->compression);
    }
    for (uint64_t k = 0; k < stage->config->hashes.n; k++) {
        n_hashes += snprintf(hashes + n_hashes, sizeof hashes - (size_t)n_hashes, "%s\"%.20s\"",
                             k > 0 ? ", " : "", stage->config->hashes.items[k]);
    }
    snprintf(out, room,
             "\"column_encodings\": [%s%s%s\"ndarray:uint%u%s\"], \"column_names\": "
             "[%s\"tokens\"], \"column_sizes\": [%s%s%s], \"compression\": %s, "
             "\"format\": \"mds\", \"hashes\": [%s], ",
             mask ? "\"ndarray:uint8" : "", mask ? shape : "", mask ? "\", " : "",
             stage->rows.width * 8, shape, mask ? "\"loss_mask\", " : "", mask ? sizes[0] : "",
             mask ? ", " : "", sizes[1], codec, hashes);
}

/* The one length that all rows have. */
static sluice_status choose_fixed(struct token_stage *stage, struct sluice_plan *plan,
                                  struct sluice_error *err)
{
    uint64_t length = sluice_metadata_number(plan, 0, stage->rows.tokens, "sequence_length", 0);

    stage->fixed = 0;
    if (stage->config->fixed == 0) {
        return SLUICE_OK;
    }
    if (stage->config->sequences != TOKEN_SEQUENCES_ROWS || length == 0 ||
        length > UINT32_MAX / 8 || plan->metadata(plan, 0, stage->rows.tokens, "pad_id") == NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "fixed",
                           "sequences here may differ in length; fixed wants rows of pack with pad "
                           "= true, and sequences = \"rows\"");
    }
    stage->fixed = (uint32_t)length;
    return SLUICE_OK;
}

static sluice_status prepare(struct token_stage *stage, struct sluice_plan *plan,
                             struct sluice_error *err)
{
    sluice_status status = choose_fixed(stage, plan, err);

    if (status == SLUICE_OK) {
        status = mds_file_level(stage->config->compression, &stage->level, err);
    }
    if (status == SLUICE_OK) {
        status = mds_file_hashes(&stage->config->hashes, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, stage->level > 0 ? ".mds.zstd" : ".mds", "none", 0, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".mds.entry", "none", 0, err);
    }
    return status == SLUICE_OK
               ? plan->note(plan, "catalogue",
                            "{\"file\": \"index.json\", \"entries\": \".mds.entry\", \"begin\": "
                            "\"{\\\"shards\\\": [\", \"separator\": \", \", \"end\": \"], "
                            "\\\"version\\\": 2}\"}",
                            err)
               : status;
}

/* The head of an array of n elements; its size. */
static uint64_t array_head(uint64_t n, unsigned char out[9])
{
    unsigned code = n < 1u << 8 ? 0 : n < 1u << 16 ? 1 : 2;

    out[0] = (unsigned char)(1u << 2 | code);
    memcpy(out + 1, &n, 8); /* little-endian: its first 1, 2 or 4 bytes */
    return 1 + ((uint64_t)1 << code);
}

static sluice_status add_fixed(struct token_writer *writer, const uint32_t *ids,
                               const uint8_t *mask, size_t n, struct sluice_error *err)
{
    sluice_status status;
    char message[160];

    if (n != writer->stage->fixed) {
        snprintf(message, sizeof message,
                 "a row has %zu tokens, expected %u, which pack said of all; leave out fixed", n,
                 writer->stage->fixed);
        return sluice_fail(err, SLUICE_E_DATA, "tokens", message);
    }
    status = token_add(&writer->index, &writer->data.size, sizeof writer->data.size, err);
    if (status == SLUICE_OK && mask != NULL) {
        status = token_add(&writer->data, mask, n, err);
    }
    return status == SLUICE_OK ? token_rows_encode(&writer->stage->rows, ids, n, &writer->data, err)
                               : status;
}

static sluice_status add(void *user, const uint32_t *ids, const uint8_t *mask, size_t n,
                         struct sluice_error *err)
{
    struct token_writer *writer = user;
    const struct token_rows *rows = &writer->stage->rows;
    unsigned char head[9];
    uint64_t head_size = array_head(n, head);
    uint32_t sizes[2] = { (uint32_t)(head_size + n), (uint32_t)(head_size + n * rows->width) };
    sluice_status status;

    if (writer->stage->fixed > 0) {
        return add_fixed(writer, ids, mask, n, err);
    }
    if (n > UINT32_MAX / 8) {
        return sluice_fail(err, SLUICE_E_DATA, "tokens",
                           "a sequence has more tokens than a sample can hold; cut it with pack");
    }
    status = token_add(&writer->index, &writer->data.size, sizeof writer->data.size, err);
    if (status == SLUICE_OK) {
        status =
            token_add(&writer->data, mask != NULL ? sizes : sizes + 1, mask != NULL ? 8 : 4, err);
    }
    if (status == SLUICE_OK && mask != NULL) {
        status = token_add(&writer->data, head, head_size, err);
        if (status == SLUICE_OK) {
            status = token_add(&writer->data, mask, n, err);
        }
    }
    if (status == SLUICE_OK) {
        status = token_add(&writer->data, head, head_size, err);
    }
    return status == SLUICE_OK ? token_rows_encode(rows, ids, n, &writer->data, err) : status;
}

/* Puts the shard's head in front of its samples, which are all of writer->data then. shared: its
 * configuration. */
static sluice_status make_shard(struct token_writer *writer, const char *shared,
                                struct sluice_error *err)
{
    uint64_t n = writer->index.size / 8;
    const char *begins = writer->index.data;
    char text[1200];
    int n_text = snprintf(text, sizeof text, "{%s\"size_limit\": %llu, \"version\": 2}", shared,
                          (unsigned long long)writer->stage->config->shard_size);
    uint64_t base = 4 + 4 * (n + 1) + (uint64_t)n_text;
    uint64_t samples = writer->data.size;
    uint32_t number = (uint32_t)n;
    char *at;

    if (base + samples > UINT32_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "shard_size",
                           "a shard has grown beyond 4 GiB, which its offsets can't say; give a "
                           "smaller shard_size");
    }
    if (!sluice_bytes_reserve(&writer->data, base)) {
        return token_rows_nomem(err);
    }
    at = writer->data.data;
    memmove(at + base, at, samples);
    writer->data.size += base;
    memcpy(at, &number, sizeof number);
    at += sizeof number;
    for (uint64_t k = 0; k <= n; k++) {
        uint64_t begin = samples;
        uint32_t offset;
        if (k < n) {
            memcpy(&begin, begins + 8 * k, 8);
        }
        offset = (uint32_t)(base + begin);
        memcpy(at, &offset, sizeof offset);
        at += sizeof offset;
    }
    memcpy(at, text, (size_t)n_text);
    return SLUICE_OK;
}

/* Its entry in the index. zip: the shard compressed, empty where it is not. */
static sluice_status make_entry(const struct token_writer *writer, const char *shared,
                                const struct sluice_bytes *zip, struct sluice_bytes *out,
                                struct sluice_error *err)
{
    const struct sluice_list *hashes = &writer->stage->config->hashes;
    char text[160];
    int n_text = snprintf(text, sizeof text,
                          ", \"samples\": %llu, \"size_limit\": %llu, \"version\": 2, "
                          "\"zip_data\": ",
                          (unsigned long long)(writer->index.size / 8),
                          (unsigned long long)writer->stage->config->shard_size);
    int ok = sluice_bytes_add(out, "{", 1) && sluice_bytes_add(out, shared, strlen(shared)) &&
             sluice_bytes_add(out, "\"raw_data\": ", 12) &&
             mds_file_info(hashes, "@.mds@", writer->data.data, writer->data.size, out) &&
             sluice_bytes_add(out, text, (uint64_t)n_text) &&
             (zip->size == 0 ? sluice_bytes_add(out, "null", 4)
                             : mds_file_info(hashes, "@.mds.zstd@", zip->data, zip->size, out)) &&
             sluice_bytes_add(out, "}", 1);

    return ok ? SLUICE_OK : token_rows_nomem(err);
}

static sluice_status end(struct token_writer *writer, struct sluice_emit *emit,
                         struct sluice_error *err)
{
    struct sluice_bytes zip = { 0 };
    struct sluice_bytes entry = { 0 };
    char shared[800];
    sluice_status status;

    configuration(writer->stage, shared, sizeof shared);
    status = make_shard(writer, shared, err);
    if (status == SLUICE_OK && writer->stage->level > 0) {
        status = mds_file_compress(writer->stage->level, writer->data.data, writer->data.size, &zip,
                                   err);
    }
    if (status == SLUICE_OK) {
        status = make_entry(writer, shared, &zip, &entry, err);
    }
    if (status == SLUICE_OK) {
        const struct sluice_bytes *file = zip.size > 0 ? &zip : &writer->data;
        status = token_write(emit, OUTPUT_SHARD, file->data, file->size, err);
    }
    if (status == SLUICE_OK) {
        status = token_write(emit, OUTPUT_ENTRY, entry.data, entry.size, err);
    }
    sluice_bytes_free(&zip);
    sluice_bytes_free(&entry);
    return status;
}

static uint64_t size(const struct token_writer *writer)
{
    return writer->data.size;
}

static const struct token_format format = {
    .mask = TOKEN_MASK_TAKEN,
    .no_empty = true,
    .prepare = prepare,
    .add = add,
    .end = end,
    .size = size,
};

static sluice_status open_stage(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return token_writer_open(&format, config, shared, err);
}

const struct sluice_stage write_mds_stage = {
    .size = sizeof write_mds_stage,
    .name = "write_mds",
    .version = "1.1",
    .summary = "Tokens as MosaicML streaming's MDS shards with index.json",
    .doc = "The snapshot's folder is what StreamingDataset(local = …) reads: samples with `tokens` "
           "(uint16 or uint32) and, where the rows have one, `loss_mask`. Sequences without tokens "
           "can't be said in MDS and are left out. A shard is held in memory until it ends.",
    .example = "packed | s.write_mds { \"out/gold\" }",
    TOKEN_WRITER_LIFECYCLE(open_stage),
};
