/* See rowgroup.h. */
#include "rowgroup.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <parquet/properties.h>

namespace sluice_columnar
{

namespace
{

constexpr std::uint64_t close_bytes = std::uint64_t{ 64 } << 10; /* a gap that is read along */
constexpr std::int64_t rows_least = 64;
constexpr std::int64_t rows_most = 65536;
constexpr std::int64_t texts_most = 1024; /* rows where there are texts: more run slower */

/* A file of which some bytes are at hand, for the library. */
class PartFile : public arrow::io::RandomAccessFile
{
  public:
    PartFile(const Bytes &bytes, std::uint64_t file_bytes)
        : bytes_(bytes), size_(static_cast<std::int64_t>(file_bytes))
    {
    }
    ~PartFile() override = default;
    arrow::Status Close() override
    {
        closed_ = true;
        return arrow::Status::OK();
    }
    bool closed() const override
    {
        return closed_;
    }
    arrow::Result<std::int64_t> Tell() const override
    {
        return at_;
    }
    arrow::Status Seek(std::int64_t position) override
    {
        at_ = position;
        return arrow::Status::OK();
    }
    arrow::Result<std::int64_t> GetSize() override
    {
        return size_;
    }
    arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t n, void *out) override
    {
        std::uint64_t found = 0;
        ARROW_ASSIGN_OR_RAISE(const char *data, look(position, n, found));
        std::memcpy(out, data, found);
        return static_cast<std::int64_t>(found);
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position,
                                                         std::int64_t n) override
    {
        std::uint64_t found = 0;
        ARROW_ASSIGN_OR_RAISE(const char *data, look(position, n, found));
        return std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t *>(data),
                                               static_cast<std::int64_t>(found));
    }
    arrow::Result<std::int64_t> Read(std::int64_t n, void *out) override
    {
        ARROW_ASSIGN_OR_RAISE(const std::int64_t found, ReadAt(at_, n, out));
        at_ += found;
        return found;
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t n) override
    {
        ARROW_ASSIGN_OR_RAISE(auto found, ReadAt(at_, n));
        at_ += found->size();
        return found;
    }

  private:
    arrow::Result<const char *> look(std::int64_t position, std::int64_t n,
                                     std::uint64_t &found) const
    {
        found = static_cast<std::uint64_t>(n);
        const char *data = position < 0 || n < 0
                               ? nullptr
                               : bytes_.find(static_cast<std::uint64_t>(position), found);
        if (data == nullptr) {
            return arrow::Status::IOError("byte ", position,
                                          " belongs to none of the columns that are read");
        }
        return data;
    }
    const Bytes &bytes_;
    std::int64_t size_, at_ = 0;
    bool closed_ = false;
};

/* Rows whose columns come to about batch_bytes, by what the footer says of their sizes. */
std::int64_t rows_a_batch(const parquet::FileMetaData &meta, int row_group,
                          const std::vector<int> &leaves)
{
    /* Of values that repeat little is stored: at most so much may come of one batch. */
    constexpr std::int64_t repeated_bytes = std::int64_t{ 1 } << 30;
    const auto group = meta.RowGroup(row_group);
    const std::int64_t rows = group->num_rows();
    std::int64_t bytes = 0;
    std::int64_t most = rows_most;

    for (const int leaf : leaves) {
        const auto column = group->ColumnChunk(leaf);
        const std::int64_t size = std::max<std::int64_t>(column->total_uncompressed_size(), 0);
        bytes += std::min(size, INT64_MAX - bytes);
        if (column->type() == parquet::Type::BYTE_ARRAY) {
            most = std::min(most, texts_most);
            most = std::min(most, std::max(repeated_bytes / (size + 1), rows_least));
        }
    }
    const std::int64_t each = bytes / rows + 1;
    return std::max<std::int64_t>(std::min(most, batch_bytes / each), 1);
}

} /* namespace */

Bytes::~Bytes()
{
    host_.free(data_);
}

void Bytes::clear()
{
    parts_.clear();
    size_ = 0;
}

void Bytes::more(std::uint64_t n)
{
    /* What was needed once is not kept for what needs much less. */
    if (size_ + n <= capacity_ && (size_ > 0 || capacity_ / 4 <= n)) {
        return;
    }
    if (size_ == 0) {
        host_.free(data_);
        data_ = nullptr;
        capacity_ = 0;
    }
    char *larger = static_cast<char *>(host_.alloc(size_ + n));
    if (size_ > 0) {
        std::memcpy(larger, data_, size_);
    }
    host_.free(data_);
    data_ = larger;
    capacity_ = size_ + n;
}

void Bytes::add(const Extent &extent, const char *data)
{
    if (extent.n > capacity_ - size_) {
        throw sluice::error(SLUICE_E_INTERNAL, "more bytes than were asked for");
    }
    std::memcpy(data_ + size_, data, extent.n);
    const auto behind = std::upper_bound(
        parts_.begin(), parts_.end(), extent.offset,
        [](std::uint64_t value, const Part &part) { return value < part.extent.offset; });
    parts_.insert(behind, { extent, size_ });
    size_ += extent.n;
}

const char *Bytes::find(std::uint64_t offset, std::uint64_t &n) const
{
    auto at = std::upper_bound(
        parts_.begin(), parts_.end(), offset,
        [](std::uint64_t value, const Part &part) { return value < part.extent.offset; });

    /* Parts may lie inside of each other: the one that has most of it. */
    const char *found = nullptr;
    std::uint64_t most = 0;
    while (at != parts_.begin() && (found == nullptr || most < n)) {
        --at;
        const std::uint64_t in = offset - at->extent.offset;
        if (in <= at->extent.n && (found == nullptr || at->extent.n - in > most)) {
            found = data_ + at->at + in;
            most = at->extent.n - in;
        }
    }
    n = std::min(n, most);
    return found;
}

std::vector<Extent> extents_of(const Footer &file, int row_group, const std::vector<int> &leaves,
                               std::uint64_t file_bytes)
{
    std::vector<Extent> out;
    std::vector<Extent> chunks;

    for (const int leaf : leaves) {
        chunks.push_back(file.chunk(row_group, leaf, file_bytes));
    }
    std::sort(chunks.begin(), chunks.end(),
              [](const Extent &a, const Extent &b) { return a.offset < b.offset; });
    for (const Extent &chunk : chunks) {
        if (!out.empty() && chunk.offset <= out.back().offset + out.back().n + close_bytes) {
            const std::uint64_t end = chunk.offset + chunk.n - out.back().offset;
            out.back().n = std::max(out.back().n, end);
        } else {
            out.push_back(chunk);
        }
    }
    return out;
}

RowGroupReader::RowGroupReader(const Footer &file, int row_group, const std::vector<int> &leaves,
                               std::uint64_t file_bytes, const Bytes &bytes,
                               arrow::MemoryPool &pool)
{
    guarded_data("the row group", [&] {
        parquet::ReaderProperties properties(&pool);
        parquet::ArrowReaderProperties arrow_properties(false);

        properties.set_page_checksum_verification(true);
        arrow_properties.set_pre_buffer(false);
        arrow_properties.set_batch_size(rows_a_batch(*file.meta(), row_group, leaves));
        auto reader = parquet::ParquetFileReader::Open(
            std::make_shared<PartFile>(bytes, file_bytes), properties, file.meta());
        auto made = parquet::arrow::FileReader::Make(&pool, std::move(reader), arrow_properties);
        check_arrow(made.status(), "the row group");
        file_ = std::move(made).ValueUnsafe();
        auto rows = file_->GetRecordBatchReader({ row_group }, leaves);
        check_arrow(rows.status(), "the row group");
        rows_ = std::move(rows).ValueUnsafe();
    });
}

RowGroupReader::~RowGroupReader() = default;

std::shared_ptr<arrow::RecordBatch> RowGroupReader::next()
{
    return guarded_data("the row group", [&] {
        std::shared_ptr<arrow::RecordBatch> out;
        check_arrow(rows_->ReadNext(&out), "the row group");
        if (out != nullptr) {
            /* What comes of damaged pages is looked at before anybody else does. */
            check_arrow(out->Validate(), "the row group");
        }
        return out;
    });
}

RowGroupRows::RowGroupRows(const Footer &file, int row_group, const std::vector<int> &fields,
                           std::uint64_t file_bytes, Bytes &bytes, arrow::MemoryPool &pool,
                           std::shared_ptr<Blocks> blocks)
    : file_(file), row_group_(row_group), file_bytes_(file_bytes), pool_(pool), rows_(1),
      left_(file.meta()->RowGroup(row_group)->num_rows()), bytes_(bytes)
{
    const auto at_hand = [&](int leaf) {
        const Extent chunk = file.chunk(row_group, leaf, file_bytes);
        std::uint64_t n = chunk.n;
        return bytes.find(chunk.offset, n) != nullptr && n == chunk.n;
    };
    std::vector<int> all, missing;
    std::uint64_t sum = 0;
    int whole = 0;

    for (const int field : fields) {
        const std::vector<int> leaves = file.leaves({ field });
        Column column = { nullptr, whole };
        if (leaves.size() == 1 && PagedColumn::fits(file, row_group, leaves[0]) &&
            !at_hand(leaves[0])) {
            column.paged =
                std::make_unique<PagedColumn>(file, row_group, leaves[0], file_bytes, pool, blocks);
        } else {
            leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
            std::copy_if(leaves.begin(), leaves.end(), std::back_inserter(missing),
                         [&](int leaf) { return !at_hand(leaf); });
            whole++;
        }
        all.insert(all.end(), leaves.begin(), leaves.end());
        columns_.push_back(std::move(column));
        fields_.push_back(file.schema().field(field));
    }
    if (!columns_.empty()) {
        rows_ = rows_a_batch(*file.meta(), row_group, all);
        asked_ = extents_of(file, row_group, missing, file_bytes);
        by_.resize(asked_.size(), nullptr);
        for (const Extent &extent : asked_) {
            sum += extent.n;
        }
        if (sum > 0) {
            bytes_.more(sum);
        }
        need_pages(true);
    }
}

/* Those that are short of bytes share what is asked for at once. */
void RowGroupRows::need_pages(bool all)
{
    constexpr std::uint64_t together = std::uint64_t{ 7 } << 19;
    std::vector<PagedColumn *> hungry;

    for (const Column &column : columns_) {
        if (column.paged != nullptr && (all || column.paged->prepare(rows_) == 0)) {
            hungry.push_back(column.paged.get());
        }
    }
    for (PagedColumn *column : hungry) {
        asked_.push_back(
            column->next_extent(std::max(together / hungry.size(), std::uint64_t{ 256 } << 10)));
        by_.push_back(column);
    }
}

const std::vector<Extent> &RowGroupRows::needs()
{
    return asked_;
}

void RowGroupRows::answer(std::size_t k, std::string_view data)
{
    if (by_.at(k) != nullptr) {
        by_[k]->feed(data.data(), data.size());
    } else {
        bytes_.add(asked_[k], data.data());
    }
    if (k + 1 == asked_.size()) {
        asked_.clear();
        by_.clear();
    }
}

std::shared_ptr<arrow::RecordBatch> RowGroupRows::next()
{
    std::int64_t n = left_;
    arrow::ArrayVector out;

    need_pages(false);
    if (!asked_.empty()) {
        return nullptr;
    }
    for (const Column &column : columns_) {
        n = column.paged == nullptr ? n : std::min(n, column.paged->prepare(rows_));
    }
    if (whole_ == nullptr && !leaves_.empty()) {
        whole_ = std::make_unique<RowGroupReader>(file_, row_group_, leaves_, file_bytes_, bytes_,
                                                  pool_);
    }
    if (whole_ != nullptr && rest_ == nullptr) {
        rest_ = whole_->next();
        if (rest_ == nullptr || rest_->num_rows() > left_ || rest_->num_rows() == 0) {
            throw sluice::error(SLUICE_E_DATA,
                                "the row group is damaged: it has other rows than the footer says");
        }
    }
    n = rest_ == nullptr ? n : std::min(n, rest_->num_rows());
    for (const Column &column : columns_) {
        out.push_back(column.paged != nullptr ? column.paged->take(n)
                      : n < rest_->num_rows() ? rest_->column(column.at)->Slice(0, n)
                                              : rest_->column(column.at));
    }
    if (rest_ != nullptr) {
        rest_ = n < rest_->num_rows() ? rest_->Slice(n) : nullptr;
    }
    left_ -= n;
    return arrow::RecordBatch::Make(arrow::schema(fields_), n, std::move(out));
}

} /* namespace sluice_columnar */
