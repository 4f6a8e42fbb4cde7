/* sluice sample: what really reaches a place of a pipeline, evenly over all inputs.
 *
 * The graph is cut down to what feeds the place; behind it stand a sampler and a writer. That runs
 * as every pipeline does, in a run directory of its own, which is removed at the end. Tasks that a
 * run of the whole pipeline has done are lent to it as links. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/excerpt.h"
#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/progress.h"
#include "cmd/sample/sampleInt.h"
#include "run/facts/facts.h"
#include "store/pending.h"
#include "store/temp.h"

static const struct arg_spec specs[] = {
    { "--at", "NODE", "what comes to this node (NODE.dropped: what was dropped up to it)" },
    { "--after", "NODE", "what leaves this node" },
    { "-n", "N", "rows of the sample (default 10000)" },
    { "--seed", "N", "another seed, another sample (default 7)" },
    { "-o", "FILE", "where to write it; .zst and .gz compress (default: standard output)" },
    { "--run-dir", "DIR", "a run whose finished tasks are reused (default: .sluice/NAME)" },
    { "--scratch", "DIR", "where it works (default: .sluice beside the script)" },
    { "--workers", "N", "worker threads (default: the processors granted)" },
    { "--memory", "SIZE", "memory of the whole process (default: 80 % of what is granted)" },
    { "--limit", "N", "only the first N input files of every reader" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--trust", NULL, "run plugins from outside the install tree in this process, not isolated" },
    { "--json", NULL, "progress and result as JSON lines on standard output; needs -o" },
    { "--quiet", NULL, "no progress" },
};
#define N_SPECS (sizeof specs / sizeof specs[0])

static const char usage[] =
    "sluice sample PIPELINE.lua [name=value ...] --at NODE [-n N] [--seed N] -o FILE";
static const char text[] =
    "Runs a pipeline up to a node and samples the rows that come to it: each row is as likely as "
    "any other, from whichever\n"
    "file, and the same seed gives the same sample. Nothing is published, and no run is changed. "
    "`sluice try` runs a stage on it.";

/* ---- the graph ---- */

static sluice_status unknown_node(const struct graph *graph, const char *name,
                                  struct sluice_error *err)
{
    const char **names = calloc(graph->n_nodes + 1u, sizeof *names);
    struct buf list = BUF_INIT;
    const char *near;

    if (names == NULL) {
        return error_nomem(err, "names");
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        names[i] = graph->nodes[i]->name;
        if (graph->nodes[i]->kind != NODE_FILES && list.size < 600) {
            buf_printf(&list, "%s%s", list.size == 0 ? "" : ", ", names[i]);
        }
    }
    near = error_suggest(name, names, graph->n_nodes);
    error_set(err, SLUICE_E_CONFIG, "the pipeline has no node '%s'%s%s%s It has %s", name,
              near == NULL ? "." : "; did you mean '", near == NULL ? "" : near,
              near == NULL ? "" : "'?", buf_str(&list));
    buf_deinit(&list);
    free(names);
    return SLUICE_E_CONFIG;
}

/* The node of --at or --after; one for NAME.dropped is made where the script has none. */
static sluice_status find_node(struct graph *graph, const char *name, struct node **out,
                               struct sluice_error *err)
{
    size_t n = strlen(name);
    char *base;

    *out = graph_find(graph, name);
    if (*out != NULL || n <= 8 || strcmp(name + n - 8, ".dropped") != 0) {
        return *out != NULL ? SLUICE_OK : unknown_node(graph, name, err);
    }
    base = str_copy(name, n - 8);
    if (base == NULL) {
        return error_nomem(err, "a name");
    }
    if (graph_find(graph, base) == NULL) {
        sluice_status status = unknown_node(graph, base, err);
        free(base);
        return status;
    }
    n = graph_find(graph, base)->id;
    free(base);
    TRY(graph_add(graph, NODE_DROPPED, name, "--at", out, err));
    return graph_connect(graph, *out, (uint32_t)n, err);
}

static bool has_role(const struct node *node, uint32_t role)
{
    return node->kind == NODE_STAGE && node->entry->stage.role == role;
}

/* The node whose rows are sampled. */
static sluice_status find_rows(struct graph *graph, const struct sampling *sampling, uint32_t *id,
                               struct sluice_error *err)
{
    struct node *node;

    TRY(find_node(graph, sampling->at, &node, err));
    *id = node->id;
    if (node->kind == NODE_FILES || node->kind == NODE_DATASET ||
        (!sampling->after && has_role(node, SLUICE_ROLE_READER))) {
        return error_set(err, SLUICE_E_CONFIG,
                         "'%s' reads files, not rows; give a node behind the reader, or --after "
                         "and the reader",
                         sampling->at);
    }
    if (sampling->after && has_role(node, SLUICE_ROLE_WRITER)) {
        return error_set(err, SLUICE_E_CONFIG, "nothing leaves the writer '%s'; give --at %s",
                         sampling->at, sampling->at);
    }
    if (!sampling->after && node->kind == NODE_UNION) {
        return error_set(err, SLUICE_E_CONFIG,
                         "'%s' unites several streams; give --after %s, or one of the streams",
                         sampling->at, sampling->at);
    }
    if (!sampling->after && (node->kind == NODE_STAGE || node->kind == NODE_CHECKPOINT)) {
        /* The first stage of a composite stands where rows come in. */
        while (node->group > 0 && graph->nodes[node->inputs[0]]->group == node->group) {
            node = graph->nodes[node->inputs[0]];
        }
        *id = node->inputs[0];
    }
    return SLUICE_OK;
}

static sluice_status add_stage(struct graph *graph, const struct registry_entry *entry,
                               uint32_t input, struct node **out, struct sluice_error *err)
{
    TRY(graph_add(graph, NODE_STAGE, entry->stage.name, "sluice sample", out, err));
    (*out)->entry = entry;
    return graph_connect(graph, *out, input, err);
}

static sluice_status edit(void *ctx, struct session *session, struct sluice_error *err)
{
    struct sampling *sampling = ctx;
    struct graph *graph = session->graph;
    const struct registry_entry *sampler;
    const struct registry_entry *writer;
    struct value path;
    struct node *node;
    uint32_t id;

    TRY(find_rows(graph, sampling, &id, err));
    TRY(graph_restrict(graph, &id, err));
    TRY(sample_folder_make(sampling, session, err));
    TRY(sampler_add(session->registry, &sampling->sampler, &sampler, err));
    TRY(registry_find(session->registry, "write_jsonl", &writer, err));
    TRY(add_stage(graph, sampler, id, &node, err));
    sampling->stage = node->name;
    TRY(add_stage(graph, writer, node->id, &node, err));
    sampling->writer = node->name;
    value_map_init(&node->named);
    if (!value_string(&path, sampling->dataset, strlen(sampling->dataset)) ||
        !value_map_set(&node->named, "path", path) ||
        !value_map_set(&node->named, "level", value_int(1))) {
        return error_nomem(err, "the sample");
    }
    TRY(graph_sink(graph, node->id, err));
    graph->max_bad_share = -1; /* the pipeline's own run judges that */
    graph->max_bad_count = -1;
    session->run_dir = sampling->work;
    return SLUICE_OK;
}

/* ---- the report ---- */

#define MOST_FILES 20u

static uint64_t quarantined(const struct run *run)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        uint64_t bad;
        uint64_t records;
        run_quarantine_counts(run, p, &bad, &records);
        sum += bad;
    }
    return sum;
}

static bool print_json(const struct sampling *sampling, const struct sample_counts *counts,
                       const struct sample_picked *picked, uint64_t bad, const char *path,
                       double seconds)
{
    json_t *files = json_array();

    for (size_t i = 0; i < counts->n; i++) {
        json_array_append_new(
            files, json_pack("{s:o, s:I}", "uri",
                             facts_text(counts->files[i].file, strlen(counts->files[i].file)),
                             "rows", (json_int_t)counts->files[i].rows));
    }
    return look_print(
        "sample",
        json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o}", "node", sampling->at,
                  "after", sampling->after ? 1 : 0, "reached", (json_int_t)counts->reached, "rows",
                  (json_int_t)picked->rows, "bytes", (json_int_t)picked->bytes, "seed",
                  (json_int_t)sampling->sampler.seed, "quarantined", (json_int_t)bad, "seconds",
                  seconds, "path", facts_text(path, strlen(path)), "files", files));
}

static void print_text(const struct sampling *sampling, const struct sample_counts *counts,
                       const struct sample_picked *picked, uint64_t bad, const char *path,
                       double seconds)
{
    FILE *out = path == NULL ? stderr : stdout;
    char a[24];
    char b[24];
    size_t shown = 0;

    say_to(out, "%llu of %llu rows that %s '%s', seed %llu, %s", (unsigned long long)picked->rows,
           (unsigned long long)counts->reached, sampling->after ? "leave" : "reach", sampling->at,
           (unsigned long long)sampling->sampler.seed, human_time(seconds, a));
    if (path != NULL) {
        say_to(out, ": %s, %s (%s unpacked)", path, human_bytes((double)picked->stored, a),
               human_bytes((double)picked->bytes, b));
    }
    say_to(out, "\n");
    if (counts->n > 1 || counts->elsewhere > 0) {
        say_to(out, "  %10s  file, of all rows that %s '%s'\n", "rows",
               sampling->after ? "leave" : "reach", sampling->at);
    }
    for (size_t i = 0; counts->n > 1 && i < counts->n && shown < MOST_FILES; i++, shown++) {
        struct buf name = BUF_INIT;
        excerpt_put(&name, counts->files[i].file, strlen(counts->files[i].file), 0);
        say_to(out, "  %10llu  %s\n", (unsigned long long)counts->files[i].rows, buf_str(&name));
        buf_deinit(&name);
    }
    if (counts->n > 1 && counts->n > shown) {
        uint64_t rest = 0;
        for (size_t i = shown; i < counts->n; i++) {
            rest += counts->files[i].rows;
        }
        say_to(out, "  %10llu  in %zu more files (all with --json)\n", (unsigned long long)rest,
               counts->n - shown);
    }
    if (counts->elsewhere > 0) {
        say_to(out, "  %10llu  made of rows of several files\n",
               (unsigned long long)counts->elsewhere);
    }
    if (bad > 0) {
        say_to(out, "  %llu record%s quarantined on the way\n", (unsigned long long)bad,
               bad == 1 ? " is" : "s are");
    }
}

/* ---- the command ---- */

static void on_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    (void)ctx;
    if (level >= SLUICE_LOG_WARN) {
        say_to(stderr, "sluice: %s: %s\n", stage, message);
    }
}

/* A long run whose result has no place to go would be in vain. */
static sluice_status check_output(const char *path, struct sluice_error *err)
{
    const char *name;
    char *dir;
    struct stat info;
    sluice_status status = SLUICE_OK;

    if (path == NULL || !store_is_local(path)) {
        return path == NULL ? SLUICE_OK : store_check(path, err);
    }
    dir = store_parent(path, &name);
    if (dir == NULL) {
        return error_nomem(err, "a path");
    }
    if (access(dir, W_OK) != 0) {
        status = error_errno(err, errno, "-o: can't write to the folder %s", dir);
    } else if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "-o: found %s, which is no file; give a file's name", path);
    }
    free(dir);
    return status;
}

static sluice_status read_args(const struct args *args, struct sampling *sampling,
                               struct session_options *options, const char **plugins,
                               struct sluice_error *err)
{
    uint64_t seed;
    uint64_t k;
    uint64_t workers;

    sampling->at = args_get(args, "--at");
    sampling->after = sampling->at == NULL;
    sampling->at = sampling->at == NULL ? args_get(args, "--after") : sampling->at;
    if (args->n_words == 0) {
        return error_set(err, SLUICE_E_CONFIG, "no pipeline is given: %s", usage);
    }
    if (sampling->at == NULL || (!sampling->after && args_get(args, "--after") != NULL)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "found %s, expected --at NODE (what comes to it) or --after NODE (what "
                         "leaves it); `sluice plan` shows the nodes",
                         sampling->at == NULL ? "neither --at nor --after" : "--at and --after");
    }
    if (args_get(args, "--json") != NULL && args_get(args, "-o") == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--json needs -o FILE: standard output is taken by the events");
    }
    TRY(args_number(args, "-n", 1, 100000000, 10000, &k, err));
    TRY(args_number(args, "--seed", 0, 999999999999999999u, 7, &seed, err));
    TRY(args_number(args, "--workers", 1, 1024, 0, &workers, err));
    TRY(args_number(args, "--limit", 1, 1000000000, 0, &options->limit_files, err));
    TRY(args_size(args, "--memory", &options->memory, err));
    options->n_plugins = args_all(args, "--plugin", plugins);
    TRY(check_output(args_get(args, "-o"), err));
    if (args_get(args, "--scratch") != NULL && !store_is_local(args_get(args, "--scratch"))) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--scratch: found %s, expected a folder of this machine; what is there is "
                         "gone with the process",
                         args_get(args, "--scratch"));
    }
    sampler_init(&sampling->sampler, seed, k);
    sampling->run_dir = args_get(args, "--run-dir");
    sampling->scratch = args_get(args, "--scratch");
    options->plugins = plugins;
    options->workers = (uint32_t)workers;
    options->trust = args_get(args, "--trust") != NULL;
    options->script = args->words[0];
    options->words = args->words + 1;
    options->n_words = args->n_words - 1;
    return SLUICE_OK;
}

static sluice_status sample(const struct sampling *sampling, struct session *session,
                            const char *path, bool json, struct sluice_error *err)
{
    struct run_published *list = NULL;
    struct sample_counts counts = { 0 };
    struct sample_picked picked;
    size_t n = 0;
    uint64_t start = clock_ns();
    sluice_status status = run_all(session->run, &list, &n, err);

    run_published_free(list, n);
    if (status == SLUICE_OK) {
        status = sample_count_rows(session->run, sampling->stage, sampling->writer, &counts, err);
    }
    if (status == SLUICE_OK) {
        status = sample_pick(sampling->dataset, sampling->sampler.k, path, &picked, err);
    }
    if (status == SLUICE_OK) {
        uint64_t bad = quarantined(session->run);
        double seconds = (double)(clock_ns() - start) / 1e9;
        if (!json) {
            print_text(sampling, &counts, &picked, bad, path, seconds);
        } else if (!print_json(sampling, &counts, &picked, bad, path, seconds)) {
            status = error_nomem(err, "the report");
        }
    }
    sample_counts_deinit(&counts);
    return status;
}

int cmd_sample(int argc, char **argv)
{
    struct args args;
    struct sampling sampling;
    struct session session;
    struct session_options options = { .read_only = true, .lock = true, .log = on_log };
    const char *plugins[ARGS_MAX];
    struct sluice_error err = ERROR_INIT;
    struct sluice_error removal = ERROR_INIT;
    bool json;
    sluice_status status;

    memset(&sampling, 0, sizeof sampling);
    memset(&session, 0, sizeof session);
    if (args_parse(argc, argv, specs, N_SPECS, &args, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (args.help) {
        args_help(usage, text, specs, N_SPECS);
        return 0;
    }
    json = args_get(&args, "--json") != NULL;
    if (read_args(&args, &sampling, &options, plugins, &err) != SLUICE_OK) {
        return session_fail(&err, json);
    }
    session_signals();
    sampling.progress.mode =
        args_get(&args, "--quiet") != NULL ? PROGRESS_QUIET : progress_mode_for(json);
    options.events = (struct run_events){ .ctx = &sampling.progress,
                                          .progress = progress_tick,
                                          .warn = progress_warn };
    options.edit = edit;
    options.edit_ctx = &sampling;
    status = session_open(&options, SESSION_RUN, &session, &err);
    if (status == SLUICE_OK) {
        status = sample(&sampling, &session, args_get(&args, "-o"), json, &err);
    }
    if (status == SLUICE_E_CANCELLED) {
        error_set(&err, SLUICE_E_CANCELLED, "stopped; there is no sample");
    }
    progress_end(&sampling.progress);
    session_close(&session);
    if (sampling.work != NULL && temp_remove(sampling.work, &removal) != SLUICE_OK) {
        say_to(stderr, "sluice: warning: %s\n", removal.message);
    }
    free(sampling.work);
    free(sampling.dataset);
    return status == SLUICE_OK ? 0 : session_fail(&err, json);
}
