/* The host's memory, and an open file of the host's, as the library wants them. */
#ifndef COLUMNAR_HOSTPOOL_H
#define COLUMNAR_HOSTPOOL_H

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>

#include "sluice.hpp"

namespace sluice_columnar
{

/* Counted against the run's budget. One thread at a time; outlives what it gave. */
class HostPool : public arrow::MemoryPool
{
  public:
    explicit HostPool(const sluice::host_services &host) : host_(host)
    {
    }
    ~HostPool() override = default;
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
    /* Was something refused since the last time that it was asked? The library tells it as another
     * error now and then. */
    bool take_refusal()
    {
        return std::exchange(refused_, false);
    }
    std::string backend_name() const override
    {
        return "sluice";
    }

  private:
    const sluice::host_services &host_;
    std::int64_t allocated_ = 0, total_ = 0, calls_ = 0;
    bool refused_ = false;
};

/* What is written goes to the host during a call of it, and is refused between two. */
class HostSink : public arrow::io::OutputStream
{
  public:
    HostSink() = default;
    ~HostSink() override = default;
    /* The output of the call that has begun; NULL: it is over. */
    void use(sluice::emitter *out)
    {
        out_ = out;
    }
    /* A new file begins. */
    void rewind()
    {
        at_ = 0;
    }
    std::int64_t size() const
    {
        return at_;
    }
    /* Throws what the host said, if it refused something. */
    void rethrow();

    arrow::Status Write(const void *data, std::int64_t n) override;
    arrow::Status Close() override
    {
        return arrow::Status::OK();
    }
    arrow::Result<std::int64_t> Tell() const override
    {
        return at_;
    }
    bool closed() const override
    {
        return false;
    }

  private:
    sluice::emitter *out_ = nullptr;
    std::int64_t at_ = 0;
    std::exception_ptr refused_;
};

/* Lets a sink write in the call of the host at hand. */
class SinkCall
{
  public:
    SinkCall(HostSink &sink, sluice::emitter &out) : sink_(sink)
    {
        sink_.use(&out);
    }
    SinkCall(const SinkCall &) = delete;
    SinkCall &operator=(const SinkCall &) = delete;
    ~SinkCall()
    {
        sink_.use(nullptr);
    }

  private:
    HostSink &sink_;
};

/* Runs something of the library that writes; what it throws becomes an error of ours: of memory as
 * such. */
void guarded_write(const char *what, HostSink &sink, HostPool &pool,
                   const std::function<void()> &body);
/* The same for what it returns. */
void check_made(const arrow::Status &status, const char *what);
template <class T> T made(arrow::Result<T> &&result, const char *what)
{
    check_made(result.status(), what);
    return std::move(result).ValueUnsafe();
}

} /* namespace sluice_columnar */

#endif
