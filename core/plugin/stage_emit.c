/* Collecting what one call of a plugin gives back (struct sluice_emit), checking it, and holding it
 * until the call succeeded. Text that the plugin lends is copied into result->text; pointers into
 * it are offsets plus one until the call ends. See stageInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/stageInt.h"

#define DETAIL_MAX 1000u

static sluice_status check_verdict(struct stage_emitter *emitter,
                                   const struct sluice_verdict *verdict, int64_t row)
{
    if (verdict->reason != SLUICE_VERDICT_BAD &&
        (verdict->reason < 0 || (uint32_t)verdict->reason > emitter->stage->n_reasons)) {
        return REFUSE_DEFECT(emitter,
                             "the verdict of row %lld has the reason %d; it has %u reasons",
                             (long long)row, (int)verdict->reason, emitter->stage->n_reasons);
    }
    if (verdict->dup_of != NULL) {
        if (verdict->dup_of_length < 0 ||
            !utf8_valid(verdict->dup_of, (size_t)verdict->dup_of_length)) {
            return REFUSE_DEFECT(emitter,
                                 "the verdict of row %lld has a dup_of that is no UTF-8 text",
                                 (long long)row);
        }
        if (!(verdict->similarity >= 0 && verdict->similarity <= 1)) {
            return REFUSE_DEFECT(emitter, "the verdict of row %lld has a similarity outside [0, 1]",
                                 (long long)row);
        }
    }
    return SLUICE_OK;
}

/* min(theirs, ours) bytes of each into zeroed ones. */
static void copy_verdicts(struct sluice_verdict *out, const struct sluice_verdict *verdicts,
                          int64_t n, size_t stride)
{
    const char *from = (const char *)verdicts;

    if (n == 0) {
        return;
    }
    if (stride == sizeof *out) {
        memcpy(out, verdicts, (size_t)n * stride);
        return;
    }
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t k = 0; k < n; k++, from += stride) {
        memcpy(&out[k], from, stride < sizeof *out ? stride : sizeof *out);
    }
}

static sluice_status emit_verdicts(struct sluice_emit *emit, const struct sluice_verdict *verdicts,
                                   int64_t n)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    /* A stage without reasons may still say which rows it can't process. */
    if (emitter->call.kind != EMIT_PROCESS) {
        return REFUSE_DEFECT(emitter, "it gives verdicts where none are expected");
    }
    if (out->has_verdicts) {
        return REFUSE_DEFECT(emitter, "it gives verdicts twice for one batch");
    }
    if (n != emitter->n || (n > 0 && verdicts == NULL)) {
        return REFUSE_DEFECT(emitter, "it gives %lld verdicts for %lld rows", (long long)n,
                             (long long)emitter->n);
    }
    if (n > out->verdicts_capacity) {
        struct sluice_verdict *more =
            n <= INT32_MAX ? realloc(out->verdicts, (size_t)n * sizeof *more) : NULL;
        if (more == NULL) {
            return REFUSE_NOMEM(emitter);
        }
        out->verdicts = more;
        out->verdicts_capacity = n;
    }
    copy_verdicts(out->verdicts, verdicts, n, emitter->stage->verdict_stride);
    for (int64_t row = 0; row < n; row++) {
        struct sluice_verdict *verdict = &out->verdicts[row];
        TRY(check_verdict(emitter, verdict, row));
        if (verdict->dup_of != NULL) {
            uintptr_t place = emit_keep_text(out, verdict->dup_of, (size_t)verdict->dup_of_length);
            if (place == 0) {
                return REFUSE_NOMEM(emitter);
            }
            verdict->dup_of = (const char *)place;
        }
    }
    out->n_verdicts = n;
    out->has_verdicts = true;
    return SLUICE_OK;
}

/* What is always checked of an array, even of trusted plugins: that it has the declared columns,
 * each with all rows. */
static sluice_status check_shape(struct stage_emitter *emitter, const struct ArrowArray *array)
{
    const struct type *type = &emitter->stage->output;

    if (array->length < 0 || array->length > INT32_MAX || array->offset < 0 ||
        array->null_count > 0) {
        return REFUSE_DEFECT(emitter, "a batch has %lld rows, offset %lld and %lld nulls",
                             (long long)array->length, (long long)array->offset,
                             (long long)array->null_count);
    }
    if (array->n_children != (int64_t)type->n_children ||
        (type->n_children > 0 && array->children == NULL)) {
        return REFUSE_DEFECT(emitter, "a batch has %lld columns; it declared %u",
                             (long long)array->n_children, type->n_children);
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        const struct ArrowArray *child = array->children[k];
        if (child == NULL || child->length < array->length + array->offset) {
            return REFUSE_DEFECT(emitter, "the column '%s' has %lld rows in a batch of %lld",
                                 type->names[k], child != NULL ? (long long)child->length : -1,
                                 (long long)array->length);
        }
        if (child->null_count != 0 && !type->children[k]->nullable) {
            /* -1 = unknown: the deep check below counts. */
            if (child->null_count > 0) {
                return REFUSE_DEFECT(emitter,
                                     "the column '%s' has %lld nulls but is declared without '?'",
                                     type->names[k], (long long)child->null_count);
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status check_array(struct stage_emitter *emitter, struct ArrowArray *array)
{
    const struct stage *stage = emitter->stage;
    struct sluice_error error = ERROR_INIT;
    sluice_status status;

    TRY(check_shape(emitter, array));
    if (stage->deep) {
        status = array_validate(array, &stage->output, array->length, "what it gives back", &error);
        if (status != SLUICE_OK) {
            return status == SLUICE_E_NOMEM ? REFUSE_NOMEM(emitter)
                                            : REFUSE_DEFECT(emitter, "%s", error.message);
        }
    }
    status = array_normalise(array, &stage->output, &error);
    if (status != SLUICE_OK) {
        return status == SLUICE_E_NOMEM ? REFUSE_NOMEM(emitter)
                                        : REFUSE_DEFECT(emitter, "%s", error.message);
    }
    return SLUICE_OK;
}

static bool batches_expected(const struct stage_emitter *emitter)
{
    switch (emitter->stage->kind->role) {
    case SLUICE_ROLE_READER:
        return emitter->call.kind == EMIT_READ || emitter->call.kind == EMIT_SCAN ||
               emitter->call.kind == EMIT_FLUSH;
    case SLUICE_ROLE_TRANSFORM:
        return emitter->call.kind == EMIT_PROCESS || emitter->call.kind == EMIT_FLUSH;
    case SLUICE_ROLE_ANNOTATOR:
        return emitter->call.kind == EMIT_PROCESS && emitter->stage->output.n_children > 0;
    default:
        return false;
    }
}

/* array is ours already. */
static sluice_status take_batch(struct stage_emitter *emitter, struct ArrowArray *array)
{
    struct stage_result *out = emitter->out;
    void *batches = out->batches;

    if (!batches_expected(emitter)) {
        return REFUSE_DEFECT(emitter, "it gives a batch where none is expected");
    }
    if (emitter->stage->kind->role == SLUICE_ROLE_ANNOTATOR) {
        if (out->n_batches > 0) {
            return REFUSE_DEFECT(emitter, "an annotator gives one batch for one batch, not two");
        }
        if (array->length != emitter->n) {
            return REFUSE_DEFECT(emitter, "it gives %lld rows for %lld rows",
                                 (long long)array->length, (long long)emitter->n);
        }
    }
    TRY(check_array(emitter, array));
    if (!emit_room(&batches, out->n_batches, &out->batches_capacity, sizeof *array)) {
        return REFUSE_NOMEM(emitter);
    }
    out->batches = batches;
    out->batches[out->n_batches++] = *array;
    array->release = NULL;
    return SLUICE_OK;
}

static sluice_status emit_batch(struct sluice_emit *emit, struct ArrowArray *array)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct ArrowArray taken;
    sluice_status status;

    if (array == NULL || array->release == NULL) {
        return REFUSE_DEFECT(emitter, "it gives a batch that was released already");
    }
    taken = *array;
    array->release = NULL;
    status = emitter->failed != SLUICE_OK ? emitter->failed : take_batch(emitter, &taken);
    if (taken.release != NULL) {
        taken.release(&taken);
    }
    return status;
}

static sluice_status emit_bad(struct sluice_emit *emit, uint64_t begin, uint64_t end,
                              const char *reason, const char *detail)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;
    void *bad = out->bad;
    char clean[DETAIL_MAX + 1];
    size_t n = detail != NULL ? strnlen(detail, DETAIL_MAX) : 0;
    struct stage_bad item = { .begin = begin, .end = end };

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (emitter->call.kind != EMIT_READ && emitter->call.kind != EMIT_SCAN &&
        !(emitter->call.kind == EMIT_FLUSH && emitter->stage->kind->role == SLUICE_ROLE_READER)) {
        return REFUSE_DEFECT(emitter, "only readers report bad records");
    }
    if (begin > end || !emit_word_valid(reason)) {
        return REFUSE_DEFECT(
            emitter,
            "a bad record has the range %llu..%llu and the reason \"%.63s\", expected [a-z0-9_]+",
            (unsigned long long)begin, (unsigned long long)end, reason != NULL ? reason : "");
    }
    if (n > 0) {
        memcpy(clean, detail, n);
    }
    clean[n] = '\0';
    utf8_clean(clean);
    /* Offsets plus one until the call ends: the text's memory may still move. */
    item.reason = (const char *)emit_keep_text(out, reason, strlen(reason));
    item.detail = (const char *)emit_keep_text(out, clean, strlen(clean));
    if (item.reason == NULL || item.detail == NULL ||
        !emit_room(&bad, out->n_bad, &out->bad_capacity, sizeof item)) {
        return REFUSE_NOMEM(emitter);
    }
    out->bad = bad;
    out->bad[out->n_bad++] = item;
    return SLUICE_OK;
}

static sluice_status add_mark(struct stage_emitter *emitter, struct stage_mark mark)
{
    struct stage_result *out = emitter->out;
    void *marks = out->marks;

    if (!emit_room(&marks, out->n_marks, &out->marks_capacity, sizeof mark)) {
        return REFUSE_NOMEM(emitter);
    }
    out->marks = marks;
    out->marks[out->n_marks++] = mark;
    return SLUICE_OK;
}

static bool writing(const struct stage_emitter *emitter)
{
    return emitter->stage->kind->role == SLUICE_ROLE_WRITER && emitter->call.kind != EMIT_SIDE;
}

static sluice_status emit_write(struct sluice_emit *emit, uint32_t output, const void *data,
                                uint64_t n)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;
    struct stage_mark *last = out->n_marks > 0 ? &out->marks[out->n_marks - 1] : NULL;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (!writing(emitter) || output >= emitter->stage->n_outputs) {
        return REFUSE_DEFECT(emitter, "it writes to output %u of %u", output,
                             emitter->stage->n_outputs);
    }
    if (n == 0) {
        return SLUICE_OK;
    }
    if (data == NULL || n > SIZE_MAX / 4) {
        return REFUSE_DEFECT(emitter, "it writes %llu bytes from nowhere", (unsigned long long)n);
    }
    buf_append(&out->bytes, data, (size_t)n);
    if (out->bytes.failed) {
        return REFUSE_NOMEM(emitter);
    }
    if (last != NULL && last->output == output) {
        last->size += n;
        return SLUICE_OK;
    }
    return add_mark(
        emitter, (struct stage_mark){ .output = output, .offset = out->bytes.size - n, .size = n });
}

static sluice_status emit_roll(struct sluice_emit *emit, int64_t rows)
{
    struct stage_emitter *emitter = emitter_of(emit);

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (!writing(emitter) || rows < 0) {
        return REFUSE_DEFECT(emitter, "only writers end files, with a number of rows");
    }
    return add_mark(emitter, (struct stage_mark){ .output = STAGE_MARK_ROLL,
                                                  .offset = emitter->out->bytes.size,
                                                  .rows = rows });
}

/* A measure is a word; "tokens.in" and "tokens.out" are the two ends of one that is conserved. */
static bool measure_valid(const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);
    size_t end = length > 3 && strcmp(name + length - 3, ".in") == 0    ? 3
                 : length > 4 && strcmp(name + length - 4, ".out") == 0 ? 4
                                                                        : 0;
    char word[64];

    if (length - end >= sizeof word) {
        return false;
    }
    memcpy(word, name != NULL ? name : "", length - end);
    word[length - end] = '\0';
    return emit_word_valid(word);
}

static sluice_status emit_measure(struct sluice_emit *emit, const char *name, int64_t delta)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;
    void *measures = out->measures;
    uint32_t k = 0;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    while (k < out->n_measures && name != NULL && strcmp(out->measures[k].name, name) != 0) {
        k++;
    }
    if (k == out->n_measures) {
        char *copy;
        if (!measure_valid(name)) {
            return REFUSE_DEFECT(emitter, "a measure is called \"%.63s\", expected [a-z0-9_]+",
                                 name != NULL ? name : "");
        }
        copy = str_copy(name, strlen(name));
        if (copy == NULL ||
            !emit_room(&measures, k, &out->measures_capacity, sizeof *out->measures)) {
            free(copy);
            return REFUSE_NOMEM(emitter);
        }
        out->measures = measures;
        out->measures[out->n_measures++] = (struct stage_measure){ .name = copy };
    }
    if (__builtin_add_overflow(out->measures[k].delta, delta, &out->measures[k].delta)) {
        return REFUSE_DEFECT(emitter, "the measure '%s' overflows", name);
    }
    return SLUICE_OK;
}

#define NAME_MAX_BYTES 200u

static bool name_fits(const char *name)
{
    return name != NULL && strlen(name) <= NAME_MAX_BYTES && utf8_valid(name, strlen(name));
}

/* Kept as rows, number of names, the name, the names that are there. */
static sluice_status emit_absent(struct sluice_emit *emit, const char *name, uint64_t rows,
                                 const char *const *there, uint64_t n)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct buf *out = &emitter->out->absences;
    uint64_t head[2] = { rows, 0 };
    size_t at = out->size;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (emitter->stage->kind->role != SLUICE_ROLE_READER) {
        return REFUSE_DEFECT(emitter, "it says that '%.63s' is absent, but it is no reader",
                             name != NULL ? name : "");
    }
    if (!name_fits(name)) {
        return REFUSE_DEFECT(emitter, "a name that is absent is too long, or not UTF-8");
    }
    buf_append(out, head, sizeof head);
    buf_append(out, name, strlen(name) + 1);
    for (uint64_t k = 0; k < n && head[1] < STAGE_THERE_MAX; k++) {
        if (name_fits(there[k])) {
            buf_append(out, there[k], strlen(there[k]) + 1);
            head[1]++;
        }
    }
    if (buf_status(out, NULL) != SLUICE_OK) {
        return REFUSE_NOMEM(emitter);
    }
    memcpy(out->data + at, head, sizeof head);
    return SLUICE_OK;
}

bool stage_absence_next(const struct stage_result *result, size_t *at, struct stage_absence *out)
{
    const struct buf *absences = &result->absences;
    uint64_t head[2];

    if (*at >= absences->size) {
        return false;
    }
    memcpy(head, absences->data + *at, sizeof head);
    *at += sizeof head;
    out->rows = head[0];
    out->n_there = head[1];
    out->name = absences->data + *at;
    *at += strlen(out->name) + 1;
    out->there = absences->data + *at;
    for (uint64_t k = 0; k < out->n_there; k++) {
        *at += strlen(absences->data + *at) + 1;
    }
    return true;
}

void stage_emitter_init(struct stage_emitter *emitter, const struct stage *stage,
                        struct stage_result *out, const struct stage_call *call)
{
    emitter->emit.size = sizeof emitter->emit;
    emitter->emit.ctx = emitter;
    emitter->emit.verdicts = emit_verdicts;
    emitter->emit.batch = emit_batch;
    emitter->emit.bad = emit_bad;
    emitter->emit.write = emit_write;
    emitter->emit.roll = emit_roll;
    emitter->emit.measure = emit_measure;
    emitter->emit.absent = emit_absent;
    emit_asks_init(&emitter->emit);
    emitter->stage = stage;
    emitter->out = out;
    emitter->call = *call;
    emitter->n = call->batch == NULL ? 0 : call->batch->n;
    emitter->failed = SLUICE_OK;
    emitter->error.size = sizeof emitter->error;
    emitter->error.message[0] = '\0';
}

sluice_status stage_emitter_finish(struct stage_emitter *emitter, struct sluice_error *err)
{
    struct stage_result *out = emitter->out;
    const struct stage *stage = emitter->stage;
    const char *text = out->text.data;

    if (emitter->failed != SLUICE_OK) {
        *err = emitter->error;
        return emitter->failed;
    }
    if (out->n_asks > 0) {
        return SLUICE_OK;
    }
    if (emitter->call.kind == EMIT_PROCESS && emitter->n > 0) {
        if (stage->kind->role == SLUICE_ROLE_FILTER && !out->has_verdicts) {
            return DEFECT(err, "it returned without verdicts for %lld rows", (long long)emitter->n);
        }
        if (stage->kind->role == SLUICE_ROLE_ANNOTATOR && stage->output.n_children > 0 &&
            out->n_batches == 0) {
            return DEFECT(err, "it returned without columns for %lld rows", (long long)emitter->n);
        }
    }
    if (out->text.size > 0) {
        for (int64_t row = 0; row < out->n_verdicts; row++) {
            if (out->verdicts[row].dup_of != NULL) {
                out->verdicts[row].dup_of = text + ((uintptr_t)out->verdicts[row].dup_of - 1);
            }
        }
        for (uint32_t k = 0; k < out->n_bad; k++) {
            out->bad[k].reason = text + ((uintptr_t)out->bad[k].reason - 1);
            out->bad[k].detail = text + ((uintptr_t)out->bad[k].detail - 1);
        }
    }
    return SLUICE_OK;
}
