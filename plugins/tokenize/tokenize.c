/* tokenize - a column of token ids beside a column of text. The encoder is bpe.h; this file reads
 * the stage's options, knows which tokens begin and end a document, and leaves facts about the
 * vocabulary for the stages and manifests downstream; its rows are tokenize_rows.c's. */
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>

#include "tokenize_stage.h"
#include "sluice_simple.h"

static const struct sluice_option options[] = {
    { .name = "tokenizer",
      .doc = "Vocabulary: a .tiktoken file, a tokenizer.json or a SentencePiece .model. The "
             "post_processor of a tokenizer.json adds nothing: `bos` and `eos` do.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct tokenize_config, tokenizer) },
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct tokenize_config, over) },
    { .name = "pattern",
      .doc = "Regular expression that cuts the text for a .tiktoken file whose vocabulary is not "
             "known.",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct tokenize_config, pattern) },
    { .name = "eos",
      .doc = "Token behind each document: \"none\", \"default\" (the vocabulary's own; also "
             "\"true\"), or a special token's text.",
      .def = "none",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct tokenize_config, eos) },
    { .name = "bos",
      .doc = "Token before each document: \"none\", \"default\" (the vocabulary's own; also "
             "\"true\"), or a special token's text.",
      .def = "none",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct tokenize_config, bos) },
    { .name = "specials",
      .doc = "What the text of a special token inside a document is: ordinary text, that token, or "
             "a reason for quarantine.",
      .def = "ordinary",
      .choices = "ordinary|allow|refuse",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct tokenize_config, specials) },
    { .name = "loss_spans",
      .doc = "Column that says which parts of the text are trained on; adds the column `loss_mask` "
             "(list<uint8>, 1 = trained). JSON [[begin, end], ...] or a value for each character, "
             "list<uint32> of begin, end, begin, end, ..., or list<uint8> with a value for each "
             "character; a null trains all of the text.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct tokenize_config, loss_spans) },
    { .name = "loss_unit",
      .doc = "What positions in `loss_spans` count: Unicode code points, as Python does, or bytes "
             "of UTF-8.",
      .def = "characters",
      .choices = "characters|bytes",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct tokenize_config, loss_unit) },
    { .name = "loss_rule",
      .doc = "A token is trained when its first byte is, when any byte is, or when all bytes are. "
             "bos never is; eos is where the text's end is.",
      .def = "first",
      .choices = "first|any|all",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct tokenize_config, loss_rule) },
    { .name = "offsets",
      .doc = "Add the column `offsets` (list<uint32>): the byte of the text where each token "
             "begins; a token ends where the next one begins.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct tokenize_config, offsets) },
    { .name = "head",
      .doc = "Trained head of the vocabulary, which `sluice tokenize --train-head` writes of a "
             "sample: what its frequent pieces become, shared by all workers. The tokens are the "
             "same with and without, and come faster; a head of another vocabulary or a damaged "
             "one is refused.",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct tokenize_config, head) },
};

/* ---- open ---- */

static bool is_word(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

/* The special tokens of the vocabulary, for a message. */
static void list_specials(const struct bpe *bpe, char *text, size_t size)
{
    size_t used = 0;
    const char *content;
    int special;

    text[0] = '\0';
    for (size_t k = 0; bpe_special_at(bpe, k, &content, NULL, &special) == SLUICE_OK; k++) {
        int n;
        if (!special) {
            continue;
        }
        n = snprintf(text + used, size - used, "%s%.60s", used > 0 ? ", " : "", content);
        if (n < 0 || (size_t)n >= size - used) {
            snprintf(text + (used < size - 5 ? used : size - 5), 5, " ...");
            return;
        }
        used += (size_t)n;
    }
}

static sluice_status choose_edge(const struct bpe *bpe, const char *option, const char *wanted,
                                 int32_t (*customary)(const struct bpe *, uint32_t *,
                                                      const char **),
                                 struct tokenize_edge *out, struct sluice_error *err)
{
    char message[900];
    char specials[400];

    out->known = customary(bpe, &out->id, NULL) == SLUICE_OK;
    out->added = wanted != NULL && wanted[0] != '\0' && !is_word(wanted, "none", "false");
    if (!out->added) {
        return SLUICE_OK;
    }
    if (is_word(wanted, "default", "true")) {
        if (out->known) {
            return SLUICE_OK;
        }
        list_specials(bpe, specials, sizeof specials);
        snprintf(message, sizeof message,
                 "nothing in the vocabulary says which token is its %s; name one of its special "
                 "tokens: %s",
                 option, specials[0] != '\0' ? specials : "(it has none)");
        return sluice_fail(err, SLUICE_E_CONFIG, option, message);
    }
    if (bpe_special_id(bpe, wanted, &out->id) != SLUICE_OK) {
        list_specials(bpe, specials, sizeof specials);
        snprintf(message, sizeof message,
                 "found \"%.100s\", which is no special token of the vocabulary; expected none, "
                 "default or one of %s",
                 wanted, specials[0] != '\0' ? specials : "(it has none)");
        return sluice_fail(err, SLUICE_E_CONFIG, option, message);
    }
    out->known = true;
    return SLUICE_OK;
}

static void tokenize_close(void *shared)
{
    struct tokenize_stage *stage = shared;

    bpe_destroy(stage->bpe);
    free(stage);
}

/* Maps the trained head; where the stage may not open files itself, the host gives its bytes. */
static sluice_status open_head(struct tokenize_stage *stage, const struct sluice_host_api *api,
                               struct sluice_host *host, struct sluice_error *err)
{
    const void *data;
    uint64_t size;
    sluice_status status;

    if (access(stage->config->head, R_OK) == 0) {
        status = bpe_head_open(stage->bpe, stage->config->head, err);
    } else {
        status = api->read_file(host, stage->config->head, &data, &size, err);
        if (status == SLUICE_OK) {
            status = bpe_head_use(stage->bpe, data, (size_t)size, err);
        }
    }
    if (status != SLUICE_OK && err != NULL) {
        snprintf(err->field, sizeof err->field, "head");
    }
    return status;
}

static sluice_status tokenize_open(const struct sluice_host_api *api, struct sluice_host *host,
                                   const void *config, void **shared, struct sluice_error *err)
{
    struct tokenize_stage *stage = calloc(1, sizeof *stage);
    struct bpe_options how = { 0 };
    const void *data;
    uint64_t size;
    XXH128_hash_t hash;
    sluice_status status;

    if (stage == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a tokenizer");
    }
    stage->config = config;
    how.pattern = stage->config->pattern != NULL && stage->config->pattern[0] != '\0'
                      ? stage->config->pattern
                      : NULL;
    how.specials = stage->config->specials == 0   ? BPE_SPECIALS_ORDINARY
                   : stage->config->specials == 1 ? BPE_SPECIALS_ALLOW
                                                  : BPE_SPECIALS_REFUSE;
    status = SLUICE_HAS(api, read_file)
                 ? api->read_file(host, stage->config->tokenizer, &data, &size, err)
                 : sluice_fail(err, SLUICE_E_INTERNAL, "", "the host can't read files for plugins");
    if (status == SLUICE_OK) {
        hash = XXH3_128bits(data, (size_t)size);
        snprintf(stage->hash, sizeof stage->hash, "%016llx%016llx", (unsigned long long)hash.high64,
                 (unsigned long long)hash.low64);
        status = bpe_load(data, (size_t)size, &how, &stage->bpe, err);
    }
    if (status == SLUICE_OK && stage->config->head != NULL && stage->config->head[0] != '\0') {
        status = open_head(stage, api, host, err);
    }
    if (status == SLUICE_OK) {
        status = choose_edge(stage->bpe, "eos", stage->config->eos, bpe_eos, &stage->eos, err);
    }
    if (status == SLUICE_OK) {
        status = choose_edge(stage->bpe, "bos", stage->config->bos, bpe_bos, &stage->bos, err);
    }
    if (status != SLUICE_OK) {
        tokenize_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

/* ---- prepare ---- */

/* {"file":"o200k_base.tiktoken","xxh3":"..."} */
static sluice_status note_tokenizer(const struct tokenize_stage *stage, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    const char *slash = strrchr(stage->config->tokenizer, '/');
    struct sluice_bytes json = { 0 };
    int ok = sluice_bytes_add(&json, "{\"file\":\"", 9);
    sluice_status status;

    for (const char *p = slash != NULL ? slash + 1 : stage->config->tokenizer; ok && *p != '\0';
         p++) {
        char escaped[8];
        unsigned char c = (unsigned char)*p;
        int n = c < 0x20
                    ? snprintf(escaped, sizeof escaped, "\\u%04x", c)
                    : snprintf(escaped, sizeof escaped, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        ok = sluice_bytes_add(&json, escaped, (uint64_t)n);
    }
    ok = ok && sluice_bytes_add(&json, "\",\"xxh3\":\"", 10) &&
         sluice_bytes_add(&json, stage->hash, strlen(stage->hash)) &&
         sluice_bytes_add(&json, "\"}", 3);
    status = ok ? plan->note(plan, "tokenizer", json.data, err)
                : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for notes");
    sluice_bytes_free(&json);
    return status;
}

static sluice_status note_edge(const struct tokenize_edge *edge, const char *name,
                               struct sluice_plan *plan, struct sluice_error *err)
{
    char json[64] = "null";

    if (edge->known) {
        snprintf(json, sizeof json, "{\"id\":%u,\"added\":%s}", edge->id,
                 edge->added ? "true" : "false");
    }
    return plan->note(plan, name, json, err);
}

/* Finds the column of spans and what form they have. */
static sluice_status prepare_loss(struct tokenize_stage *stage, struct sluice_plan *plan,
                                  struct sluice_error *err)
{
    const char *wanted = stage->config->loss_spans;
    sluice_status status;

    stage->loss = LOSS_NONE;
    if (wanted == NULL || wanted[0] == '\0') {
        return SLUICE_OK;
    }
    status = plan->need(plan, 0, wanted, "json?|list<uint32>?|list<uint8>?", 0, &stage->spans, err);
    for (uint32_t k = 0; status == SLUICE_OK && stage->loss == LOSS_NONE; k++) {
        const char *name;
        const char *type;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            return sluice_fail(err, SLUICE_E_SCHEMA, "loss_spans",
                               "the column of spans can't be hidden or derived");
        }
        if (strcmp(name, wanted) == 0) {
            stage->loss = strncmp(type, "list<uint32>", 12) == 0  ? LOSS_PAIRS
                          : strncmp(type, "list<uint8>", 11) == 0 ? LOSS_FLAGS
                                                                  : LOSS_JSON;
        }
    }
    return status;
}

static sluice_status tokenize_prepare(void *shared, struct sluice_plan *plan,
                                      struct sluice_error *err)
{
    struct tokenize_stage *stage = shared;
    char metadata[200];
    char number[16];
    int32_t index;
    int n;
    sluice_status status = plan->need(plan, 0, stage->config->over, "utf8?", 0, &index, err);

    if (status != SLUICE_OK) {
        return status;
    }
    snprintf(number, sizeof number, "%u", bpe_vocab_size(stage->bpe));
    n = snprintf(metadata, sizeof metadata, "vocab_size=%s\ntokenizer=%s", number, stage->hash);
    if (stage->eos.known) {
        n += snprintf(metadata + n, sizeof metadata - (size_t)n, "\neos=%u", stage->eos.id);
    }
    if (stage->bos.known) {
        snprintf(metadata + n, sizeof metadata - (size_t)n, "\nbos=%u", stage->bos.id);
    }
    status = prepare_loss(stage, plan, err);
    if (status == SLUICE_OK) {
        status = plan->add(plan, "tokens", "list<uint32>", metadata, err);
    }
    if (status == SLUICE_OK && stage->loss != LOSS_NONE) {
        status = plan->add(plan, "loss_mask", "list<uint8>", NULL, err);
    }
    if (status == SLUICE_OK && stage->config->offsets != 0) {
        status = plan->add(plan, "offsets", "list<uint32>", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = note_tokenizer(stage, plan, err);
    }
    if (status == SLUICE_OK) {
        status = plan->note(plan, "vocab_size", number, err);
    }
    if (status == SLUICE_OK) {
        status = note_edge(&stage->eos, "eos", plan, err);
    }
    return status == SLUICE_OK ? note_edge(&stage->bos, "bos", plan, err) : status;
}

static const struct sluice_stage tokenize_stage = {
    .size = sizeof tokenize_stage,
    .name = "tokenize",
    .version = "1.0",
    .bytes_per_batch = 12,
    .summary =
        "Token ids of a text, equal to tiktoken's, Hugging Face tokenizers' and SentencePiece's",
    .doc = "Adds `tokens` (list<uint32>). An empty or null text has no tokens, not even `bos` and "
           "`eos`, as in Megatron's preprocess_data. Stages behind it "
           "read vocab_size, tokenizer (XXH3-128 of the file), eos and bos from the column's "
           "metadata. With `loss_spans` a token's loss mask follows the text it stands for; it "
           "stays with its tokens through `pack`, and formats without a place for it refuse it. "
           "Offsets need a text that the vocabulary does not normalise: a text that it would "
           "change is quarantined.",
    .example = "docs | s.tokenize { \"o200k_base.tiktoken\", eos = \"default\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct tokenize_config),
    .bytes_shared = 96 << 20,
    .bytes_worker = 40 << 20,
    .open = tokenize_open,
    .prepare = tokenize_prepare,
    .worker_open = tokenize_worker_open,
    .process = tokenize_process,
    .worker_close = tokenize_worker_close,
    .close = tokenize_close,
};

SLUICE_PLUGIN("tokenize", "1.0", "MIT", &tokenize_stage);
