/* read_parquet - Parquet files into documents. The host reads: a survey asks for the footer, a scan
 * for the chunks of the wanted columns of one row group. Needs Arrow C++. */
#include <atomic>
#include <cstring>
#include <mutex>

#include <arrow/util/utf8.h>

#include "columns.h"
#include "rowgroup.h"
#include "rows.h"
#include "stages.h"

using namespace sluice_columnar;

namespace
{

/* What a worker keeps from call to call. */
struct State {
    explicit State(const sluice::host_services &host) : bytes(host)
    {
    }
    /* of a survey */
    std::uint64_t file_bytes = 0;
    bool has_tail = false;
    /* of scans: what the last description said */
    std::string described;
    std::unique_ptr<Footer> footer;
    Mapping mapping;
    std::vector<int> leaves; /* of its columns, ascending */
    /* of the row group at hand */
    Bytes bytes;
    std::unique_ptr<RowGroupReader> reader; /* of these bytes */
    std::vector<Extent> asked;
    std::int64_t rows = 0, row = 0;

    void forget_group()
    {
        reader.reset();
        asked.clear();
    }
};

struct read_parquet : sluice::random_reader<read_parquet> {
    static constexpr const char *name = "read_parquet";
    static constexpr const char *version = "1.0";
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
        "group and column.";
    static constexpr const char *example =
        "s.files \"fineweb/*.parquet\" | s.read_parquet { columns = { language_score = "
        "\"float64\" } }";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 24 } << 20;
    /* The chunks once more; pages and texts of them are a worker's own. */
    static constexpr double bytes_per_batch = 1.2;

    struct options {
        const char *text, *id;
        sluice_map columns;
        Missing missing;
    };
    static void declare(sluice::option_table<options> &t)
    {
        declare_columns(t);
    }
    struct worker : State {
        explicit worker(const read_parquet &stage) : State(stage.host())
        {
        }
    };

    void open()
    {
        arrow::util::InitializeUTF8();
        request = request_of(opts());
    }

    void prepare(sluice::plan &p)
    {
        const auto said = p.described();
        std::unique_ptr<Footer> first;
        std::vector<std::string> left_out;

        if (said.has_value()) {
            first = std::make_unique<Footer>(*said);
        }
        outputs = declare_outputs(request, first == nullptr ? nullptr : &first->schema(), p,
                                  takes_all, left_out);
        if (!left_out.empty() && !told.exchange(true)) {
            tell_left_out(host(), left_out);
        }
    }

    /* ---- the footer ---- */

    void survey(const sluice_file &file, sluice::emitter &out, worker &w) const
    {
        const Extent tail = tail_of(file.bytes);

        w.file_bytes = file.bytes;
        w.has_tail = false;
        out.ask(tail.offset, tail.n);
    }

    void survey_answer(std::string_view data, sluice::emitter &out, worker &w) const
    {
        if (!w.has_tail) {
            const Extent footer = footer_of(data, w.file_bytes);
            const std::uint64_t tail_at = w.file_bytes - data.size();
            if (footer.offset < tail_at) {
                w.has_tail = true;
                out.ask(footer.offset, footer.n);
                return;
            }
            data = data.substr(footer.offset - tail_at, footer.n);
        }
        const Footer footer(data);
        for (const RowGroup &group : footer.row_groups(w.file_bytes)) {
            sluice_unit unit{};
            unit.begin = group.begin;
            unit.end = group.end;
            unit.rows = group.rows;
            out.unit(unit);
        }
        out.describe(data);
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
        give(scan, out, w);
    }

    void resume(const sluice_answers &answers, sluice::emitter &out, worker &w) const
    {
        if (answers.scan == nullptr) {
            survey_answer({ answers.items->data, answers.items->n }, out, w);
            return;
        }
        std::uint64_t all = 0;
        for (const Extent &extent : w.asked) {
            all += extent.n;
        }
        w.bytes.begin(all);
        for (std::uint64_t k = 0; k < answers.n; k++) {
            const auto &answer = *reinterpret_cast<const sluice_answer *>(
                reinterpret_cast<const char *>(answers.items) + k * answers.stride);
            w.bytes.add(w.asked[k], answer.data);
        }
        const auto group = w.footer->number_of(answers.scan->unit);
        w.reader = std::make_unique<RowGroupReader>(*w.footer, group, w.leaves,
                                                    answers.scan->file->bytes, w.bytes, *pool());
        give(*answers.scan, out, w);
    }

  private:
    static arrow::MemoryPool *pool()
    {
        return arrow::default_memory_pool();
    }

    void begin(const sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const std::string_view said(static_cast<const char *>(scan.description),
                                    scan.description_size);
        w.forget_group();
        if (w.footer == nullptr || w.described != said) {
            w.footer.reset();
            w.described = said;
            w.footer = std::make_unique<Footer>(w.described);
            w.mapping = map_columns(request, outputs, w.footer->schema(), takes_all);
            w.leaves = w.footer->leaves(w.mapping.fields);
        }
        const int group = w.footer->number_of(scan.unit);
        w.rows = w.footer->meta()->RowGroup(group)->num_rows();
        w.row = 0;
        w.asked = extents_of(*w.footer, group, w.leaves, scan.file->bytes);
        for (const Extent &extent : w.asked) {
            out.ask(extent.offset, extent.n);
        }
        if (opts().missing == Missing::null) {
            tell_absent(w.mapping, w.footer->schema(), w.rows, out);
        }
    }

    /* About batch_bytes of rows. */
    void give(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const std::string group = std::to_string(w.footer->number_of(scan.unit));
        const Rows rows = { outputs, w.mapping, scan, "row group " + group,
                            std::string(scan.file->uri) + ":" + group + ":" };
        std::int64_t given = 0;

        while (w.row < w.rows && given < batch_bytes) {
            host().stop_if_cancelled();
            if (w.reader == nullptr) {
                const std::int64_t n = std::min<std::int64_t>(w.rows - w.row, batch_bytes / 64);
                give_rows(rows, nullptr, n, w.row, out);
                w.row += n;
                given += n * 64;
                continue;
            }
            const auto batch = w.reader->next();
            if (batch == nullptr || batch->num_rows() > w.rows - w.row) {
                throw sluice::error(SLUICE_E_DATA,
                                    "the row group is damaged: it has " +
                                        std::string(batch == nullptr ? "fewer" : "more") +
                                        " rows than the " + std::to_string(w.rows) +
                                        " of the footer");
            }
            given += bytes_of(*batch);
            give_rows(rows, batch, batch->num_rows(), w.row, out);
            w.row += batch->num_rows();
        }
        scan.more = w.row < w.rows ? 1 : 0;
        if (scan.more == 0) {
            w.forget_group();
        }
    }

    Request request;
    std::vector<Output> outputs;
    bool takes_all = false;
    std::atomic<bool> told{ false };
};

} /* namespace */

const sluice_stage *sluice_columnar::read_parquet_stage()
{
    return sluice::stage_of<read_parquet>();
}
