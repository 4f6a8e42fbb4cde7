/* See blocks.h. */
#include "blocks.h"

#include <algorithm>
#include <new>

#include <arrow/memory_pool.h>

namespace sluice_columnar
{

namespace
{

constexpr std::int64_t small_bytes = std::int64_t{ 64 } << 10; /* the library's pool keeps these */
constexpr std::int64_t step_bytes = std::int64_t{ 256 } << 10; /* sizes are multiples of it */
constexpr std::int64_t kept_most = std::int64_t{ 6 } << 20;

} /* namespace */

/* What is to be given back goes to where it came from. */
class Blocks::Block : public arrow::MutableBuffer
{
  public:
    Block(std::shared_ptr<Blocks> home, std::uint8_t *at, std::int64_t size)
        : arrow::MutableBuffer(at, size), home_(std::move(home)), at_(at)
    {
        capacity_ = size;
    }
    ~Block() override
    {
        home_->put(at_, capacity_);
    }

  private:
    std::shared_ptr<Blocks> home_;
    std::uint8_t *at_;
};

Blocks::~Blocks()
{
    for (const Free &one : free_) {
        arrow::default_memory_pool()->Free(one.at, one.size);
    }
}

/* The smallest that fits and is not much too large, which then is nobody's. */
std::uint8_t *Blocks::find(std::int64_t &size)
{
    const std::lock_guard<std::mutex> guard(lock_);
    auto best = free_.end();

    for (auto one = free_.begin(); one != free_.end(); ++one) {
        if (one->size >= size && one->size / 2 <= size &&
            (best == free_.end() || one->size < best->size)) {
            best = one;
        }
    }
    if (best == free_.end()) {
        return nullptr;
    }
    std::uint8_t *at = best->at;
    size = best->size;
    kept_ -= size;
    free_.erase(best);
    return at;
}

std::shared_ptr<arrow::Buffer> Blocks::get(std::int64_t n)
{
    std::int64_t size = n;
    std::uint8_t *at = nullptr;

    if (n > small_bytes) {
        size = (n + step_bytes - 1) / step_bytes * step_bytes;
        at = find(size);
    }
    if (at == nullptr && !arrow::default_memory_pool()->Allocate(size, &at).ok()) {
        throw std::bad_alloc();
    }
    try {
        return std::make_shared<Block>(shared_from_this(), at, size);
    } catch (...) {
        arrow::default_memory_pool()->Free(at, size);
        throw;
    }
}

/* The oldest ones make room: sizes that are asked for no more would stay for ever. */
void Blocks::put(std::uint8_t *at, std::int64_t size)
{
    const std::lock_guard<std::mutex> guard(lock_);

    if (size <= small_bytes || size > kept_most) {
        arrow::default_memory_pool()->Free(at, size);
        return;
    }
    while (kept_ + size > kept_most || free_.size() == free_.capacity()) {
        arrow::default_memory_pool()->Free(free_.front().at, free_.front().size);
        kept_ -= free_.front().size;
        free_.erase(free_.begin());
    }
    free_.push_back({ at, size });
    kept_ += size;
}

} /* namespace sluice_columnar */
