/* See gather.h. */
#include "gather.h"

#include <arrow/array.h>
#include <arrow/c/bridge.h>

#include "hostpool.h"
#include "restore.h"

namespace sluice_columnar
{

namespace
{

/* No column of a record batch holds more texts than offsets reach; a row may have as much. */
constexpr std::int64_t bytes_most = std::int64_t{ 1 } << 30;

/* ---- borrowing ---- */

/* The tree of an array whose memory stays the host's. */
class Borrowed
{
  public:
    explicit Borrowed(const ArrowArray &from) : root_(copy(from))
    {
    }
    ArrowArray *root()
    {
        return root_;
    }

  private:
    ArrowArray *copy(const ArrowArray &from)
    {
        arrays_.push_back(std::make_unique<ArrowArray>(from));
        ArrowArray *const out = arrays_.back().get();
        out->release = [](ArrowArray *a) { a->release = nullptr; };
        out->private_data = nullptr;
        if (from.n_children > 0) {
            lists_.emplace_back(static_cast<std::size_t>(from.n_children));
            const std::size_t list = lists_.size() - 1;
            for (std::int64_t k = 0; k < from.n_children; k++) {
                ArrowArray *const child = copy(*from.children[k]);
                lists_[list][static_cast<std::size_t>(k)] = child;
            }
            out->children = lists_[list].data();
        }
        return out;
    }
    std::vector<std::unique_ptr<ArrowArray>> arrays_;
    std::vector<std::vector<ArrowArray *>> lists_; /* each is as large as it ever gets */
    ArrowArray *root_;
};

std::shared_ptr<arrow::Array> borrow(const ArrowArray &from,
                                     const std::shared_ptr<arrow::DataType> &type)
{
    Borrowed tree(from);

    return made(arrow::ImportArray(tree.root(), type), "a view of a column");
}

/* ---- sizes ---- */

std::int64_t size_of(const arrow::Array &column, std::int64_t row, std::int64_t n)
{
    std::int64_t out = 0;

    switch (column.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
        const auto &texts = static_cast<const arrow::BinaryArray &>(column);
        if (texts.null_count() == 0) {
            return texts.value_offset(row + n) - texts.value_offset(row);
        }
        for (std::int64_t k = row; k < row + n; k++) {
            out += texts.IsValid(k) ? texts.value_length(k) : 0;
        }
        return out;
    }
    case arrow::Type::LIST: {
        const auto &lists = static_cast<const arrow::ListArray &>(column);
        for (std::int64_t k = row; k < row + n; k++) {
            out += 4;
            if (lists.IsValid(k) && lists.value_length(k) > 0) {
                out += size_of(*lists.values(), lists.value_offset(k), lists.value_length(k));
            }
        }
        return out;
    }
    case arrow::Type::STRUCT:
        for (const auto &field : static_cast<const arrow::StructArray &>(column).fields()) {
            out += size_of(*field, row, n);
        }
        return out;
    default:
        return n * std::max(1, column.type()->bit_width() / 8);
    }
}

} /* namespace */

BatchView::BatchView(const std::vector<Target> &targets, const sluice_batch &batch)
    : batch_(batch), bytes_(static_cast<std::size_t>(batch.n))
{
    for (const Target &target : targets) {
        columns_.push_back(borrow(*batch.array->children[target.index], target.given));
        for (std::int64_t k = 0; k < batch.n; k++) {
            bytes_[static_cast<std::size_t>(k)] += size_of(*columns_.back(), row(k), 1);
        }
    }
}

Gather::Gather(const std::vector<Target> &targets, Limits limits, arrow::MemoryPool &pool)
    : targets_(targets), limits_(limits), pool_(pool), schema_(schema_of(targets))
{
    for (const Target &target : targets) {
        std::unique_ptr<arrow::ArrayBuilder> builder;
        check_made(arrow::MakeBuilder(&pool, target.given, &builder), "a column");
        builders_.push_back(std::move(builder));
    }
}

std::int64_t Gather::add(const BatchView &view, std::int64_t k, Limits &rest)
{
    /* Which rows are taken, ... */
    std::int64_t end = k;
    while (end < view.size() && !full_) {
        const std::int64_t bytes = view.bytes(end);
        if (rows_ > 0 && bytes > bytes_most - bytes_) {
            full_ = true;
            break;
        }
        rows_++;
        bytes_ += bytes;
        rest.rows--;
        rest.bytes -= bytes;
        end++;
        full_ =
            rows_ >= limits_.rows || bytes_ >= limits_.bytes || rest.rows <= 0 || rest.bytes <= 0;
    }
    /* ... and taking them, those at once that lie together. */
    std::vector<arrow::ArraySpan> spans;
    for (const auto &column : view.columns()) {
        spans.emplace_back(*column->data());
    }
    for (std::int64_t from = k; from < end;) {
        const std::int64_t row = view.row(from);
        std::int64_t n = 1;
        while (from + n < end && view.row(from + n) == row + n) {
            n++;
        }
        for (std::size_t c = 0; c < builders_.size(); c++) {
            check_made(builders_[c]->AppendArraySlice(spans[c], row, n), "a column");
        }
        from += n;
    }
    return end;
}

std::shared_ptr<arrow::RecordBatch> Gather::take()
{
    arrow::ArrayVector columns;

    for (std::size_t c = 0; c < builders_.size(); c++) {
        columns.push_back(restore(targets_[c], made(builders_[c]->Finish(), "a column"), pool_));
    }
    auto out = arrow::RecordBatch::Make(schema_, rows_, std::move(columns));
    rows_ = bytes_ = 0;
    full_ = false;
    return out;
}

} /* namespace sluice_columnar */
