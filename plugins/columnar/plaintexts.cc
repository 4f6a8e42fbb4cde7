/* See plaintexts.h. */
#include "plaintexts.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/util.h>
#include <arrow/util/bit_util.h>

#include "guard.h"

namespace sluice_columnar
{

namespace
{

constexpr std::int64_t prefix_bytes = 4; /* a length, little-endian */
constexpr int levels_at_once = 1024;
constexpr std::int64_t usual_most = std::int64_t{ 3 } << 19; /* that is expected of a batch */

[[noreturn]] void damaged(const std::string &what)
{
    throw sluice::error(SLUICE_E_DATA, "the row group is damaged: " + what);
}

std::int64_t length_at(const std::uint8_t *at)
{
    return static_cast<std::int64_t>(at[0]) | static_cast<std::int64_t>(at[1]) << 8 |
           static_cast<std::int64_t>(at[2]) << 16 | static_cast<std::int64_t>(at[3]) << 24;
}

} /* namespace */

PlainTexts::PlainTexts(std::int16_t null_level, std::shared_ptr<arrow::DataType> type,
                       std::shared_ptr<Blocks> blocks)
    : null_level_(null_level), type_(std::move(type)), blocks_(std::move(blocks))
{
}

void PlainTexts::begin(std::shared_ptr<parquet::Page> page)
{
    const auto &data = dynamic_cast<const parquet::DataPage &>(*page);
    std::int64_t levels = 0; /* bytes of them, in front of the values */

    decoded_.clear();
    next_level_ = 0;
    if (data.num_values() < 0 || data.encoding() != parquet::Encoding::PLAIN) {
        damaged("a page of " + std::to_string(data.num_values()) + " values");
    }
    if (const auto *second = dynamic_cast<const parquet::DataPageV2 *>(&data)) {
        const std::int64_t before = second->repetition_levels_byte_length();
        const std::int32_t ours = second->definition_levels_byte_length();
        levels = before + ours;
        if (before < 0 || ours < 0 || levels > data.size()) {
            damaged("a page's levels are longer than the page");
        }
        if (null_level_ > 0) {
            levels_.SetDataV2(ours, null_level_, data.num_values(), data.data() + before);
        }
    } else if (null_level_ > 0) {
        const auto &first = dynamic_cast<const parquet::DataPageV1 &>(data);
        levels = levels_.SetData(first.definition_level_encoding(), null_level_, data.num_values(),
                                 data.data(), data.size());
    }
    at_ = data.data() + levels;
    end_ = data.data() + data.size();
    left_ = data.num_values();
    page_ = std::move(page);
}

bool PlainTexts::next_is_valid()
{
    if (null_level_ == 0) {
        return true;
    }
    if (next_level_ == decoded_.size()) {
        const auto n = static_cast<int>(std::min<std::int64_t>(left_, levels_at_once));
        decoded_.resize(levels_at_once);
        decoded_.resize(static_cast<std::size_t>(levels_.Decode(n, decoded_.data())));
        next_level_ = 0;
        if (decoded_.empty()) {
            damaged("a page has fewer levels than values");
        }
    }
    return decoded_[next_level_++] == null_level_;
}

/* Room for so many bytes of values. */
void PlainTexts::room(std::int64_t bytes)
{
    if (values_ != nullptr && values_->capacity() >= bytes) {
        return;
    }
    auto larger = blocks_->get(std::max(bytes, values_ == nullptr ? usual_ : 2 * bytes_));
    if (values_ != nullptr) {
        std::memcpy(larger->mutable_data(), values_->data(), static_cast<std::size_t>(bytes_));
    }
    values_ = std::move(larger);
}

void PlainTexts::take(std::int64_t rows, std::int64_t bytes)
{
    const std::int64_t first = rows_;
    const std::uint8_t *at = at_; /* of the page */
    std::int64_t sum = bytes_;

    /* Which rows, and where their texts will be. */
    while (left_ > 0 && rows_ < rows && sum < bytes) {
        const bool valid = next_is_valid();
        std::int64_t n = 0;
        if (valid) {
            if (end_ - at < prefix_bytes || length_at(at) > end_ - at - prefix_bytes) {
                damaged("a page ends within a text");
            }
            n = length_at(at);
            at += prefix_bytes + n;
        } else if (nulls_++ == 0) {
            valid_.assign(static_cast<std::size_t>(rows_), 1);
        }
        if (sum + n > INT32_MAX) { /* as much as a column can have: for the next one */
            next_level_ -= null_level_ > 0 ? 1 : 0;
            break;
        }
        if (nulls_ > 0) {
            valid_.push_back(valid ? 1 : 0);
        }
        sum += n;
        ends_.push_back(static_cast<std::int32_t>(sum));
        left_--;
        rows_++;
    }
    room(sum);
    std::uint8_t *out = values_->mutable_data();
    for (std::int64_t row = first; row < rows_; row++) {
        const auto k = static_cast<std::size_t>(row);
        if (nulls_ > 0 && valid_[k] == 0) {
            continue;
        }
        const std::int64_t n = ends_[k] - bytes_;
        std::memcpy(out + bytes_, at_ + prefix_bytes, static_cast<std::size_t>(n));
        at_ += prefix_bytes + n;
        bytes_ += n;
    }
}

std::shared_ptr<arrow::Array> PlainTexts::finish()
{
    const std::int64_t width = sizeof(std::int32_t);
    auto offsets = blocks_->get((rows_ + 1) * width);
    std::shared_ptr<arrow::Buffer> nulls;

    room(0);
    std::memset(offsets->mutable_data(), 0, sizeof(std::int32_t));
    std::memcpy(offsets->mutable_data() + width, ends_.data(),
                static_cast<std::size_t>(rows_ * width));
    if (nulls_ > 0) {
        nulls = blocks_->get(arrow::bit_util::BytesForBits(rows_));
        std::memset(nulls->mutable_data(), 0, static_cast<std::size_t>(nulls->size()));
        for (std::int64_t row = 0; row < rows_; row++) {
            if (valid_[static_cast<std::size_t>(row)] != 0) {
                arrow::bit_util::SetBit(nulls->mutable_data(), row);
            }
        }
    }
    auto out = arrow::MakeArray(arrow::ArrayData::Make(
        type_, rows_,
        { std::move(nulls), arrow::SliceBuffer(offsets, 0, (rows_ + 1) * width),
          arrow::SliceBuffer(std::exchange(values_, nullptr), 0, bytes_) },
        nulls_));
    usual_ = std::min(bytes_, usual_most);
    rows_ = bytes_ = nulls_ = 0;
    ends_.clear();
    valid_.clear();
    return out;
}

} /* namespace sluice_columnar */
