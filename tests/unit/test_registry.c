/* Discovery, probing, loading and lookup of plugins, with the plugins of tests/abi. This program is
 * also the probe's child: the registry starts /proc/self/exe as `... __probe FILE`. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugin/options.h"
#include "plugin/plugin_describe.h"
#include "plugin/registry.h"
#include "alloc_fail.h"

/* For LeakSanitizer: what the dynamic linker keeps is its own affair, also where malloc is ours. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:_dl_map_object_deps\n";
}

static char libraries[PATH_MAX]; /* folder of the plugins of tests/abi */

struct tree {
    char root[64];
    char text[PATH_MAX + 64];
};

static const char *library(const char *name)
{
    static char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s.so", libraries, name);
    return path;
}

static const char *in(struct tree *tree, const char *path)
{
    snprintf(tree->text, sizeof tree->text, "%s/%s", tree->root, path);
    return tree->text;
}

static void tree_open(struct tree *tree)
{
    strcpy(tree->root, "/tmp/sluice-registry-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
}

static void tree_close(struct tree *tree)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", tree->root);
    assert_int_equal(system(command), 0);
}

static void make_folder(struct tree *tree, const char *path)
{
    char command[PATH_MAX + 128];

    snprintf(command, sizeof command, "mkdir -p '%s'", in(tree, path));
    assert_int_equal(system(command), 0);
}

static void copy_file(struct tree *tree, const char *name, const char *to)
{
    char command[2 * PATH_MAX + 256];

    snprintf(command, sizeof command, "cp '%s' '%s'", library(name), in(tree, to));
    assert_int_equal(system(command), 0);
}

static void write_file(struct tree *tree, const char *path, const char *text)
{
    FILE *file = fopen(in(tree, path), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct registry *created(const struct registry_options *options)
{
    struct registry *registry;
    struct sluice_error err = ERROR_INIT;

    if (registry_create(options, &registry, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return registry;
}

static const struct registry_entry *found(struct registry *registry, const char *name)
{
    const struct registry_entry *entry;
    struct sluice_error err = ERROR_INIT;

    if (registry_find(registry, name, &entry, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return entry;
}

static void assert_message(const struct sluice_error *err, const char *text)
{
    if (strstr(err->message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, err->message);
    }
}

/* --plugin FILE must fail and say text, trusted or not: it is tried in a child first. */
static void assert_refused(const char *name, const char *text)
{
    char path[PATH_MAX + 64];
    const char *files[] = { path };
    struct registry_options options = {
        .bare = true, .files = files, .n_files = 1, .probe_ms = 3000
    };
    struct registry *registry;

    snprintf(path, sizeof path, "%s", library(name));
    for (int trust = 0; trust < (strcmp(name, "hangs") == 0 ? 1 : 2); trust++) {
        struct sluice_error err = ERROR_INIT;
        options.trust = trust == 1;
        if (registry_create(&options, &registry, &err) == SLUICE_OK) {
            fail_msg("%s was loaded", name);
        }
        assert_null(registry);
        assert_int_equal(err.code, SLUICE_E_CONFIG);
        assert_message(&err, text);
        assert_message(&err, name);
    }
}

static void test_good(void **state)
{
    char path[PATH_MAX + 64];
    const char *files[] = { path };
    struct registry_options options = { .bare = true, .trust = true, .files = files, .n_files = 1 };
    struct registry *registry;
    const struct registry_entry *entry;
    const struct registry_plugin *plugin;

    (void)state;
    snprintf(path, sizeof path, "%s", library("good"));
    registry = created(&options);
    entry = found(registry, "few_words");
    assert_ptr_equal(entry, found(registry, "good.few_words"));
    assert_string_equal(entry->plugin_name, "good");
    assert_int_equal(entry->stage.size, sizeof(struct sluice_stage));
    assert_int_equal(entry->stage.role, SLUICE_ROLE_FILTER);
    assert_false(entry->trusted);
    assert_false(hash_is_zero(entry->hash));
    assert_int_equal(registry_count(registry), 1);
    assert_ptr_equal(registry_at(registry, 0), entry);
    assert_null(registry_at(registry, 1));
    plugin = registry_plugin_at(registry, 0);
    assert_ptr_equal(plugin, entry->plugin);
    assert_true(plugin->loaded);
    assert_null(plugin->problem);
    assert_string_equal(plugin->version, "1.2.3");
    assert_string_equal(plugin->license, "MIT");
    assert_string_equal(plugin->found_by, "--plugin");
    registry_destroy(registry);
}

/* The plugin built from the frozen header, and one from a later minor. */
static void test_other_minors(void **state)
{
    char old[PATH_MAX + 64];
    char future[PATH_MAX + 64];
    const char *files[] = { old, future };
    struct registry_options options = { .bare = true, .trust = true, .files = files, .n_files = 2 };
    struct registry *registry;
    const struct registry_entry *entry;
    struct option_table table;
    struct sluice_option option;
    struct options *parsed;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    snprintf(old, sizeof old, "%s", library("old"));
    snprintf(future, sizeof future, "%s", library("future"));
    registry = created(&options);
    entry = found(registry, "old_few_words");
    assert_int_equal(entry->plugin->abi_minor_built, 0);
    entry = found(registry, "future_keep");
    assert_int_equal(entry->plugin->abi_minor_built, 7);
    assert_int_equal(entry->stage.size, sizeof(struct sluice_stage));
    table = option_table_of(&entry->stage);
    assert_true(table.stride > sizeof option);
    assert_true(option_at(&table, 1, &option));
    assert_string_equal(option.name, "label");
    assert_false(option_at(&table, 2, &option));
    assert_int_equal(options_parse(&table, NULL, NULL, &parsed, &err), SLUICE_OK);
    assert_int_equal(*(const int64_t *)options_config(parsed), 7);
    assert_string_equal(options_string(parsed, "label"), "blue");
    options_destroy(parsed);
    registry_destroy(registry);
}

static void test_bad_plugins(void **state)
{
    (void)state;
    assert_refused("major2", "is a plugin for ABI 2, this program loads ABI 1");
    assert_refused("liar_major", "says it is for ABI 3 but exports sluice_plugin_v1");
    assert_refused("minor9", "needs plugin ABI 1.4000000000, this program has 1.");
    assert_refused("no_process", "stage 'keep': it needs the function process");
    assert_refused("bad_name", "a stage has the name \"Keep-All\"");
    assert_refused("small_stage", "a stage says it has 64 bytes");
    assert_refused("bad_table",
                   "option 'x' of 'keep' stores 8 bytes at offset 8 of a config of 12 bytes");
    assert_refused("bad_default", "the default of an option is wrong");
    assert_refused("no_plugin", "is not a plugin for ABI 1: it has no function sluice_plugin_v1");
}

static void test_probe(void **state)
{
    (void)state;
    assert_refused("crash", "crashed when tried in a process of its own: signal");
    assert_refused("exits", "ended the process (exit status 0)");
    assert_refused("hangs", "was not loaded within 3000 ms");
    assert_refused("does_not_exist", "cannot load the plugin");
}

static void test_not_a_library(void **state)
{
    struct tree tree;
    const char *files[1];
    struct registry_options options = { .bare = true, .trust = true, .files = files, .n_files = 1 };
    struct registry *registry;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    tree_open(&tree);
    write_file(&tree, "text.so", "not ELF\n");
    files[0] = in(&tree, "text.so");
    assert_int_equal(registry_create(&options, &registry, &err), SLUICE_E_CONFIG);
    assert_message(&err, "cannot load the plugin");
    tree_close(&tree);
}

static bool is_mapped(const char *path)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 256];
    bool found = false;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        found = found || strstr(line, path) != NULL;
    }
    fclose(file);
    return found;
}

static void assert_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL) {
        assert_string_equal(a, b);
    }
}

#define ASSERT_FIELD(name) assert_true(a->name == b->name)
#define ASSERT_SAME_PRESENCE(name) assert_true((a->name == NULL) == (b->name == NULL))

/* What a child told of a stage is what the stage is. */
static void assert_same_stage(const struct sluice_stage *a, const struct sluice_stage *b)
{
    struct option_table table_a = option_table_of(a);
    struct option_table table_b = option_table_of(b);
    struct sluice_option x;
    struct sluice_option y;
    uint64_t n = 0;

    assert_text(a->name, b->name);
    assert_text(a->version, b->version);
    assert_text(a->summary, b->summary);
    assert_text(a->doc, b->doc);
    assert_text(a->example, b->example);
    assert_text(a->reasons, b->reasons);
    assert_text(a->provides, b->provides);
    assert_text(a->cut, b->cut);
    assert_text(a->conserves, b->conserves);
    ASSERT_FIELD(size);
    ASSERT_FIELD(role);
    ASSERT_FIELD(mode);
    ASSERT_FIELD(flags);
    ASSERT_FIELD(config_size);
    ASSERT_FIELD(n_options);
    ASSERT_FIELD(bytes_shared);
    ASSERT_FIELD(bytes_worker);
    ASSERT_FIELD(bytes_per_input);
    ASSERT_FIELD(state_version);
    ASSERT_SAME_PRESENCE(open);
    ASSERT_SAME_PRESENCE(prepare);
    ASSERT_SAME_PRESENCE(worker_open);
    ASSERT_SAME_PRESENCE(process);
    ASSERT_SAME_PRESENCE(read);
    ASSERT_SAME_PRESENCE(flush);
    ASSERT_SAME_PRESENCE(save);
    ASSERT_SAME_PRESENCE(load);
    ASSERT_SAME_PRESENCE(merge);
    ASSERT_SAME_PRESENCE(judge);
    ASSERT_SAME_PRESENCE(worker_close);
    ASSERT_SAME_PRESENCE(close);
    for (; option_at(&table_a, n, &x); n++) {
        assert_true(option_at(&table_b, n, &y));
        assert_text(x.name, y.name);
        assert_text(x.doc, y.doc);
        assert_text(x.def, y.def);
        assert_text(x.choices, y.choices);
        assert_text(x.since, y.since);
        assert_true(x.min == y.min && x.max == y.max);
        assert_true(x.type == y.type && x.flags == y.flags && x.offset == y.offset);
    }
    assert_false(option_at(&table_b, n, &y));
}

/* Without --trust a plugin is known in full and never loaded: each one's stages as a child tells
 * them, then the same file loaded. */
static void test_isolated(void **state)
{
    static const char *const names[] = { "good",
                                         "old",
                                         "future",
                                         "../../plugins/quality",
                                         "../../plugins/read_jsonl",
                                         "../../plugins/gate",
                                         "../../plugins/write_megatron",
                                         "../../plugins/tokenize",
                                         "../../plugins/minhash",
                                         "../../plugins/pack" };

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct tree tree;
        char path[PATH_MAX + 64];
        const char *files[] = { path };
        struct registry_options options = { .bare = true, .files = files, .n_files = 1 };
        struct registry *told;
        struct registry *loaded;
        const struct sluice_stage *stage;
        struct sluice_error err = ERROR_INIT;
        struct hash128 hash;

        if (access(library(names[k]), F_OK) != 0) {
            continue; /* left out of this build */
        }
        tree_open(&tree);
        copy_file(&tree, names[k], "copy.so");
        snprintf(path, sizeof path, "%s", in(&tree, "copy.so"));
        told = created(&options);
        assert_true(registry_count(told) > 0);
        assert_false(is_mapped(path));
        stage = &registry_at(told, 0)->stage;
        assert_int_equal(registry_at(told, 0)->isolation, REGISTRY_ISOLATED);
        assert_false(registry_at(told, 0)->trusted);
        assert_true(registry_plugin_at(told, 0)->isolated);
        if (stage->worker_open != NULL) {
            void *worker;
            assert_int_equal(stage->worker_open(NULL, &worker, &err), SLUICE_E_INTERNAL);
            assert_message(&err, "in a process of its own only");
        }
        options.trust = true;
        loaded = created(&options);
        assert_true(is_mapped(path));
        assert_int_equal(registry_count(loaded), registry_count(told));
        for (size_t j = 0; j < registry_count(told); j++) {
            const struct registry_entry *a = registry_at(told, j);
            const struct registry_entry *b = registry_at(loaded, j);
            assert_same_stage(&a->stage, &b->stage);
            assert_string_equal(a->plugin_name, b->plugin_name);
            assert_string_equal(a->plugin->version, b->plugin->version);
            assert_string_equal(a->plugin->license, b->plugin->license);
            assert_string_equal(a->plugin->libraries, b->plugin->libraries);
            assert_true(hash_equal(a->hash, b->hash));
            assert_int_equal(b->isolation, REGISTRY_IN_PROCESS);
        }
        hash = registry_at(loaded, 0)->hash;
        registry_destroy(loaded);
        registry_destroy(told);

        /* A child that is to run it loads this very file or nothing. */
        options = (struct registry_options){
            .bare = true, .contained = true, .files = files, .n_files = 1, .expected = hash
        };
        loaded = created(&options);
        assert_int_equal(registry_at(loaded, 0)->isolation, REGISTRY_IN_PROCESS);
        registry_destroy(loaded);
        options.expected.lo ^= 1;
        assert_int_equal(registry_create(&options, &loaded, &err), SLUICE_E_CONFIG);
        assert_message(&err, "changed while it was in use");
        tree_close(&tree);
    }
}

/* What a hostile plugin might say of itself in its child. */
static void assert_not_described(const char *text, size_t n, const char *why)
{
    struct plugin_file file;
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(plugin_described(text, n, "x.so", &file, &err), SLUICE_E_CONFIG);
    assert_message(&err, why);
}

static void test_descriptions(void **state)
{
    struct plugin_file file;
    struct plugin_file again;
    struct buf text = BUF_INIT;
    struct buf other = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    char *process;

    (void)state;
    assert_int_equal(plugin_file_load(library("good"), &file, &err), SLUICE_OK);
    assert_int_equal(plugin_describe(&file, &text, &err), SLUICE_OK);
    assert_int_equal(plugin_described(text.data, text.size, "x.so", &again, &err), SLUICE_OK);
    assert_int_equal(plugin_describe(&again, &other, &err), SLUICE_OK);
    assert_string_equal(buf_str(&text), buf_str(&other));
    plugin_file_deinit(&again);
    assert_not_described("", 0, "no descriptor");
    assert_not_described("[]", 2, "no descriptor");
    assert_not_described("{\"stages\":[{}]}", 15, "no descriptor");
    for (size_t n = 0; n < text.size; n++) {
        assert_not_described(text.data, n, "no descriptor");
    }
    /* Any byte may be wrong: refused, or a descriptor that passes the checks. */
    for (size_t n = 0; n < text.size; n++) {
        char was = text.data[n];
        text.data[n] = (char)(was == '9' ? '1' : '9');
        if (plugin_described(text.data, text.size, "x.so", &again, &err) == SLUICE_OK) {
            plugin_file_deinit(&again);
        }
        text.data[n] = was;
    }
    process = strstr(text.data, "\"functions\":");
    assert_non_null(process);
    process += strlen("\"functions\":");
    memset(process, ' ', strspn(process, "0123456789"));
    *process = '0';
    assert_not_described(text.data, text.size, "needs the function process");
    process = strstr(other.data, "\"name\":\"good\"");
    assert_non_null(process);
    memcpy(process, "\"name\":\"core\"", 13);
    assert_not_described(other.data, other.size, "neither \"core\" nor");
    buf_deinit(&text);
    buf_deinit(&other);
    /* A text that is not UTF-8 has no description. */
    file.stages[0].summary = "\xff";
    assert_int_equal(plugin_describe(&file, &text, &err), SLUICE_E_CONFIG);
    assert_message(&err, "not UTF-8");
    buf_deinit(&text);
    plugin_file_deinit(&file);
}

static void test_world_writable(void **state)
{
    struct tree tree;
    const char *files[1];
    struct registry_options options = { .bare = true, .files = files, .n_files = 1 };
    struct registry *registry;
    struct sluice_error err = ERROR_INIT;
    char path[PATH_MAX + 64];

    (void)state;
    tree_open(&tree);
    copy_file(&tree, "good", "good.so");
    snprintf(path, sizeof path, "%s", in(&tree, "good.so"));
    files[0] = path;
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(registry_create(&options, &registry, &err), SLUICE_E_CONFIG);
    assert_message(&err, "everybody may write to it");
    assert_message(&err, "chmod o-w");
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(tree.root, 0777), 0);
    assert_int_equal(registry_create(&options, &registry, &err), SLUICE_E_CONFIG);
    assert_message(&err, "everybody may write to its folder");
    assert_int_equal(chmod(tree.root, 0755), 0);
    registry = created(&options);
    registry_destroy(registry);
    tree_close(&tree);
}

static void test_places(void **state)
{
    struct tree tree;
    char search[2 * PATH_MAX];
    char data_home[PATH_MAX + 64];
    struct registry_options options = { .trust = true };
    struct registry *registry;
    const struct registry_entry *entry;
    struct sluice_error err = ERROR_INIT;
    char exe_dir[PATH_MAX + 64];

    (void)state;
    tree_open(&tree);
    make_folder(&tree, "bin");
    make_folder(&tree, "lib/sluice/plugins");
    make_folder(&tree, "extra");
    make_folder(&tree, "share/sluice/plugins");
    copy_file(&tree, "old", "lib/sluice/plugins/old.so");
    write_file(&tree, "lib/sluice/plugins/skipped.txt",
               "parquet: needs arrow (Debian: libarrow-dev)\n");
    copy_file(&tree, "good", "extra/good.so");
    write_file(&tree, "extra/readme.txt", "no library\n");
    copy_file(&tree, "future", "share/sluice/plugins/future.so");
    snprintf(exe_dir, sizeof exe_dir, "%s", in(&tree, "bin"));
    snprintf(data_home, sizeof data_home, "%s", in(&tree, "share"));
    snprintf(search, sizeof search, "relative/dir:%s::/does/not/exist", in(&tree, "extra"));
    options.exe_dir = exe_dir;
    options.search_path = search;
    options.data_home = data_home;
    registry = created(&options);
    entry = found(registry, "old_few_words");
    assert_true(entry->trusted);
    assert_true(entry->plugin->standard);
    assert_string_equal(found(registry, "few_words")->plugin->found_by, "SLUICE_PLUGIN_PATH");
    assert_string_equal(found(registry, "future_keep")->plugin->found_by, "data home");
    assert_string_equal(registry_skipped(registry, 0),
                        "parquet: needs arrow (Debian: libarrow-dev)");
    assert_null(registry_skipped(registry, 1));
    assert_int_equal(registry_find(registry, "old_few_word", &entry, &err), SLUICE_E_CONFIG);
    assert_message(&err, "did you mean 'old_few_words'?");
    assert_message(&err, "relative/dir: SLUICE_PLUGIN_PATH takes absolute paths only");
    assert_message(&err, "/does/not/exist: No such file");
    assert_message(&err, "Left out of this build: parquet: needs arrow");
    assert_int_equal(registry_load_all(registry, &err), SLUICE_OK);
    assert_int_equal(registry_count(registry), 3);
    registry_destroy(registry);
    tree_close(&tree);
}

/* A lookup loads only the file that the index names; a stale index costs nothing but time. */
static void test_index(void **state)
{
    struct tree tree;
    char exe_dir[PATH_MAX + 64];
    struct registry_options options = { .exe_dir = exe_dir };
    struct registry *registry;
    struct buf index = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    size_t loaded = 0;

    (void)state;
    tree_open(&tree);
    snprintf(exe_dir, sizeof exe_dir, "%s", tree.root);
    make_folder(&tree, "plugins");
    copy_file(&tree, "old", "plugins/old.so");
    copy_file(&tree, "future", "plugins/future.so");
    registry = created(&options);
    assert_int_equal(registry_index(registry, &index, &err), SLUICE_OK);
    assert_string_equal(buf_str(&index), "future.so future_keep\nold.so old_few_words\n");
    registry_destroy(registry);

    write_file(&tree, "plugins/index.txt", buf_str(&index));
    registry = created(&options);
    found(registry, "old_few_words");
    for (size_t k = 0; k < registry_plugin_count(registry); k++) {
        loaded += registry_plugin_at(registry, k)->loaded ? 1 : 0;
    }
    assert_int_equal(loaded, 1);
    found(registry, "old.old_few_words");
    registry_destroy(registry);

    write_file(&tree, "plugins/index.txt",
               "future.so something\nold.so other\ngone.so x\n\n   \nfuture.so y");
    registry = created(&options);
    found(registry, "old_few_words");
    found(registry, "future_keep");
    registry_destroy(registry);
    buf_deinit(&index);
    tree_close(&tree);
}

static void test_twins(void **state)
{
    char good[PATH_MAX + 64];
    char twin[PATH_MAX + 64];
    const char *files[] = { good, twin, good };
    struct registry_options options = { .bare = true, .trust = true, .files = files, .n_files = 3 };
    struct registry *registry;
    const struct registry_entry *entry;
    const struct registry_plugin *plugin;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    snprintf(good, sizeof good, "%s", library("good"));
    snprintf(twin, sizeof twin, "%s", library("twin"));
    registry = created(&options);
    assert_int_equal(registry_plugin_count(registry), 2);
    assert_int_equal(registry_find(registry, "few_words", &entry, &err), SLUICE_E_CONFIG);
    assert_message(&err, "two plugins have a stage 'few_words': good (");
    assert_message(&err, "write plugin.stage");
    assert_string_equal(found(registry, "good.few_words")->plugin_name, "good");
    assert_string_equal(found(registry, "twin.few_words")->plugin_name, "twin");
    assert_int_equal(registry_load(registry, twin, &plugin, &err), SLUICE_OK);
    assert_int_equal(registry_find_in(registry, plugin, "few_words", &entry, &err), SLUICE_OK);
    assert_string_equal(entry->plugin_name, "twin");
    assert_int_equal(registry_find_in(registry, plugin, "few_word", &entry, &err), SLUICE_E_CONFIG);
    assert_message(&err, "has no stage 'few_word'; did you mean 'few_words'? It has: few_words");
    registry_destroy(registry);
}

static sluice_status keep_all(void *worker, const struct sluice_batch *batch,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)batch;
    (void)emit;
    (void)err;
    return SLUICE_OK;
}

/* A registry with everything that it remembers, and a stage of a caller's. */
static sluice_status filled(const struct registry_options *options, struct registry **registry)
{
    static const struct sluice_stage stage = { .size = sizeof stage,
                                               .name = "mine",
                                               .version = "1",
                                               .summary = "Nothing.",
                                               .role = SLUICE_ROLE_FILTER,
                                               .reasons = "lorem",
                                               .process = keep_all };
    const struct registry_entry *entry;
    struct sluice_error err = ERROR_INIT;
    sluice_status status = registry_create(options, registry, &err);

    if (status == SLUICE_OK) {
        status = registry_add(*registry, &stage, PLUGIN_SCRIPT, "here:1", (struct hash128){ 1, 2 },
                              &entry, &err);
    }
    return status == SLUICE_OK ? registry_set_libraries(*registry, entry, "libz 1.2", &err)
                               : status;
}

static void test_memory(void **state)
{
    struct tree tree;
    char exe_dir[PATH_MAX + 64];
    struct registry_options options = { .exe_dir = exe_dir,
                                        .prober = "/proc/self/exe",
                                        .search_path = "relative:/nothing/there",
                                        .script_dir = exe_dir };
    struct registry *registry = NULL;
    sluice_status status;

    (void)state;
    tree_open(&tree);
    snprintf(exe_dir, sizeof exe_dir, "%s", tree.root);
    make_folder(&tree, "plugins");
    copy_file(&tree, "old", "plugins/old.so");
    copy_file(&tree, "future", "plugins/future.so");
    write_file(&tree, "plugins/index.txt", "future.so future_keep\nold.so old_few_words\n");
    write_file(&tree, "plugins/skipped.txt", "lost: no library\n");
    ALLOC_EACH(status = filled(&options, &registry), registry_destroy(registry));
    tree_close(&tree);
}

static void test_added(void **state)
{
    struct registry_options options = { .bare = true };
    struct registry *registry = created(&options);
    struct sluice_stage stage = {
        .size = sizeof stage,
        .name = "no_lorem",
        .version = "1",
        .summary = "Drops lorem ipsum.",
        .role = SLUICE_ROLE_FILTER,
        .reasons = "lorem",
        .process = keep_all,
    };
    struct hash128 hash = { 1, 2 };
    const struct registry_entry *script;
    const struct registry_entry *core;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(
        registry_add(registry, &stage, PLUGIN_SCRIPT, "web.lua:12", hash, &script, &err),
        SLUICE_OK);
    assert_ptr_equal(found(registry, "no_lorem"), script);
    assert_string_equal(script->origin, "web.lua:12");
    assert_false(script->trusted);
    assert_int_equal(registry_add(registry, &stage, PLUGIN_SCRIPT, "web.lua:20", hash, NULL, &err),
                     SLUICE_E_CONFIG);
    assert_message(&err, "the stage 'no_lorem' is defined twice: web.lua:12 and web.lua:20");
    /* A script may use a name that the core has: the bare name is the core's. */
    assert_int_equal(registry_add(registry, &stage, PLUGIN_CORE, "built in", hash, &core, &err),
                     SLUICE_OK);
    assert_true(core->trusted);
    assert_ptr_equal(found(registry, "no_lorem"), core);
    assert_ptr_equal(found(registry, "script.no_lorem"), script);
    stage.process = NULL;
    stage.name = "other";
    assert_int_equal(registry_add(registry, &stage, PLUGIN_CORE, "built in", hash, NULL, &err),
                     SLUICE_E_INTERNAL);
    registry_destroy(registry);
}

static sluice_status save_nothing(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    (void)worker;
    (void)io;
    (void)err;
    return SLUICE_OK;
}

/* One field of a sane stage broken; the message must hold text. */
#define ASSERT_STAGE(text, ...)                                                    \
    do {                                                                           \
        struct sluice_stage stage = {                                              \
            .size = sizeof stage,                                                  \
            .name = "a",                                                           \
            .version = "1",                                                        \
            .summary = "A.",                                                       \
            .role = SLUICE_ROLE_FILTER,                                            \
            .reasons = "x|y",                                                      \
            .process = keep_all,                                                   \
        };                                                                         \
        struct sluice_error error = ERROR_INIT;                                    \
        __VA_ARGS__;                                                               \
        assert_int_equal(registry_check_stage(&stage, &error), SLUICE_E_INTERNAL); \
        assert_message(&error, text);                                              \
    } while (0)

static void test_descriptors(void **state)
{
    (void)state;
    ASSERT_STAGE("has the name", stage.name = "9a");
    ASSERT_STAGE("has the name", stage.name = NULL);
    ASSERT_STAGE("no version", stage.version = NULL);
    ASSERT_STAGE("summary of one line", stage.summary = "a\nb");
    ASSERT_STAGE("role is unknown", stage.role = 7);
    ASSERT_STAGE("mode is unknown", stage.mode = 4);
    ASSERT_STAGE("a reader needs the function read", stage.role = SLUICE_ROLE_READER);
    ASSERT_STAGE("a filter needs reasons", stage.reasons = NULL);
    ASSERT_STAGE("different words", stage.reasons = "x|x");
    ASSERT_STAGE("different words", stage.reasons = "x|");
    ASSERT_STAGE("different words", stage.reasons = "X");
    ASSERT_STAGE("only annotators provide", stage.provides = "words");
    ASSERT_STAGE("only transforms conserve", stage.conserves = "tokens");
    ASSERT_STAGE("SIDE_BY_SPLIT needs SIDE_INPUT", stage.flags = SLUICE_STAGE_SIDE_BY_SPLIT);
    ASSERT_STAGE("bytes_per_input", stage.bytes_per_input = -1);
    ASSERT_STAGE("contradict", stage.n_options = 3);
    ASSERT_STAGE("save goes with load", stage.save = save_nothing);
}

static void test_environment(void **state)
{
    char buffer[PATH_MAX];
    struct registry_options options = { 0 };

    (void)state;
    assert_int_equal(setenv("HOME", "/home/ada", 1), 0);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
    assert_int_equal(setenv("SLUICE_PLUGIN_PATH", "/a:/b", 1), 0);
    registry_environment(&options, buffer, sizeof buffer);
    assert_string_equal(options.data_home, "/home/ada/.local/share");
    assert_string_equal(options.search_path, "/a:/b");
    assert_int_equal(setenv("XDG_DATA_HOME", "/data", 1), 0);
    registry_environment(&options, buffer, sizeof buffer);
    assert_string_equal(options.data_home, "/data");
    assert_int_equal(setenv("XDG_DATA_HOME", "relative", 1), 0);
    registry_environment(&options, buffer, sizeof buffer);
    assert_string_equal(options.data_home, "/home/ada/.local/share");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),          cmocka_unit_test(test_other_minors),
        cmocka_unit_test(test_bad_plugins),   cmocka_unit_test(test_probe),
        cmocka_unit_test(test_not_a_library), cmocka_unit_test(test_isolated),
        cmocka_unit_test(test_descriptions),  cmocka_unit_test(test_world_writable),
        cmocka_unit_test(test_places),        cmocka_unit_test(test_index),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_added),         cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_environment),
    };
    ssize_t n;

    if (argc == 3 && strcmp(argv[1], "__probe") == 0) {
        return probe_main(argv[2]);
    }
    n = readlink("/proc/self/exe", libraries, sizeof libraries - 16);
    if (n <= 0) {
        return 1;
    }
    libraries[n] = '\0';
    *strrchr(libraries, '/') = '\0';
    strcpy(strrchr(libraries, '/'), "/abi");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
