/* write_datatrove - tokens as datatrove's .ds files (src/datatrove/pipeline/tokens/tokenizer.py,
 * class TokenizedFile):
 *
 *   X.ds            the tokens, uint16 or uint32, little-endian, no header
 *   X.ds.index      uint64 a sequence: where it ends, in tokens, no leading 0
 *   X.ds.loss       one byte a token, 1 = trained on; only where the rows have a loss mask
 *   X.ds.metadata   three lines: tokenizer|bytes of a token, number of tokens, the same for
 * people */
#include <stdio.h>

#include "token_writer.h"

enum { OUTPUT_TOKENS, OUTPUT_INDEX, OUTPUT_METADATA, OUTPUT_LOSS };

static const struct sluice_option options[] = {
    TOKEN_WRITER_OPTIONS("1GiB"),
    { .name = "tokenizer",
      .doc =
          "Name of the tokenizer in the metadata file; by default the hash that the tokens carry.",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct token_config, tokenizer) },
};

static sluice_status prepare(struct token_stage *stage, struct sluice_plan *plan,
                             struct sluice_error *err)
{
    sluice_status status = plan->output(plan, ".ds", "none", 0, err);

    if (status == SLUICE_OK) {
        status = plan->output(plan, ".ds.index", "none", 0, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".ds.metadata", "none", 0, err);
    }
    return status == SLUICE_OK && stage->rows.mask >= 0
               ? plan->output(plan, ".ds.loss", "none", 0, err)
               : status;
}

static sluice_status add(void *user, const uint32_t *ids, const uint8_t *mask, size_t n,
                         struct sluice_error *err)
{
    struct token_writer *writer = user;
    uint64_t end = writer->tokens + n;
    sluice_status status = token_rows_encode(&writer->stage->rows, ids, n, &writer->data, err);

    if (status == SLUICE_OK && mask != NULL) {
        status = token_add(&writer->mask, mask, n, err);
    }
    return status == SLUICE_OK ? token_add(&writer->index, &end, sizeof end, err) : status;
}

static sluice_status give(struct token_writer *writer, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    sluice_status status =
        token_write(emit, OUTPUT_TOKENS, writer->data.data, writer->data.size, err);

    if (status == SLUICE_OK) {
        status = token_write(emit, OUTPUT_LOSS, writer->mask.data, writer->mask.size, err);
    }
    writer->data.size = writer->mask.size = 0;
    return status;
}

/* The number as humanize.intword writes it, which datatrove uses: "1.2 million", below a thousand
 * the number itself. */
static void for_people(uint64_t n, char out[64])
{
    static const char *const words[] = { "thousand", "million", "billion", "trillion",
                                         "quadrillion" };
    uint64_t power = 1000;
    size_t k = 0;

    if (n < 1000) {
        snprintf(out, 64, "%llu", (unsigned long long)n);
        return;
    }
    while (k + 1 < sizeof words / sizeof words[0] && n / power >= 1000) {
        power *= 1000;
        k++;
    }
    /* 999,950 and more round up to the next word. */
    if (k + 1 < sizeof words / sizeof words[0] && (double)n / (double)power >= 999.95) {
        power *= 1000;
        k++;
    }
    snprintf(out, 64, "%.1f %s", (double)n / (double)power, words[k]);
}

static sluice_status end(struct token_writer *writer, struct sluice_emit *emit,
                         struct sluice_error *err)
{
    const struct token_stage *stage = writer->stage;
    const char *name = stage->config->tokenizer != NULL && stage->config->tokenizer[0] != '\0'
                           ? stage->config->tokenizer
                       : stage->tokenizer[0] != '\0' ? stage->tokenizer
                                                     : "Unknown Tokenizer";
    char people[64];
    char count[120];
    struct sluice_bytes text = { 0 };
    sluice_status status = give(writer, emit, err);
    int n;

    if (status == SLUICE_OK) {
        status = token_write(emit, OUTPUT_INDEX, writer->index.data, writer->index.size, err);
    }
    for_people(writer->tokens, people);
    n = snprintf(count, sizeof count, "|%u\n%llu\n%s tokens", stage->rows.width,
                 (unsigned long long)writer->tokens, people);
    if (status == SLUICE_OK) {
        status = token_add(&text, name, strlen(name), err);
    }
    if (status == SLUICE_OK) {
        status = token_add(&text, count, (uint64_t)n, err);
    }
    if (status == SLUICE_OK) {
        status = token_write(emit, OUTPUT_METADATA, text.data, text.size, err);
    }
    sluice_bytes_free(&text);
    return status;
}

static uint64_t size(const struct token_writer *writer)
{
    return writer->tokens * writer->stage->rows.width;
}

static const struct token_format format = {
    .mask = TOKEN_MASK_TAKEN,
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

const struct sluice_stage write_datatrove_stage = {
    .size = sizeof write_datatrove_stage,
    .name = "write_datatrove",
    .version = "1.0",
    .summary = "Tokens as datatrove's .ds files, with index, metadata and loss mask",
    .doc = "Also read by nanotron. A column loss_mask (list<uint8>, one a token) becomes the .loss "
           "file. Every id is checked against the vocabulary.",
    .example = "tokens | s.write_datatrove { \"out/gold\" }",
    TOKEN_WRITER_LIFECYCLE(open_stage),
};
