/* The output files of one writer in one task: see shards.h. */
#include "run/chain/shards.h"
#include "store/saved.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct open_file {
    struct outcodec *codec; /* owned; NULL where codecs are shared */
    struct pending *pending;
    struct buf held; /* where codecs are shared: what is not a frame yet */
    uint64_t bytes;  /* the same: given, of the open file */
};

struct shards_codecs {
    uint32_t n;
    struct outcodec *items[]; /* per output kind */
};

struct shards {
    const struct op *op;
    struct shards_codecs *shared; /* borrowed; NULL = each file has a codec of its own */
    uint32_t beside;              /* others of the task, about */
    char *folder;                 /* dataset/data */
    struct open_file *files;      /* one per output kind */
    struct shard *items;          /* ended files */
    struct pending **ended;       /* their pending files, until published */
    uint32_t n, capacity;
    uint32_t ordinal;
    uint64_t rows; /* given to the current ordinal */
};

void shards_destroy(struct shards *shards)
{
    if (shards == NULL) {
        return;
    }
    for (uint32_t k = 0; shards->files != NULL && k < op_stage(shards->op)->n_outputs; k++) {
        outcodec_destroy(shards->files[k].codec);
        pending_abort(shards->files[k].pending);
        buf_deinit(&shards->files[k].held);
    }
    for (uint32_t i = 0; i < shards->n; i++) {
        pending_abort(shards->ended[i]);
        free(shards->items[i].file);
    }
    free(shards->items);
    free(shards->ended);
    free(shards->files);
    free(shards->folder);
    free(shards);
}

sluice_status shards_open(const struct op *writer, struct shards **out, struct sluice_error *err)
{
    struct shards *shards = calloc(1, sizeof *shards);
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (shards == NULL) {
        return error_nomem(err, "output files");
    }
    shards->op = writer;
    shards->folder = store_join(op_stage(writer)->dataset, "data");
    shards->files = calloc(op_stage(writer)->n_outputs + 1, sizeof *shards->files);
    if (shards->folder == NULL || shards->files == NULL) {
        status = error_nomem(err, "output files");
    }
    if (status == SLUICE_OK) {
        status = store_make_folder(shards->folder, true, err);
    }
    if (status != SLUICE_OK) {
        shards_destroy(shards);
        return status;
    }
    *out = shards;
    return SLUICE_OK;
}

/* ---- codecs that several writers' files share ---- */

/* So much is a frame of its own: a compressor is a few MB, and there may be hundreds of files. */
#define FRAME ((size_t)1 << 20)

void shards_codecs_destroy(struct shards_codecs *codecs)
{
    for (uint32_t k = 0; codecs != NULL && k < codecs->n; k++) {
        outcodec_destroy(codecs->items[k]);
    }
    free(codecs);
}

sluice_status shards_codecs_create(const struct op *writer, struct shards_codecs **out,
                                   struct sluice_error *err)
{
    const uint32_t n = op_stage(writer)->n_outputs;
    struct shards_codecs *codecs = calloc(1, sizeof *codecs + n * sizeof(struct outcodec *));
    sluice_status status = codecs == NULL ? error_nomem(err, "output files") : SLUICE_OK;

    for (uint32_t k = 0; status == SLUICE_OK && k < n; k++) {
        const struct stage_output *kind = &op_stage(writer)->outputs[k];
        enum outcodec_kind codec;
        codecs->n = k + 1;
        status = outcodec_parse(kind->codec, &codec, err);
        if (status == SLUICE_OK) {
            status = outcodec_create(codec, kind->level, &codecs->items[k], err);
        }
    }
    if (status != SLUICE_OK) {
        shards_codecs_destroy(codecs);
        return status;
    }
    *out = codecs;
    return SLUICE_OK;
}

sluice_status shards_open_sharing(const struct op *writer, struct shards_codecs *codecs,
                                  uint32_t beside, struct shards **out, struct sluice_error *err)
{
    TRY(shards_open(writer, out, err));
    (*out)->shared = codecs;
    (*out)->beside = beside;
    return SLUICE_OK;
}

/* The first n bytes that are held become a frame. */
static sluice_status put_frame(struct shards *shards, uint32_t output, size_t n,
                               struct sluice_error *err)
{
    struct open_file *file = &shards->files[output];
    struct outcodec *codec = shards->shared->items[output];

    TRY(outcodec_begin(codec, file->pending, err));
    TRY(outcodec_write(codec, file->held.data, n, err));
    TRY(outcodec_finish(codec, err));
    file->bytes += n;
    file->held.size -= n;
    memmove(file->held.data, file->held.data + n, file->held.size);
    return SLUICE_OK;
}

/* Frames end after so many bytes, however they are given. */
static sluice_status write_shared(struct shards *shards, uint32_t output, const char *data,
                                  size_t n, struct sluice_error *err)
{
    struct buf *held = &shards->files[output].held;

    while (n > 0) {
        const size_t take = n < FRAME - held->size ? n : FRAME - held->size;
        buf_append(held, data, take);
        TRY(buf_status(held, err));
        data += take;
        n -= take;
        if (held->size == FRAME) {
            TRY(put_frame(shards, output, FRAME, err));
        }
    }
    return SLUICE_OK;
}

/* ---- files ---- */

static sluice_status open_output(struct shards *shards, uint32_t output, struct sluice_error *err)
{
    struct open_file *file = &shards->files[output];
    const struct stage_output *kind = &op_stage(shards->op)->outputs[output];

    if (file->pending != NULL) {
        return SLUICE_OK;
    }
    if (shards->shared != NULL) {
        file->bytes = 0;
        return pending_open_beside(shards->folder, shards->n + shards->beside, &file->pending, err);
    }
    if (file->codec == NULL) {
        enum outcodec_kind codec;
        TRY(outcodec_parse(kind->codec, &codec, err));
        TRY(outcodec_create(codec, kind->level, &file->codec, err));
    }
    TRY(pending_open_beside(shards->folder, shards->n, &file->pending, err));
    return outcodec_begin(file->codec, file->pending, err);
}

static sluice_status make_room(struct shards *shards, struct sluice_error *err)
{
    uint32_t capacity = shards->capacity == 0 ? 4 : shards->capacity * 2;
    struct shard *items;
    struct pending **ended;

    if (shards->n < shards->capacity) {
        return SLUICE_OK;
    }
    items = realloc(shards->items, capacity * sizeof *items);
    if (items == NULL) {
        return error_nomem(err, "output files");
    }
    shards->items = items;
    ended = realloc(shards->ended, capacity * sizeof(struct pending *));
    if (ended == NULL) {
        return error_nomem(err, "output files");
    }
    shards->ended = ended;
    shards->capacity = capacity;
    return SLUICE_OK;
}

static sluice_status end_stream(struct shards *shards, uint32_t output, struct sluice_error *err)
{
    struct open_file *file = &shards->files[output];

    if (shards->shared == NULL) {
        return outcodec_finish(file->codec, err);
    }
    if (file->held.size > 0) {
        TRY(put_frame(shards, output, file->held.size, err));
    }
    buf_deinit(&file->held);
    return SLUICE_OK;
}

static sluice_status end_files(struct shards *shards, uint64_t rows, struct sluice_error *err)
{
    bool any = false;

    for (uint32_t k = 0; k < op_stage(shards->op)->n_outputs; k++) {
        struct open_file *file = &shards->files[k];
        struct shard *shard;
        if (file->pending == NULL) {
            continue;
        }
        TRY(make_room(shards, err));
        TRY(end_stream(shards, k, err));
        shard = &shards->items[shards->n];
        memset(shard, 0, sizeof *shard);
        shard->output = k;
        shard->ordinal = shards->ordinal;
        shard->rows = rows;
        shard->raw_bytes = shards->shared != NULL ? file->bytes : outcodec_bytes(file->codec);
        shards->ended[shards->n++] = file->pending;
        file->pending = NULL;
        any = true;
    }
    if (any) {
        shards->ordinal++;
    }
    shards->rows -= rows;
    return SLUICE_OK;
}

void shards_rows(struct shards *shards, uint64_t rows)
{
    shards->rows += rows;
}

uint32_t shards_ordinal(const struct shards *shards)
{
    return shards->ordinal;
}

uint64_t shards_ordinal_rows(const struct shards *shards)
{
    return shards->rows;
}

static sluice_status write_output(struct shards *shards, uint32_t output, const char *data,
                                  size_t n, struct sluice_error *err)
{
    return shards->shared != NULL ? write_shared(shards, output, data, n, err)
                                  : outcodec_write(shards->files[output].codec, data, n, err);
}

sluice_status shards_apply(struct shards *shards, const struct stage_result *result,
                           struct sluice_error *err)
{
    for (uint32_t i = 0; i < result->n_marks; i++) {
        const struct stage_mark *mark = &result->marks[i];
        if (mark->output == STAGE_MARK_ROLL) {
            if (mark->rows < 0 || (uint64_t)mark->rows > shards->rows) {
                return error_set(
                    err, SLUICE_E_INTERNAL,
                    "stage '%s' ended a file of %lld rows, but only %llu were given to it",
                    shards->op->name, (long long)mark->rows, (unsigned long long)shards->rows);
            }
            TRY(end_files(shards, (uint64_t)mark->rows, err));
        } else {
            TRY(open_output(shards, mark->output, err));
            TRY(write_output(shards, mark->output, result->bytes.data + mark->offset, mark->size,
                             err));
        }
    }
    return SLUICE_OK;
}

sluice_status shards_finish(struct shards *shards, struct sluice_error *err)
{
    return end_files(shards, shards->rows, err);
}

/* ---- saving ---- */

static sluice_status put_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    saved_put_raw(ctx, data, n);
    return saved_status(ctx, err);
}

static sluice_status save_pending(struct pending *pending, struct saved *out,
                                  struct sluice_error *err)
{
    saved_put(out, pending_bytes(pending));
    return pending_pieces(pending, put_piece, out, err);
}

/* All that was stored are whole frames. */
static sluice_status save_shared(const struct open_file *file, struct saved *out,
                                 struct sluice_error *err)
{
    saved_put(out, file->pending != NULL);
    if (file->pending == NULL) {
        return saved_status(out, err);
    }
    saved_put(out, file->bytes);
    TRY(save_pending(file->pending, out, err));
    saved_put_bytes(out, file->held.data, file->held.size);
    return saved_status(out, err);
}

static sluice_status save_open(const struct open_file *file, struct saved *out,
                               struct sluice_error *err)
{
    struct buf tail = BUF_INIT;
    struct hash128 hash;
    const char *piece;
    size_t n;
    sluice_status status;

    saved_put(out, file->pending != NULL);
    if (file->pending == NULL) {
        return saved_status(out, err);
    }
    TRY(pending_so_far(file->pending, &hash, err));
    status = outcodec_held(file->codec, &tail, &piece, &n, err);
    if (status == SLUICE_OK) {
        saved_put(out, outcodec_bytes(file->codec));
        saved_put_raw(out, &hash, sizeof hash);
        status = save_pending(file->pending, out, err);
    }
    if (status == SLUICE_OK) {
        saved_put_bytes(out, tail.data, tail.size);
        saved_put_bytes(out, piece, n);
        status = saved_status(out, err);
    }
    buf_deinit(&tail);
    return status;
}

sluice_status shards_save(struct shards *shards, struct saved *out, struct sluice_error *err)
{
    saved_put(out, shards->ordinal);
    saved_put(out, shards->rows);
    saved_put(out, shards->n);
    for (uint32_t i = 0; i < shards->n; i++) {
        const struct shard *shard = &shards->items[i];
        saved_put(out, shard->output);
        saved_put(out, shard->ordinal);
        saved_put(out, shard->rows);
        saved_put(out, shard->raw_bytes);
        TRY(save_pending(shards->ended[i], out, err));
    }
    for (uint32_t k = 0; k < op_stage(shards->op)->n_outputs; k++) {
        TRY(shards->shared != NULL ? save_shared(&shards->files[k], out, err)
                                   : save_open(&shards->files[k], out, err));
    }
    return saved_status(out, err);
}

static sluice_status restore_ended(struct shards *shards, struct restored *in,
                                   struct sluice_error *err)
{
    struct shard shard = { 0 };
    struct pending *pending;
    sluice_status status;

    shard.output = (uint32_t)restored_get(in, op_stage(shards->op)->n_outputs - 1u);
    shard.ordinal = (uint32_t)restored_get(in, UINT32_MAX);
    shard.rows = restored_get(in, UINT64_MAX);
    shard.raw_bytes = restored_get(in, UINT64_MAX);
    TRY(restored_status(in, err));
    TRY(make_room(shards, err));
    TRY(pending_open_beside(shards->folder, shards->n, &pending, err));
    status = restored_pieces(in, restored_get(in, UINT64_MAX), pending_piece, pending, err);
    if (status != SLUICE_OK) {
        pending_abort(pending);
        return status;
    }
    shards->items[shards->n] = shard;
    shards->ended[shards->n++] = pending;
    return SLUICE_OK;
}

static sluice_status restore_shared(struct shards *shards, uint32_t output, struct restored *in,
                                    struct sluice_error *err)
{
    struct open_file *file = &shards->files[output];

    if (restored_get(in, 1) == 0) {
        return restored_status(in, err);
    }
    TRY(open_output(shards, output, err));
    file->bytes = restored_get(in, UINT64_MAX);
    TRY(restored_pieces(in, restored_get(in, UINT64_MAX), pending_piece, file->pending, err));
    restored_get_bytes(in, FRAME - 1, &file->held);
    return restored_status(in, err);
}

static sluice_status take_again(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    return outcodec_again_take(ctx, data, n, err);
}

static sluice_status copy_bytes(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    char **to = ctx;

    (void)err;
    memcpy(*to, data, n);
    *to += n;
    return SLUICE_OK;
}

/* The stream is given again, and what it stores of it must be what it had stored: the library may
 * be another one. */
static sluice_status restore_open(struct shards *shards, uint32_t output, struct restored *in,
                                  struct sluice_error *err)
{
    struct open_file *file = &shards->files[output];
    struct outcodec_again *again = NULL;
    struct buf piece = BUF_INIT;
    struct hash128 hash = { 0, 0 };
    struct hash128 found;
    char *to = (char *)&hash;
    uint64_t bytes;
    uint64_t stored;
    sluice_status status;

    if (restored_get(in, 1) == 0) {
        return restored_status(in, err);
    }
    TRY(open_output(shards, output, err));
    bytes = restored_get(in, UINT64_MAX);
    TRY(restored_pieces(in, sizeof hash, copy_bytes, &to, err));
    stored = restored_get(in, UINT64_MAX);
    TRY(outcodec_again_begin(file->codec, &again, err));
    status = restored_pieces(in, stored, take_again, again, err);
    if (status == SLUICE_OK) {
        status = restored_pieces(in, restored_get(in, UINT64_MAX), take_again, again, err);
    }
    outcodec_again_end(again);
    if (status == SLUICE_OK) {
        restored_get_bytes(in, UINT32_MAX, &piece);
        status = restored_status(in, err);
    }
    if (status == SLUICE_OK) {
        status = outcodec_write(file->codec, piece.data, piece.size, err);
    }
    buf_deinit(&piece);
    TRY(status);
    TRY(pending_so_far(file->pending, &found, err));
    if (outcodec_bytes(file->codec) != bytes || pending_bytes(file->pending) != stored ||
        !hash_equal(found, hash)) {
        restored_refuse(in, "an output file was compressed otherwise than it is here");
    }
    return restored_status(in, err);
}

sluice_status shards_restore(struct shards *shards, struct restored *in, struct sluice_error *err)
{
    uint64_t n;

    shards->ordinal = (uint32_t)restored_get(in, UINT32_MAX);
    shards->rows = restored_get(in, UINT64_MAX);
    n = restored_get(in, UINT32_MAX);
    for (uint64_t i = 0; i < n; i++) {
        TRY(restore_ended(shards, in, err));
    }
    for (uint32_t k = 0; k < op_stage(shards->op)->n_outputs; k++) {
        TRY(shards->shared != NULL ? restore_shared(shards, k, in, err)
                                   : restore_open(shards, k, in, err));
    }
    return restored_status(in, err);
}

/* The hash of the files of shard i's ordinal, which share their names up to the suffix (.bin and
 * .idx): that is how people find one from the other. They stand one behind the other. */
static sluice_status group_hash(const struct shards *shards, uint32_t i, char hex[33],
                                struct sluice_error *err)
{
    uint32_t ordinal = shards->items[i].ordinal;
    struct hasher *hasher = hasher_create();
    sluice_status status = hasher == NULL ? error_nomem(err, "output files") : SLUICE_OK;

    for (; status == SLUICE_OK && i < shards->n && shards->items[i].ordinal == ordinal; i++) {
        struct hash128 hash;
        status = pending_seal(shards->ended[i], &hash, err);
        hasher_add_hash(hasher, hash);
    }
    if (status == SLUICE_OK) {
        hash_hex(hasher_digest(hasher), hex);
    }
    hasher_destroy(hasher);
    return status;
}

sluice_status shards_publish(struct shards *shards, struct hash128 key, struct sluice_error *err)
{
    char hex[33];
    char content[33];

    hash_hex(key, hex);
    for (uint32_t i = 0; i < shards->n; i++) {
        struct shard *shard = &shards->items[i];
        const struct stage_output *kind = &op_stage(shards->op)->outputs[shard->output];
        struct pending *pending = shards->ended[i];
        enum outcodec_kind codec;
        if (i == 0 || shard->ordinal != shard[-1].ordinal) {
            TRY(group_hash(shards, i, content, err));
        }
        TRY(outcodec_parse(kind->codec, &codec, err));
        shard->file = str_printf("%.24s-%04u-%.12s%s%s", hex, shard->ordinal, content, kind->suffix,
                                 outcodec_suffix(codec));
        if (shard->file == NULL) {
            return error_nomem(err, "output files");
        }
        shards->ended[i] = NULL;
        TRY(pending_publish(pending, shard->file, 0, &shard->published, err));
    }
    return SLUICE_OK;
}

uint32_t shards_number(struct shards *shards, uint32_t first)
{
    for (uint32_t i = 0; i < shards->n; i++) {
        shards->items[i].ordinal += first;
    }
    return first + shards->ordinal;
}

const struct shard *shards_items(const struct shards *shards, uint32_t *n)
{
    *n = shards->n;
    return shards->items;
}
