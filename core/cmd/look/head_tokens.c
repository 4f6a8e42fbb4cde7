/* sluice head of token rows: Megatron's .bin and .idx (core/datasets/indexed_dataset.py,
 * _IndexReader), little-endian:
 *   0 "MMIDIDX\0\0"   9 u64 version 1   17 u8 type   18 u64 sequences N   26 u64 documents + 1 = D
 *   34 i32 tokens of each sequence [N]   i64 byte offset in the .bin [N] i64 first sequence of each
 *                                        document [D] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "base/say.h"
#include "cmd/freeze/freeze.h"
#include "cmd/tokenize/detoken.h"
#include "cmd/look/headInt.h"
#include "run/facts/facts.h"
#include "store/store.h"

#define HEADER 34u
#define ROW_MOST (UINT64_C(1) << 28) /* bytes of a row that are shown */

struct tokens {
    const struct head *head;
    struct detoken *detoken; /* NULL: ids are shown */
    int64_t eos;             /* -1 = not known */
};

struct pair {
    char *bin, *idx;               /* paths */
    uint64_t sequences, documents; /* documents: entries of the list */
    uint32_t width;                /* bytes of a token */
    uint64_t bin_size;
};

static uint64_t little(const unsigned char *bytes, uint32_t n)
{
    uint64_t value = 0;

    while (n-- > 0) {
        value = value << 8 | bytes[n];
    }
    return value;
}

static sluice_status read_at(struct store_file *file, uint64_t offset, void *out, size_t n,
                             struct sluice_error *err)
{
    struct store_extent extent = { offset, n, out, 0 };

    TRY(store_read(file, &extent, 1, err));
    return extent.got == n
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "%s ends at byte %llu, expected at least %llu; see sluice verify",
                           store_name(file), (unsigned long long)(offset + extent.got),
                           (unsigned long long)(offset + n));
}

static sluice_status open_pair(struct pair *pair, struct sluice_error *err)
{
    static const uint32_t widths[] = { 0, 1, 1, 2, 4, 8, 0, 0, 2 };
    unsigned char header[HEADER];
    struct store_file *idx;
    uint64_t size;
    bool found = false;
    sluice_status status;

    TRY(store_open(pair->idx, &idx, NULL, err));
    size = store_version(idx)->size;
    status = read_at(idx, 0, header, sizeof header, err);
    store_close(idx);
    TRY(status);
    pair->width = header[17] < sizeof widths / sizeof widths[0] ? widths[header[17]] : 0;
    pair->sequences = little(header + 18, 8);
    pair->documents = little(header + 26, 8);
    if (memcmp(header, "MMIDIDX\0\0", 9) != 0 || little(header + 9, 8) != 1 || pair->width == 0) {
        return error_set(
            err, SLUICE_E_DATA,
            "%s is no index of Megatron's indexed datasets (version 1, whole numbers as tokens)",
            pair->idx);
    }
    if (pair->sequences > size / 12 || pair->documents > size / 8 ||
        HEADER + pair->sequences * 12 + pair->documents * 8 > size) {
        return error_set(err, SLUICE_E_DATA,
                         "%s has %llu bytes, too few for its %llu sequences and %llu documents; "
                         "see sluice verify",
                         pair->idx, (unsigned long long)size, (unsigned long long)pair->sequences,
                         (unsigned long long)pair->documents);
    }
    TRY(store_size(pair->bin, &pair->bin_size, &found, err));
    return found ? SLUICE_OK
                 : error_set(err, SLUICE_E_DATA, "%s is missing; see sluice verify", pair->bin);
}

/* ---- one row ---- */

static sluice_status read_row(const struct pair *pair, uint64_t row, uint32_t **ids, size_t *n,
                              struct sluice_error *err)
{
    unsigned char entry[8];
    unsigned char *bytes = NULL;
    uint64_t count = 0;
    uint64_t offset = 0;
    struct store_file *idx = NULL;
    struct store_file *bin = NULL;
    sluice_status status = store_open(pair->idx, &idx, NULL, err);

    *ids = NULL;
    *n = 0;
    if (status == SLUICE_OK) {
        status = read_at(idx, HEADER + row * 4, entry, 4, err);
        count = little(entry, 4);
    }
    if (status == SLUICE_OK) {
        status = read_at(idx, HEADER + pair->sequences * 4 + row * 8, entry, 8, err);
        offset = little(entry, 8);
    }
    if (status == SLUICE_OK && (count > INT32_MAX || offset > pair->bin_size ||
                                count * pair->width > pair->bin_size - offset)) {
        status = error_set(err, SLUICE_E_DATA,
                           "row %llu of %s has %llu tokens at byte %llu, the .bin has %llu bytes; "
                           "see sluice verify",
                           (unsigned long long)row, pair->idx, (unsigned long long)count,
                           (unsigned long long)offset, (unsigned long long)pair->bin_size);
    }
    if (status == SLUICE_OK && count * pair->width > ROW_MOST) {
        count = ROW_MOST / pair->width;
    }
    if (status == SLUICE_OK) {
        bytes = malloc(count * pair->width + 1);
        *ids = malloc((count + 1) * sizeof **ids);
        status = bytes == NULL || *ids == NULL ? error_nomem(err, "a row of tokens")
                                               : store_open(pair->bin, &bin, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = read_at(bin, offset, bytes, count * pair->width, err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < count; k++) {
        (*ids)[k] = (uint32_t)little(bytes + k * pair->width, pair->width);
    }
    *n = count;
    store_close(idx);
    store_close(bin);
    free(bytes);
    if (status != SLUICE_OK) {
        free(*ids);
        *ids = NULL;
    }
    return status;
}

static void decode(const struct tokens *tokens, const uint32_t *ids, size_t n, struct buf *out)
{
    for (size_t k = 0; k < n; k++) {
        size_t size;
        const char *bytes = detoken_bytes(tokens->detoken, ids[k], &size);
        if (bytes != NULL) {
            buf_append(out, bytes, size);
        } else {
            buf_printf(out, "<|%u|>", ids[k]);
        }
    }
}

static bool is_end(const struct tokens *tokens, uint32_t id)
{
    return tokens->eos >= 0 && id == (uint64_t)tokens->eos;
}

/* Rows are padded with the token that ends documents, and no document is empty: what follows an end
 * of a document up to the row's end and is that token too is padding. */
static size_t padding_of(const struct tokens *tokens, const uint32_t *ids, size_t n)
{
    size_t padding = 0;

    while (padding + 1 < n && is_end(tokens, ids[n - padding - 1]) &&
           is_end(tokens, ids[n - padding - 2])) {
        padding++;
    }
    return padding;
}

static void print_json(const struct tokens *tokens, const char *shard, uint64_t row,
                       const uint32_t *ids, size_t n)
{
    json_t *json = json_pack("{s:s, s:I, s:I}", "shard", shard, "row", (json_int_t)row, "tokens",
                             (json_int_t)n);
    json_t *ends = json_array();
    json_t *list = json_array();
    size_t padding = padding_of(tokens, ids, n);
    struct buf text = BUF_INIT;
    char *line;

    for (size_t k = 0; k < n; k++) {
        json_array_append_new(list, json_integer(ids[k]));
        if (k < n - padding && is_end(tokens, ids[k])) {
            json_array_append_new(ends, json_integer((json_int_t)k + 1));
        }
    }
    json_object_set_new(json, "ids", list);
    if (tokens->eos >= 0) {
        json_object_set(json, "documents_end", ends);
        json_object_set_new(json, "padding", json_integer((json_int_t)padding));
    }
    json_decref(ends);
    if (tokens->detoken != NULL) {
        decode(tokens, ids, n - padding, &text);
        json_object_set_new(json, "text",
                            facts_text(text.data == NULL ? "" : text.data, text.size));
        buf_deinit(&text);
    }
    line = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    if (line != NULL) {
        say_json_line(line);
    }
    free(line);
    json_decref(json);
}

static void print_row(const struct tokens *tokens, const char *shard, uint64_t row,
                      const uint32_t *ids, size_t n)
{
    struct buf text = BUF_INIT;
    size_t ends = 0;
    size_t padding = padding_of(tokens, ids, n);

    say("%s row %llu: %zu tokens", shard, (unsigned long long)row, n - padding);
    if (padding > 0) {
        say(" and %zu of padding", padding);
    }
    for (size_t k = 0; k < n - padding; k++) {
        if (is_end(tokens, ids[k]) && ends++ < 6) {
            say("%s %zu", ends == 1 ? "; documents end at" : ",", k + 1);
        }
    }
    say("%s\n", ends > 6 ? ", ..." : "");
    n -= padding;
    if (tokens->detoken != NULL) {
        decode(tokens, ids, n, &text);
    } else {
        for (size_t k = 0; k < n; k++) {
            buf_printf(&text, "%s%u", k == 0 ? "" : " ", ids[k]);
        }
    }
    {
        struct buf line = BUF_INIT;
        excerpt_put(&line, text.data == NULL ? "" : text.data, text.size,
                    tokens->head->columns > 4 ? tokens->head->columns - 4 : 4);
        say("    %s\n", buf_str(&line));
        buf_deinit(&line);
    }
    buf_deinit(&text);
}

/* ---- the tokenizer ---- */

/* The note "STAGE.key" of whatever stage; *stage gets the length of its name. */
static const json_t *find_note(const struct snapshot *snapshot, const char *key, const char **name,
                               size_t *stage)
{
    const char *note;
    json_t *value;
    size_t length = strlen(key);

    json_object_foreach(snapshot->notes, note, value)
    {
        size_t n = strlen(note);
        if (n > length && strcmp(note + n - length, key) == 0 && note[n - length - 1] == '.') {
            *name = note;
            *stage = n - length - 1;
            return value;
        }
    }
    return NULL;
}

/* The file that a stage of the run was given. */
static sluice_status tokenizer_of_run(const char *run, const char *stage, size_t n, char **out,
                                      struct sluice_error *err)
{
    struct session_options options = { .run_dir = run, .read_only = true };
    struct session session;
    sluice_status status = session_open(&options, SESSION_GRAPH, &session, err);
    char name[256];
    const struct node *node;

    *out = NULL;
    snprintf(name, sizeof name, "%.*s", (int)n, stage);
    node = status == SLUICE_OK ? graph_find(session.graph, name) : NULL;
    if (node != NULL && node->kind == NODE_STAGE) {
        struct option_table table = option_table_of(&node->entry->stage);
        struct option_args args = node_args(node);
        struct options *parsed = NULL;
        status = options_parse(&table, &args, session.base_dir, &parsed, err);
        if (status == SLUICE_OK) {
            const char *path = options_string(parsed, "tokenizer");
            path = path == NULL ? NULL : freeze_place(&session, path);
            *out = path == NULL ? NULL : str_copy(path, strlen(path));
        }
        options_destroy(parsed);
    }
    session_close(&session);
    if (status == SLUICE_OK && *out == NULL) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "the run %s has no stage '%s' with a tokenizer; give --tokenizer FILE",
                           run, name);
    }
    return status;
}

static sluice_status open_tokenizer(struct tokens *tokens, struct sluice_error *err)
{
    const struct head *head = tokens->head;
    const char *note = NULL;
    size_t stage = 0;
    const json_t *known = find_note(head->snapshot, "tokenizer", &note, &stage);
    const char *hex = json_string_value(json_object_get(known, "xxh3"));
    const char *file = json_string_value(json_object_get(known, "file"));
    struct hash128 expected;
    char *path = NULL;
    char *run = NULL;
    sluice_status status = SLUICE_OK;

    if (head->tokenizer != NULL) {
        path = str_copy(head->tokenizer, strlen(head->tokenizer));
    } else if (known == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the manifest of %s@%u names no tokenizer; give --tokenizer FILE",
                         head->dir, head->snapshot->number);
    } else {
        if (head->run == NULL) {
            status = look_dataset_run(head->dir, head->snapshot->number, &run, err);
        }
        if (status == SLUICE_OK) {
            status = tokenizer_of_run(head->run != NULL ? head->run : run, note, stage, &path, err);
        }
        if (status != SLUICE_OK) {
            char message[sizeof err->message];
            memcpy(message, err->message, sizeof message);
            error_set(err, status, "%.800s (or --tokenizer FILE: the rows were made with %.100s)",
                      message, file == NULL ? "?" : file);
        }
        free(run);
    }
    if (status == SLUICE_OK) {
        status =
            path == NULL ? error_nomem(err, "a path") : detoken_open(path, &tokens->detoken, err);
    }
    if (status == SLUICE_OK && hex != NULL && hash_parse(hex, &expected) &&
        !hash_equal(expected, detoken_hash(tokens->detoken))) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s is not the tokenizer of this dataset: that was %s with XXH3 %s; "
                           "give it with --tokenizer FILE",
                           path, file == NULL ? "?" : file, hex);
    }
    free(path);
    return status;
}

/* ---- all rows ---- */

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name);
    size_t k = strlen(suffix);
    return n >= k && strcmp(name + n - k, suffix) == 0;
}

/* The .idx beside a .bin: the same stored name but for the suffix. */
static const struct snapshot_shard *index_of(const struct snapshot *snapshot,
                                             const struct snapshot_shard *bin)
{
    size_t stem = strlen(bin->file) - 4;

    for (size_t i = 0; i < snapshot->n_shards; i++) {
        const struct snapshot_shard *shard = &snapshot->shards[i];
        if (has_suffix(shard->file, ".idx") && strlen(shard->file) == stem + 4 &&
            memcmp(shard->file, bin->file, stem) == 0) {
            return shard;
        }
    }
    return NULL;
}

static sluice_status list_pairs(const struct head *head, struct pair *pairs, const char **names,
                                size_t *n, uint64_t *total, struct sluice_error *err)
{
    for (size_t i = 0; i < head->snapshot->n_shards; i++) {
        const struct snapshot_shard *bin = &head->snapshot->shards[i];
        const struct snapshot_shard *idx;
        struct pair *pair = &pairs[*n];
        if (!has_suffix(bin->file, ".bin")) {
            continue;
        }
        idx = index_of(head->snapshot, bin);
        if (idx == NULL) {
            return error_set(err, SLUICE_E_DATA, "%s@%u has %s without its .idx", head->dir,
                             head->snapshot->number, bin->name);
        }
        names[(*n)++] = bin->name;
        pair->bin = snapshot_shard_path(head->dir, bin);
        pair->idx = snapshot_shard_path(head->dir, idx);
        if (pair->bin == NULL || pair->idx == NULL) {
            return error_nomem(err, "paths");
        }
        TRY(open_pair(pair, err));
        *total += pair->sequences;
    }
    return SLUICE_OK;
}

static sluice_status show_rows(const struct tokens *tokens, const struct pair *pairs,
                               const char *const *names, size_t n_pairs, const uint64_t *rows,
                               size_t n, struct sluice_error *err)
{
    uint64_t first = 0;
    size_t at = 0;

    for (size_t i = 0; i < n_pairs; i++) {
        for (; at < n && rows[at] < first + pairs[i].sequences; at++) {
            uint32_t *ids;
            size_t count;
            TRY(read_row(&pairs[i], rows[at] - first, &ids, &count, err));
            if (tokens->head->json) {
                print_json(tokens, names[i], rows[at] - first, ids, count);
            } else {
                print_row(tokens, names[i], rows[at] - first, ids, count);
            }
            free(ids);
        }
        first += pairs[i].sequences;
    }
    return SLUICE_OK;
}

sluice_status head_tokens(const struct head *head, struct sluice_error *err)
{
    struct tokens tokens = { .head = head, .eos = -1 };
    struct pair *pairs = calloc(head->snapshot->n_shards + 1, sizeof *pairs);
    const char **names = calloc(head->snapshot->n_shards + 1, sizeof *names);
    const char *note;
    size_t stage;
    const json_t *eos = find_note(head->snapshot, "eos", &note, &stage);
    uint64_t *rows = NULL;
    uint64_t total = 0;
    size_t n_pairs = 0;
    size_t n = 0;
    sluice_status status = pairs == NULL || names == NULL ? error_nomem(err, "shards") : SLUICE_OK;

    if (json_is_integer(json_object_get(eos, "id"))) {
        tokens.eos = json_integer_value(json_object_get(eos, "id"));
    }
    if (status == SLUICE_OK && head->tokens) {
        status = open_tokenizer(&tokens, err);
    }
    if (status == SLUICE_OK) {
        status = list_pairs(head, pairs, names, &n_pairs, &total, err);
    }
    if (status == SLUICE_OK) {
        status = head_rows(head, total, &rows, &n, err);
    }
    if (status == SLUICE_OK) {
        status = show_rows(&tokens, pairs, names, n_pairs, rows, n, err);
    }
    for (size_t i = 0; pairs != NULL && i < n_pairs; i++) {
        free(pairs[i].bin);
        free(pairs[i].idx);
    }
    free(pairs);
    free(names);
    free(rows);
    detoken_close(tokens.detoken);
    return status;
}
