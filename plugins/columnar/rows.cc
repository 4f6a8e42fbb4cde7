/* See rows.h. */
#include "rows.h"

#include <algorithm>

#include <arrow/array/builder_base.h>
#include <arrow/array/util.h>
#include <arrow/util/key_value_metadata.h>

#include "guard.h"
#include "target.h"

namespace sluice_columnar
{

namespace
{

void give_run(const Rows &all, const std::shared_ptr<arrow::RecordBatch> &batch, std::int64_t from,
              std::int64_t n, const Numbers &numbers, sluice::emitter &out)
{
    std::vector<sluice::array> columns;

    if (n == 0) {
        return;
    }
    for (std::size_t k = 0; k < all.outputs.size(); k++) {
        const Source &source = all.mapping.sources[k];
        std::shared_ptr<arrow::Array> column;
        if (source.at >= 0) {
            column = batch->column(source.at);
            column = from == 0 && n == column->length() ? column : column->Slice(from, n);
        }
        if (all.outputs[k].id) {
            columns.push_back(
                convert_id(column.get(), source.how, all.prefix, numbers.behind(from), n));
        } else if (column == nullptr) {
            auto made = arrow::MakeArrayOfNull(all.outputs[k].nulls, n);
            check_arrow(made.status(), "a column of nulls");
            columns.push_back(convert(made.ValueUnsafe(), Convert::none));
        } else {
            columns.push_back(convert(column, source.how));
        }
    }
    out.give(sluice::struct_of(n, std::move(columns)));
}

} /* namespace */

void give_rows(const Rows &all, const std::shared_ptr<arrow::RecordBatch> &batch, std::int64_t n,
               const Numbers &numbers, sluice::emitter &out)
{
    std::vector<BadRow> bad;
    std::int64_t from = 0;

    for (std::size_t k = 0; k < all.outputs.size() && batch != nullptr; k++) {
        const Source &source = all.mapping.sources[k];
        const std::size_t before = bad.size();
        if (source.at >= 0) {
            find_bad(*batch->column(source.at), source.how, bad);
        }
        for (std::size_t i = before; i < bad.size(); i++) {
            bad[i].output = k;
        }
    }
    std::stable_sort(bad.begin(), bad.end(),
                     [](const BadRow &a, const BadRow &b) { return a.row < b.row; });
    for (const BadRow &one : bad) {
        if (one.row < from) {
            continue; /* has been told of by another column */
        }
        give_run(all, batch, from, one.row - from, numbers, out);
        const std::string where = all.unit + ", row " + std::to_string(numbers.at(one.row)) +
                                  ", column '" + all.outputs[one.output].source + "'";
        out.bad(all.scan.begin, all.scan.end, one.reason, where.c_str());
        from = one.row + 1;
    }
    give_run(all, batch, from, n - from, numbers, out);
}

/* ---- some of the rows ---- */

namespace
{

struct Run {
    std::int64_t begin, n;
};

std::vector<Run> runs_of(const std::uint8_t *keep, std::int64_t n)
{
    std::vector<Run> out;

    for (std::int64_t row = 0; row < n; row++) {
        if (keep[row] == 0) {
            continue;
        }
        if (!out.empty() && out.back().begin + out.back().n == row) {
            out.back().n++;
        } else {
            out.push_back({ row, 1 });
        }
    }
    return out;
}

/* The rows of the runs as one batch. */
std::shared_ptr<arrow::RecordBatch> gather(const arrow::RecordBatch &batch,
                                           const std::vector<Run> &runs, std::int64_t n)
{
    std::vector<std::shared_ptr<arrow::Array>> columns;

    for (const auto &column : batch.columns()) {
        auto builder = arrow::MakeBuilder(column->type());
        check_arrow(builder.status(), "a column");
        const arrow::ArraySpan span(*column->data());
        check_arrow((*builder)->Reserve(n), "a column");
        for (const Run &run : runs) {
            check_arrow((*builder)->AppendArraySlice(span, run.begin, run.n), "a column");
        }
        std::shared_ptr<arrow::Array> made;
        check_arrow((*builder)->Finish(&made), "a column");
        columns.push_back(std::move(made));
    }
    return arrow::RecordBatch::Make(batch.schema(), n, std::move(columns));
}

} /* namespace */

std::int64_t give_kept(const Rows &from, const std::shared_ptr<arrow::RecordBatch> &batch,
                       std::int64_t n, std::int64_t first, const std::uint8_t *keep,
                       sluice::emitter &out)
{
    constexpr std::size_t few = 4; /* runs, which share the memory of the batch */
    const std::vector<Run> runs = runs_of(keep, n);
    std::vector<std::int64_t> numbers;

    if (runs.size() <= few || batch == nullptr) {
        std::int64_t kept = 0;
        for (const Run &run : runs) {
            const bool all = run.n == n;
            give_rows(from, batch == nullptr || all ? batch : batch->Slice(run.begin, run.n), run.n,
                      first + run.begin, out);
            kept += run.n;
        }
        return n - kept;
    }
    for (const Run &run : runs) {
        for (std::int64_t row = run.begin; row < run.begin + run.n; row++) {
            numbers.push_back(first + row);
        }
    }
    const auto kept = static_cast<std::int64_t>(numbers.size());
    give_rows(from, gather(*batch, runs, kept), kept, Numbers(0, numbers.data()), out);
    return n - kept;
}

void tell_absent(const Mapping &mapping, const arrow::Schema &schema, std::int64_t rows,
                 sluice::emitter &out)
{
    std::vector<const char *> there;

    for (const auto &field : schema.fields()) {
        there.push_back(field->name().c_str());
    }
    for (const std::string &column : mapping.absent) {
        out.absent(column.c_str(), static_cast<std::uint64_t>(rows), there);
    }
}

namespace
{

/* Adds a note to a column's, each on a line of its own; none can hold a line break. */
void add_note(std::string &notes, const std::string &note)
{
    if (!note.empty() && note.find('\n') == note.npos) {
        notes += (notes.empty() ? "" : "\n") + note;
    }
}

/* What a file that is given as it is says of its columns goes with the first of them, behind their
 * number: who writes just these says the same (`columns_json`). */
void add_said(std::string &notes, const arrow::Schema &file, std::size_t n)
{
    const auto &metadata = file.metadata();
    const int at = metadata == nullptr ? -1 : metadata->FindKey("sluice.columns");

    if (at >= 0 && !metadata->value(at).empty()) {
        add_note(notes, "columns=" + std::to_string(n) + " " + metadata->value(at));
    }
}

/* What the field itself says, in Arrow files. */
void add_notes(std::string &notes, const arrow::Field &field)
{
    const auto &metadata = field.metadata();

    for (std::int64_t k = 0; metadata != nullptr && k < metadata->size(); k++) {
        add_note(notes, metadata->key(k) + "=" + metadata->value(k));
    }
}

} /* namespace */

std::vector<Output> declare_outputs(const Request &request, const arrow::Schema *first,
                                    sluice::plan &plan, bool &all,
                                    std::vector<std::string> &left_out)
{
    const std::vector<Output> chosen = choose(request, first, left_out);
    std::vector<Output> out;

    for (const Output &output : chosen) {
        if (plan.wanted(output.name.c_str())) {
            const auto field = first == nullptr || output.source.empty()
                                   ? nullptr
                                   : first->GetFieldByName(output.source);
            std::string note = field == nullptr ? "" : arrow_note(*field->type(), output.type);
            if (request.as_is && out.empty()) {
                add_said(note, *first, chosen.size());
            }
            if (request.as_is) {
                add_notes(note, *field);
            }
            plan.add(output.name, (output.type + (output.id || output.required ? "" : "?")).c_str(),
                     note.c_str());
            out.push_back(output);
        }
    }
    all = request.columns.empty() && out.size() == chosen.size() && first != nullptr;
    return out;
}

void tell_left_out(const sluice::host_services &host, const std::vector<std::string> &names)
{
    if (!names.empty()) {
        host.log(SLUICE_LOG_INFO, "the column '" + names[0] +
                                      (names.size() > 1 ? "' and others are" : "' is") +
                                      " left out: names that begin with _ are Sluice's");
    }
}

std::int64_t bytes_of(const arrow::RecordBatch &batch)
{
    std::int64_t out = batch.num_rows();

    for (const auto &column : batch.column_data()) {
        for (const auto &buffer : column->buffers) {
            out += buffer == nullptr ? 0 : buffer->size();
        }
    }
    return out;
}

} /* namespace sluice_columnar */
