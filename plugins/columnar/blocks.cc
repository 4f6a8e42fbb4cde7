/* See blocks.h. */
#include "blocks.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace sluice_columnar
{

namespace
{

constexpr std::int64_t small_bytes = std::int64_t{ 64 } << 10; /* the library's pool keeps these */
constexpr std::int64_t step_bytes = std::int64_t{ 256 } << 10; /* sizes are multiples of it */
constexpr std::int64_t all_most = std::int64_t{ 24 } << 20;    /* with what is given */

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

/* The smallest that fits, which then is nobody's. */
std::uint8_t *Blocks::find(std::int64_t &size, std::int64_t most)
{
    auto best = free_.end();

    for (auto one = free_.begin(); one != free_.end(); ++one) {
        if (one->size >= size && one->size <= most &&
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

std::shared_ptr<arrow::Buffer> Blocks::take(std::int64_t n, std::int64_t most)
{
    std::int64_t size = n;
    std::uint8_t *at = nullptr;

    if (n > small_bytes) {
        const std::lock_guard<std::mutex> guard(lock_);
        size = (n + step_bytes - 1) / step_bytes * step_bytes;
        at = find(size, std::max(size, most));
        out_ += size;
    }
    if (at == nullptr && !arrow::default_memory_pool()->Allocate(size, &at).ok()) {
        throw std::bad_alloc();
    }
    try {
        return std::make_shared<Block>(shared_from_this(), at, size);
    } catch (...) {
        put(at, size);
        throw;
    }
}

/* The oldest ones make room: sizes that are asked for no more would stay for ever. */
void Blocks::put(std::uint8_t *at, std::int64_t size)
{
    if (size <= small_bytes) {
        arrow::default_memory_pool()->Free(at, size);
        return;
    }
    const std::lock_guard<std::mutex> guard(lock_);
    out_ -= size;
    while (!free_.empty() && (out_ + kept_ + size > all_most || free_.size() == free_.capacity())) {
        arrow::default_memory_pool()->Free(free_.front().at, free_.front().size);
        kept_ -= free_.front().size;
        free_.erase(free_.begin());
    }
    if (out_ + size > all_most) {
        arrow::default_memory_pool()->Free(at, size);
        return;
    }
    free_.push_back({ at, size });
    kept_ += size;
}

/* ---- for the library ---- */

BlockPool::Given::iterator BlockPool::find(const std::uint8_t *at)
{
    return std::find_if(given_.begin(), given_.end(),
                        [at](const auto &one) { return one->data() == at; });
}

arrow::Status BlockPool::Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t **out)
{
    if (size < 0 || size > INT64_MAX / 2 || alignment > arrow::kDefaultBufferAlignment) {
        return arrow::Status::OutOfMemory("no memory for ", size, " bytes");
    }
    try {
        given_.push_back(blocks_->get_for_work(size + size / 8)); /* the next is a little larger */
    } catch (const std::bad_alloc &) {
        return arrow::Status::OutOfMemory("no memory for ", size, " bytes");
    }
    *out = given_.back()->mutable_data();
    allocated_ += size;
    total_ += size;
    calls_++;
    return arrow::Status::OK();
}

arrow::Status BlockPool::Reallocate(std::int64_t old_size, std::int64_t new_size,
                                    std::int64_t alignment, std::uint8_t **ptr)
{
    const auto block = find(*ptr);

    if (block != given_.end() && new_size <= (*block)->capacity()) {
        allocated_ += new_size - old_size;
        return arrow::Status::OK();
    }
    std::uint8_t *out = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &out));
    std::memcpy(out, *ptr, static_cast<std::size_t>(std::min(old_size, new_size)));
    Free(*ptr, old_size, alignment);
    *ptr = out;
    return arrow::Status::OK();
}

void BlockPool::Free(std::uint8_t *buffer, std::int64_t size, std::int64_t /*alignment*/)
{
    const auto block = find(buffer);

    if (block != given_.end()) {
        given_.erase(block);
        allocated_ -= size;
    }
}

} /* namespace sluice_columnar */
