/* Transforms, readers, gates and writers in Lua: what they give, what a bad row or line costs, what
 * their functions may return, and that batches, chunks and the order of merging leave no trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "luastage_kit.h"

/* The text of row `row` of a column of batch `k`. */
static const char *text_at(const struct scene *scene, uint32_t k, int64_t column, int64_t row)
{
    static char text[4096];
    size_t n;
    const char *found = sluice_text(scene->result.batches[k].children[column], row, &n);

    assert_true(n < sizeof text);
    memcpy(text, found, n);
    text[n] = '\0';
    return text;
}

static uint64_t number_at(const struct scene *scene, uint32_t k, int64_t column, int64_t row)
{
    return ((const uint64_t *)scene->result.batches[k].children[column]->buffers[1])[row];
}

/* ---- definitions ---- */

static void test_definitions(void **state)
{
    (void)state;
    refused("s.transform { 'x', function(doc, o, emit) end }", "gives: found nil, expected the "
                                                               "columns that it gives");
    refused("s.transform { 'x', gives = { n = 'int64' } }",
            "s.transform 'x': row must be a function(doc, options, emit)");
    refused("s.transform { 'x', function(doc, o, emit) end, adds = { n = 'int64' } }",
            "unknown member 'adds'");
    refused("s.transform { gives = { n = 'int64' } }", "the first item must be its name");
    refused("s.reader { 'x', record = function(line) end }", "gives: found nil");
    refused("s.reader { 'x', record = function(line) end, gives = { n = 'int64' }, cut = 'line' }",
            "cut: found \"line\", expected \"newline\"");
    refused(
        "s.reader { 'x', record = function(line) end, gives = { n = 'int64' }, run = 'ordered' }",
        "unknown member 'run'");
    refused("s.gate { 'x', measure = function(doc) return 1 end }", "judge: found a nil");
    refused("s.gate { 'x', judge = function(sums) end }", "measure must be a function");
    refused("s.gate { 'x', measure = function(doc) end, judge = function() end, sums = {} }",
            "sums: expected the names");
    refused(
        "s.gate { 'x', measure = function(doc) end, judge = function() end, sums = { 'rows' } }",
        "sums: item 1 must be a word");
    refused(
        "s.gate { 'x', measure = function(doc) end, judge = function() end, sums = { 'a', 'a' } }",
        "sums: found \"a\" twice");
    refused("s.writer { 'x', row = function(doc) end }", "suffix: found \"\"");
    refused("s.writer { 'x', row = function(doc) end, suffix = 'tsv' }", "suffix: found \"tsv\"");
    refused("s.writer { 'x', row = function(doc) end, suffix = '.tsv', header = 3 }",
            "header: found a number");
    refused("s.writer { 'x', row = function(doc) end, suffix = '.tsv', options = { path = { "
            "'string' } } }",
            "path");
    refused("s.transform { 'x', function(doc, o, emit) end, gives = { n = 'int64' }, options = { m "
            "= { 'int', 1, judge = true } } }",
            "unknown member 'judge'");
    refused("s.transform { 'x', function(doc, o, emit) end, gives = { n = 'int64' }, options = { m "
            "= { 'node' } } }",
            "unknown type 'node'");
    refused("local t = s.transform { 'x', function(doc, o, emit) end, gives = { n = 'int64' } }\n"
            "t { 1 } { 2 }",
            "'x' has its options already");
}

/* ---- transforms ---- */

static const char explode[] =
    "s.transform { 'x', gives = { word = 'utf8', n = 'int64', b = 'bool', f = 'float64?', l = "
    "'list<bool>' }, options = { most = { 'int', 3 } },\n"
    "  row = function(doc, o, emit)\n"
    "    local n = 0\n"
    "    for word in doc.text:gmatch '%S+' do\n"
    "      n = n + 1\n"
    "      if n <= o.most then emit { word = word, n = n, b = n % 2 == 0, f = n > 1 and n / 2 or "
    "nil, l = { true, n == 1 } } end\n"
    "      if word == 'boom' then error 'a boom' end\n"
    "      if word == 'wrong' then emit { word = word, n = 'x', b = true, l = {} } end\n"
    "      if word == 'return' then return { word = word } end\n"
    "      if word == 'nothing' then emit() end\n"
    "      if word == 'caught' then pcall(emit, { word = 'half' }) end\n"
    "    end\n"
    "  end }";

static void test_transform(void **state)
{
    static const char *const texts[] = { "a b",      "",        "c boom",     "d wrong e",
                                         "f return", "nothing", "g caught h", "i j k l" };
    /* b f l n word _origin */
    static const char *const words[] = { "a", "b", "g", "caught", "h", "i", "j", "k" };
    static const uint64_t origins[] = { 0, 0, 6, 6, 6, 7, 7, 7 };
    struct scene scene;
    const struct ArrowArray *out;

    (void)state;
    scene_ready(&scene, explode, "x", "");
    assert_int_equal(scene.entry->stage.role, SLUICE_ROLE_TRANSFORM);
    assert_int_equal(scene.entry->stage.mode, SLUICE_MODE_STATELESS);
    assert_int_equal(scene.prepared.added.n, 6);
    assert_string_equal(scene.prepared.added.fields[5].name, "_origin");
    for (int round = 0; round < 2; round++) { /* nothing is left behind */
        processed(&scene, texts, 8);
        assert_int_equal(scene.result.n_batches, 1);
        out = &scene.result.batches[0];
        assert_int_equal(out->length, 8);
        for (int64_t k = 0; k < 8; k++) {
            assert_string_equal(text_at(&scene, 0, 4, k), words[k]);
            assert_int_equal(number_at(&scene, 0, 5, k), origins[k]);
        }
        assert_true(sluice_is_null(out->children[1], 0));
        assert_false(sluice_is_null(out->children[1], 1));
        assert_int_equal(((const uint8_t *)out->children[0]->buffers[1])[0], 0x4a);
        assert_int_equal(((const int32_t *)out->children[2]->buffers[1])[8], 16);
        assert_true(scene.result.has_verdicts);
        assert_int_equal(scene.result.n_verdicts, 8);
        assert_string_equal(reason(&scene, 0), "");
        assert_string_equal(reason(&scene, 1), "");
        assert_bad(&scene, 2, "lua_error: t.lua:8: a boom");
        assert_bad(&scene, 3,
                   "lua_error: t.lua:9: emit: column 'n': found a string, expected int64");
        assert_bad(&scene, 4,
                   "lua_error: t.lua:3: the function returned a table, expected nothing");
        assert_bad(&scene, 5, "t.lua:11: emit: found nothing, expected a table of columns");
        assert_string_equal(reason(&scene, 6), "");
    }
    processed(&scene, texts, 2);
    assert_false(scene.result.has_verdicts);
    processed(&scene, texts + 1, 1);
    assert_int_equal(scene.result.n_batches, 0);
    processed(&scene, NULL, 0);
    scene_close(&scene);
    scene_ready(&scene, explode, "x", "most=1");
    processed(&scene, texts, 1);
    assert_int_equal(scene.result.batches[0].length, 1);
    scene_close(&scene);
}

/* What is handed on together depends on its size; rows that give too much are refused, whatever
 * else is in the batch. */
static void test_transform_sizes(void **state)
{
    static const char *const texts[] = { "1", "3", "2", "700", "1" };
    struct scene scene;
    int64_t rows = 0;

    (void)state;
    scene_ready(&scene,
                "s.transform { 'x', gives = { t = 'utf8' }, row = function(doc, o, emit)\n"
                "  local t = ('x'):rep(1 << 20) for i = 1, math.tointeger(doc.text) do emit { t = "
                "t } end end }",
                "x", "");
    processed(&scene, texts, 5);
    for (uint32_t k = 0; k < scene.result.n_batches; k++) {
        rows += scene.result.batches[k].length;
    }
    assert_int_equal(rows, 7);
    assert_int_equal(scene.result.n_batches, 2);
    assert_int_equal(scene.result.batches[0].length, 4);
    assert_bad(&scene, 3, "lua_error: t.lua:3: a row gives more than 256 MiB");
    scene_close(&scene);
}

static void test_transform_again(void **state)
{
    static const char *const texts[] = { "a", "bomb", "b" };
    struct scene scene;

    (void)state;
    /* The second try of a row begins with nothing given. */
    scene_init(&scene);
    scene.memory = 16 << 20;
    assert_int_equal(
        scene_load(&scene,
                   "s.transform { 'x', gives = { t = 'utf8' }, row = function(doc, o, emit)\n"
                   "  emit { t = doc.text }\n"
                   "  local t = {} while doc.text == 'bomb' do t[#t + 1] = "
                   "('x'):rep(100000) .. #t end end }"),
        SLUICE_OK);
    assert_int_equal(scene_open(&scene, "x", ""), SLUICE_OK);
    processed(&scene, texts, 3);
    assert_int_equal(scene.result.batches[0].length, 2);
    assert_string_equal(text_at(&scene, 0, 0, 1), "b");
    assert_bad(&scene, 1, "lua_memory: t.lua:2: the script needs more than its 16 MiB");
    scene_close(&scene);
    /* State from row to row is refused, unless the stage is ordered. */
    scene_ready(&scene,
                "local n = 0\ns.transform { 'x', gives = { n = 'int64' }, row = function(doc, o, "
                "emit) n = n + 1 emit { n = n } end }",
                "x", "");
    assert_int_equal(scene_process(&scene, NULL, 3), SLUICE_E_CONFIG);
    assert_says(&scene, "the function at t.lua:3 changes its upvalue 'n'");
    scene_close(&scene);
    scene_ready(&scene,
                "local n = 0\ns.transform { 'x', gives = { n = 'int64' }, row = function(doc, o, "
                "emit) n = n + 1 emit { n = n } end, run = 'ordered' }",
                "x", "");
    assert_int_equal(scene.entry->stage.mode, SLUICE_MODE_ORDERED);
    processed(&scene, NULL, 3);
    processed(&scene, NULL, 3);
    assert_int_equal(number_at(&scene, 0, 0, 2), 6);
    scene_close(&scene);
    /* emit can't be kept for later. */
    scene_ready(
        &scene,
        "local kept = {}\ns.transform { 'x', gives = { n = 'int64' }, row = function(doc, o, "
        "emit)\n if kept.e ~= nil then kept.e { n = 7 } else kept.e = emit end end, run = "
        "'ordered' }",
        "x", "");
    processed(&scene, NULL, 2);
    assert_int_equal(number_at(&scene, 0, 1, 0),
                     1); /* it is the one of the worker: the current row */
    scene_close(&scene);
}

/* ---- readers ---- */

static sluice_status read_chunk(struct scene *scene, const char *data, size_t n, uint64_t offset,
                                uint32_t flags, uint64_t *consumed)
{
    char *padded = calloc(1, n + SLUICE_PADDING);
    struct sluice_chunk chunk = { .size = sizeof chunk,
                                  .data = padded,
                                  .n = n,
                                  .offset = offset,
                                  .uri = "dir/f.kv",
                                  .flags = flags,
                                  .consumed = n };
    sluice_status status;

    assert_non_null(padded);
    memcpy(padded, data, n);
    status = stage_read(scene->worker, &chunk, &scene->result, &scene->err);
    free(padded);
    if (consumed != NULL) {
        *consumed = chunk.consumed;
    }
    if (status != SLUICE_OK && consumed == NULL) {
        fail_msg("%s", scene->err.message);
    }
    return status;
}

static void reader_ready(struct scene *scene, const char *code, const char *name, const char *given)
{
    struct option_table table;
    struct value named = VALUE_INIT;
    struct option_args args = { .named = &named, .text = true };
    struct options *parsed = NULL;

    scene_init(scene);
    if (scene_load(scene, code) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    scene->inputs.n_ports = 0;
    assert_int_equal(registry_find(scene->registry, name, &scene->entry, &scene->err), SLUICE_OK);
    table = option_table_of(&scene->entry->stage);
    value_map_init(&named);
    assert_int_equal(options_split(given, &named, &scene->err), SLUICE_OK);
    assert_int_equal(options_parse(&table, &args, scene->folder, &parsed, &scene->err), SLUICE_OK);
    value_deinit(&named);
    if (stage_open(scene->entry, parsed, name, &scene->services, &scene->stage, &scene->err) !=
            SLUICE_OK ||
        stage_prepare(scene->stage, &scene->inputs, &scene->prepared, &scene->err) != SLUICE_OK ||
        stage_worker_open(scene->stage, &scene->worker, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
}

static void assert_bad_record(const struct scene *scene, uint32_t k, uint64_t begin, uint64_t end,
                              const char *why, const char *detail)
{
    const struct stage_bad *bad = &scene->result.bad[k];

    assert_true(k < scene->result.n_bad);
    assert_string_equal(bad->reason, why);
    if (strstr(bad->detail, detail) == NULL) {
        fail_msg("found: %s\nexpected: %s", bad->detail, detail);
    }
    assert_int_equal(bad->begin, begin);
    assert_int_equal(bad->end, end);
}

static const char kv[] =
    "s.reader { 'kv', gives = { text = 'utf8', at = 'int64', file = 'utf8' }, options = { sep = { "
    "'string', '=' } },\n"
    "  record = function(line, o, file, offset)\n"
    "    if line == '' or line:starts_with '#' then return false end\n"
    "    if line == 'nil' then return nil end\n"
    "    if line == 'seven' then return 7 end\n"
    "    if line == 'true' then return true end\n"
    "    if line == 'Bad' then return nil, 'Not a word' end\n"
    "    if line == 'boom' then error 'a boom' end\n"
    "    if line == 'missing' then return { text = 'x' } end\n"
    "    local at = line:find(o.sep, 1, true)\n"
    "    if at == nil then return nil, 'no_separator', 'no ' .. o.sep end\n"
    "    return { text = line:sub(at + 1), at = offset, file = file }\n"
    "  end }";

static void test_reader(void **state)
{
    static const char data[] =
        "a=one\n# no\n\nb=two\r\njunk\nnil\nseven\ntrue\nBad\nboom\nmissing\n"
        "c=\xff\nd=four";
    struct scene scene;
    uint64_t consumed;

    (void)state;
    reader_ready(&scene, kv, "kv", "");
    assert_int_equal(scene.entry->stage.role, SLUICE_ROLE_READER);
    assert_string_equal(scene.entry->stage.cut, "newline");
    assert_int_equal(read_chunk(&scene, data, sizeof data - 1, 1000, 0, &consumed), SLUICE_OK);
    assert_int_equal(consumed, sizeof data - 1);
    assert_int_equal(scene.result.n_batches, 1);
    assert_int_equal(scene.result.batches[0].length, 3);
    /* at file text _begin _end */
    assert_string_equal(text_at(&scene, 0, 2, 0), "one");
    assert_string_equal(text_at(&scene, 0, 2, 1), "two");
    assert_string_equal(text_at(&scene, 0, 2, 2), "four");
    assert_string_equal(text_at(&scene, 0, 1, 2), "dir/f.kv");
    assert_int_equal(number_at(&scene, 0, 0, 1), 1012);
    assert_int_equal(number_at(&scene, 0, 3, 1), 1012);
    assert_int_equal(number_at(&scene, 0, 4, 1), 1017); /* without its line end */
    assert_int_equal(number_at(&scene, 0, 4, 2), 1000 + sizeof data - 1);
    assert_int_equal(scene.result.n_bad, 8);
    assert_bad_record(&scene, 0, 1019, 1023, "no_separator", "no =");
    assert_bad_record(&scene, 1, 1024, 1027, "lua_error",
                      "t.lua:3: the function returned nil, expected a table of columns; false for");
    assert_bad_record(&scene, 2, 1028, 1033, "lua_error", "returned a number, expected a table");
    assert_bad_record(&scene, 3, 1034, 1038, "lua_error", "returned a boolean");
    assert_bad_record(&scene, 4, 1039, 1042, "lua_error", "behind nil the function returned");
    assert_bad_record(&scene, 5, 1043, 1047, "lua_error", "t.lua:9: a boom");
    assert_bad_record(&scene, 6, 1048, 1055, "lua_error",
                      "t.lua:3: column 'at' is missing in what the function returned");
    assert_bad_record(&scene, 7, 1056, 1059, "invalid_utf8", "column 'text'");
    assert_int_equal(scene.result.n_measures, 1);
    assert_string_equal(scene.result.measures[0].name, "skipped");
    assert_int_equal(scene.result.measures[0].delta, 2);
    read_chunk(&scene, "", 0, 0, SLUICE_CHUNK_LAST, NULL);
    assert_int_equal(scene.result.n_batches, 0);
    scene_close(&scene);
    reader_ready(&scene, kv, "kv", "sep=:");
    read_chunk(&scene, "k:v\n", 4, 0, 0, NULL);
    assert_string_equal(text_at(&scene, 0, 2, 0), "v");
    scene_close(&scene);
    /* Nothing may pass from line to line. */
    reader_ready(
        &scene,
        "local n = 0\ns.reader { 'x', gives = { n = 'int64' }, record = function(line) n = "
        "n + 1 return { n = n } end }",
        "x", "");
    assert_int_equal(read_chunk(&scene, "a\nb\n", 4, 0, 0, &consumed), SLUICE_E_CONFIG);
    assert_says(&scene, "changes its upvalue 'n'");
    scene_close(&scene);
}

/* Random numbers depend on a line and its place, not on what was read before. */
static void test_reader_random(void **state)
{
    static const char code[] = "s.reader { 'x', gives = { r = 'float64', t = 'utf8' }, record = "
                               "function(line) return { r = math.random(), t = line } end }";
    struct scene scene;
    double all[3];

    (void)state;
    reader_ready(&scene, code, "x", "");
    read_chunk(&scene, "a\nb\na\n", 6, 0, 0, NULL);
    memcpy(all, scene.result.batches[0].children[0]->buffers[1], sizeof all);
    assert_true(all[0] != all[1] && all[0] != all[2]);
    read_chunk(&scene, "a\n", 2, 4, 0, NULL);
    assert_memory_equal(scene.result.batches[0].children[0]->buffers[1], &all[2], sizeof all[2]);
    scene_close(&scene);
}

static const char pages[] =
    "s.reader { 'pages', cut = 'none', gives = { text = 'utf8' }, record = function(text, o, file, "
    "give)\n"
    "  local at = 1\n"
    "  while at <= #text do\n"
    "    local stop = text:find('|', at, true) or #text + 1\n"
    "    local page = text:sub(at, stop - 1)\n"
    "    if page == 'boom' then error 'a boom' end\n"
    "    if page == 'back' then give({ text = 'back' }, 1, 1) end\n"
    "    if page == 'far' then give({ text = 'far' }, at, #text + 1) end\n"
    "    if page == 'word' then give(nil, at, stop - 1, 'No Word') end\n"
    "    if page == 'what' then give 'what' end\n"
    "    if page == 'returns' then return {} end\n"
    "    if page == 'bad' then give(nil, at, stop - 1, 'no_page', 'is bad') else give({ text = "
    "page "
    "}, at, stop - 1) end\n"
    "    at = stop + 1\n"
    "  end\n"
    "end }";

static void test_whole_files(void **state)
{
    static const struct {
        const char *data, *detail;
    } wrong[] = {
        { "a|boom|b", "t.lua:7: a boom" },
        { "a|back", "t.lua:8: give: found a record at byte 1 behind one at byte 1" },
        { "aa|b|back", "behind one at byte 4" },
        { "a|far", "t.lua:9: give: found the bytes 3 to 6, expected a range within 1 to 5" },
        { "a|word", "t.lua:10: give: the reason of a bad record must be a word" },
        { "a|what", "t.lua:11: give: found a string, expected a table" },
        { "a|returns", "t.lua:2: the function returned a table, expected nothing: with cut" },
    };
    struct scene scene;
    uint64_t consumed;

    (void)state;
    reader_ready(&scene, pages, "pages", "");
    assert_string_equal(scene.entry->stage.cut, "none");
    assert_int_equal(read_chunk(&scene, "one|", 4, 0, SLUICE_CHUNK_FIRST, &consumed), SLUICE_OK);
    assert_int_equal(consumed, 0);
    assert_int_equal(scene.result.n_batches, 0);
    assert_int_equal(
        read_chunk(&scene, "\xef\xbb\xbfone|bad|two", 14, 0, SLUICE_CHUNK_LAST, &consumed),
        SLUICE_OK);
    assert_int_equal(consumed, 14);
    assert_int_equal(scene.result.batches[0].length, 2);
    assert_string_equal(text_at(&scene, 0, 0, 1), "two");
    assert_int_equal(number_at(&scene, 0, 1, 0), 3);
    assert_int_equal(number_at(&scene, 0, 2, 0), 6);
    assert_int_equal(number_at(&scene, 0, 1, 1), 11);
    assert_int_equal(number_at(&scene, 0, 2, 1), 14);
    assert_int_equal(scene.result.n_bad, 1);
    assert_bad_record(&scene, 0, 7, 10, "no_page", "is bad");
    /* A file that fails is one bad record, and gives nothing. */
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        size_t n = strlen(wrong[i].data);
        if (i == 1) { /* byte 1 again is in order: two records may begin at one place */
            read_chunk(&scene, "back", 4, 0, SLUICE_CHUNK_LAST, NULL);
            assert_int_equal(scene.result.n_bad, 0);
            assert_int_equal(scene.result.batches[0].length, 2);
            continue;
        }
        read_chunk(&scene, wrong[i].data, n, 0, SLUICE_CHUNK_LAST, NULL);
        assert_int_equal(scene.result.n_batches, 0);
        assert_int_equal(scene.result.n_bad, 1);
        assert_bad_record(&scene, 0, 0, n, "lua_error", wrong[i].detail);
    }
    read_chunk(&scene, "a|\xff", 3, 0, SLUICE_CHUNK_LAST, NULL);
    assert_bad_record(&scene, 0, 0, 3, "invalid_utf8", "not UTF-8");
    read_chunk(&scene, "x", 1, 0, SLUICE_CHUNK_LAST, NULL);
    assert_int_equal(scene.result.batches[0].length, 1);
    scene_close(&scene);
}

/* ---- gates ---- */

static const char gate[] =
    "s.gate { 'g', options = { least = { 'int', 2 }, max = { 'float', 0.5, judge = true }, of = { "
    "'node' } }, sums = { 'short', 'chars' },\n"
    "  measure = function(doc, o)\n"
    "    if doc.text == 'boom' then error 'a boom' end\n"
    "    if doc.text == 'what' then return 1 end\n"
    "    if doc.text == 'typo' then return { shrt = 1 } end\n"
    "    if doc.text == 'half' then return { chars = 7, short = 0.5 } end\n"
    "    if o.max ~= nil or o.of ~= nil then error 'sees what only judge sees' end\n"
    "    return { short = #doc.text < o.least, chars = #doc.text + 0.0 }\n"
    "  end,\n"
    "  judge = function(sums, o, count)\n"
    "    if sums.chars == 1000 then return sums.shrt end\n"
    "    if sums.chars == 1001 then return 'stop' end\n"
    "    if sums.chars == 1002 then return 'halt' end\n"
    "    if sums.chars == 1003 then while true do end end\n"
    "    if o.of ~= nil then return 'warn', 'of ' .. tostring(count(o.of)) end\n"
    "    if sums.short > o.max * sums.rows then return 'halt', sums.short .. ' of ' .. sums.rows "
    ".. "
    "' short' end\n"
    "  end }";

static int64_t count_docs(void *ctx, const char *node)
{
    (void)ctx;
    return strcmp(node, "docs") == 0 ? 17 : -1;
}

static void test_gate(void **state)
{
    static const char *const texts[] = { "a", "bb", "boom", "what", "typo", "half", "c", "ddd" };
    struct stage_judgement judgement;
    struct scene scene;
    struct buf one = BUF_INIT;
    struct buf both = BUF_INIT;
    struct buf other = BUF_INIT;
    struct stage_worker *merged = NULL;

    (void)state;
    scene_ready(&scene, gate, "g", "");
    assert_int_equal(scene.entry->stage.role, SLUICE_ROLE_GATE);
    processed(&scene, texts, 8);
    assert_bad(&scene, 2, "lua_error: t.lua:4: a boom");
    assert_bad(&scene, 3,
               "lua_error: t.lua:3: measure returned a number, expected a table with the sums");
    assert_bad(&scene, 4,
               "the sum 'shrt', which sums = { ... } does not name; did you mean 'short'");
    assert_bad(&scene, 5, "measure returned a fraction for short, expected an integer");
    /* 4 rows, 2 short, 7 chars: a bad row adds nothing */
    assert_int_equal(stage_judge(scene.worker, NULL, NULL, &judgement, &scene.err), SLUICE_OK);
    assert_int_equal(judgement.outcome, SLUICE_GATE_PASS);
    assert_int_equal(stage_save(scene.worker, &one, &scene.err), SLUICE_OK);
    processed(&scene, texts, 1);
    assert_int_equal(stage_judge(scene.worker, NULL, NULL, &judgement, &scene.err), SLUICE_OK);
    assert_int_equal(judgement.outcome, SLUICE_GATE_HALT);
    assert_string_equal(judgement.message, "3 of 5 short");
    /* Merging in any order is the same as one worker. */
    processed(&scene, texts, 2);
    assert_int_equal(stage_save(scene.worker, &both, &scene.err), SLUICE_OK);
    stage_worker_close(scene.worker);
    assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_OK);
    processed(&scene, texts, 1);
    processed(&scene, texts, 2);
    assert_int_equal(stage_save(scene.worker, &other, &scene.err), SLUICE_OK);
    for (int round = 0; round < 2; round++) {
        struct buf found = BUF_INIT;
        const struct buf *first = round == 0 ? &one : &other;
        const struct buf *second = round == 0 ? &other : &one;
        assert_int_equal(stage_worker_open(scene.stage, &merged, &scene.err), SLUICE_OK);
        assert_int_equal(stage_load(merged, first->data, first->size, &scene.err), SLUICE_OK);
        assert_int_equal(stage_merge(merged, second->data, second->size, &scene.err), SLUICE_OK);
        assert_int_equal(stage_save(merged, &found, &scene.err), SLUICE_OK);
        assert_int_equal(found.size, both.size);
        assert_memory_equal(found.data, both.data, both.size);
        buf_deinit(&found);
        stage_worker_close(merged);
    }
    buf_deinit(&one);
    buf_deinit(&both);
    buf_deinit(&other);
    scene_close(&scene);
    scene_ready(&scene, gate, "g", "of=docs");
    assert_int_equal(stage_judge(scene.worker, count_docs, NULL, &judgement, &scene.err),
                     SLUICE_OK);
    assert_int_equal(judgement.outcome, SLUICE_GATE_WARN);
    assert_string_equal(judgement.message, "of 17");
    assert_int_equal(stage_judge(scene.worker, NULL, NULL, &judgement, &scene.err), SLUICE_OK);
    assert_string_equal(judgement.message, "of nil");
    scene_close(&scene);
}

/* What judge may not do; it ends the run with the place. */
static void test_judge_refused(void **state)
{
    static const char *const expected[] = {
        "t.lua:12: judge sees no sum 'shrt'",
        "judge of the gate 'g' returned \"stop\" and a nil, expected nil, or \"halt\"",
        "returned \"halt\" and a nil",
        "the judge of stage 'g' does not come to an end",
    };
    struct stage_judgement judgement;
    struct scene scene;
    char text[1100];
    const char *const texts[] = { text };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        memset(text, 'x', sizeof text);
        text[1000 + i] = '\0';
        scene_ready(&scene, gate, "g", "");
        processed(&scene, texts, 1);
        assert_int_equal(stage_judge(scene.worker, NULL, NULL, &judgement, &scene.err),
                         SLUICE_E_CONFIG);
        assert_says(&scene, expected[i]);
        scene_close(&scene);
    }
}

static void test_gate_overflow(void **state)
{
    struct scene scene;

    (void)state;
    scene_ready(&scene,
                "s.gate { 'g', measure = function(doc) return math.maxinteger end, judge = "
                "function(sums) end }",
                "g", "");
    processed(&scene, NULL, 1);
    assert_int_equal(scene_process(&scene, NULL, 1), SLUICE_E_CONFIG);
    assert_says(&scene, "the sum of the gate 'g' does not fit into 64 bits");
    scene_close(&scene);
}

static struct hash128 hash_of(const char *code)
{
    struct scene scene;
    const struct registry_entry *entry = NULL;
    struct hash128 hash;

    scene_init(&scene);
    if (scene_load(&scene, code) != SLUICE_OK ||
        registry_find(scene.registry, "x", &entry, &scene.err) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    hash = entry->hash;
    scene_close(&scene);
    return hash;
}

/* A stage is what makes its rows: another judge is the same stage, another header is another
 * one. */
static void test_identity(void **state)
{
    struct hash128 first = hash_of("s.gate { 'x', measure = function(doc) return 1 end,\njudge = "
                                   "function(sums) end }");
    static const char *const different[] = {
        "s.gate { 'x', measure = function(doc) return 2 end,\njudge = function(sums) end }",
        "s.gate { 'x', measure = function(doc) return 1 end, sums = { 'a' },\njudge = "
        "function(sums) end }",
        "s.writer { 'x', suffix = '.a', row = function(doc) return 1 end }",
        "s.writer { 'x', suffix = '.b', row = function(doc) return 1 end }",
        "s.writer { 'x', suffix = '.a', row = function(doc) return 1 end, header = 'a' }",
        "s.writer { 'x', suffix = '.a', row = function(doc) return 1 end,\nheader = function() "
        "return 'a' end }",
        "s.writer { 'x', suffix = '.a', row = function(doc) return 1 end,\nheader = function() "
        "return 'b' end }",
        "s.reader { 'x', gives = { n = 'int64' }, record = function(doc) return 1 end }",
        "s.reader { 'x', gives = { n = 'int64' }, record = function(doc) return 1 end, cut = "
        "'none' "
        "}",
        "s.reader { 'x', gives = { n = 'int32' }, record = function(doc) return 1 end }",
        "s.transform { 'x', gives = { n = 'int32' }, row = function(doc) return 1 end }",
        "s.transform { 'x', gives = { n = 'int32?' }, row = function(doc) return 1 end }",
    };
    struct hash128 hashes[12];

    (void)state;
    assert_true(hash_equal(first, hash_of("s.gate { 'x', measure = function(doc) return 1 end,\n"
                                          "judge = function(sums) return 'halt', 'x' end }")));
    for (size_t i = 0; i < 12; i++) {
        hashes[i] = hash_of(different[i]);
        assert_false(hash_equal(hashes[i], first));
        for (size_t k = 0; k < i; k++) {
            if (hash_equal(hashes[i], hashes[k])) {
                fail_msg("%s\n and \n%s\n have one hash", different[k], different[i]);
            }
        }
    }
}

/* ---- writers ---- */

static const char tsv[] =
    "s.writer { 'tsv', suffix = '.tsv', header = function(o) return 'id' .. o.between .. 'text\\n' "
    "end, options = { between = { 'string', '\\t' } },\n"
    "  row = function(doc, o)\n"
    "    if doc.text == 'boom' then error 'a boom' end\n"
    "    if doc.text == 'nil' then return nil end\n"
    "    if doc.text == 'none' then return '' end\n"
    "    return doc.n + 1 .. o.between .. doc.text .. '\\n'\n"
    "  end }";

/* What was written, with "|N|" where a file of N rows ends. */
static void written(const struct scene *scene, struct buf *out)
{
    for (uint32_t k = 0; k < scene->result.n_marks; k++) {
        const struct stage_mark *mark = &scene->result.marks[k];
        if (mark->output == STAGE_MARK_ROLL) {
            buf_printf(out, "|%lld|", (long long)mark->rows);
        } else {
            assert_int_equal(mark->output, 0);
            buf_append(out, scene->result.bytes.data + mark->offset, mark->size);
        }
    }
}

static void test_writer(void **state)
{
    static const char *const texts[] = { "a", "boom", "b", "none", "nil", "c" };
    struct buf out = BUF_INIT;
    struct scene scene;

    (void)state;
    scene_ready(&scene, tsv, "tsv", "path=out,compression=gzip,level=3,shard_size=12,between=:");
    assert_int_equal(scene.entry->stage.role, SLUICE_ROLE_WRITER);
    assert_int_equal(scene.entry->stage.mode, SLUICE_MODE_ORDERED);
    assert_int_equal(scene.prepared.n_outputs, 1);
    assert_string_equal(scene.prepared.outputs[0].suffix, ".tsv");
    assert_string_equal(scene.prepared.outputs[0].codec, "gzip");
    assert_int_equal(scene.prepared.outputs[0].level, 3);
    processed(&scene, texts, 6);
    written(&scene, &out);
    assert_string_equal(buf_str(&out), "id:text\n0:a\n|1|id:text\n2:b\n|1|id:text\n5:c\n|2|");
    assert_bad(&scene, 1, "lua_error: t.lua:4: a boom");
    assert_bad(&scene, 4,
               "lua_error: t.lua:3: the function returned a nil, expected the text of the row");
    assert_string_equal(reason(&scene, 3), "");
    assert_int_equal(scene.result.measures[0].delta, 4);
    scene_close(&scene);
    buf_deinit(&out);
    /* The same however the rows come. */
    for (int64_t size = 1; size <= 6; size++) {
        out = (struct buf)BUF_INIT;
        scene_ready(&scene,
                    "s.writer { 'w', suffix = '.x', header = '#', row = function(doc) return "
                    "doc.text end }",
                    "w", "path=out,shard_size=6");
        for (int64_t at = 0; at < 6; at += size) {
            processed(&scene, texts + at, at + size > 6 ? 6 - at : size);
            written(&scene, &out);
        }
        assert_string_equal(buf_str(&out), "#aboom|2|#bnone|2|#nilc");
        buf_deinit(&out);
        scene_close(&scene);
    }
}

static void test_writer_refused(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(scene_load(&scene, tsv), SLUICE_OK);
    assert_int_equal(scene_open(&scene, "tsv", ""), SLUICE_E_CONFIG);
    assert_says(&scene, "path");
    scene_close(&scene);
    scene_init(&scene);
    assert_int_equal(scene_load(&scene, "s.writer { 'w', suffix = '.x', row = function(doc) return "
                                        "doc.text end, header = function(o) return #o end }"),
                     SLUICE_OK);
    assert_int_equal(scene_open(&scene, "w", "path=out"), SLUICE_E_CONFIG);
    assert_says(&scene, "t.lua:2: header of the writer 'w' returned a number, expected a string");
    scene_close(&scene);
}

/* ---- examples ---- */

static void report(void *ctx, uint32_t number, bool passed, const char *message)
{
    struct buf *to = ctx;

    assert_int_equal(passed, message[0] == '\0');
    buf_printf(to, "%u:%s|", number, message);
}

/* The examples of the stages of code say this. */
static void check_examples(const char *code, const char *expected, uint32_t others, uint32_t failed)
{
    struct buf all = BUF_INIT;
    struct luastage_examples found;
    struct scene scene;

    scene_init(&scene);
    if (scene_load(&scene, code) != SLUICE_OK ||
        luastage_run_examples(scene.script, 0, report, &all, &found, &scene.err) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    assert_string_equal(buf_str(&all), expected);
    assert_int_equal(found.others, others);
    assert_int_equal(found.failed, failed);
    buf_deinit(&all);
    scene_close(&scene);
}

static void test_examples(void **state)
{
    (void)state;
    check_examples(
        "s.transform { 'x', gives = { w = 'utf8', n = 'int64', l = 'list<utf8>', j = 'json' }, row "
        "= function(doc, o, emit)\n"
        "  for w in doc.text:gmatch '%S+' do emit { w = w, n = #w, l = { w }, j = { a = w } } end "
        "end, examples = {\n"
        "  { 'aa b', gives = { { w = 'aa', n = 2, l = { 'aa' }, j = { a = 'aa' } }, { n = 1.0 } } "
        "},\n"
        "  { '', gives = {} }, { 'x', gives = { { n = 2 } } }, { 'x y', gives = { {}, { l = { 'z' "
        "} "
        "} } },\n"
        "  { 'y', gives = { { m = 2 } } }, { 'y', gives = {} }, { 'z' }, { gives = {} }, 'a' } }",
        "1:|2:|3:column 'n' is 1, expected 2|4:row 2: column 'l' is [\"y\"], expected [\"z\"]|"
        "5:names the column 'm', which the stage does not give|6:gives 1 row, expected 0|"
        "7:does not say gives = { ... }|8:t.lua:3: the example has no field 'text'; add text = ... "
        "to it|9:is no table; an example is { \"text\", keep = true }, or what goes with the "
        "stage's role|",
        8, 7);
    check_examples(
        "s.reader { 'x', gives = { a = 'utf8', f = 'utf8', o = 'int64' }, record = function(line, "
        "o, "
        "file, offset)\n"
        "  if line == '' then return false end if line == 'b' then return nil, 'bad_one' end\n"
        "  return { a = line, f = file, o = offset } end, examples = {\n"
        "  { 'x', gives = { a = 'x', f = 'example', o = 0 } }, { 'x', file = 'g', offset = 9, "
        "gives "
        "= { f = 'g', o = 9 } },\n"
        "  { '', skips = true }, { 'b', bad = 'bad_one' }, { '', gives = { a = '' } }, { 'b', bad "
        "= "
        "'other' },\n"
        "  { 'x', bad = 'bad_one' }, { 'x', skips = true }, { 'x' }, { 'b', gives = { a = 'b' } } "
        "} "
        "}",
        "1:|2:|3:|4:|5:is skipped, as no record|6:is bad: bad_one, expected another reason|"
        "7:has 0 bad records, expected 1|8:is not skipped|9:says neither gives = { ... }, bad = "
        "\"reason\" nor skips = true|10:is bad: bad_one|",
        10, 6);
    check_examples(
        "s.reader { 'x', cut = 'none', gives = { a = 'utf8' }, record = function(text, o, file, "
        "give)\n"
        "  for w in text:gmatch '%S+' do if w == 'b' then give(nil, 1, 1, 'bad_one') else give { a "
        "= "
        "w } end end end,\n"
        "  examples = { { 'x y', gives = { { a = 'x' }, { a = 'y' } } }, { 'x b b', gives = { { a "
        "= "
        "'x' } }, bad = { 'bad_one', 'bad_one' } }, { '', gives = {} } } }",
        "1:|2:|3:|", 3, 0);
    check_examples(
        "s.gate { 'x', sums = { 'a', 'b' }, measure = function(doc) return { a = #doc.text, b = "
        "doc.n } end, judge = function(sums)\n"
        "  if sums.a > sums.rows then return 'warn', 'many' end end, examples = {\n"
        "  { 'xx', n = 1, measures = { a = 2, b = 1 } }, { 'x', n = 1, measures = { a = 2 } }, { "
        "'x', "
        "n = 1, measures = { c = 2 } },\n"
        "  { sums = { a = 2, rows = 1 }, judges = 'warn' }, { sums = { a = 1, rows = 1 }, judges = "
        "'halt' }, { sums = { c = 1 }, judges = 'pass' }, {} } }",
        "1:|2:measures a = 1, expected 2|3:names the sum 'c', which the stage has not|4:|5:judges "
        "\"pass\", expected \"halt\"|6:names the sum 'c', which the stage has not|7:says neither "
        "measures = ... nor sums = { ... }, judges = \"pass\"|",
        7, 5);
    check_examples("s.writer { 'x', suffix = '.x', row = function(doc) return doc.text .. "
                   "'\\n' end, examples = { { 'a', writes = 'a\\n' }, { 'a', writes = 'b\\n' }, { "
                   "'a' } } }",
                   "1:|2:writes \"a\\n\", expected \"b\\n\"|3:does not say writes = \"...\"|", 3,
                   2);
    check_examples(
        "s.annotate { 'x', function(doc) if doc.text == '' then return nil, 'empty' end return { n "
        "= #doc.text } end, adds = { n = 'int8' },\n"
        "  examples = { { 'ab', gives = { n = 2 } }, { 'ab', gives = { n = 3 } }, { '', keep = "
        "false, reason = 'empty' }, { '', keep = true } } }",
        "1:|2:column 'n' is 2, expected 3|3:|4:is dropped (empty, value 0, limit 0), expected to "
        "be "
        "kept|",
        2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),     cmocka_unit_test(test_transform),
        cmocka_unit_test(test_transform_sizes), cmocka_unit_test(test_transform_again),
        cmocka_unit_test(test_reader),          cmocka_unit_test(test_reader_random),
        cmocka_unit_test(test_whole_files),     cmocka_unit_test(test_gate),
        cmocka_unit_test(test_judge_refused),   cmocka_unit_test(test_gate_overflow),
        cmocka_unit_test(test_identity),        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_writer_refused),  cmocka_unit_test(test_examples),
    };

    return cmocka_run_group_tests_name("luastage_roles", tests, NULL, NULL);
}
