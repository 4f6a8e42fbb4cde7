/* read_parquet - Parquet files into documents. The host reads: a survey asks for the footer, a scan
 * for the chunks of the wanted columns of one row group. Needs Arrow C++. */
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include <arrow/array/util.h>

#include "columns.h"
#include "rowgroup.h"
#include "rows.h"
#include "sieve.h"
#include "stages.h"
#include "union.h"

using namespace sluice_columnar;

namespace
{

/* What is made of statistics and Bloom filters. */
enum class Statistics : std::int32_t { trust, check, ignore };

/* What a worker keeps from call to call. */
struct State {
    explicit State(const sluice::host_services &host) : bytes(host)
    {
    }
    /* of a survey */
    std::uint64_t file_bytes = 0;
    std::string surveyed; /* the file's name */
    std::string tail;     /* of the file, where the footer is longer */
    std::unique_ptr<Sieve> sieve;
    /* of scans: what the last description said, of the last file */
    std::string described, uri;
    std::unique_ptr<Footer> footer;
    Parts parts;
    std::unique_ptr<Predicate> predicate; /* of the footer; NULL = all rows */
    Mapping mapping;
    std::vector<int> fields;       /* of its columns, those that the file itself has */
    std::vector<int> leaves;       /* of these, ascending */
    std::vector<int> judge_leaves; /* of those that rows are judged by */
    /* of the row group at hand */
    Bytes bytes;
    const std::shared_ptr<Blocks> blocks = Blocks::create();
    std::vector<Extent> asked; /* of the columns that rows are judged by */
    std::unique_ptr<RowGroupRows> group;
    std::int64_t rows = 0, row = 0;
    bool judged = false;            /* keep is filled */
    std::vector<std::uint8_t> keep; /* one a row of the row group */

    void forget_group()
    {
        group.reset();
        asked.clear();
        keep.clear();
        judged = false;
    }
};

struct read_parquet : sluice::random_reader<read_parquet> {
    static constexpr const char *name = "read_parquet";
    static constexpr const char *version = "1.1";
    static constexpr const char *summary = "Parquet files, by row groups";
    static constexpr const char *doc =
        "Columns: `text`, `id`, and the declared ones, or all that the first file has. Only the "
        "bytes of columns that somebody uses are read; a row group is the least that one worker "
        "reads. Columns get the type of Parquet's that Sluice has: numbers, bool, utf8, binary, "
        "fixed, list, struct; maps become lists of key and value, float16 becomes float32, and "
        "dates, times, timestamps and decimals text (2024-02-29T23:59:59.5Z), or int64 where it "
        "is declared: the number in the file. Columns whose names begin with _ are left out. A "
        "row with text that is not UTF-8 is quarantined (invalid_utf8), as is a number above "
        "int64 where that is declared (out_of_range); a damaged file ends the run, with file, row "
        "group and column. Rows that `where` leaves out are counted as skipped: row groups by "
        "`partition` (folders), `min_max` (statistics) and `bloom` (filters for = and in) without "
        "reading them, rows by `where`; columns that it alone names are read and not given, and of "
        "a "
        "row group in which no row holds no others are read.";
    static constexpr const char *example =
        "s.files \"fineweb/*.parquet\" | s.read_parquet { columns = { language_score = "
        "\"float64\" }, where = \"language_score > 0.9 and dump = 'CC-MAIN-2024-10'\" }";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 24 } << 20;
    /* The chunks once more; pages and texts of them are a worker's own. */
    static constexpr double bytes_per_batch = 1.2;

    struct options {
        const char *text, *id;
        sluice_map columns;
        Missing missing;
        bool union_by_name, as_is;
        const char *where;
        bool partitions;
        Statistics statistics;
    };
    static void declare(sluice::option_table<options> &t)
    {
        declare_columns(t);
        t.add(
            &options::where, "where",
            "Rows for which this does not hold are not given, and not read where that can be "
            "known: lang == 'en' and n_words > 50. With = == != < <= > >=, in (…), is null, like "
            "'a%', and, or, not, ( ); paths a.b, a[0].b; texts in either quotes. What is compared "
            "with null does not hold.");
        t.add(&options::partitions, "partitions", "true",
              "Folders of the path that are named NAME=VALUE are columns (of the names that the "
              "report has, without the fixed part of the pattern).");
        t.add(&options::statistics, "statistics", "trust",
              "Of row groups that their statistics rule out: trust leaves them out, check reads "
              "them, and ends the run where rows say otherwise, ignore reads them.")
            .choices("trust|check|ignore");
    }
    struct worker : State {
        explicit worker(const read_parquet &stage) : State(stage.host())
        {
        }
    };

    void open()
    {
        request = request_of(opts());
        if (opts().where != nullptr) {
            expression = parse_where(opts().where);
        }
    }

    void prepare(sluice::plan &p)
    {
        std::string uri;
        const auto said = p.described(&uri);
        std::shared_ptr<arrow::Schema> schema;
        std::vector<std::string> left_out;

        outputs.clear();
        if (said.has_value() && request.unite) {
            if (united == nullptr) { /* prepare is called twice */
                united = unite(p);
            }
            schema = united;
        } else if (said.has_value()) {
            const Footer first(*said);
            schema = schema_with(first.schema(), parts_of(uri, first.schema()));
            if (expression != nullptr) {
                Predicate(*expression, first, folders_of(uri), opts().missing == Missing::allow);
            }
        }
        outputs = declare_outputs(request, schema.get(), p, takes_all, left_out);
        if (!left_out.empty() && !told.exchange(true)) {
            tell_left_out(host(), left_out);
        }
    }

    /* ---- the footer ---- */

    void survey(const sluice_file &file, sluice::emitter &out, worker &w) const
    {
        const Extent tail = tail_of(file.bytes);

        w.file_bytes = file.bytes;
        w.surveyed = file.uri;
        w.tail.clear();
        w.sieve.reset();
        out.ask(tail.offset, tail.n);
    }

    void survey_answer(std::string_view data, sluice::emitter &out, worker &w) const
    {
        if (w.tail.empty()) {
            const Extent footer = footer_of(data, w.file_bytes);
            const std::uint64_t tail_at = w.file_bytes - data.size();
            if (footer.offset < tail_at) {
                w.tail = data;
                out.ask(footer.offset, tail_at - footer.offset);
                return;
            }
            data = data.substr(footer.offset - tail_at, footer.n);
        } else {
            const Extent footer = footer_of(w.tail, w.file_bytes);
            w.tail.insert(0, data);
            data = std::string_view(w.tail).substr(0, footer.n);
        }
        w.sieve = std::make_unique<Sieve>(data, w.file_bytes);
        if (expression != nullptr) {
            w.sieve->set_where(*expression, folders_of(w.surveyed), request.fill || request.unite,
                               opts().statistics == Statistics::trust);
        }
        go_on(out, w);
    }

    /* Asks for what is to be known yet of the row groups, or tells of them. */
    void go_on(sluice::emitter &out, worker &w) const
    {
        const std::vector<Extent> questions = w.sieve->questions();

        for (const Extent &extent : questions) {
            out.ask(extent.offset, extent.n);
        }
        if (questions.empty()) {
            w.sieve->give(out);
            w.sieve.reset();
        }
    }

    /* ---- row groups ---- */

    void scan(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        if (scan.call == 0) {
            begin(scan, out, w);
            if (!w.asked.empty()) {
                return;
            }
        }
        read(scan, out, w);
    }

    void resume(const sluice_answers &answers, sluice::emitter &out, worker &w) const
    {
        std::vector<std::string_view> all;

        for (std::uint64_t k = 0; k < answers.n; k++) {
            const auto &answer = *reinterpret_cast<const sluice_answer *>(
                reinterpret_cast<const char *>(answers.items) + k * answers.stride);
            all.emplace_back(answer.data, answer.n);
        }
        if (answers.scan == nullptr && w.sieve != nullptr) {
            w.sieve->answer(all);
            go_on(out, w);
            return;
        }
        if (answers.scan == nullptr) {
            survey_answer(all.at(0), out, w);
            return;
        }
        for (std::size_t k = 0; k < all.size(); k++) {
            if (w.group != nullptr) {
                w.group->answer(k, all[k]);
            } else {
                w.bytes.add(w.asked.at(k), all[k].data());
            }
        }
        w.asked.clear();
        read(*answers.scan, out, w);
    }

  private:
    static arrow::MemoryPool *pool()
    {
        return arrow::default_memory_pool();
    }

    std::vector<Partition> folders_of(const std::string &uri) const
    {
        return opts().partitions ? partitions_of(uri) : std::vector<Partition>();
    }

    /* The columns of all files. What `where` names must be in one of them. */
    std::shared_ptr<arrow::Schema> unite(sluice::plan &p) const
    {
        Union all(request);
        std::optional<std::string> said;
        std::string uri;

        for (std::uint64_t k = 0; p.described_at(k, uri, said); k++) {
            if (said.has_value()) {
                const Footer footer(*said);
                all.add(*schema_with(footer.schema(), parts_of(uri, footer.schema())),
                        footer.schema().num_fields(), uri);
            }
        }
        if (expression != nullptr) {
            check_where(*expression, *all.schema(), opts().missing == Missing::allow);
        }
        return all.schema();
    }

    /* Values of the path as columns: of the type that is asked for, or of the first file's. */
    Parts parts_of(const std::string &uri, const arrow::Schema &file) const
    {
        return part_columns(folders_of(uri), file, [&](const std::string &folder) {
            std::string type;
            for (const auto &[column, asked] : request.columns) {
                type = column == folder ? asked : type;
            }
            for (const Output &output : outputs) {
                type = output.source == folder ? output.type : type;
            }
            return type.empty() ? nullptr : plain_arrow(type);
        });
    }

    void begin_file(const sluice_scan &scan, worker &w) const
    {
        const std::string_view said(static_cast<const char *>(scan.description),
                                    scan.description_size);

        if (w.footer != nullptr && w.described == said && w.uri == scan.file->uri) {
            return;
        }
        w.predicate.reset();
        w.footer.reset();
        w.described = said;
        w.uri = scan.file->uri;
        auto footer = std::make_unique<Footer>(w.described);
        w.parts = parts_of(w.uri, footer->schema());
        const auto schema = schema_with(footer->schema(), w.parts);
        w.mapping = map_columns(request, outputs, *schema, takes_all);
        std::vector<int> fields = w.mapping.fields;
        while (!fields.empty() && fields.back() >= footer->schema().num_fields()) {
            fields.pop_back();
        }
        w.leaves = footer->leaves(fields);
        w.fields = std::move(fields);
        if (expression != nullptr) {
            try {
                w.predicate = std::make_unique<Predicate>(*expression, *footer, folders_of(w.uri),
                                                          request.fill || request.unite);
            } catch (const sluice::error &e) {
                throw sluice::error(SLUICE_E_DATA, e.what(), "where"); /* it came with the files */
            }
            w.judge_leaves = footer->leaves(w.predicate->fields());
        }
        w.footer = std::move(footer);
    }

    void begin(const sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        w.forget_group();
        begin_file(scan, w);
        const int group = w.footer->number_of(scan.unit);
        w.rows = w.footer->meta()->RowGroup(group)->num_rows();
        w.row = 0;
        w.bytes.clear();
        if (w.predicate != nullptr) {
            ask_judges(scan, out, w);
        }
        if (opts().missing == Missing::null) {
            tell_absent(w.mapping, w.footer->schema(), w.rows, out);
        }
    }

    /* Asks for the columns that rows are judged by. */
    static void ask_judges(const sluice_scan &scan, sluice::emitter &out, worker &w)
    {
        std::uint64_t all = 0;

        w.asked =
            extents_of(*w.footer, w.footer->number_of(scan.unit), w.judge_leaves, scan.file->bytes);
        for (const Extent &extent : w.asked) {
            out.ask(extent.offset, extent.n);
            all += extent.n;
        }
        if (all > 0) {
            w.bytes.more(all);
        }
    }

    /* What the next rows need; false: nothing. */
    static bool ask_rows(sluice::emitter &out, worker &w)
    {
        if (w.group == nullptr) {
            return false;
        }
        for (const Extent &extent : w.group->needs()) {
            out.ask(extent.offset, extent.n);
        }
        return !w.group->needs().empty();
    }

    std::unique_ptr<RowGroupReader> reader(const sluice_scan &scan, const std::vector<int> &leaves,
                                           const worker &w) const
    {
        return std::make_unique<RowGroupReader>(*w.footer, w.footer->number_of(scan.unit), leaves,
                                                scan.file->bytes, w.bytes, *pool());
    }

    [[noreturn]] static void wrong_rows(bool fewer, std::int64_t rows)
    {
        throw sluice::error(SLUICE_E_DATA, "the row group is damaged: it has " +
                                               std::string(fewer ? "fewer" : "more") +
                                               " rows than the " + std::to_string(rows) +
                                               " of the footer");
    }

    /* Which rows hold, by the columns that say so. Returns how many. */
    std::int64_t judge(const sluice_scan &scan, worker &w) const
    {
        const int group = w.footer->number_of(scan.unit);
        std::int64_t kept = 0;

        w.keep.assign(static_cast<std::size_t>(w.rows), 1);
        w.judged = true;
        if (w.judge_leaves.empty()) {
            kept = w.predicate->ruled_out() == nullptr ? w.rows : 0;
        } else {
            const auto columns = reader(scan, w.judge_leaves, w);
            std::int64_t row = 0;
            while (const auto batch = columns->next()) {
                host().stop_if_cancelled();
                if (batch->num_rows() > w.rows - row) {
                    wrong_rows(false, w.rows);
                }
                w.predicate->judge(*batch, w.keep.data() + row);
                row += batch->num_rows();
            }
            if (row < w.rows) {
                wrong_rows(true, w.rows);
            }
            kept = std::count(w.keep.begin(), w.keep.end(), std::uint8_t{ 1 });
        }
        if (kept > 0 && opts().statistics == Statistics::check &&
            w.predicate->ruled_out(group) != nullptr) {
            const auto row = std::find(w.keep.begin(), w.keep.end(), 1) - w.keep.begin();
            throw sluice::error(SLUICE_E_DATA,
                                "the statistics of row group " + std::to_string(group) +
                                    " rule out " + std::to_string(kept) +
                                    " of its rows, the first of which is row " +
                                    std::to_string(row) +
                                    ": they are wrong, so read the file with statistics = "
                                    "\"ignore\"",
                                "statistics");
        }
        return kept;
    }

    /* No row of the row group is given, and no more of it is read. */
    void skip_rest(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const int group = w.footer->number_of(scan.unit);
        std::uint64_t unread = 0;

        for (const int leaf : w.leaves) {
            if (!std::binary_search(w.judge_leaves.begin(), w.judge_leaves.end(), leaf)) {
                unread += w.footer->chunk(group, leaf, scan.file->bytes).n;
            }
        }
        out.skipped(static_cast<std::uint64_t>(w.rows), unread,
                    w.predicate->ruled_out() != nullptr ? "partition" : "where");
        scan.more = 0;
        w.forget_group();
    }

    /* Rows are judged first, and all else is asked for only where some hold. */
    void read(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        if (w.predicate != nullptr && !w.judged) {
            if (judge(scan, w) == 0) {
                skip_rest(scan, out, w);
                return;
            }
        }
        if (w.group == nullptr && !w.leaves.empty()) {
            w.group =
                std::make_unique<RowGroupRows>(*w.footer, w.footer->number_of(scan.unit), w.fields,
                                               scan.file->bytes, w.bytes, *pool(), w.blocks);
        }
        if (ask_rows(out, w)) {
            return;
        }
        give(scan, out, w);
    }

    /* About batch_bytes of rows; what the next ones need is asked for where there are none. */
    void give(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const std::string group = std::to_string(w.footer->number_of(scan.unit));
        const Rows rows = { outputs, w.mapping, scan, "row group " + group,
                            std::string(scan.file->uri) + ":" + group + ":" };
        std::int64_t given = 0;
        std::int64_t dropped = 0;

        while (w.row < w.rows && given < batch_bytes) {
            host().stop_if_cancelled();
            std::int64_t n = std::min<std::int64_t>(w.rows - w.row, batch_bytes / 64);
            std::shared_ptr<arrow::RecordBatch> batch;
            if (w.group != nullptr) {
                batch = w.group->next();
                if (batch == nullptr) { /* bytes are needed */
                    if (given == 0) {
                        ask_rows(out, w);
                    }
                    break;
                }
                n = batch->num_rows();
                given += bytes_of(*batch);
            } else {
                given += n * 64;
            }
            batch = with_parts(batch, n, w);
            if (w.keep.empty()) {
                give_rows(rows, batch, n, w.row, out);
            } else {
                dropped += give_kept(rows, batch, n, w.row, w.keep.data() + w.row, out);
            }
            w.row += n;
        }
        if (dropped > 0) {
            out.skipped(static_cast<std::uint64_t>(dropped), 0, "where");
        }
        scan.more = w.row < w.rows ? 1 : 0;
        if (scan.more == 0) {
            w.forget_group();
        }
    }

    /* The columns of the path behind those of the file, where any are given. */
    static std::shared_ptr<arrow::RecordBatch>
    with_parts(const std::shared_ptr<arrow::RecordBatch> &batch, std::int64_t n, const worker &w)
    {
        const int own = w.footer->schema().num_fields();
        arrow::ArrayVector columns;
        arrow::FieldVector fields;

        if (w.mapping.fields.empty() || w.mapping.fields.back() < own) {
            return batch;
        }
        if (batch != nullptr) {
            columns = batch->columns();
            fields = batch->schema()->fields();
        }
        for (const int field : w.mapping.fields) {
            if (field >= own) {
                const auto k = static_cast<std::size_t>(field - own);
                auto made = arrow::MakeArrayFromScalar(*w.parts.values[k], n);
                check_arrow(made.status(), "a value of the path");
                columns.push_back(made.ValueUnsafe());
                fields.push_back(w.parts.fields[k]);
            }
        }
        return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), n, std::move(columns));
    }

    Expression expression; /* NULL: all rows */
    Request request;
    std::shared_ptr<arrow::Schema> united; /* of all files, with union_by_name */
    std::vector<Output> outputs;
    bool takes_all = false;
    std::atomic<bool> told{ false };
};

} /* namespace */

const sluice_stage *sluice_columnar::read_parquet_stage()
{
    return sluice::stage_of<read_parquet>();
}
