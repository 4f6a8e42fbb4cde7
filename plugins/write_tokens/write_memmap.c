/* write_memmap - tokens as flat files that trainers map into memory:
 *
 *   raw      X.npy: the tokens alone, uint16 or uint32, little-endian (OLMo's and older nanotron's
 *            "npy", which has no numpy header),
 *            and X.csv.gz, a line a sequence as Dolma writes them: start,end,id,src,loc (tokens
 *            from and to, the document's id; src and loc are empty)
 *   nanogpt  X.bin: a header of 256 int32 {20240520, 1, tokens} and uint16 tokens, as in
 *            modded-nanogpt; with uint32 tokens
 *            {278895051, 1, tokens, 4}, as in NeMo AutoModel's NanogptDataset */
#include <stdio.h>

#include "token_writer.h"

enum { LAYOUT_RAW, LAYOUT_NANOGPT };
enum { OUTPUT_TOKENS, OUTPUT_CSV };

static const struct sluice_option options[] = {
    TOKEN_WRITER_OPTIONS("64MiB"),
    { .name = "layout",
      .doc = "raw: tokens without a header, as OLMo reads them. nanogpt: with nanoGPT's header of "
             "1 KiB; a file is then held in memory until it ends.",
      .def = "raw",
      .choices = "raw|nanogpt",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct token_config, layout) },
};

static sluice_status prepare(struct token_stage *stage, struct sluice_plan *plan,
                             struct sluice_error *err)
{
    sluice_status status;

    if (stage->config->layout == LAYOUT_NANOGPT) {
        return plan->output(plan, ".bin", "none", 0, err);
    }
    status = plan->output(plan, ".npy", "none", 0, err);
    return status == SLUICE_OK ? plan->output(plan, ".csv", "gzip", 0, err) : status;
}

static sluice_status add(void *user, const uint32_t *ids, const uint8_t *mask, size_t n,
                         struct sluice_error *err)
{
    struct token_writer *writer = user;
    char line[64];
    int length;
    sluice_status status = token_rows_encode(&writer->stage->rows, ids, n, &writer->data, err);

    (void)mask;
    if (status == SLUICE_OK && writer->stage->config->layout == LAYOUT_RAW) {
        length = snprintf(line, sizeof line, "%llu,%llu,,,\n", (unsigned long long)writer->tokens,
                          (unsigned long long)(writer->tokens + n));
        status = token_add(&writer->index, line, (uint64_t)length, err);
    }
    return status;
}

static sluice_status give(struct token_writer *writer, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (writer->stage->config->layout == LAYOUT_RAW) {
        status = token_write(emit, OUTPUT_TOKENS, writer->data.data, writer->data.size, err);
        if (status == SLUICE_OK) {
            status = token_write(emit, OUTPUT_CSV, writer->index.data, writer->index.size, err);
        }
        writer->data.size = writer->index.size = 0;
    }
    return status;
}

static sluice_status end(struct token_writer *writer, struct sluice_emit *emit,
                         struct sluice_error *err)
{
    int32_t header[256] = { 20240520, 1, 0 };
    sluice_status status;

    if (writer->stage->config->layout == LAYOUT_RAW) {
        return give(writer, emit, err);
    }
    if (writer->tokens > INT32_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "shard_size",
                           "more than 2147483647 tokens in a file, which nanoGPT's header can't "
                           "say; give a smaller shard_size");
    }
    header[2] = (int32_t)writer->tokens;
    if (writer->stage->rows.width == 4) {
        header[0] = 278895051;
        header[3] = 4;
    }
    status = token_write(emit, OUTPUT_TOKENS, header, sizeof header, err);
    return status == SLUICE_OK
               ? token_write(emit, OUTPUT_TOKENS, writer->data.data, writer->data.size, err)
               : status;
}

static uint64_t size(const struct token_writer *writer)
{
    return writer->tokens * writer->stage->rows.width;
}

static const struct token_format format = {
    .mask = TOKEN_MASK_REFUSED,
    .prepare = prepare,
    .add = add,
    .give = give,
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

const struct sluice_stage write_memmap_stage = {
    .size = sizeof write_memmap_stage,
    .name = "write_memmap",
    .version = "1.0",
    .summary = "Tokens as flat files to map: OLMo's raw .npy, nanoGPT's .bin",
    .doc =
        "The raw files say nothing about themselves: the type of a token stands in the dataset's "
        "manifest (`dtype`). A loss mask is refused, for there is no place for it.",
    .example = "tokens | s.write_memmap { \"out/gold\", layout = \"nanogpt\" }",
    TOKEN_WRITER_LIFECYCLE(open_stage),
};
