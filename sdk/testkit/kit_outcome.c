/* What a run of a stage gave, as text: one line a row, so that two runs can be compared and the
 * first difference shown. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "testkit/kitInt.h"

#define RECORD_SHOWN 400u /* bytes of a record that are kept as text; a hash stands for the rest */

void kit_outcome_init(struct kit_outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->error.size = sizeof outcome->error;
}

void kit_outcome_deinit(struct kit_outcome *outcome)
{
    buf_deinit(&outcome->text);
    buf_deinit(&outcome->rolls);
    buf_deinit(&outcome->bad);
    for (uint32_t k = 0; k < KIT_OUTPUTS_MAX; k++) {
        buf_deinit(&outcome->outputs[k]);
    }
    free(outcome->records);
    free(outcome->origins);
    memset(outcome, 0, sizeof *outcome);
}

/* ---- values ---- */

static void print_start(struct buf *out, const char *bytes, size_t n, size_t most)
{
    char hex[33];
    size_t shown = n < most ? n : most;

    buf_putc(out, '"');
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\') {
            buf_printf(out, "\\%c", c);
        } else if (c >= 0x20 && c < 0x7f) {
            buf_putc(out, (char)c);
        } else {
            buf_printf(out, "\\x%02x", c);
        }
    }
    buf_putc(out, '"');
    if (shown < n) {
        hash_hex(hash_bytes(bytes, n), hex);
        buf_printf(out, "...(%zu bytes, %.8s)", n, hex);
    }
}

static void print_bytes(struct buf *out, const char *bytes, size_t n)
{
    print_start(out, bytes, n, 60);
}

static void print_number(struct buf *out, double value)
{
    char text[NUMBER_TEXT_MAX];

    number_print(value, text);
    buf_puts(out, text);
}

static void print_value(struct buf *out, const struct ArrowArray *array, const struct type *type,
                        int64_t row)
{
    if (array_is_null(array, row)) {
        buf_puts(out, "null");
        return;
    }
    switch (type->kind) {
    case TYPE_BOOL:
        buf_puts(out, (((const uint8_t *)array->buffers[1])[row >> 3] >> (row & 7) & 1) != 0
                          ? "true"
                          : "false");
        break;
    case TYPE_INT8:
        buf_printf(out, "%d", ((const int8_t *)array->buffers[1])[row]);
        break;
    case TYPE_INT16:
        buf_printf(out, "%d", ((const int16_t *)array->buffers[1])[row]);
        break;
    case TYPE_INT32:
        buf_printf(out, "%d", ((const int32_t *)array->buffers[1])[row]);
        break;
    case TYPE_INT64:
        buf_printf(out, "%lld", (long long)((const int64_t *)array->buffers[1])[row]);
        break;
    case TYPE_UINT8:
        buf_printf(out, "%u", ((const uint8_t *)array->buffers[1])[row]);
        break;
    case TYPE_UINT16:
        buf_printf(out, "%u", ((const uint16_t *)array->buffers[1])[row]);
        break;
    case TYPE_UINT32:
        buf_printf(out, "%u", ((const uint32_t *)array->buffers[1])[row]);
        break;
    case TYPE_UINT64:
        buf_printf(out, "%llu", (unsigned long long)((const uint64_t *)array->buffers[1])[row]);
        break;
    case TYPE_FLOAT32:
        print_number(out, (double)((const float *)array->buffers[1])[row]);
        break;
    case TYPE_FLOAT64:
        print_number(out, ((const double *)array->buffers[1])[row]);
        break;
    case TYPE_UTF8:
    case TYPE_BINARY:
    case TYPE_JSON: {
        size_t n;
        const char *bytes = array_bytes(array, row, &n);
        print_bytes(out, bytes, n);
        break;
    }
    case TYPE_FIXED:
        print_bytes(out, (const char *)array->buffers[1] + row * type->width, (size_t)type->width);
        break;
    case TYPE_LIST: {
        const int32_t *offsets = array->buffers[1];
        buf_putc(out, '[');
        for (int32_t i = offsets[row]; i < offsets[row + 1]; i++) {
            buf_puts(out, i > offsets[row] ? "," : "");
            print_value(out, array->children[0], type->children[0], i);
        }
        buf_putc(out, ']');
        break;
    }
    case TYPE_STRUCT:
        buf_putc(out, '{');
        for (uint32_t k = 0; k < type->n_children; k++) {
            buf_printf(out, "%s%s:", k > 0 ? "," : "", type->names[k]);
            print_value(out, array->children[k], type->children[k], row);
        }
        buf_putc(out, '}');
        break;
    default:
        buf_puts(out, "?");
        break;
    }
}

/* ---- records ---- */

static bool begin_record(struct kit_outcome *outcome, uint64_t owner)
{
    if (outcome->n == outcome->capacity) {
        size_t more = outcome->capacity < 64 ? 64 : outcome->capacity * 2;
        struct kit_record *records = realloc(outcome->records, more * sizeof *records);
        if (records == NULL) {
            outcome->text.failed = true;
            return false;
        }
        outcome->records = records;
        outcome->capacity = more;
    }
    outcome->records[outcome->n++] =
        (struct kit_record){ .begin = outcome->text.size, .owner = owner };
    if (owner != UINT64_MAX) {
        buf_printf(&outcome->text, "row %llu: ", (unsigned long long)owner);
    }
    return true;
}

/* A long record is cut, and its hash stands for what was cut. */
static void end_record(struct kit_outcome *outcome)
{
    struct kit_record *record = &outcome->records[outcome->n - 1];
    struct buf *text = &outcome->text;
    char hex[33];

    if (!text->failed && text->size - record->begin > RECORD_SHOWN) {
        size_t n = text->size - record->begin;
        hash_hex(hash_bytes(text->data + record->begin, n), hex);
        text->size = record->begin + RECORD_SHOWN;
        buf_printf(text, "... (%zu bytes, hash %s)", n, hex);
    }
    record->size = text->size - record->begin;
    buf_putc(text, '\n');
}

static void print_verdict(struct buf *out, const struct kit_bench *bench,
                          const struct sluice_verdict *verdict)
{
    if (verdict->reason == SLUICE_VERDICT_BAD) {
        buf_puts(out, "quarantined ");
        if (verdict->dup_of != NULL) {
            print_start(out, verdict->dup_of, (size_t)verdict->dup_of_length, 300);
        }
        return;
    }
    buf_puts(out,
             verdict->reason == 0 ? "kept" : stage_reason(bench->stage, (uint32_t)verdict->reason));
    buf_puts(out, " value ");
    print_number(out, verdict->value);
    buf_puts(out, " limit ");
    print_number(out, verdict->limit);
    if (verdict->dup_of != NULL) {
        buf_puts(out, " dup_of ");
        print_bytes(out, verdict->dup_of, (size_t)verdict->dup_of_length);
        buf_puts(out, " similarity ");
        print_number(out, verdict->similarity);
    }
}

static void print_row(struct buf *out, const struct kit_bench *bench,
                      const struct ArrowArray *batch, int64_t row)
{
    const struct schema *added = &bench->prepared.added;

    for (uint32_t k = 0; k < added->n; k++) {
        buf_printf(out, "%s%s=", k > 0 ? " " : "", added->fields[k].name);
        print_value(out, batch->children[k], added->fields[k].type, row);
    }
}

/* Remembers which input rows an output row says it comes from. */
static void note_origin(struct kit_outcome *outcome, const struct kit_bench *bench,
                        const struct ArrowArray *batch, int64_t row)
{
    int32_t at = schema_find(&bench->prepared.added, SLUICE_ORIGIN);
    const struct ArrowArray *column = at >= 0 ? batch->children[at] : NULL;
    const uint64_t *items;
    size_t n = 1;

    if (column == NULL || array_is_null(column, row)) {
        return;
    }
    outcome->has_origin = true;
    if (bench->prepared.added.fields[at].type->kind == TYPE_LIST) {
        const int32_t *offsets = column->buffers[1];
        items = (const uint64_t *)column->children[0]->buffers[1] + offsets[row];
        n = (size_t)(offsets[row + 1] - offsets[row]);
    } else {
        items = (const uint64_t *)column->buffers[1] + row;
    }
    if (outcome->n_origins + n > outcome->origins_capacity) {
        size_t more = 2 * (outcome->n_origins + n) + 64;
        uint64_t *origins = realloc(outcome->origins, more * sizeof *origins);
        if (origins == NULL) {
            outcome->text.failed = true;
            return;
        }
        outcome->origins = origins;
        outcome->origins_capacity = more;
    }
    if (n > 0) {
        memcpy(outcome->origins + outcome->n_origins, items, n * sizeof *items);
    }
    outcome->n_origins += n;
}

static void add_marks(struct kit_outcome *outcome, const struct stage_result *result)
{
    for (uint32_t k = 0; k < result->n_marks; k++) {
        const struct stage_mark *mark = &result->marks[k];
        if (mark->output == STAGE_MARK_ROLL) {
            outcome->rolled_rows += mark->rows;
            buf_printf(&outcome->rolls, "files end after %lld rows at bytes",
                       (long long)mark->rows);
            for (uint32_t i = 0; i < KIT_OUTPUTS_MAX; i++) {
                buf_printf(&outcome->rolls, " %llu", (unsigned long long)outcome->written[i]);
            }
            buf_putc(&outcome->rolls, '\n');
        } else if (mark->output < KIT_OUTPUTS_MAX) {
            buf_append(&outcome->outputs[mark->output], result->bytes.data + mark->offset,
                       (size_t)mark->size);
            outcome->written[mark->output] += mark->size;
        }
    }
}

static void add_sums(struct kit_outcome *outcome, const struct stage_result *result)
{
    for (uint32_t k = 0; k < result->n_measures; k++) {
        uint32_t i = 0;
        while (i < outcome->n_sums &&
               strcmp(outcome->sums[i].name, result->measures[k].name) != 0) {
            i++;
        }
        if (i == sizeof outcome->sums / sizeof outcome->sums[0]) {
            continue;
        }
        if (i == outcome->n_sums) {
            size_t n = strlen(result->measures[k].name);
            if (n >= sizeof outcome->sums[i].name) {
                continue;
            }
            memcpy(outcome->sums[i].name, result->measures[k].name, n + 1);
            outcome->sums[i].value = 0;
            outcome->n_sums++;
        }
        outcome->sums[i].value += result->measures[k].delta;
    }
}

void kit_outcome_add(struct kit_outcome *outcome, const struct kit_bench *bench,
                     const struct stage_result *result, const uint64_t *ids, int64_t n)
{
    bool annotates = bench->kind->role == SLUICE_ROLE_ANNOTATOR && ids != NULL;
    bool judges = bench->kind->reasons != NULL;

    for (int64_t row = 0; ids != NULL && row < n && (result->has_verdicts || annotates); row++) {
        /* From a stage without reasons to keep a row is to say nothing of it: it gives verdicts
         * only for batches in which it sets rows aside. */
        bool told = result->has_verdicts && (judges || result->verdicts[row].reason != 0);
        if (!told && !annotates) {
            continue;
        }
        if (!begin_record(outcome, ids[row])) {
            return;
        }
        if (told) {
            print_verdict(&outcome->text, bench, &result->verdicts[row]);
            buf_puts(&outcome->text, annotates ? "; " : "");
        }
        if (annotates && result->n_batches > 0) {
            print_row(&outcome->text, bench, &result->batches[0], row);
        }
        end_record(outcome);
    }
    for (uint32_t k = 0; !annotates && k < result->n_batches; k++) {
        for (int64_t row = 0; row < result->batches[k].length; row++) {
            if (!begin_record(outcome, UINT64_MAX)) {
                return;
            }
            print_row(&outcome->text, bench, &result->batches[k], row);
            note_origin(outcome, bench, &result->batches[k], row);
            end_record(outcome);
        }
    }
    for (uint32_t k = 0; k < result->n_bad; k++) {
        buf_printf(&outcome->bad,
                   "bad record %llu..%llu %s: ", (unsigned long long)result->bad[k].begin,
                   (unsigned long long)result->bad[k].end, result->bad[k].reason);
        print_start(&outcome->bad, result->bad[k].detail, strlen(result->bad[k].detail), 300);
        buf_putc(&outcome->bad, '\n');
    }
    add_marks(outcome, result);
    add_sums(outcome, result);
}

void kit_outcome_refused(struct kit_outcome *outcome, uint64_t id, const struct sluice_error *err)
{
    if (begin_record(outcome, id)) {
        buf_puts(&outcome->text, "refused alone: ");
        print_bytes(&outcome->text, err->message, strlen(err->message));
        end_record(outcome);
    }
}

/* ---- comparing ---- */

static const char *record_text(const struct kit_outcome *outcome, size_t k, size_t *n)
{
    *n = outcome->records[k].size;
    return outcome->text.data + outcome->records[k].begin;
}

/* Two versions of one thing, the same beginning cut off where it is long. */
static void show_two(struct buf *why, const char *a, const char *left, size_t n_left, const char *b,
                     const char *right, size_t n_right)
{
    size_t same = 0;
    size_t from;

    while (same < n_left && same < n_right && left[same] == right[same]) {
        same++;
    }
    from = same > 120 ? same - 100 : 0;
    buf_printf(why, "\n  %s: %s%.*s", a, from > 0 ? "..." : "",
               (int)(n_left - from < 240 ? n_left - from : 240), left + from);
    buf_printf(why, "\n  %s: %s%.*s", b, from > 0 ? "..." : "",
               (int)(n_right - from < 240 ? n_right - from : 240), right + from);
}

static bool records_equal(const struct kit_outcome *one, const char *a,
                          const struct kit_outcome *two, const char *b, struct buf *why)
{
    size_t n = one->n < two->n ? one->n : two->n;

    for (size_t k = 0; k < n; k++) {
        size_t n_left;
        size_t n_right;
        const char *left = record_text(one, k, &n_left);
        const char *right = record_text(two, k, &n_right);
        if (n_left != n_right || memcmp(left, right, n_left) != 0) {
            buf_printf(why, "%s %zu of %zu differs",
                       one->records[k].owner == UINT64_MAX ? "output row" : "row", k, one->n);
            show_two(why, a, left, n_left, b, right, n_right);
            return false;
        }
    }
    if (one->n != two->n) {
        size_t n_next;
        const struct kit_outcome *longer = one->n > two->n ? one : two;
        const char *next = record_text(longer, n, &n_next);
        buf_printf(why, "%s has %zu rows, %s has %zu; the first that only one has: %.*s", a, one->n,
                   b, two->n, (int)(n_next < 240 ? n_next : 240), next);
        return false;
    }
    return true;
}

static bool bytes_equal(const struct kit_outcome *one, const char *a, const struct kit_outcome *two,
                        const char *b, struct buf *why)
{
    for (uint32_t k = 0; k < KIT_OUTPUTS_MAX; k++) {
        const struct buf *left = &one->outputs[k];
        const struct buf *right = &two->outputs[k];
        size_t n = left->size < right->size ? left->size : right->size;
        size_t at = 0;
        while (at < n && left->data[at] == right->data[at]) {
            at++;
        }
        if (at < n || left->size != right->size) {
            size_t from = at > 30 ? at - 30 : 0;
            buf_printf(why, "output %u differs from byte %zu on (%zu bytes, %zu bytes)\n  %s: ", k,
                       at, left->size, right->size, a);
            print_bytes(why, left->data + from, left->size - from < 60 ? left->size - from : 60);
            buf_printf(why, "\n  %s: ", b);
            print_bytes(why, right->data + from, right->size - from < 60 ? right->size - from : 60);
            return false;
        }
    }
    return true;
}

static int64_t sum_of(const struct kit_outcome *outcome, const char *name)
{
    for (uint32_t k = 0; k < outcome->n_sums; k++) {
        if (strcmp(outcome->sums[k].name, name) == 0) {
            return outcome->sums[k].value;
        }
    }
    return 0;
}

static bool sums_equal(const struct kit_outcome *one, const char *a, const struct kit_outcome *two,
                       const char *b, struct buf *why)
{
    for (uint32_t side = 0; side < 2; side++) {
        const struct kit_outcome *names = side == 0 ? one : two;
        for (uint32_t k = 0; k < names->n_sums; k++) {
            const char *name = names->sums[k].name;
            if (sum_of(one, name) != sum_of(two, name)) {
                buf_printf(why, "the measure '%s' is %lld with %s and %lld with %s", name,
                           (long long)sum_of(one, name), a, (long long)sum_of(two, name), b);
                return false;
            }
        }
    }
    return true;
}

static bool lines_equal(const struct buf *one, const char *a, const struct buf *two, const char *b,
                        const char *what, struct buf *why)
{
    size_t at = 0;

    if (one->size == two->size &&
        (one->size == 0 || memcmp(one->data, two->data, one->size) == 0)) {
        return true;
    }
    for (size_t i = 0; i < one->size && i < two->size && one->data[i] == two->data[i]; i++) {
        at = one->data[i] == '\n' ? i + 1 : at;
    }
    buf_puts(why, what);
    show_two(why, a, one->data + at, one->size - at, b, two->data + at, two->size - at);
    return false;
}

bool kit_outcome_equal(const struct kit_outcome *one, const char *a, const struct kit_outcome *two,
                       const char *b, struct buf *why)
{
    if (one->status != two->status) {
        const struct kit_outcome *failed = one->status != SLUICE_OK ? one : two;
        buf_printf(why, "with %s it %s, with %s it %s: %s", a,
                   one->status == SLUICE_OK ? "works" : "fails", b,
                   two->status == SLUICE_OK ? "works" : "fails", failed->error.message);
        return false;
    }
    if (one->status != SLUICE_OK) {
        return true; /* both refuse the input */
    }
    if (!records_equal(one, a, two, b, why) || !bytes_equal(one, a, two, b, why) ||
        !sums_equal(one, a, two, b, why)) {
        return false;
    }
    if (!lines_equal(&one->rolls, a, &two->rolls, b, "files end at other places", why) ||
        !lines_equal(&one->bad, a, &two->bad, b, "the bad records differ", why)) {
        return false;
    }
    if (one->judged && (one->judgement.outcome != two->judgement.outcome ||
                        strcmp(one->judgement.message, two->judgement.message) != 0)) {
        buf_printf(why, "the judgement differs\n  %s: %d %s\n  %s: %d %s", a,
                   one->judgement.outcome, one->judgement.message, b, two->judgement.outcome,
                   two->judgement.message);
        return false;
    }
    return true;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash128));
}

static struct hash128 *sorted_hashes(const struct kit_outcome *outcome)
{
    struct hash128 *hashes = calloc(outcome->n + 1, sizeof *hashes);

    for (size_t k = 0; hashes != NULL && k < outcome->n; k++) {
        hashes[k] =
            hash_bytes(outcome->text.data + outcome->records[k].begin, outcome->records[k].size);
    }
    if (hashes != NULL && outcome->n > 1) {
        qsort(hashes, outcome->n, sizeof *hashes, compare_hashes);
    }
    return hashes;
}

bool kit_outcome_same_records(const struct kit_outcome *a, const struct kit_outcome *b)
{
    struct hash128 *one = sorted_hashes(a);
    struct hash128 *two = sorted_hashes(b);
    bool same =
        one != NULL && two != NULL && a->n == b->n && memcmp(one, two, a->n * sizeof *one) == 0;

    free(one);
    free(two);
    return same;
}

void kit_outcome_print(const struct kit_outcome *outcome, struct buf *out)
{
    char hex[33];

    if (outcome->status != SLUICE_OK) {
        buf_printf(out, "status %d: %s\n", (int)outcome->status, outcome->error.message);
    }
    buf_append(out, outcome->text.data, outcome->text.size);
    for (uint32_t k = 0; k < KIT_OUTPUTS_MAX; k++) {
        if (outcome->outputs[k].size > 0) {
            hash_hex(hash_bytes(outcome->outputs[k].data, outcome->outputs[k].size), hex);
            buf_printf(out, "output %u: %zu bytes, hash %s, ", k, outcome->outputs[k].size, hex);
            print_bytes(out, outcome->outputs[k].data, outcome->outputs[k].size);
            buf_putc(out, '\n');
        }
    }
    for (uint32_t k = 0; k < outcome->n_sums; k++) {
        buf_printf(out, "measure %s: %lld\n", outcome->sums[k].name,
                   (long long)outcome->sums[k].value);
    }
    buf_append(out, outcome->rolls.data, outcome->rolls.size);
    buf_append(out, outcome->bad.data, outcome->bad.size);
    if (outcome->judged) {
        buf_printf(out, "judged %d %s\n", outcome->judgement.outcome, outcome->judgement.message);
    }
}
