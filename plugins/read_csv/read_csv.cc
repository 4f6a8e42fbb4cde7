/* read_csv - CSV and TSV files into documents. A survey reads a file once, finds where records end,
 * and cuts it into units of whole records, which are read on all cores; a compressed file is one
 * unit, read from its begin. The host reads; compressed bytes are decoded here. */
#include <algorithm>
#include <atomic>
#include <cstring>

#include "csv_inflate.h"
#include "csv_split.h"
#include "csv_table.h"
#include "text/text_utf8.h"

using namespace sluice_csv;

namespace
{

constexpr std::uint64_t piece_bytes = std::uint64_t{ 1 } << 20; /* asked for at once */
constexpr std::uint64_t unit_bytes = std::uint64_t{ 1 } << 20;
constexpr std::uint64_t batch_bytes = std::uint64_t{ 1 } << 20;

enum class Mode : std::int32_t { strict, tolerant };
enum class Missing : std::int32_t { refuse, null, allow };

/* The text of a file or a unit, piece by piece. */
struct Text {
    std::unique_ptr<Inflater> inflater; /* NULL: as it is stored */
    Splitter splitter;
    std::uint64_t at = 0, end = 0; /* stored bytes that are asked for next, and where they end */
    std::uint64_t asked = 0;       /* at once; grows, so that long records are not searched often */
    std::string decoded;
    bool ended = false;

    explicit Text(const Dialect &dialect) : splitter(dialect)
    {
    }
    void begin(Codec codec, std::uint64_t from, std::uint64_t to, std::uint64_t offset)
    {
        inflater = codec == Codec::none ? nullptr : std::make_unique<Inflater>(codec);
        splitter.begin(offset);
        at = from;
        end = to;
        asked = 0;
        ended = false;
    }
    void feed(std::string_view piece)
    {
        if (inflater != nullptr) {
            inflater->feed(piece);
        } else {
            splitter.feed(piece.data(), piece.size());
        }
    }
    /* Has what there is decoded; false: more bytes of the file are needed, and were asked for. */
    bool go_on(sluice::emitter &out)
    {
        if (inflater != nullptr && inflater->next(decoded, piece_bytes)) {
            splitter.feed(decoded.data(), decoded.size());
            return true;
        }
        if (at == end) {
            if (inflater != nullptr && !inflater->complete()) {
                throw sluice::error(SLUICE_E_DATA, "the compressed file is cut");
            }
            ended = true;
            splitter.end();
            return true;
        }
        asked = std::min(std::max(2 * asked, piece_bytes), 16 * piece_bytes);
        const std::uint64_t n = std::min(asked, end - at);
        out.ask(at, n);
        at += n;
        return false;
    }
};

/* What a worker keeps from call to call. */
struct State {
    explicit State(const Dialect &dialect) : text(dialect)
    {
    }
    Text text;
    std::vector<Field> fields;
    std::string scratch;
    /* of a survey */
    Head found;
    std::vector<Guess> guesses;
    bool begun = false;    /* the file's first bytes were looked at */
    std::int64_t rows = 0; /* that were looked at, of the file */
    sluice_unit unit = {}; /* in the making */
    std::uint64_t file_bytes = 0;
    std::string uri;
    /* of scans: what the last description said */
    std::string described;
    Head head;
    std::vector<int> places;
    std::vector<std::string> absent;
    Table table;
};

bool ends_with(std::string_view text, std::string_view end)
{
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct read_csv : sluice::random_reader<read_csv> {
    static constexpr const char *name = "read_csv";
    static constexpr const char *version = "1.0";
    static constexpr const char *summary = "CSV and TSV files, plain or compressed";
    static constexpr const char *doc =
        "Columns: `text`, `id`, and the declared ones, or all that the first file has; their types "
        "are declared, or found out by its first rows, and hold for all rows of all files: a value "
        "of another type quarantines its row (wrong_type). Fields may hold line ends within "
        "quotes. Numbers that begin with 0 or +, and whole ones beyond int64, are taken for text; "
        "a field without quotes that is one of `null` is null. Rows are quarantined with the byte "
        "at which they begin: wrong_fields (too few or many), invalid_utf8, and in the strict mode "
        "what breaks RFC 4180: bad_quote, bare_cr, nul_byte. The tolerant mode takes those as "
        "Python's csv does, fills up short rows with nulls, overlooks empty fields behind the last "
        "column and blank lines, and quarantines the first line of a record that has no end "
        "(unclosed_quote, record_too_long), which ends a strict run. A file that is not compressed "
        "is read on all cores; it is looked through once before, for the ends of its records. "
        "Codecs are told by content: gzip, zstd.";
    static constexpr const char *example =
        "s.files \"reviews/*.csv\" | s.read_csv { text = \"review\", columns = { stars = "
        "\"int64\" } }";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 8 } << 20;
    /* The window, and columns of it. */
    static constexpr double bytes_per_batch = 4;

    struct options {
        const char *text, *id;
        sluice_map columns;
        Missing missing;
        bool union_by_name;
        bool header;
        sluice_list names;
        const char *delimiter, *quote;
        sluice_list null;
        Mode mode;
        std::int64_t sample;
        sluice::byte_size max_record;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::text, "text", "text",
              "Column that holds the text; it becomes the column `text`.");
        t.add(&options::id, "id", "id",
              "Column that names the document; absent and empty ids are made of file and byte.");
        t.add(&options::columns, "columns",
              "Further columns: name to utf8, int64, float64 or bool; all where none is named.");
        t.add(&options::missing, "missing", "refuse",
              "What becomes of a file without a column that is wanted: it is refused, or nulls "
              "are made; an input in which no file has the column is refused, but for `allow`.")
            .choices("refuse|null|allow");
        t.add(&options::union_by_name, "union_by_name", "false",
              "Columns are those of all files, by name: a file that lacks one gives nulls; types "
              "that differ are refused with file and column, unless they are declared. All files "
              "are looked through before anything else.");
        t.add(&options::header, "header", "true", "The first record names the columns.");
        t.add(&options::names, "names",
              "Names of the columns of files without a header; column1, column2, … by default.");
        t.add(&options::delimiter, "delimiter", "auto",
              "One ASCII character between fields; `auto`: a tab in files whose names end in .tsv "
              "or .tab (and .gz, .zst), else a comma.");
        t.add(&options::quote, "quote", "\"",
              "One ASCII character around fields that hold others; empty: there is none.");
        t.add(&options::null, "null", "",
              "What a field without quotes holds that is null; nothing by default.");
        t.add(&options::mode, "mode", "strict",
              "Quarantine rows that break RFC 4180, or make of them what can be made.")
            .choices("strict|tolerant");
        t.add(&options::sample, "sample", "1000",
              "By how many rows of the first file the types of columns that are not declared are "
              "found out.")
            .range(1, 1e9);
        t.add(&options::max_record, "max_record", "16MiB", "Most bytes of a record.")
            .range(1, 1 << 30);
    }
    struct worker : State {
        explicit worker(const read_csv &stage) : State(stage.dialect)
        {
        }
    };

    void open()
    {
        const options &given = opts();

        request = { given.text, given.id,           {}, given.missing != Missing::refuse,
                    {},         given.union_by_name };
        dialect.strict = given.mode == Mode::strict;
        dialect.max_record = given.max_record;
        dialect.quote = given.quote[0] == '\0' ? '\0' : character(given.quote, "quote");
        given_delimiter = std::strcmp(given.delimiter, "auto") != 0;
        dialect.delimiter = given_delimiter ? character(given.delimiter, "delimiter") : ',';
        if (dialect.delimiter == dialect.quote) {
            throw sluice::error(SLUICE_E_CONFIG,
                                "found the same character as `quote`, expected "
                                "another one",
                                "delimiter");
        }
        for (std::uint64_t k = 0; k < given.null.n; k++) {
            request.nulls.emplace_back(given.null.items[k]);
        }
        if (request.nulls.empty()) {
            request.nulls.emplace_back();
        }
        if (given.names.n > 0 && given.header) {
            throw sluice::error(SLUICE_E_CONFIG,
                                "found names for files that have a header: say "
                                "`header = false` if they have none",
                                "names");
        }
        for (std::uint64_t k = 0; k < given.columns.n; k++) {
            Type type;
            if (!type_named(given.columns.values[k], type)) {
                throw sluice::error(SLUICE_E_CONFIG,
                                    std::string("column '") + given.columns.keys[k] +
                                        "': found the type '" + given.columns.values[k] +
                                        "', expected utf8, int64, float64 or bool",
                                    "columns");
            }
            request.columns.emplace_back(given.columns.keys[k], type);
        }
    }

    void prepare(sluice::plan &p)
    {
        const auto said = p.described();
        std::unique_ptr<Head> first;
        std::vector<std::string> left_out;

        if (said.has_value()) {
            if (request.unite && united.names.empty()) {
                united = unite(p); /* prepare is called twice */
            }
            first = std::make_unique<Head>(request.unite ? united : Head::unpack(*said));
        }
        const std::vector<Output> all = choose(request, first.get(), left_out);
        outputs.clear();
        for (const Output &output : all) {
            if (p.wanted(output.name.c_str())) {
                p.add(output.name,
                      (std::string(type_name(output.type)) + (output.id ? "" : "?")).c_str());
                outputs.push_back(output);
            }
        }
        p.add(SLUICE_BEGIN, "uint64");
        p.add(SLUICE_END, "uint64");
        takes_all = request.columns.empty() && outputs.size() == all.size() && first != nullptr;
        if (!left_out.empty() && !told.exchange(true)) {
            host().log(SLUICE_LOG_INFO, "the column '" + left_out[0] +
                                            (left_out.size() > 1 ? "' and others are" : "' is") +
                                            " left out: names that begin with _ are Sluice's");
        }
    }

    /* ---- where records end ---- */

    void survey(const sluice_file &file, sluice::emitter &out, worker &w) const
    {
        w.found = Head();
        w.guesses.clear();
        w.begun = false;
        w.rows = 0;
        w.unit = {};
        w.file_bytes = file.bytes;
        w.uri = file.uri;
        if (file.bytes == 0) {
            throw sluice::error(SLUICE_E_DATA, opts().header ? "found 0 bytes, expected a header"
                                                             : "found 0 bytes, expected a record");
        }
        w.text = Text(dialect_of(w.uri));
        out.ask(0, std::min(file.bytes, piece_bytes));
    }

    void scan(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        if (scan.call == 0) {
            begin(scan, w);
        }
        go_on(scan, out, w);
    }

    void resume(const sluice_answers &answers, sluice::emitter &out, worker &w) const
    {
        std::string_view piece(answers.items->data, answers.items->n);

        if (answers.scan != nullptr) {
            w.text.feed(piece);
            go_on(*answers.scan, out, w);
            return;
        }
        if (!w.begun) {
            begin_survey(piece, w);
        }
        w.text.feed(piece);
        while (look(out, w)) {
            if (!w.text.go_on(out)) {
                return; /* asked */
            }
        }
    }

  private:
    /* The columns of all files. */
    Head unite(sluice::plan &p) const
    {
        Union all(request);
        std::optional<std::string> said;
        std::string uri;

        for (std::uint64_t k = 0; p.described_at(k, uri, said); k++) {
            if (said.has_value()) {
                all.add(Head::unpack(*said), uri);
            }
        }
        return all.head();
    }

    static char character(const char *text, const char *option)
    {
        if (text[0] == '\0' || text[1] != '\0' || static_cast<unsigned char>(text[0]) >= 0x80 ||
            text[0] == '\n' || text[0] == '\r') {
            throw sluice::error(SLUICE_E_CONFIG,
                                std::string("found '") + text +
                                    "', expected one ASCII character that is no line end",
                                option);
        }
        return text[0];
    }

    Dialect dialect_of(std::string_view uri) const
    {
        Dialect out = dialect;

        for (const std::string_view end : { ".gz", ".zst" }) {
            if (ends_with(uri, end)) {
                uri.remove_suffix(end.size());
            }
        }
        if (!given_delimiter && (ends_with(uri, ".tsv") || ends_with(uri, ".tab"))) {
            out.delimiter = '\t';
        }
        return out;
    }

    void begin_survey(std::string_view &piece, worker &w) const
    {
        w.begun = true;
        w.found.codec = codec_of(piece);
        w.found.delimiter = dialect_of(w.uri).delimiter;
        w.text.begin(w.found.codec, piece.size(), w.file_bytes, 0);
    }

    /* Looks at the records at hand; false: the survey is done. */
    bool look(sluice::emitter &out, worker &w) const
    {
        Record record;
        Splitter::Got got;

        host().stop_if_cancelled();
        while ((got = w.text.splitter.next(record)) == Splitter::Got::record) {
            if (w.found.names.empty()) {
                name_columns(record, w);
                if (opts().header) {
                    w.found.first = record.end;
                    continue;
                }
            }
            if (w.rows < opts().sample) {
                guess(record, w);
            }
            w.rows++;
            if (w.found.codec != Codec::none) {
                if (w.rows >= opts().sample) {
                    break; /* the rest is a scan's affair */
                }
                continue;
            }
            add_to_unit(record, out, w);
        }
        const bool all = got == Splitter::Got::end;
        if (all || (w.found.codec != Codec::none && w.rows >= opts().sample)) {
            end_survey(out, w);
            return false;
        }
        return true;
    }

    static void add_to_unit(const Record &record, sluice::emitter &out, worker &w)
    {
        if (w.unit.rows == 0) {
            w.unit.begin = record.begin;
        }
        w.unit.end = record.end;
        w.unit.rows++;
        if (w.unit.end - w.unit.begin >= unit_bytes) {
            w.unit.bytes = w.unit.end - w.unit.begin;
            out.unit(w.unit);
            w.unit = {};
        }
    }

    void end_survey(sluice::emitter &out, worker &w) const
    {
        if (w.found.names.empty()) {
            throw sluice::error(SLUICE_E_DATA, "it holds no record, expected a header");
        }
        if (w.found.codec != Codec::none) {
            w.unit.end = w.file_bytes;
            w.unit.rows = -1;
            out.unit(w.unit);
        } else if (w.unit.rows > 0) {
            out.unit(w.unit);
        }
        for (std::size_t k = 0; k < w.found.names.size(); k++) {
            const std::string &column = w.found.names[k];
            const bool text = column == opts().text || column == opts().id;
            w.found.types.push_back(text || k >= w.guesses.size() ? Type::text
                                                                  : w.guesses[k].type());
        }
        out.describe(w.found.pack());
    }

    /* By the first record: a header, or a row whose fields are counted. */
    void name_columns(const Record &record, worker &w) const
    {
        const std::string_view line(record.data, record.n);

        if (record.fault != nullptr) {
            throw sluice::error(SLUICE_E_DATA, "the header has no end");
        }
        if (line.substr(0, 2) == "\xff\xfe" || line.substr(0, 2) == "\xfe\xff") {
            throw sluice::error(SLUICE_E_DATA, "the file is UTF-16: write it again as UTF-8");
        }
        if (line.find('\r') != std::string_view::npos && !record.quotes) {
            throw sluice::error(SLUICE_E_DATA, "its lines end with CR alone: write them again with "
                                               "LF or CR LF");
        }
        split_fields(dialect_of(w.uri), record, w.fields, w.scratch);
        for (std::size_t k = 0; k < w.fields.size(); k++) {
            const std::string found(w.fields[k].data, w.fields[k].n);
            std::string made = "column" + std::to_string(k + 1);
            if (opts().header) {
                if (!text_utf8_valid(found.data(), found.size(), nullptr) ||
                    found.find('\0') != std::string::npos) {
                    throw sluice::error(SLUICE_E_DATA, "the name of column " +
                                                           std::to_string(k + 1) +
                                                           " is no UTF-8 text");
                }
                w.found.names.push_back(found.empty() ? made : found);
            } else {
                w.found.names.push_back(k < opts().names.n ? opts().names.items[k] : made);
            }
        }
        if (!opts().header && opts().names.n > 0 && opts().names.n != w.fields.size()) {
            throw sluice::error(SLUICE_E_DATA,
                                "its first record has " + std::to_string(w.fields.size()) +
                                    " fields, `names` has " + std::to_string(opts().names.n));
        }
        w.guesses.resize(w.found.names.size());
    }

    void guess(const Record &record, worker &w) const
    {
        if (record.fault != nullptr) {
            return;
        }
        split_fields(dialect_of(w.uri), record, w.fields, w.scratch);
        for (std::size_t k = 0; k < w.fields.size() && k < w.guesses.size(); k++) {
            if (w.fields.size() == w.guesses.size() && !request.is_null(w.fields[k])) {
                w.guesses[k].see({ w.fields[k].data, w.fields[k].n });
            }
        }
    }

    /* ---- rows ---- */

    void begin(const sluice_scan &scan, worker &w) const
    {
        const std::string_view said(static_cast<const char *>(scan.description),
                                    scan.description_size);
        Dialect of_file = dialect;

        if (w.head.names.empty() || w.described != said) {
            w.head = Head();
            w.described = said;
            w.absent.clear();
            Head head = Head::unpack(said);
            w.places = places_of(request, outputs, head, takes_all, w.absent);
            w.head = std::move(head);
        }
        of_file.delimiter = w.head.delimiter;
        w.text = Text(of_file);
        w.text.begin(w.head.codec, scan.begin, scan.end,
                     w.head.codec == Codec::none ? scan.begin : 0);
        w.table.begin(&outputs, &w.places);
    }

    /* Rows of about a batch, or what is left; or asks for more bytes. */
    void go_on(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const std::string prefix = std::string(scan.file->uri) + ":";
        const Dialect of_file = dialect_of(scan.file->uri);
        Record record;

        for (;;) {
            const Splitter::Got got = w.text.splitter.next(record);
            if (got == Splitter::Got::record) {
                /* Of compressed files the header comes along. */
                if (w.head.codec == Codec::none || record.begin >= w.head.first) {
                    take(scan, record, of_file, prefix, out, w);
                }
                if (w.table.bytes() < batch_bytes) {
                    continue;
                }
                scan.more = 1;
            } else if (got == Splitter::Got::more) {
                host().stop_if_cancelled();
                if (!w.text.go_on(out)) {
                    return; /* asked */
                }
                continue;
            } else {
                scan.more = 0;
            }
            if (opts().missing == Missing::null && w.table.rows() > 0) {
                std::vector<const char *> there;
                for (const std::string &column : w.head.names) {
                    there.push_back(column.c_str());
                }
                for (const std::string &column : w.absent) {
                    out.absent(column.c_str(), static_cast<std::uint64_t>(w.table.rows()), there);
                }
            }
            w.table.give(out);
            return;
        }
    }

    void take(const sluice_scan &scan, const Record &record, const Dialect &of_file,
              const std::string &prefix, sluice::emitter &out, worker &w) const
    {
        const char *reason = record.fault;
        std::string detail;

        if (reason == nullptr) {
            reason = split_fields(of_file, record, w.fields, w.scratch);
            reason = of_file.strict ? reason : nullptr;
        }
        if (reason == nullptr && !fits(of_file, w)) {
            reason = "wrong_fields";
            detail = ": found " + std::to_string(w.fields.size()) + " fields, expected " +
                     std::to_string(w.head.names.size());
        }
        if (reason == nullptr && !text_utf8_valid(record.data, record.n, nullptr)) {
            reason = "invalid_utf8";
        }
        if (reason == nullptr && !w.table.add(request, w.fields, record, prefix, detail)) {
            reason = "wrong_type";
            detail = ": " + detail;
        }
        if (reason != nullptr) {
            const bool stored = w.head.codec == Codec::none;
            detail = "the record at byte " + std::to_string(record.begin) +
                     (stored ? "" : " of the decoded text") + detail;
            out.bad(stored ? record.begin : scan.begin, stored ? record.end : scan.end, reason,
                    detail.c_str());
        }
    }

    bool fits(const Dialect &of_file, const worker &w) const
    {
        const std::size_t n = w.head.names.size();

        if (of_file.strict || w.fields.size() <= n) {
            return !of_file.strict || w.fields.size() == n;
        }
        return std::all_of(w.fields.begin() + static_cast<std::ptrdiff_t>(n), w.fields.end(),
                           [](const Field &field) { return field.n == 0; });
    }

    Request request;
    Dialect dialect;
    bool given_delimiter = false;
    std::vector<Output> outputs;
    Head united; /* of all files, with union_by_name */
    bool takes_all = false;
    std::atomic<bool> told{ false };
};

} /* namespace */

SLUICE_PLUGIN("read_csv", "1.0", "MIT", read_csv);
