/* read_jsonl and read_json - JSON records, one a line or in an array, into documents. Every record
 * is validated wholly; declared columns are typed, the other members stay byte by byte in
 * `metadata`. Needs simdjson. */
#include <cstring>
#include <new>

#include "record.h"

using namespace sluice_json;

namespace
{

struct Config {
    const char *text, *id;
    sluice_map columns;
    int32_t missing; /* enum Missing */
    uint8_t metadata;
};

enum Missing { missing_null, missing_quarantine, missing_allow };

struct Stage {
    Settings settings;
    Missing missing;
    bool array; /* read_json */
    std::vector<std::string> types;
};

#define JSON_OPTIONS                                                                               \
    { "text",  "Member that holds the text; it becomes the column `text`.",                        \
      "text",  nullptr,                                                                            \
      nullptr, 0,                                                                                  \
      0,       SLUICE_OPT_STRING,                                                                  \
      0,       offsetof(Config, text) },                                                           \
        { "id",                                                                                    \
          "Member that names the document (a string or integer); absent ids are made of file and " \
          "offset.",                                                                               \
          "id",                                                                                    \
          nullptr,                                                                                 \
          nullptr,                                                                                 \
          0,                                                                                       \
          0,                                                                                       \
          SLUICE_OPT_STRING,                                                                       \
          0,                                                                                       \
          offsetof(Config, id) },                                                                  \
        { "columns",                                                                               \
          "Further members as typed columns: name to utf8, int64, float64, bool or json.",         \
          nullptr,                                                                                 \
          nullptr,                                                                                 \
          nullptr,                                                                                 \
          0,                                                                                       \
          0,                                                                                       \
          SLUICE_OPT_MAP,                                                                          \
          0,                                                                                       \
          offsetof(Config, columns) },                                                             \
        { "missing",                                                                               \
          "What a record without the text or a declared column is: a null there, or quarantined. " \
          "An input of which no record has the column is refused, but for `allow`, a null.",       \
          "null",                                                                                  \
          "null|quarantine|allow",                                                                 \
          nullptr,                                                                                 \
          0,                                                                                       \
          0,                                                                                       \
          SLUICE_OPT_ENUM,                                                                         \
          0,                                                                                       \
          offsetof(Config, missing) },                                                             \
        { "metadata", "Keep the other members, byte by byte, in the column `metadata`.",           \
          "true",     nullptr,                                                                     \
          nullptr,    0,                                                                           \
          0,          SLUICE_OPT_BOOL,                                                             \
          0,          offsetof(Config, metadata) },

const sluice_option options[] = { JSON_OPTIONS };

const struct {
    const char *name;
    Kind kind;
} kinds[] = {
    { "utf8", Kind::text },    { "string", Kind::text },    { "int64", Kind::integer },
    { "int", Kind::integer },  { "float64", Kind::number }, { "float", Kind::number },
    { "bool", Kind::boolean }, { "json", Kind::json },
};

sluice_status open_stage(const void *given, bool array, void **shared, sluice_error *err)
{
    const Config *config = static_cast<const Config *>(given);

    try {
        std::unique_ptr<Stage> stage(new Stage);
        stage->array = array;
        stage->settings.metadata = config->metadata != 0;
        stage->missing = static_cast<Missing>(config->missing);
        stage->settings.quarantine_missing = stage->missing == missing_quarantine;
        stage->settings.fields.push_back({ config->text, "text", Kind::text, false, false });
        stage->settings.fields.push_back({ config->id, "id", Kind::text, true, false });
        stage->types = { "utf8?", "utf8" };
        for (uint64_t i = 0; i < config->columns.n; i++) {
            const char *name = config->columns.keys[i];
            const char *type = config->columns.values[i];
            bool found = false;
            for (const auto &kind : kinds) {
                if (strcmp(kind.name, type) == 0) {
                    static const char *const written[] = { "utf8?", "int64?", "float64?", "bool?",
                                                           "json?" };
                    stage->settings.fields.push_back({ name, name, kind.kind, false, false });
                    stage->types.push_back(written[static_cast<int>(kind.kind)]);
                    found = true;
                    break;
                }
            }
            if (!found) {
                std::string message = std::string("column '") + name + "': found the type '" +
                                      type + "', expected utf8, int64, float64, bool or json";
                return sluice_fail(err, SLUICE_E_CONFIG, "columns", message.c_str());
            }
        }
        *shared = stage.release();
        return SLUICE_OK;
    } catch (const std::exception &e) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", e.what());
    }
}

sluice_status open_jsonl(const sluice_host_api *, sluice_host *, const void *config, void **shared,
                         sluice_error *err)
{
    return open_stage(config, false, shared, err);
}

sluice_status open_json(const sluice_host_api *, sluice_host *, const void *config, void **shared,
                        sluice_error *err)
{
    return open_stage(config, true, shared, err);
}

/* Must some record have the k-th field? Columns that nobody uses may be absent; a name is told of
 * once. */
bool expected(const Stage &stage, size_t k, sluice_plan *plan)
{
    const auto &fields = stage.settings.fields;

    if (stage.missing != missing_null || fields[k].id) {
        return false;
    }
    for (size_t i = 0; i < k; i++) {
        if (fields[i].key == fields[k].key && fields[i].expected) {
            return false;
        }
    }
    return plan->wanted == nullptr || plan->wanted(plan, fields[k].column.c_str()) != 0;
}

sluice_status prepare(void *shared, sluice_plan *plan, sluice_error *err)
{
    Stage *stage = static_cast<Stage *>(shared);

    for (size_t k = 0; k < stage->settings.fields.size(); k++) {
        stage->settings.fields[k].expected = expected(*stage, k, plan);
        sluice_status status = plan->add(plan, stage->settings.fields[k].column.c_str(),
                                         stage->types[k].c_str(), nullptr, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (stage->settings.metadata && plan->wanted != nullptr &&
        plan->wanted(plan, "metadata") == 0) {
        stage->settings.metadata = false;
    }
    if (stage->settings.metadata) {
        sluice_status status = plan->add(plan, "metadata", "json?", nullptr, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    sluice_status status = plan->add(plan, SLUICE_BEGIN, "uint64", nullptr, err);
    return status == SLUICE_OK ? plan->add(plan, SLUICE_END, "uint64", nullptr, err) : status;
}

struct Worker {
    explicit Worker(const Stage &s) : stage(s), records(s.settings)
    {
    }
    const Stage &stage;
    Records records;
    /* read_json: where in the array the file is */
    bool started = false, ended = false, after_record = false, bare = false;
};

sluice_status worker_open(void *shared, void **worker, sluice_error *err)
{
    *worker = new (std::nothrow) Worker(*static_cast<Stage *>(shared));
    return *worker != nullptr ? SLUICE_OK : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
}

void worker_close(void *worker)
{
    delete static_cast<Worker *>(worker);
}

void close_stage(void *shared)
{
    delete static_cast<Stage *>(shared);
}

bool is_blank(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r') {
            return false;
        }
    }
    return true;
}

sluice_status read_lines(void *state, sluice_chunk *chunk, sluice_emit *emit, sluice_error *err)
{
    Worker *worker = static_cast<Worker *>(state);
    const char *p = chunk->data;
    const char *end = chunk->data + chunk->n;

    if (!worker->records.begin()) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for records");
    }
    while (p < end) {
        const char *newline =
            static_cast<const char *>(memchr(p, '\n', static_cast<size_t>(end - p)));
        const char *line_end = newline == nullptr ? end : newline;
        size_t n = static_cast<size_t>(line_end - p);
        if (!is_blank(p, n < 64 ? n : 64) || !is_blank(p, n)) {
            sluice_status status =
                worker->records.add(p, n, chunk->offset + static_cast<uint64_t>(p - chunk->data),
                                    chunk->uri, emit, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
        p = line_end + 1;
    }
    chunk->consumed = chunk->n;
    return worker->records.finish(emit, err);
}

/* The end of the JSON value at p (object, array or other), or null when more bytes are needed. */
const char *value_end(const char *p, const char *end)
{
    int depth = 0;

    for (const char *q = p; q < end; q++) {
        if (*q == '"') {
            for (q++; q < end && *q != '"'; q++) {
                q += *q == '\\';
            }
            if (q >= end) {
                return nullptr;
            }
            if (depth == 0) {
                return q + 1;
            }
        } else if (*q == '{' || *q == '[') {
            depth++;
        } else if (*q == '}' || *q == ']') {
            if (depth == 0) {
                return q;
            }
            if (--depth == 0) {
                return q + 1;
            }
        } else if (depth == 0 &&
                   (*q == ',' || *q == ' ' || *q == '\n' || *q == '\r' || *q == '\t')) {
            return q;
        }
    }
    return nullptr;
}

sluice_status broken(const sluice_chunk *chunk, const char *p, const char *what, sluice_error *err)
{
    std::string message = std::string(chunk->uri) + ": " + what + " at byte " +
                          std::to_string(chunk->offset + static_cast<uint64_t>(p - chunk->data)) +
                          "; the file is no array of records, so none of it can be trusted";
    return sluice_fail(err, SLUICE_E_DATA, "", message.c_str());
}

sluice_status read_array(void *state, sluice_chunk *chunk, sluice_emit *emit, sluice_error *err)
{
    Worker *worker = static_cast<Worker *>(state);
    const char *p = chunk->data;
    const char *end = chunk->data + chunk->n;
    bool last = (chunk->flags & SLUICE_CHUNK_LAST) != 0;

    if ((chunk->flags & SLUICE_CHUNK_FIRST) != 0) {
        worker->started = worker->ended = worker->after_record = worker->bare = false;
    }
    /* A byte order mark is no text; the beginning of one waits for the rest. */
    if (chunk->offset == 0 && chunk->n < 3 && !last && memcmp(p, "\xef\xbb\xbf", chunk->n) == 0) {
        chunk->consumed = 0;
        return SLUICE_OK;
    }
    if (chunk->offset == 0 && chunk->n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
    }
    if (!worker->records.begin()) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for records");
    }
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
            p++;
        }
        chunk->consumed = static_cast<uint64_t>(p - chunk->data);
        if (p >= end) {
            if (last && worker->started && !worker->ended &&
                !(worker->bare && worker->after_record)) {
                return broken(chunk, p, "the file ends before the array's ]", err);
            }
            break;
        }
        if (worker->ended || (worker->bare && worker->after_record)) {
            return broken(chunk, p, "found more text behind the end", err);
        }
        if (!worker->started) {
            worker->started = true;
            if (*p == '[') {
                p++;
                continue;
            }
            if (*p != '{') {
                return broken(chunk, p, "expected [ or {", err);
            }
            worker->bare = true;
        }
        if (!worker->bare && *p == ']') {
            worker->ended = true;
            p++;
            continue;
        }
        if (!worker->bare && worker->after_record) {
            if (*p != ',') {
                return broken(chunk, p, "expected , or ] between records", err);
            }
            p++;
            worker->after_record = false;
            continue;
        }
        const char *stop = value_end(p, end);
        if (stop == nullptr) {
            if (last) {
                return broken(chunk, p, "the file ends inside a record", err);
            }
            break;
        }
        if (stop == p) {
            return broken(chunk, p, "expected a record", err);
        }
        sluice_status status = worker->records.add(
            p, static_cast<size_t>(stop - p),
            chunk->offset + static_cast<uint64_t>(p - chunk->data), chunk->uri, emit, err);
        if (status != SLUICE_OK) {
            return status;
        }
        worker->after_record = true;
        p = stop;
    }
    return worker->records.finish(emit, err);
}

sluice_stage make_stage(const char *name, const char *summary, const char *example, const char *cut)
{
    sluice_stage stage;

    memset(&stage, 0, sizeof stage);
    stage.size = sizeof stage;
    stage.name = name;
    stage.version = "1.0";
    stage.summary = summary;
    stage.doc = "Columns: `text` (null where the member is absent), `id`, the declared ones, and "
                "`metadata`. Bad records are quarantined: invalid_json, "
                "invalid_utf8, bad_string, bad_number, too_deep, not_an_object, wrong_type, "
                "duplicate_key, missing_column, record_too_long.";
    stage.example = example;
    stage.role = SLUICE_ROLE_READER;
    stage.mode = SLUICE_MODE_STATELESS;
    stage.options = options;
    stage.n_options = sizeof options / sizeof options[0];
    stage.option_stride = sizeof options[0];
    stage.config_size = sizeof(Config);
    stage.cut = cut;
    stage.bytes_worker = 6u << 20;
    stage.bytes_per_batch = 15; /* 2 of text; the parser's tape and index of numbers in arrays */
    stage.prepare = prepare;
    stage.worker_open = worker_open;
    stage.worker_close = worker_close;
    stage.close = close_stage;
    return stage;
}

struct Descriptors {
    sluice_stage jsonl, json;
    const sluice_stage *stages[3];
    sluice_plugin plugin;

    Descriptors()
        : jsonl(make_stage("read_jsonl", "JSON records, one a line",
                           "s.files \"corpus/*.jsonl.zst\" | s.read_jsonl { text = \"content\" }",
                           "newline")),
          json(make_stage("read_json", "JSON records in one array a file",
                          "s.files \"alpaca.json\" | s.read_json { text = \"output\" }", "none"))
    {
        jsonl.open = open_jsonl;
        jsonl.read = read_lines;
        json.open = open_json;
        json.read = read_array;
        json.mode = SLUICE_MODE_ORDERED;
        stages[0] = &jsonl;
        stages[1] = &json;
        stages[2] = nullptr;
        memset(&plugin, 0, sizeof plugin);
        plugin.size = sizeof plugin;
        plugin.abi_major = SLUICE_ABI_MAJOR;
        plugin.abi_minor_built = SLUICE_ABI_MINOR;
        plugin.name = "read_jsonl";
        plugin.version = "1.0";
        plugin.license = "MIT";
        plugin.stages = stages;
    }
};

} /* namespace */

extern "C" const sluice_plugin *sluice_plugin_v1(void)
{
    static const Descriptors descriptors;
    return &descriptors.plugin;
}
