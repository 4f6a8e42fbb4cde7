/* Memory of batches, kept for the next ones: fresh memory costs a page fault for each of its pages,
 * which is more than decoding into it costs. */
#ifndef COLUMNAR_BLOCKS_H
#define COLUMNAR_BLOCKS_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/buffer.h>

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
    /* A buffer of n bytes or some more; its contents are anything. */
    std::shared_ptr<arrow::Buffer> get(std::int64_t n);

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
    std::uint8_t *find(std::int64_t &size);
    void put(std::uint8_t *at, std::int64_t size);
    std::mutex lock_;
    std::vector<Free> free_;
    std::int64_t kept_ = 0; /* bytes of free_ */
};

} /* namespace sluice_columnar */

#endif
