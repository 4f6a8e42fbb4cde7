/* Memory of batches, kept for the next ones: fresh memory costs a page fault for each of its pages,
 * which is more than decoding into it costs. */
#ifndef COLUMNAR_BLOCKS_H
#define COLUMNAR_BLOCKS_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

namespace sluice_columnar
{

/* Blocks of the library's own pool. They come back from any thread, and may outlive whoever asked
 * for them. */
class Blocks : public std::enable_shared_from_this<Blocks>
{
  public:
    static std::shared_ptr<Blocks> create()
    {
        return std::shared_ptr<Blocks>(new Blocks);
    }
    Blocks(const Blocks &) = delete;
    Blocks &operator=(const Blocks &) = delete;
    ~Blocks();
    /* A buffer of n bytes or some more, to be given away; its contents are anything. */
    std::shared_ptr<arrow::Buffer> get(std::int64_t n)
    {
        return take(n, 2 * n);
    }
    /* The same for what stays here: it may be much larger. */
    std::shared_ptr<arrow::Buffer> get_for_work(std::int64_t n)
    {
        return take(n, INT64_MAX);
    }

  private:
    class Block;
    struct Free {
        std::uint8_t *at;
        std::int64_t size;
    };
    Blocks()
    {
        free_.reserve(32);
    }
    std::shared_ptr<arrow::Buffer> take(std::int64_t n, std::int64_t most);
    std::uint8_t *find(std::int64_t &size, std::int64_t most);
    void put(std::uint8_t *at, std::int64_t size);
    std::mutex lock_;
    std::vector<Free> free_;
    std::int64_t kept_ = 0, out_ = 0; /* bytes of free_, of what was given */
};

/* The same for what the library asks for, and gives back within the pool's life. One thread at a
 * time. */
class BlockPool : public arrow::MemoryPool
{
  public:
    explicit BlockPool(std::shared_ptr<Blocks> blocks) : blocks_(std::move(blocks))
    {
    }
    ~BlockPool() override = default;
    using arrow::MemoryPool::Allocate;
    using arrow::MemoryPool::Free;
    using arrow::MemoryPool::Reallocate;
    arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t **out) override;
    arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                             std::uint8_t **ptr) override;
    void Free(std::uint8_t *buffer, std::int64_t size, std::int64_t alignment) override;
    std::int64_t bytes_allocated() const override
    {
        return allocated_;
    }
    std::int64_t total_bytes_allocated() const override
    {
        return total_;
    }
    std::int64_t num_allocations() const override
    {
        return calls_;
    }
    std::string backend_name() const override
    {
        return "blocks";
    }

  private:
    using Given = std::vector<std::shared_ptr<arrow::Buffer>>;
    Given::iterator find(const std::uint8_t *at);
    const std::shared_ptr<Blocks> blocks_;
    Given given_;
    std::int64_t allocated_ = 0, total_ = 0, calls_ = 0;
};

} /* namespace sluice_columnar */

#endif
