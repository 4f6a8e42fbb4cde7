/* From rows back to bytes: see places.h. */
#include "run/facts/places.h"

#include <stdlib.h>
#include <string.h>

#include "run/facts/factsInt.h"
#include "run/labels.h"
#include "run/runview.h"
#include "run/source/extents.h"

#define POSITION_BITS 40 /* _pos = task << 40 | row */

void place_deinit(struct place *place)
{
    free(place->id);
    place->id = NULL;
}

void place_span(struct place *place, uint64_t span)
{
    place->first = span >> 32;
    place->tokens = span & UINT32_MAX;
}

bool places_task(const struct phase *phase, const struct lane *lane, uint32_t split, uint32_t *task)
{
    uint32_t first = 0;

    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        if (phase->lanes[k] == lane) {
            *task = first + split;
            return split < lane->n_tasks;
        }
        first += phase->lanes[k]->n_tasks;
    }
    return false;
}

/* The phase that reads a lane, and the task there. */
static bool places_reader(const struct plan *plan, const struct lane *lane, uint32_t split,
                          uint32_t *phase, uint32_t *task)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op_reads_first(op) && plan->phases[p]->lanes[op_read(op)->lane] == lane) {
                *phase = p;
                return places_task(plan->phases[p], lane, split, task);
            }
        }
    }
    return false;
}

/* The op behind port 0, through stored edges too; NULL for readers. *phase is updated. */
static const struct op *places_input(const struct plan *plan, const struct phase **phase,
                                     const struct op *op)
{
    const struct op_drops *earlier;

    switch (op->kind) {
    case OP_READ:
        return NULL;
    case OP_LOAD:
        *phase = plan->phases[op_load(op)->edge->producer_phase];
        return (*phase)->ops[op_load(op)->edge->producer_op];
    case OP_UNION:
    case OP_STAGE:
    case OP_STORE:
        break;
    case OP_COLLECT:
        if (op_collect(op)->n_stages == 0) {
            earlier = op_earlier_drops(op);
            return earlier == NULL ? NULL : (*phase)->ops[earlier->op];
        }
        op = (*phase)->ops[op_collect(op)->stages[0].op];
        break;
    }
    return op_n_inputs(op) == 0 ? NULL : phase_input(*phase, op, 0);
}

/* The transform that made the rows which op delivers, or NULL: they are the documents that a reader
 * read. */
static const struct op *places_made_by(const struct plan *plan, const struct phase *phase,
                                       const struct op *op)
{
    while (op != NULL) {
        if (op_is(op, SLUICE_ROLE_TRANSFORM)) {
            return op;
        }
        op = places_input(plan, &phase, op);
    }
    return NULL;
}

bool places_numbers(const struct plan *plan, const struct phase *phase, const struct op *op)
{
    const struct op *input = places_input(plan, &phase, op);
    return input == NULL || places_made_by(plan, phase, input) == NULL;
}

/* The gathered edge that a task of a lane without splits reads; NULL = there is none. */
static const struct op *gathered(const struct phase *phase, const struct lane *lane)
{
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        if (op->kind == OP_LOAD &&
            (op_load(op)->edge->load == LOAD_GATHER || op_load(op)->edge->load == LOAD_KEYED) &&
            phase_load_lane(phase, op) == lane) {
            return op;
        }
    }
    return NULL;
}

static const struct phase *phase_of(const struct plan *plan, const struct op *op)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        if (op->index < plan->phases[p]->n_ops && plan->phases[p]->ops[op->index] == op) {
            return plan->phases[p];
        }
    }
    return NULL;
}

/* A metadata key of a transform's _origin. */
static bool origin_says(const struct op *maker, const char *key)
{
    int32_t slot = schema_find(&maker->out, SLUICE_ORIGIN);
    size_t n;

    return slot >= 0 && field_metadata(&maker->out.fields[slot], key, &n) != NULL;
}

/* The phase whose tasks a transform's positions name: that before the exchange in front of it; -1 =
 * there is none. */
static int32_t before_exchange(const struct plan *plan, const struct phase *phase,
                               const struct op *op)
{
    while (op != NULL && !op_is(op, SLUICE_ROLE_TRANSFORM)) {
        if (op->kind == OP_LOAD &&
            (op_load(op)->edge->load == LOAD_KEYED || op_load(op)->edge->load == LOAD_GATHER)) {
            return (int32_t)op_load(op)->edge->producer_phase;
        }
        op = places_input(plan, &phase, op);
    }
    return -1;
}

/* Back from the last transform to the first whose rows the numbers name: each on the way hands on
 * the numbers of the one before. *base becomes the phase whose tasks they name as well, that before
 * the first exchange; or stays as it is. */
static sluice_status first_maker(const struct plan *plan, const struct op *writer,
                                 const struct op *maker, int32_t *base, struct sluice_error *err)
{
    for (;;) {
        const struct phase *phase = phase_of(plan, maker);
        const struct op *input = places_input(plan, &phase, maker);
        const struct op *earlier = input == NULL ? NULL : places_made_by(plan, phase, input);
        bool positions = origin_says(maker, "exchange");
        bool named = input != NULL && schema_find(&input->out, SLUICE_ORIGIN) >= 0;
        if (positions && *base < 0 && (earlier == NULL || !origin_says(earlier, "exchange"))) {
            *base = before_exchange(plan, phase, input);
        }
        if (earlier == NULL) {
            return SLUICE_OK;
        }
        if (!named || !(positions || origin_says(maker, "through"))) {
            return error_set(err, SLUICE_E_DATA,
                             "the rows of '%s' go through more than one transform ('%s' is one); "
                             "only the last one's origin is kept",
                             writer->name, earlier->name);
        }
        maker = earlier;
    }
}

/* The exchanges in front of transforms that gather rows from all tasks, on all ways to op; of one
 * way the first. *before becomes the one before them, -1 where there is none, -2 where there are
 * several. */
static void before_gather(const struct plan *plan, const struct phase *phase, const struct op *op,
                          bool made, int32_t *before)
{
    int32_t deeper = -1;

    for (; op != NULL; op = places_input(plan, &phase, op)) {
        if (op->kind == OP_STAGE) {
            made = op_declared(op)->role == SLUICE_ROLE_TRANSFORM;
        } else if (op->kind == OP_UNION) {
            for (uint32_t k = 0; k < op_n_inputs(op); k++) {
                before_gather(plan, phase, phase_input(phase, op, k), made, before);
            }
            break;
        } else if (op->kind == OP_LOAD && op_load(op)->edge->load == LOAD_GATHER && made) {
            deeper = (int32_t)op_load(op)->edge->producer_phase;
        }
    }
    if (deeper >= 0) {
        *before = *before == -1 || *before == deeper ? deeper : -2;
    }
}

sluice_status places_origin(const struct run *run, uint32_t p, uint32_t task,
                            const struct op *writer, uint64_t number, struct place *place,
                            struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    const struct phase *phase = plan->phases[p];
    const struct op *input = places_input(plan, &phase, writer);
    const struct op *maker = input == NULL ? NULL : places_made_by(plan, phase, input);
    const struct lane *lane;
    uint32_t split = 0;
    int32_t base = -1;

    memset(place, 0, sizeof *place);
    if (maker != NULL) {
        if (schema_find(&input->out, SLUICE_ORIGIN) < 0) {
            return error_set(err, SLUICE_E_DATA,
                             "the rows of '%s' are made by the transform '%s', which does not say "
                             "from which rows (it emits no _origin)",
                             writer->name, maker->name);
        }
        TRY(first_maker(plan, writer, maker, &base, err));
    }
    if ((number & SLUICE_ORIGIN_POS) != 0) {
        number &= ~SLUICE_ORIGIN_POS;
        base = -1;
        before_gather(plan, phase, input, false, &base);
        if (base < 0) {
            return error_set(err, SLUICE_E_DATA,
                             "'%s' writes rows gathered from several phases, and their numbers do "
                             "not say from which",
                             writer->name);
        }
    }
    if (base >= 0) {
        p = (uint32_t)base;
        task = (uint32_t)(number >> POSITION_BITS);
        number &= (UINT64_C(1) << POSITION_BITS) - 1;
    }
    lane = task < plan->phases[p]->n_tasks ? phase_lane(plan->phases[p], task, &split) : NULL;
    while (lane != NULL && lane->kind != LANE_SPLITS) {
        const struct op *load = gathered(plan->phases[p], lane);
        if (load == NULL || (number >> POSITION_BITS == 0 &&
                             plan->phases[op_load(load)->edge->producer_phase]->n_tasks > 1)) {
            return error_set(
                err, SLUICE_E_DATA,
                "'%s' writes rows gathered from several tasks, and their numbers do not say which",
                writer->name);
        }
        p = op_load(load)->edge->producer_phase;
        lane = phase_lane(plan->phases[p], (uint32_t)(number >> POSITION_BITS), &split);
        number &= (UINT64_C(1) << POSITION_BITS) - 1;
    }
    if (lane == NULL) {
        return error_set(err, SLUICE_E_DATA, "row %llu of '%s' names a task that is not there",
                         (unsigned long long)number, writer->name);
    }
    *place = (struct place){ .lane = lane, .split = split, .row = number };
    return SLUICE_OK;
}

/* ---- origin tables ---- */

struct filling {
    const struct run *run;
    struct place **sorted; /* of one split, by row */
    size_t n, at;
    bool failed;
    const struct op *reader;
    uint32_t unit_file;         /* of the unit whose rows go by */
    uint64_t unit_begin, first; /* its first byte and row */
};

static const struct op *reader_of(const struct plan *plan, const struct lane *lane)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op_reads_first(op) && plan->phases[p]->lanes[op_read(op)->lane] == lane) {
                return op;
            }
        }
    }
    return NULL;
}

/* The rows of a unit follow each other. */
static void note_unit(struct filling *filling, uint32_t file, uint64_t begin, uint64_t row)
{
    if (row == 0 || file != filling->unit_file || begin != filling->unit_begin) {
        filling->unit_file = file;
        filling->unit_begin = begin;
        filling->first = row;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = *(const struct place *const *)a;
    const struct place *y = *(const struct place *const *)b;

    if (x->lane != y->lane) {
        return x->lane->index < y->lane->index ? -1 : 1;
    }
    if (x->split != y->split) {
        return x->split < y->split ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

static sluice_status fill_row(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct filling *filling = ctx;
    uint64_t number = runview_u64(batch, ORIGIN_ROW, row);

    note_unit(filling, runview_u32(batch, ORIGIN_FILE, row), runview_u64(batch, ORIGIN_BEGIN, row),
              number);
    while (filling->at < filling->n && filling->sorted[filling->at]->row < number) {
        filling->at++;
    }
    while (filling->at < filling->n && filling->sorted[filling->at]->row == number) {
        struct place *place = filling->sorted[filling->at++];
        const struct split *split = &place->lane->splits.items[place->split];
        uint32_t range = runview_u32(batch, ORIGIN_FILE, row);
        if (range >= split->n_ranges) {
            char name[SPLIT_NAME];
            return error_set(err, SLUICE_E_DATA, "the origin table of %s names range %u of %u",
                             lane_split_name(place->lane, place->split, name), range,
                             split->n_ranges);
        }
        place->found = true;
        place->file = &place->lane->files.files[split->ranges[range].file];
        place->source = &source_files_all(
            filling->run->lane_files[place->lane->index])[split->ranges[range].file];
        place->begin = runview_u64(batch, ORIGIN_BEGIN, row);
        place->end = runview_u64(batch, ORIGIN_END, row);
        place->random =
            filling->reader != NULL && splits_random(splits_cut(op_declared(filling->reader)->cut));
        place->unit = place->random && schema_find(&filling->reader->out, SLUICE_BEGIN) < 0;
        place->unit_row = number - filling->first;
        place->reader = filling->reader;
        if (!runview_null(batch, ORIGIN_ID, row)) {
            size_t n;
            const char *id = runview_text(batch, 4, row, &n);
            place->id = str_copy(id, n);
            if (place->id == NULL) {
                return error_nomem(err, "an id");
            }
        }
    }
    *stop = filling->at >= filling->n;
    return SLUICE_OK;
}

sluice_status places_fill(const struct run *run, struct place *places, size_t n,
                          struct sluice_error *err)
{
    struct place **sorted = calloc(n + 1, sizeof(struct place *));
    sluice_status status = sorted == NULL ? error_nomem(err, "places") : SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        sorted[i] = &places[i];
    }
    if (status == SLUICE_OK) {
        qsort(sorted, n, sizeof *sorted, compare_places);
    }
    for (size_t i = 0; status == SLUICE_OK && i < n;) {
        struct filling filling = { .run = run, .sorted = sorted + i };
        uint32_t p = 0;
        uint32_t task = 0;
        while (i < n && sorted[i]->lane == filling.sorted[0]->lane &&
               sorted[i]->split == filling.sorted[0]->split) {
            i++;
        }
        filling.n = (size_t)(sorted + i - filling.sorted);
        filling.reader = reader_of(run->plan, filling.sorted[0]->lane);
        if (places_reader(run->plan, filling.sorted[0]->lane, filling.sorted[0]->split, &p,
                          &task) &&
            run->tasks[p][task].done) {
            status = runview_table(run, p, task, TABLE_ORIGIN, fill_row, &filling, err);
        }
    }
    free(sorted);
    return status;
}

/* The bytes as they are stored. */
static sluice_status read_stored(const struct place *place, uint64_t n, struct buf *out,
                                 struct sluice_error *err)
{
    struct extent extent = { .offset = place->begin, .n = n };
    struct extents *file;
    sluice_status status;

    if (!buf_reserve(out, n + 1)) {
        return error_nomem(err, "a record");
    }
    TRY(extents_open(place->source, &file, err));
    extent.to = out->data + out->size;
    status = extents_read(file, &extent, 1, err);
    out->size += status == SLUICE_OK ? n : 0;
    extents_close(file);
    return status;
}

sluice_status place_read(const struct place *place, uint64_t max, struct buf *out,
                         struct sluice_error *err)
{
    uint64_t n = place->end - place->begin < max ? place->end - place->begin : max;
    struct input_frame from = { 0, 0 };
    uint64_t skipped = 0;
    size_t got = 0;
    struct input *input = NULL;
    sluice_status status;

    if (place->unit) {
        return place_scan(place, out, err);
    }
    if (place->random) {
        return read_stored(place, n, out, err);
    }
    TRY(source_file_place(place->source, place->begin, &from, err));
    TRY(source_file_open(place->source, &input, err));
    status = from.decoded == 0 ? SLUICE_OK : input_seek(input, from.raw, from.decoded, err);
    if (status == SLUICE_OK) {
        status = input_skip(input, place->begin - from.decoded, &skipped, err);
    }
    if (status == SLUICE_OK && !buf_reserve(out, n + 1)) {
        status = error_nomem(err, "a record");
    }
    if (status == SLUICE_OK) {
        status = input_read(input, out->data + out->size, n, &got, err);
    }
    if (status == SLUICE_OK && got < n) {
        status = error_set(
            err, SLUICE_E_DATA,
            "%s ends at byte %llu, inside the record at %llu to %llu; it was changed after the run",
            place->file->path, (unsigned long long)input_position(input),
            (unsigned long long)place->begin, (unsigned long long)place->end);
    }
    if (status == SLUICE_OK) {
        out->size += got;
    }
    input_close(input);
    return status;
}

/* ---- output files ---- */

bool places_parse_file(const char *file, char key[25], uint32_t *ordinal)
{
    uint32_t n = 0;
    const char *at = file + 25;

    if (strspn(file, "0123456789abcdef") != 24 || file[24] != '-' || *at < '0' || *at > '9') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (n > 100000000) {
            return false;
        }
        n = n * 10 + (uint32_t)(*at - '0');
    }
    memcpy(key, file, 24);
    key[24] = '\0';
    *ordinal = n;
    /* Older ones have no hash. */
    if (*at == '-' && strspn(at + 1, "0123456789abcdef") == 12) {
        at += 13;
    }
    return *at == '.';
}

const struct commit_output *places_output(const struct commit *commit, const char *writer,
                                          uint32_t ordinal)
{
    for (uint32_t k = 0; commit != NULL && k < commit->n_outputs; k++) {
        const struct commit_output *output = &commit->outputs[k];
        char key[25];
        uint32_t n;
        if (label_is_shards(output->port, writer) && places_parse_file(output->file, key, &n) &&
            n == ordinal) {
            return output;
        }
    }
    return NULL;
}

sluice_status places_public(const char *dataset, const char *file, char **name, uint32_t *number,
                            struct sluice_error *err)
{
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status;

    *name = NULL;
    *number = 0;
    TRY(snapshot_list(dataset, &numbers, &n, err));
    status = SLUICE_OK;
    while (status == SLUICE_OK && *name == NULL && n-- > 0) {
        struct snapshot *snapshot = NULL;
        status = snapshot_open(dataset, numbers[n], &snapshot, err);
        for (size_t i = 0; status == SLUICE_OK && i < snapshot->n_shards; i++) {
            if (strcmp(snapshot->shards[i].file, file) == 0) {
                *name = str_copy(snapshot->shards[i].name, strlen(snapshot->shards[i].name));
                *number = snapshot->number;
                status = *name == NULL ? error_nomem(err, "a name") : SLUICE_OK;
                break;
            }
        }
        snapshot_destroy(snapshot);
    }
    free(numbers);
    return status;
}
