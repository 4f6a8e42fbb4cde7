/* read_jsonl and read_json - JSON records, one a line or in an array, into documents. Every record
 * is validated wholly; declared columns are typed, the other members stay byte by byte in
 * `metadata`. Needs simdjson. */
#include <cstring>

#include "record.h"

using namespace sluice_json;

namespace
{

enum class Missing : std::int32_t { null, quarantine, allow };

/* What both have: options, columns, and records in the making. */
template <class D> class json_reader : public sluice::chunk_reader<D>
{
  public:
    static constexpr const char *version = "1.0";
    static constexpr const char *doc =
        "Columns: `text` (null where the member is absent), `id`, the declared ones, and "
        "`metadata`. Bad records are quarantined: invalid_json, "
        "invalid_utf8, bad_string, bad_number, too_deep, not_an_object, wrong_type, "
        "duplicate_key, missing_column, record_too_long.";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 6 } << 20;
    /* 2 of text; the parser's tape and index of numbers in arrays */
    static constexpr double bytes_per_batch = 15;

    struct options {
        const char *text, *id;
        sluice_map columns;
        Missing missing;
        bool metadata;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(
            &options::text, "text", "text",
            "Member that holds the text; it becomes the column `text`. Here and below a path leads "
            "to a member of a member, or an item of an array: `metadata.url`, "
            "`messages[0].content`; a member whose own name reads so comes first.");
        t.add(&options::id, "id", "id",
              "Member that names the document (a string or integer); absent ids are made of file "
              "and offset.");
        t.add(&options::columns, "columns",
              "Further members as typed columns: name to utf8, int64, float64, bool or json.");
        t.add(&options::missing, "missing", "null",
              "What a record without the text or a declared column is: a null there, or "
              "quarantined. An input of which no record has the column is refused, but for "
              "`allow`, a null.")
            .choices("null|quarantine|allow");
        t.add(&options::metadata, "metadata", "true",
              "Keep the other members, byte by byte, in the column `metadata`.");
    }

    void open()
    {
        const options &given = this->opts();

        settings.metadata = given.metadata;
        settings.quarantine_missing = given.missing == Missing::quarantine;
        settings.fields.push_back(
            { given.text, path_of(given.text), "text", Kind::text, false, false });
        settings.fields.push_back({ given.id, path_of(given.id), "id", Kind::text, true, false });
        types = { "utf8?", "utf8" };
        for (std::uint64_t i = 0; i < given.columns.n; i++) {
            add_column(given.columns.keys[i], given.columns.values[i]);
        }
    }
    void prepare(sluice::plan &p)
    {
        for (std::size_t k = 0; k < settings.fields.size(); k++) {
            settings.fields[k].expected = expected(k, p);
            p.add(settings.fields[k].column, types[k]);
        }
        settings.metadata = settings.metadata && p.wanted("metadata");
        if (settings.metadata) {
            p.add("metadata", "json?");
        }
        p.add(SLUICE_BEGIN, "uint64");
        p.add(SLUICE_END, "uint64");
    }

    Settings settings;

  private:
    void add_column(const char *name, const char *type)
    {
        static const struct {
            const char *name, *column;
            Kind kind;
        } kinds[] = {
            { "utf8", "utf8?", Kind::text },         { "string", "utf8?", Kind::text },
            { "int64", "int64?", Kind::integer },    { "int", "int64?", Kind::integer },
            { "float64", "float64?", Kind::number }, { "float", "float64?", Kind::number },
            { "bool", "bool?", Kind::boolean },      { "json", "json?", Kind::json },
        };

        for (const auto &kind : kinds) {
            if (std::strcmp(kind.name, type) == 0) {
                settings.fields.push_back({ name, path_of(name), name, kind.kind, false, false });
                types.push_back(kind.column);
                return;
            }
        }
        throw sluice::error(SLUICE_E_CONFIG,
                            std::string("column '") + name + "': found the type '" + type +
                                "', expected utf8, int64, float64, bool or json",
                            "columns");
    }
    /* Must some record have the k-th field? Columns that nobody uses may be absent; a name is told
     * of once. */
    bool expected(std::size_t k, sluice::plan &p) const
    {
        const auto &fields = settings.fields;

        if (this->opts().missing != Missing::null || fields[k].id) {
            return false;
        }
        for (std::size_t i = 0; i < k; i++) {
            if (fields[i].key == fields[k].key && fields[i].expected) {
                return false;
            }
        }
        return p.wanted(fields[k].column.c_str());
    }

    std::vector<const char *> types; /* of the columns */
};

bool is_blank(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r') {
            return false;
        }
    }
    return true;
}

struct read_jsonl : json_reader<read_jsonl> {
    static constexpr const char *name = "read_jsonl";
    static constexpr const char *summary = "JSON records, one a line";
    static constexpr const char *example =
        "s.files \"corpus/*.jsonl.zst\" | s.read_jsonl { text = \"content\" }";

    struct worker {
        explicit worker(const read_jsonl &stage) : records(stage.settings)
        {
        }
        Records records;
    };

    std::uint64_t read(const sluice::chunk &in, sluice::emitter &out, worker &w) const
    {
        const char *p = in.data.data();
        const char *end = p + in.data.size();

        w.records.begin();
        while (p < end) {
            const char *newline =
                static_cast<const char *>(memchr(p, '\n', static_cast<size_t>(end - p)));
            size_t n = static_cast<size_t>((newline == nullptr ? end : newline) - p);
            if (!is_blank(p, n < 64 ? n : 64) || !is_blank(p, n)) {
                w.records.add(p, n, in.offset + static_cast<uint64_t>(p - in.data.data()), in.uri,
                              out);
            }
            p += n + 1;
        }
        w.records.finish(out);
        return in.data.size();
    }
};

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

struct read_json : json_reader<read_json> {
    static constexpr const char *name = "read_json";
    static constexpr const char *summary = "JSON records in one array a file";
    static constexpr const char *example =
        "s.files \"alpaca.json\" | s.read_json { text = \"output\" }";
    static constexpr const char *cut = "none";
    static constexpr std::uint32_t mode = SLUICE_MODE_ORDERED;

    struct worker {
        explicit worker(const read_json &stage) : records(stage.settings)
        {
        }
        Records records;
        /* where in the array the file is */
        bool started = false, ended = false, after_record = false, bare = false;
    };

    std::uint64_t read(const sluice::chunk &in, sluice::emitter &out, worker &w) const
    {
        const char *p = in.data.data();
        const char *end = p + in.data.size();

        if (in.first) {
            w.started = w.ended = w.after_record = w.bare = false;
        }
        if (in.offset == 0 &&
            std::memcmp(p, "\xef\xbb\xbf", in.data.size() < 3 ? in.data.size() : 3) == 0) {
            /* A byte order mark is no text; the beginning of one waits for the rest. */
            if (in.data.size() < 3 && !in.last) {
                return 0;
            }
            p += in.data.size() < 3 ? 0 : 3;
        }
        w.records.begin();
        while (step(in, p, end, out, w)) {
        }
        w.records.finish(out);
        return static_cast<std::uint64_t>(p - in.data.data());
    }

  private:
    [[noreturn]] static void broken(const sluice::chunk &in, const char *p, const char *what)
    {
        throw sluice::error(
            SLUICE_E_DATA,
            std::string(in.uri) + ": " + what + " at byte " +
                std::to_string(in.offset + static_cast<uint64_t>(p - in.data.data())) +
                "; the file is no array of records, so none of it can be trusted");
    }
    /* Past one bracket, comma or record; false: the chunk holds no more of them. */
    static bool step(const sluice::chunk &in, const char *&p, const char *end, sluice::emitter &out,
                     worker &w)
    {
        const char *stop;

        while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
            p++;
        }
        if (p >= end) {
            if (in.last && w.started && !w.ended && !(w.bare && w.after_record)) {
                broken(in, p, "the file ends before the array's ]");
            }
            return false;
        }
        if (w.ended || (w.bare && w.after_record)) {
            broken(in, p, "found more text behind the end");
        }
        if (!w.started) {
            w.started = true;
            if (*p == '[') {
                p++;
                return true;
            }
            if (*p != '{') {
                broken(in, p, "expected [ or {");
            }
            w.bare = true;
        }
        if (!w.bare && *p == ']') {
            w.ended = true;
            p++;
            return true;
        }
        if (!w.bare && w.after_record) {
            if (*p != ',') {
                broken(in, p, "expected , or ] between records");
            }
            p++;
            w.after_record = false;
            return true;
        }
        stop = value_end(p, end);
        if (stop == nullptr) {
            if (in.last) {
                broken(in, p, "the file ends inside a record");
            }
            return false;
        }
        if (stop == p) {
            broken(in, p, "expected a record");
        }
        w.records.add(p, static_cast<size_t>(stop - p),
                      in.offset + static_cast<uint64_t>(p - in.data.data()), in.uri, out);
        w.after_record = true;
        p = stop;
        return true;
    }
};

} /* namespace */

SLUICE_PLUGIN("read_jsonl", "1.0", "MIT", read_jsonl, read_json);
