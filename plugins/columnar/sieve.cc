/* See sieve.h. */
#include "sieve.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <parquet/properties.h>

namespace sluice_columnar
{

namespace
{

constexpr std::uint64_t asked_bytes = std::uint64_t{ 8 } << 20; /* at once, about */
/* A filter is looked at where it is much less than what it may spare. */
constexpr std::uint64_t least_saving = 4;

std::unique_ptr<parquet::BloomFilter> filter_of(std::string_view bytes)
{
    try {
        arrow::io::BufferReader stream(
            std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t *>(bytes.data()),
                                            static_cast<std::int64_t>(bytes.size())));
        return std::make_unique<parquet::BlockSplitBloomFilter>(
            parquet::BlockSplitBloomFilter::Deserialize(parquet::default_reader_properties(),
                                                        &stream,
                                                        static_cast<std::int64_t>(bytes.size())));
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &) {
        return nullptr; /* one that can't be read says nothing */
    }
}

} /* namespace */

Sieve::Sieve(std::string_view footer, std::uint64_t file_bytes)
    : bytes_(footer), file_bytes_(file_bytes), footer_(bytes_),
      groups_(footer_.row_groups(file_bytes)), skips_(groups_.size(), nullptr)
{
}

void Sieve::set_where(const where &expression, const std::vector<Partition> &parts, bool fill,
                      bool statistics)
{
    try {
        predicate_ = std::make_unique<Predicate>(expression, footer_, parts, fill);
    } catch (const sluice::error &) {
        return;
    }
    const char *all = predicate_->ruled_out();
    for (std::size_t k = 0; k < groups_.size(); k++) {
        const int group = footer_.number_of(k);
        skips_[k] = all != nullptr || !statistics ? all : predicate_->ruled_out(group);
        if (skips_[k] != nullptr || !statistics) {
            continue;
        }
        std::uint64_t bytes = 0;
        Open open = { k, predicate_->probes(group, file_bytes_) };
        for (const Probe &probe : open.probes) {
            bytes += probe.extent.n;
        }
        if (bytes > 0 && bytes <= (groups_[k].end - groups_[k].begin) / least_saving) {
            open_.push_back(std::move(open));
        }
    }
}

std::vector<Extent> Sieve::questions()
{
    std::vector<Extent> out;
    std::uint64_t bytes = 0;

    for (asked_ = next_; asked_ < open_.size() && bytes < asked_bytes; asked_++) {
        for (const Probe &probe : open_[asked_].probes) {
            out.push_back(probe.extent);
            bytes += probe.extent.n;
        }
    }
    return out;
}

void Sieve::answer(const std::vector<std::string_view> &answers)
{
    std::size_t at = 0;

    for (; next_ < asked_; next_++) {
        Open &open = open_[next_];
        for (Probe &probe : open.probes) {
            probe.filter = filter_of(answers.at(at++));
        }
        if (!predicate_->may_hold(footer_.number_of(open.unit), open.probes)) {
            skips_[open.unit] = "bloom";
        }
        open.probes.clear();
    }
}

void Sieve::give(sluice::emitter &out) const
{
    for (std::size_t k = 0; k < groups_.size(); k++) {
        sluice_unit unit{};
        unit.begin = groups_[k].begin;
        unit.end = groups_[k].end;
        unit.rows = groups_[k].rows;
        unit.skip = skips_[k];
        out.unit(unit);
    }
    out.describe(bytes_);
}

} /* namespace sluice_columnar */
