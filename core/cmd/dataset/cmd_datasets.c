/* sluice datasets: the datasets below a folder: snapshots, rows, owners, tags, and which was made
 * of which. A manifest says of its inputs what they held (run/publish.c), and no paths: the
 * snapshot that holds the same is the one that was read. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/paths.h"
#include "store/store.h"

#define DEPTH_MOST 32u /* of folders; links may go round */

static const struct arg_spec datasets_specs[] = {
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

struct found {
    char *name; /* below the folder; "." of itself */
    json_t *facts;
};

struct search {
    const char *folder;
    struct found *items;
    size_t n, capacity;
    json_t *held; /* {hash of what a snapshot holds: [{dataset, snapshot}]} */
};

/* ---- finding ---- */

static sluice_status add_found(struct search *search, const char *name, struct sluice_error *err)
{
    if (search->n == search->capacity) {
        size_t capacity = search->capacity == 0 ? 16 : search->capacity * 2;
        struct found *more = realloc(search->items, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "datasets");
        }
        search->items = more;
        search->capacity = capacity;
    }
    search->items[search->n] = (struct found){ .name = str_copy(name, strlen(name)) };
    return search->items[search->n++].name == NULL ? error_nomem(err, "datasets") : SLUICE_OK;
}

/* Folders below `name` ("" = the folder itself), first themselves. */
static sluice_status walk(struct search *search, const char *name, unsigned depth,
                          struct sluice_error *err)
{
    struct store_list list = { NULL, 0 };
    char *path = name[0] == '\0' ? str_copy(search->folder, strlen(search->folder))
                                 : store_join(search->folder, name);
    bool dataset = path != NULL && dataset_there(path);
    sluice_status status = path == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK && dataset) {
        status = add_found(search, name[0] == '\0' ? "." : name, err);
    }
    if (status == SLUICE_OK && depth < DEPTH_MOST) {
        status = store_list(path, STORE_VERSIONS, &list, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        const char *entry = list.entries[i].name;
        char *inner;
        if (!list.entries[i].folder || entry[0] == '.' ||
            (dataset && dataset_part(entry, strlen(entry)))) {
            continue;
        }
        inner = name[0] == '\0' ? str_copy(entry, strlen(entry)) : store_join(name, entry);
        status = inner == NULL ? error_nomem(err, "a path") : walk(search, inner, depth + 1, err);
        free(inner);
    }
    store_list_deinit(&list);
    free(path);
    return status;
}

/* Where folders are no things: whoever has a manifest is a dataset. */
static sluice_status scan(struct search *search, struct sluice_error *err)
{
    static const char part[] = "snapshots/";
    struct store_list list = { NULL, 0 };
    sluice_status status = store_list(search->folder, STORE_DEEP, &list, err);
    char last[PATH_MAX] = "";

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        const char *name = list.entries[i].name;
        const char *slash = strrchr(name, '/');
        size_t n = slash == NULL ? 0 : (size_t)(slash + 1 - name);
        char folder[PATH_MAX];
        if (n < sizeof part - 1 || n >= sizeof folder ||
            memcmp(name + n - (sizeof part - 1), part, sizeof part - 1) != 0 ||
            strspn(slash + 1, "0123456789") + 5 != strlen(slash + 1)) {
            continue;
        }
        n -= sizeof part - 1;
        snprintf(folder, sizeof folder, "%.*s", n == 0 ? 1 : (int)n - 1, n == 0 ? "." : name);
        if (strcmp(folder, last) != 0) {
            memcpy(last, folder, sizeof last);
            status = add_found(search, folder, err);
        }
    }
    store_list_deinit(&list);
    return status;
}

/* ---- facts ---- */

static json_t *snapshot_json(const struct snapshot *s, const struct tag *tags, size_t n_tags)
{
    json_t *names = json_array();

    for (size_t i = 0; i < n_tags; i++) {
        if (tags[i].number == s->number) {
            json_array_append_new(names, json_string(tags[i].name));
        }
    }
    return json_pack("{s:i, s:I, s:I, s:i, s:o, s:O?}", "number", (int)s->number, "rows",
                     (json_int_t)s->rows, "bytes", (json_int_t)s->bytes, "files", (int)s->n_shards,
                     "tags", names, "compacts", json_object_get(s->lineage, "compacts"));
}

/* Notes that a snapshot holds, or once held, what has this hash. */
static void note_held(struct search *search, const struct found *found, const struct snapshot *s,
                      const char *hex)
{
    json_t *holders = json_object_get(search->held, hex);

    if (holders == NULL) {
        json_object_set_new(search->held, hex, json_array());
        holders = json_object_get(search->held, hex);
    }
    json_array_append_new(holders, json_pack("{s:o, s:i}", "dataset",
                                             facts_text(found->name, strlen(found->name)),
                                             "snapshot", (int)s->number));
}

/* Notes what the snapshot holds, also before rows were purged from it, and hands on what it was
 * made of. */
static sluice_status take_lineage(struct search *search, const struct found *found,
                                  const struct snapshot *s, json_t *facts, struct sluice_error *err)
{
    struct hash128 hash;
    json_t *made = json_array();
    json_t *input;
    json_t *note;
    size_t i;
    char hex[33];

    TRY(snapshot_holds(s, &hash, err));
    hash_hex(hash, hex);
    note_held(search, found, s, hex);
    json_array_foreach(json_object_get(s->lineage, "removals"), i, note)
    {
        const char *held = json_string_value(json_object_get(note, "held"));
        if (held != NULL) {
            note_held(search, found, s, held);
        }
    }
    json_array_foreach(json_object_get(s->lineage, "inputs"), i, input)
    {
        json_array_append_new(made, json_pack("{s:O?, s:O?, s:O?}", "reader",
                                              json_object_get(input, "reader"), "files",
                                              json_object_get(input, "files"), "holds",
                                              json_object_get(input, "holds")));
    }
    return json_object_set_new(facts, "inputs", made) == 0 ? SLUICE_OK : error_nomem(err, "facts");
}

static sluice_status collect(struct search *search, struct found *found, struct sluice_error *err)
{
    char *dir = strcmp(found->name, ".") == 0 ? str_copy(search->folder, strlen(search->folder))
                                              : store_join(search->folder, found->name);
    json_t *list = json_array();
    struct tag *tags = NULL;
    uint32_t *numbers = NULL;
    size_t n_tags = 0;
    size_t n = 0;
    sluice_status status =
        dir == NULL ? error_nomem(err, "a path") : tags_list(dir, &tags, &n_tags, err);

    found->facts = json_pack("{s:o, s:O}", "path", facts_text(found->name, strlen(found->name)),
                             "snapshots", list);
    if (status == SLUICE_OK) {
        status = snapshot_list(dir, &numbers, &n, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct sluice_error damage = ERROR_INIT;
        struct snapshot *s = NULL;
        json_t *facts;
        if (snapshot_open(dir, numbers[i], &s, &damage) != SLUICE_OK) {
            json_array_append_new(list,
                                  json_pack("{s:i, s:o}", "number", (int)numbers[i], "damage",
                                            facts_text(damage.message, strlen(damage.message))));
            continue;
        }
        facts = snapshot_json(s, tags, n_tags);
        status =
            facts == NULL ? error_nomem(err, "facts") : take_lineage(search, found, s, facts, err);
        json_array_append_new(list, facts);
        json_object_set_new(found->facts, "owner", dataset_owner_json(s));
        snapshot_destroy(s);
    }
    json_decref(list);
    free(numbers);
    free(tags);
    free(dir);
    return status;
}

/* Inputs that are snapshots of datasets here get their names. */
static void name_inputs(const struct search *search, const json_t *facts)
{
    size_t i;
    size_t k;
    json_t *snapshot;
    json_t *input;

    json_array_foreach(json_object_get(facts, "snapshots"), i, snapshot)
    {
        json_array_foreach(json_object_get(snapshot, "inputs"), k, input)
        {
            const char *hash = json_string_value(json_object_get(input, "holds"));
            json_t *held = hash == NULL ? NULL : json_object_get(search->held, hash);
            if (held != NULL) {
                json_object_set(input, "datasets", held);
            }
            json_object_del(input, "holds");
        }
    }
}

static int by_name(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;
    return strcmp(x->name, y->name);
}

static sluice_status look(struct search *search, json_t **out, struct sluice_error *err)
{
    json_t *list = json_array();

    TRY((store_caps(search->folder) & STORE_FOLDERS) != 0 ? walk(search, "", 0, err)
                                                          : scan(search, err));
    if (search->n > 1) {
        qsort(search->items, search->n, sizeof *search->items, by_name);
    }
    for (size_t i = 0; i < search->n; i++) {
        TRY(collect(search, &search->items[i], err));
    }
    for (size_t i = 0; i < search->n; i++) {
        name_inputs(search, search->items[i].facts);
        json_array_append(list, search->items[i].facts);
    }
    *out = json_pack("{s:o, s:o}", "folder", facts_text(search->folder, strlen(search->folder)),
                     "datasets", list);
    return *out == NULL ? error_nomem(err, "facts") : SLUICE_OK;
}

int cmd_datasets(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice datasets [DIR] [--json|--view FILE.lua]",
        .text = "Lists the datasets in a folder (default: here) and in those below it: their "
                "snapshots with rows, bytes and tags, whose they are,\nand of which other ones "
                "each was made.",
        .specs = datasets_specs,
        .n_specs = sizeof datasets_specs / sizeof datasets_specs[0],
        .least = 0,
        .most = 1,
    };
    struct search search = { .held = NULL };
    struct sluice_error err = ERROR_INIT;
    json_t *facts = NULL;
    struct args args;
    char cwd[PATH_MAX];
    char *folder = NULL;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    folder = getcwd(cwd, sizeof cwd) == NULL
                 ? NULL
                 : store_absolute(cwd, args.n_words == 0 ? "" : args.words[0]);
    for (size_t n = folder == NULL ? 0 : strlen(folder); n > 1 && folder[n - 1] == '/'; n--) {
        folder[n - 1] = '\0';
    }
    search.folder = folder;
    search.held = json_object();
    if (folder == NULL) {
        error_nomem(&err, "a path");
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else if (look(&search, &facts, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("datasets", &args, facts);
    }
    for (size_t i = 0; i < search.n; i++) {
        free(search.items[i].name);
        json_decref(search.items[i].facts);
    }
    free(search.items);
    json_decref(search.held);
    free(folder);
    return status;
}
