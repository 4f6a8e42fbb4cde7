/* See pages.h. */
#include "pages.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <parquet/level_conversion.h>
#include <parquet/properties.h>

#include "pagehead.h"
#include "rows.h"

namespace sluice_columnar
{

namespace
{

constexpr std::int64_t short_texts = 4; /* times the usual number may be in a batch */
constexpr std::uint64_t large_bytes = std::uint64_t{ 64 } << 10; /* smaller chunks are read whole */

bool is_flat_text(const Footer &file, int leaf)
{
    const auto *column = file.meta()->schema()->Column(leaf);

    if (column->physical_type() != parquet::Type::BYTE_ARRAY ||
        column->max_repetition_level() != 0 || column->path()->ToDotVector().size() != 1) {
        return false;
    }
    const int field = file.schema().GetFieldIndex(column->name());
    return field >= 0 && (file.schema().field(field)->type()->id() == arrow::Type::STRING ||
                          file.schema().field(field)->type()->id() == arrow::Type::BINARY);
}

} /* namespace */

/* The bytes at hand, for the library. */
class PagedColumn::Stream : public arrow::io::InputStream
{
  public:
    explicit Stream(std::shared_ptr<Blocks> blocks) : blocks_(std::move(blocks))
    {
    }
    ~Stream() override = default;
    void add(const char *data, std::uint64_t n, bool last)
    {
        const std::string_view left = rest();
        const std::size_t all = left.size() + n;
        auto window = std::move(window_);

        if (window == nullptr || static_cast<std::size_t>(window->capacity()) < all) {
            window_ = blocks_->get_for_work(static_cast<std::int64_t>(last ? all : all + all / 4));
        } else {
            window_ = window;
        }
        std::uint8_t *out = window_->mutable_data();
        std::memmove(out, left.data(), left.size());
        std::memcpy(out + left.size(), data, n);
        at_ = 0;
        size_ = all;
    }
    std::string_view rest() const
    {
        return window_ == nullptr
                   ? std::string_view()
                   : std::string_view(reinterpret_cast<const char *>(window_->data()) + at_,
                                      size_ - at_);
    }
    /* Pages that are not decoded into memory of their own outlive the window. */
    void keep(bool pages)
    {
        keep_ = pages;
    }
    arrow::Status Close() override
    {
        return arrow::Status::OK();
    }
    bool closed() const override
    {
        return false;
    }
    arrow::Result<std::int64_t> Tell() const override
    {
        return told_;
    }
    arrow::Result<std::string_view> Peek(std::int64_t n) override
    {
        return rest().substr(0, static_cast<std::size_t>(n));
    }
    arrow::Result<std::int64_t> Read(std::int64_t n, void *out) override
    {
        const std::string_view bytes = step(n);
        std::memcpy(out, bytes.data(), bytes.size());
        return static_cast<std::int64_t>(bytes.size());
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t n) override
    {
        const std::string_view bytes = step(n);
        if (!keep_) {
            return std::make_shared<arrow::Buffer>(bytes);
        }
        ARROW_ASSIGN_OR_RAISE(auto out,
                              arrow::AllocateBuffer(static_cast<std::int64_t>(bytes.size())));
        std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
        return std::shared_ptr<arrow::Buffer>(std::move(out));
    }

  private:
    std::string_view step(std::int64_t n)
    {
        const std::string_view bytes = rest().substr(0, static_cast<std::size_t>(n));
        at_ += bytes.size();
        told_ += static_cast<std::int64_t>(bytes.size());
        return bytes;
    }
    const std::shared_ptr<Blocks> blocks_;
    std::shared_ptr<arrow::Buffer> window_;
    std::size_t at_ = 0, size_ = 0; /* of the window */
    std::int64_t told_ = 0;
    bool keep_ = true;
};

/* The pages as long as they are whole, and not too many at once: those of plain texts for us, the
 * others for the library, each in its turn. */
class PagedColumn::Pages
{
  public:
    enum class Kind { none, plain, other };
    Pages(std::shared_ptr<Stream> stream, std::unique_ptr<parquet::PageReader> inner,
          bool compressed, std::int64_t decoded_most)
        : stream_(std::move(stream)), inner_(std::move(inner)), compressed_(compressed),
          decoded_most_(decoded_most)
    {
    }
    /* Of the next one; none: there is none at hand. */
    Kind next()
    {
        return whole() ? kind() : Kind::none;
    }
    /* The next one, if it is of this kind. */
    std::shared_ptr<parquet::Page> take(Kind wanted)
    {
        if (decoded >= batch_bytes || next() != wanted) {
            return nullptr;
        }
        /* A dictionary gives no rows. */
        decoded += head_.type == parquet::PageType::DICTIONARY_PAGE ? 0 : head_.decoded_bytes;
        stream_->keep(!compressed_ || head_.type != parquet::PageType::DATA_PAGE);
        known_ = false;
        return inner_->NextPage();
    }
    void set_max_page_header_size(std::uint32_t size)
    {
        inner_->set_max_page_header_size(size);
    }
    /* More was fed; all: it was the last. */
    void fed(bool all)
    {
        all_ = all;
        known_ = false;
    }
    bool all() const
    {
        return all_;
    }
    std::uint64_t missing() const /* bytes that the next page lacks, if that is known */
    {
        return missing_;
    }
    std::int64_t decoded = 0; /* bytes of pages that were given since the last batch */

  private:
    Kind kind() const
    {
        return head_.type != parquet::PageType::DICTIONARY_PAGE &&
                       head_.encoding == parquet::Encoding::PLAIN
                   ? Kind::plain
                   : Kind::other;
    }
    bool whole()
    {
        if (!known_) {
            whole_ = find();
            known_ = true;
        }
        return whole_;
    }
    /* Is a page at hand? Those that the library passes over don't count. */
    bool find()
    {
        std::string_view rest = stream_->rest();
        missing_ = 0;
        for (;;) {
            if (rest.empty()) {
                return false;
            }
            if (!read_page_head(rest, head_)) {
                if (all_) {
                    bad_page("a column ends within a page's head");
                }
                return false;
            }
            if (head_.decoded_bytes > decoded_most_) {
                bad_page("a page of " + std::to_string(head_.decoded_bytes) +
                         " bytes, in a column of " + std::to_string(decoded_most_));
            }
            const std::uint64_t need = head_.head_bytes + head_.bytes;
            if (need > rest.size()) {
                if (all_) {
                    bad_page("a column ends within a page");
                }
                missing_ = need - rest.size();
                return false;
            }
            if (head_.type == parquet::PageType::DATA_PAGE ||
                head_.type == parquet::PageType::DATA_PAGE_V2 ||
                head_.type == parquet::PageType::DICTIONARY_PAGE) {
                return true;
            }
            rest.remove_prefix(need);
        }
    }
    std::shared_ptr<Stream> stream_;
    std::unique_ptr<parquet::PageReader> inner_;
    bool compressed_;
    std::int64_t decoded_most_;
    PageHead head_; /* of the next page, if it is whole */
    bool known_ = false, whole_ = false;
    bool all_ = false;
    std::uint64_t missing_ = 0;
};

/* The library's way to its pages. */
class PagedColumn::Lent : public parquet::PageReader
{
  public:
    explicit Lent(std::shared_ptr<Pages> pages) : pages_(std::move(pages))
    {
    }
    std::shared_ptr<parquet::Page> NextPage() override
    {
        return pages_->take(Pages::Kind::other);
    }
    void set_max_page_header_size(std::uint32_t size) override
    {
        pages_->set_max_page_header_size(size);
    }

  private:
    std::shared_ptr<Pages> pages_;
};

bool PagedColumn::fits(const Footer &file, int row_group, int leaf)
{
    const auto column = file.meta()->RowGroup(row_group)->ColumnChunk(leaf);

    return is_flat_text(file, leaf) &&
           column->total_compressed_size() > static_cast<std::int64_t>(large_bytes);
}

PagedColumn::PagedColumn(const Footer &file, int row_group, int leaf, std::uint64_t file_bytes,
                         arrow::MemoryPool &pool, std::shared_ptr<Blocks> blocks)
    : pool_(pool), column_(file.meta()->schema()->Column(leaf)),
      type_(file.schema().field(file.schema().GetFieldIndex(column_->name()))->type()),
      page_pool_(blocks), stream_(std::make_shared<Stream>(blocks)),
      plain_(column_->max_definition_level(), type_, std::move(blocks)),
      chunk_(file.chunk(row_group, leaf, file_bytes))
{
    guarded_data("the row group", [&] {
        const auto chunk = file.meta()->RowGroup(row_group)->ColumnChunk(leaf);
        const bool always_compressed = file.meta()->writer_version().VersionLt(
            parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
        parquet::ReaderProperties properties(&page_pool_);
        if (chunk->num_values() != file.meta()->RowGroup(row_group)->num_rows()) {
            bad_page("a column has " + std::to_string(chunk->num_values()) + " rows, the group " +
                     std::to_string(file.meta()->RowGroup(row_group)->num_rows()));
        }

        properties.set_page_checksum_verification(true);
        auto inner = parquet::PageReader::Open(stream_, chunk->num_values(), chunk->compression(),
                                               properties, *column_, always_compressed);
        pages_ = std::make_shared<Pages>(stream_, std::move(inner),
                                         chunk->compression() != parquet::Compression::UNCOMPRESSED,
                                         chunk->total_uncompressed_size());
    });
}

PagedColumn::~PagedColumn() = default;

Extent PagedColumn::next_extent(std::uint64_t piece)
{
    const std::uint64_t left = chunk_.n - fed_;
    const std::uint64_t n = std::min(left, std::max(piece, pages_->missing()));

    return { chunk_.offset + fed_, left - n < large_bytes / 4 ? left : n };
}

void PagedColumn::feed(const char *data, std::uint64_t n)
{
    fed_ += n;
    stream_->add(data, n, fed_ == chunk_.n);
    pages_->fed(fed_ == chunk_.n);
}

/* Rows of pages that the library knows how to decode: all but plain ones. */
void PagedColumn::read_others(std::int64_t rows)
{
    if (others_ == nullptr) {
        others_ = parquet::internal::RecordReader::Make(
            column_, parquet::internal::LevelInfo::ComputeLevelInfo(column_), &pool_, false, false,
            type_);
        others_->SetPageReader(std::make_unique<Lent>(pages_));
    }
    auto *texts = dynamic_cast<parquet::internal::BinaryRecordReader *>(others_.get());
    if (texts == nullptr) {
        throw sluice::error(SLUICE_E_INTERNAL, "a column of bytes is read as another one");
    }
    others_->Reset();
    others_->Reserve(rows);
    begun_ = others_->ReadRecords(rows) > 0;
    if (begun_) {
        for (auto &array : texts->GetBuilderChunks()) {
            check_arrow(array->Validate(), "the row group");
            if (array->length() > 0) {
                arrays_.push_back(std::move(array));
            }
        }
    }
}

/* Rows of plain pages, by their size rather than their number; a batch ends with its page where
 * that is large. */
void PagedColumn::read_plain(std::int64_t rows)
{
    rows *= short_texts;
    while (plain_.rows() < rows && plain_.bytes() < batch_bytes) {
        if (plain_.left() == 0) {
            auto page =
                plain_.bytes() < batch_bytes / 2 ? pages_->take(Pages::Kind::plain) : nullptr;
            if (page == nullptr) {
                break;
            }
            plain_.begin(std::move(page));
        }
        const std::int64_t before = plain_.rows();
        plain_.take(rows, batch_bytes);
        if (plain_.rows() == before && plain_.left() > 0) {
            break;
        }
    }
    if (plain_.rows() > 0) {
        arrays_.push_back(plain_.finish());
    }
}

std::int64_t PagedColumn::prepare(std::int64_t rows)
{
    if (arrays_.empty()) {
        guarded_data("the row group", [&] {
            pages_->decoded = 0;
            /* Those of the library's that were begun come before the next page of ours. */
            if (plain_.left() == 0 && (begun_ || pages_->next() == Pages::Kind::other)) {
                read_others(rows);
            }
            if (arrays_.empty()) {
                read_plain(rows);
            }
        });
    }
    if (arrays_.empty() && pages_->all()) {
        bad_page("it has fewer rows than the footer says");
    }
    return arrays_.empty() ? 0 : arrays_.front()->length();
}

std::shared_ptr<arrow::Array> PagedColumn::take(std::int64_t n)
{
    auto array = arrays_.front();

    if (n < array->length()) {
        arrays_.front() = array->Slice(n);
        return array->Slice(0, n);
    }
    arrays_.pop_front();
    return array;
}

} /* namespace sluice_columnar */
