/* read_arrow - Arrow IPC files and streams (Feather version 2 is the same) into documents. The host
 * reads: of a file a survey asks for the head and the footer, a scan for the dictionaries and one
 * record batch; a stream is read from its begin, message by message. Needs Arrow C++. */
#include <atomic>
#include <cstring>

#include <arrow/array/concatenate.h>
#include <arrow/util/byte_size.h>

#include "columns.h"
#include "ipc.h"
#include "plain.h"
#include "rows.h"
#include "stages.h"
#include "union.h"

using namespace sluice_columnar;

namespace
{

constexpr std::int64_t rows_most = 65536;
constexpr std::uint64_t tail_bytes = std::uint64_t{ 64 } << 10;

/* What a worker keeps from call to call. */
struct State {
    /* of a survey */
    std::uint64_t file_bytes = 0;
    Layout found;
    bool has_head = false;
    Extent asked = { 0, 0 };
    /* of scans: what the last description said */
    std::string described;
    Layout layout;
    std::shared_ptr<arrow::Schema> schema;
    Mapping mapping;
    /* of the unit at hand */
    std::unique_ptr<Messages> messages;
    std::uint64_t at = 0, number = 0; /* of a stream: the next byte; batches that are done with */
    std::shared_ptr<arrow::RecordBatch> batch;
    std::int64_t row = 0, first = 0; /* in the batch; of its first one in the unit */

    void forget_unit()
    {
        messages.reset();
        batch.reset();
        at = number = 0;
        row = first = 0;
    }
};

struct read_arrow : sluice::random_reader<read_arrow> {
    static constexpr const char *name = "read_arrow";
    static constexpr const char *version = "1.0";
    static constexpr const char *summary = "Arrow IPC files and streams, Feather";
    static constexpr const char *doc =
        "Columns and types as s.read_parquet has them; dictionaries, runs, views and types with "
        "offsets of 64 bits become ordinary ones. A file is read by record batches on all cores, a "
        "stream from its begin to its end by one. A row with text that is not UTF-8 is quarantined "
        "(invalid_utf8); a damaged file ends the run, with file, record batch and column. Feather "
        "version 1 is refused.";
    static constexpr const char *example = "s.files \"corpus/*.arrow\" | s.read_arrow()";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 24 } << 20;
    /* A copy of the messages, and what compressed ones hold. */
    static constexpr double bytes_per_batch = 4;

    struct options {
        const char *text, *id;
        sluice_map columns;
        Missing missing;
        bool union_by_name, as_is;
    };
    static void declare(sluice::option_table<options> &t)
    {
        declare_columns(t);
    }
    struct worker : State {
    };

    void open()
    {
        request = request_of(opts());
    }

    void prepare(sluice::plan &p)
    {
        const auto said = p.described();
        if (said.has_value() && request.unite && united == nullptr) {
            united = unite(p); /* prepare is called twice */
        }
        const auto first = !said.has_value() ? nullptr
                           : request.unite   ? united
                                             : schema_of(Layout::unpack(*said));
        std::vector<std::string> left_out;

        outputs = declare_outputs(request, first.get(), p, takes_all, left_out);
        if (!left_out.empty() && !told.exchange(true)) {
            tell_left_out(host(), left_out);
        }
    }

    /* ---- head and footer ---- */

    void survey(const sluice_file &file, sluice::emitter &out, worker &w) const
    {
        w.file_bytes = file.bytes;
        w.found = Layout();
        w.has_head = false;
        if (file.bytes == 0) {
            throw sluice::error(SLUICE_E_DATA, "found 0 bytes, expected an Arrow file");
        }
        ask(0, std::min(file.bytes, ipc_first_bytes), out, w);
    }

    void survey_answer(std::string_view data, sluice::emitter &out, worker &w) const
    {
        if (!w.has_head) {
            const std::uint64_t more = read_head(data, w.file_bytes, w.found);
            w.has_head = more == 0;
            if (more > 0) {
                ask(0, more, out, w);
            } else if (w.found.stream) {
                end_survey(out, w);
            } else {
                const std::uint64_t n = std::min(w.file_bytes, tail_bytes);
                ask(w.file_bytes - n, n, out, w);
            }
            return;
        }
        if (w.asked.offset + w.asked.n == w.file_bytes) { /* else it is the footer alone */
            const Extent footer = ipc_footer_of(data, w.file_bytes);
            if (footer.offset < w.asked.offset) {
                ask(footer.offset, footer.n, out, w);
                return;
            }
            data = data.substr(footer.offset - w.asked.offset, footer.n);
        }
        read_blocks(data, w.file_bytes, w.found);
        end_survey(out, w);
    }

    /* ---- record batches ---- */

    void scan(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        if (scan.call == 0) {
            begin(scan, w);
            if (!w.layout.stream) {
                for (const Extent &one : w.layout.dictionaries) {
                    out.ask(one.offset, one.n);
                }
                out.ask(scan.begin, scan.end - scan.begin);
                return;
            }
        }
        go_on(scan, out, w);
    }

    void resume(const sluice_answers &answers, sluice::emitter &out, worker &w) const
    {
        if (answers.scan == nullptr) {
            survey_answer({ answers.items->data, answers.items->n }, out, w);
            return;
        }
        for (std::uint64_t k = 0; k < answers.n; k++) {
            const auto &answer = *reinterpret_cast<const sluice_answer *>(
                reinterpret_cast<const char *>(answers.items) + k * answers.stride);
            auto bytes = arrow::AllocateBuffer(static_cast<std::int64_t>(answer.n));
            check_arrow(bytes.status(), "a message");
            std::memcpy(bytes.ValueUnsafe()->mutable_data(), answer.data, answer.n);
            w.messages->feed(std::move(bytes).ValueUnsafe());
            if (!w.layout.stream && !w.messages->between()) {
                throw sluice::error(SLUICE_E_DATA,
                                    "its messages are not where the footer has them: "
                                    "the file is damaged");
            }
        }
        if (!w.layout.stream) {
            w.batch = w.messages->next();
            if (w.batch == nullptr || w.messages->next() != nullptr) {
                throw sluice::error(SLUICE_E_DATA, "it holds no record batch where the footer has "
                                                   "one: the file is damaged");
            }
        }
        go_on(*answers.scan, out, w);
    }

  private:
    /* The columns of all files. */
    std::shared_ptr<arrow::Schema> unite(sluice::plan &p) const
    {
        Union all(request);
        std::optional<std::string> said;
        std::string uri;

        for (std::uint64_t k = 0; p.described_at(k, uri, said); k++) {
            if (said.has_value()) {
                const auto schema = schema_of(Layout::unpack(*said));
                all.add(*schema, schema->num_fields(), uri);
            }
        }
        return all.schema();
    }

    static void ask(std::uint64_t offset, std::uint64_t n, sluice::emitter &out, worker &w)
    {
        w.asked = { offset, n };
        out.ask(offset, n);
    }

    static void end_survey(sluice::emitter &out, const worker &w)
    {
        sluice_unit unit{};

        schema_of(w.found); /* so that who refuses it names the file */
        unit.rows = -1;
        if (w.found.stream) {
            unit.end = w.file_bytes;
            out.unit(unit);
        }
        for (const Extent &one : w.found.batches) {
            unit.begin = one.offset;
            unit.end = one.offset + one.n;
            out.unit(unit);
        }
        out.describe(w.found.pack());
    }

    void begin(const sluice_scan &scan, worker &w) const
    {
        const std::string_view said(static_cast<const char *>(scan.description),
                                    scan.description_size);

        w.forget_unit();
        if (w.schema == nullptr || w.described != said) {
            w.schema.reset();
            w.described = said;
            w.layout = Layout::unpack(said);
            const auto schema = schema_of(w.layout);
            w.mapping = map_columns(request, outputs, *schema, takes_all);
            w.schema = schema;
        }
        /* Where nobody wants a column, one is decoded, for the number of rows. */
        std::vector<int> fields = w.mapping.fields;
        if (fields.empty() && w.schema->num_fields() > 0) {
            fields.push_back(0);
        }
        w.messages = std::make_unique<Messages>(w.layout, fields);
        w.at = w.layout.head.size();
    }

    /* About batch_bytes of rows; of a stream, what is needed for the next ones is asked for. */
    void go_on(sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        std::int64_t given = 0;

        scan.more = 1;
        while (given < batch_bytes) {
            host().stop_if_cancelled();
            if (w.batch != nullptr && w.row < w.batch->num_rows()) {
                if (w.row == 0 && opts().missing == Missing::null) {
                    tell_absent(w.mapping, *w.schema, w.batch->num_rows(), out);
                }
                given += give(scan, out, w);
                continue;
            }
            if (w.batch != nullptr) {
                w.first += w.batch->num_rows();
                w.number++;
            }
            w.row = 0;
            w.batch = w.layout.stream ? w.messages->next() : nullptr;
            if (w.batch == nullptr && (!w.layout.stream || !ask_more(scan, out, w))) {
                scan.more = 0;
                w.forget_unit();
                return;
            }
            if (w.batch == nullptr) {
                return; /* asked */
            }
        }
    }

    /* The stream's next bytes; false: it has ended. */
    bool ask_more(const sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const std::uint64_t n = w.messages->needed();
        const std::uint64_t left = scan.end - w.at;

        if (n == 0 && left > 0) {
            throw sluice::error(SLUICE_E_DATA, "found " + std::to_string(left) +
                                                   " bytes behind the end of the stream, at byte " +
                                                   std::to_string(w.at));
        }
        if (n == 0) {
            return false;
        }
        if (left == 0 && w.messages->between()) {
            host().log(SLUICE_LOG_WARN, std::string(scan.file->uri) +
                                            ": the stream has no mark at its end; if it was cut "
                                            "between two batches, nobody can tell");
            return false;
        }
        if (n > left) {
            throw sluice::error(SLUICE_E_DATA, "the stream is cut: at byte " +
                                                   std::to_string(w.at) + " it needs " +
                                                   std::to_string(n) + " more bytes, there are " +
                                                   std::to_string(left));
        }
        out.ask(w.at, n);
        w.at += n;
        return true;
    }

    /* Rows that come to about batch_bytes, as ordinary columns of their own memory: so that a few
     * rows don't keep all of a large batch. */
    static std::shared_ptr<arrow::RecordBatch>
    take(const arrow::RecordBatch &all, std::int64_t from, std::int64_t &n, bool &too_much)
    {
        const auto slice = all.Slice(from, n);
        const bool whole = n == all.num_rows();
        arrow::ArrayVector columns;
        arrow::FieldVector fields;

        too_much = false;
        for (int k = 0; k < slice->num_columns(); k++) {
            auto made = plain_array(slice->column(k));
            if (made.status().IsCapacityError()) {
                too_much = true;
                return nullptr;
            }
            check_arrow(made.status(), "a record batch");
            auto column = std::move(made).ValueUnsafe();
            if (!whole) {
                auto copied = arrow::Concatenate({ column });
                check_arrow(copied.status(), "a record batch");
                column = std::move(copied).ValueUnsafe();
            }
            fields.push_back(arrow::field(slice->schema()->field(k)->name(), column->type()));
            columns.push_back(std::move(column));
        }
        return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), n, std::move(columns));
    }

    std::int64_t give(const sluice_scan &scan, sluice::emitter &out, worker &w) const
    {
        const arrow::RecordBatch &all = *w.batch;
        const std::string number =
            std::to_string(w.layout.stream ? w.number : static_cast<std::uint64_t>(scan.unit));
        const std::int64_t each =
            arrow::util::TotalBufferSize(all) / std::max<std::int64_t>(all.num_rows(), 1) + 1;
        std::int64_t n = std::min(all.num_rows() - w.row,
                                  std::clamp<std::int64_t>(batch_bytes / each, 1, rows_most));
        if (all.num_rows() * each <= 2 * batch_bytes && w.row == 0) {
            n = all.num_rows();
        }
        for (;;) {
            bool too_much = false;
            const auto rows = take(all, w.row, n, too_much);
            const std::int64_t bytes = rows == nullptr ? 0 : arrow::util::TotalBufferSize(*rows);
            if ((too_much || bytes > 8 * batch_bytes) && n > 1) {
                n = std::max<std::int64_t>(n / 4, 1); /* they stand for much: dictionaries, runs */
                continue;
            }
            if (too_much) {
                throw sluice::error(SLUICE_E_DATA, "record batch " + number + ", row " +
                                                       std::to_string(w.row) +
                                                       ": found more than 2 GiB in one row");
            }
            const Rows from = { outputs, w.mapping, scan, "record batch " + number,
                                std::string(scan.file->uri) + ":" + number + ":" };
            give_rows(from, w.mapping.fields.empty() ? nullptr : rows, n, w.row, out);
            w.row += n;
            return bytes + n;
        }
    }

    Request request;
    std::shared_ptr<arrow::Schema> united; /* of all files, with union_by_name */
    std::vector<Output> outputs;
    bool takes_all = false;
    std::atomic<bool> told{ false };
};

} /* namespace */

const sluice_stage *sluice_columnar::read_arrow_stage()
{
    return sluice::stage_of<read_arrow>();
}
