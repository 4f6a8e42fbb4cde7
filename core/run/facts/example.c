/* A pair of near-duplicates for the report: a dropped row that names the document it duplicates,
 * both read back from the input files. What is read is bounded, so a large
 * run may have no example. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "run/facts/factsInt.h"

#define MAX_ROWS 2000000u     /* of tables that are searched */
#define MAX_RECORD (1u << 20) /* bytes of a record that are read */
#define WORDS 240             /* bytes of text that are kept */

/* What is looked for and what was found. */
struct search {
    uint64_t rows; /* seen so far */
    bool found;
    bool any; /* takes a pair of equal texts as well */
    uint64_t row;
    double similarity;
    char *stage, *dup_of;
};

static char *copy_text(const struct batch *batch, uint32_t column, int64_t row)
{
    size_t n;
    const char *text = runview_text(batch, column, row, &n);
    return str_copy(text, n);
}

static sluice_status drop_row(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct search *search = ctx;

    *stop = ++search->rows > MAX_ROWS;
    if (runview_null(batch, DROPS_DUP_OF, row) || runview_null(batch, DROPS_SIMILARITY, row)) {
        return SLUICE_OK;
    }
    search->similarity = runview_f64(batch, DROPS_SIMILARITY, row);
    if (search->similarity >= 1 && !search->any) {
        return SLUICE_OK;
    }
    search->row = runview_u64(batch, DROPS_ROW, row);
    search->stage = copy_text(batch, DROPS_STAGE, row);
    search->dup_of = copy_text(batch, DROPS_DUP_OF, row);
    search->found = true;
    *stop = true;
    return search->stage == NULL || search->dup_of == NULL ? error_nomem(err, "an example")
                                                           : SLUICE_OK;
}

static sluice_status origin_row(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                struct sluice_error *err)
{
    struct search *search = ctx;
    size_t n;
    const char *id;

    (void)err;
    *stop = ++search->rows > MAX_ROWS;
    if (runview_null(batch, ORIGIN_ID, row)) {
        return SLUICE_OK;
    }
    id = runview_text(batch, ORIGIN_ID, row, &n);
    if (strlen(search->dup_of) == n && memcmp(search->dup_of, id, n) == 0) {
        search->row = runview_u64(batch, ORIGIN_ROW, row);
        search->found = true;
        *stop = true;
    }
    return SLUICE_OK;
}

/* Goes through a table of all tasks until fn has found its row; *place is where it stands. */
static bool find(const struct run *run, enum task_table table, runview_row *fn,
                 struct search *search, struct place *place)
{
    struct sluice_error err = ERROR_INIT;

    search->rows = 0;
    search->found = false;
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        for (uint32_t t = 0; t < phase->n_tasks && search->rows <= MAX_ROWS; t++) {
            uint32_t split = 0;
            const struct lane *lane = phase_lane(phase, t, &split);
            if (lane->kind != LANE_SPLITS || !run->tasks[p][t].done ||
                runview_table(run, p, t, table, fn, search, &err) != SLUICE_OK) {
                continue;
            }
            if (search->found) {
                *place = (struct place){ .lane = lane, .split = split, .row = search->row };
                return true;
            }
        }
    }
    return false;
}

/* The dropped row. */
static bool find_drop(const struct run *run, struct search *search, struct place *place)
{
    return find(run, TABLE_DROPS, drop_row, search, place);
}

/* The document that it names. */
static bool find_kept(const struct run *run, struct search *search, struct place *place)
{
    return find(run, TABLE_ORIGIN, origin_row, search, place);
}

/* The first words of a record's longest string, runs of white space as one blank: of a document
 * that is its text. */
static json_t *first_words(const json_t *record)
{
    const json_t *longest = NULL;
    const char *name;
    const char *text;
    json_t *value;
    char words[WORDS + 1];
    size_t n = 0;

    json_object_foreach((json_t *)(uintptr_t)record, name, value)
    {
        if (json_is_string(value) &&
            (longest == NULL || json_string_length(value) > json_string_length(longest))) {
            longest = value;
        }
    }
    if (longest == NULL) {
        return NULL;
    }
    text = json_string_value(longest);
    for (size_t i = 0; i < json_string_length(longest) && n < sizeof words; i++) {
        bool blank = text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r');
        if (!blank || (n > 0 && words[n - 1] != ' ')) {
            words[n++] = blank ? ' ' : text[i];
        }
    }
    return json_stringn(words, utf8_cut(words, n, WORDS));
}

static json_t *describe(const struct place *place)
{
    struct buf record = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    json_t *json = NULL;

    if (place->found && place->end - place->begin <= MAX_RECORD &&
        place_read(place, MAX_RECORD, &record, &err) == SLUICE_OK) {
        json_t *parsed = json_loadb(record.data, record.size, 0, NULL);
        json_t *text = first_words(parsed);
        if (text != NULL) {
            json = json_pack("{s:s, s:s*, s:o}", "file", place->file->name, "id", place->id, "text",
                             text);
        }
        json_decref(parsed);
    }
    buf_deinit(&record);
    return json;
}

json_t *example_of(const struct run *run)
{
    struct search search = { 0 };
    struct place places[2] = { 0 };
    struct sluice_error err = ERROR_INIT;
    json_t *dropped = NULL;
    json_t *kept = NULL;
    json_t *example = NULL;
    bool found = find_drop(run, &search, &places[0]);

    if (!found) {
        search.any = true;
        found = find_drop(run, &search, &places[0]);
    }
    if (found && find_kept(run, &search, &places[1]) &&
        places_fill(run, places, 2, &err) == SLUICE_OK) {
        dropped = describe(&places[0]);
        kept = describe(&places[1]);
    }
    if (dropped != NULL && kept != NULL) {
        example = json_pack("{s:s, s:f, s:O, s:O}", "stage", search.stage, "similarity",
                            search.similarity, "dropped", dropped, "kept", kept);
    }
    json_decref(dropped);
    json_decref(kept);
    place_deinit(&places[0]);
    place_deinit(&places[1]);
    free(search.stage);
    free(search.dup_of);
    return example;
}
