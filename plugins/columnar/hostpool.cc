/* See hostpool.h. */
#include "hostpool.h"

#include <algorithm>
#include <cstring>

namespace sluice_columnar
{

namespace
{

/* What no bytes are: a place that is none of the host's. */
alignas(64) std::uint8_t nothing[64];

/* The block of the host's is kept in front of what is given. */
void *&block_of(std::uint8_t *given)
{
    return reinterpret_cast<void **>(given)[-1];
}

} /* namespace */

arrow::Status HostPool::Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t **out)
{
    if (size == 0) {
        *out = nothing;
        return arrow::Status::OK();
    }
    if (size < 0 || size > INT64_MAX / 2 || alignment < 1 || alignment > 4096) {
        return arrow::Status::OutOfMemory("no memory for ", size, " bytes");
    }
    const auto apart = static_cast<std::uintptr_t>(std::max<std::int64_t>(alignment, 16));
    void *block = nullptr;
    try {
        block = host_.alloc(static_cast<std::uint64_t>(size) + apart + sizeof(void *));
    } catch (const std::bad_alloc &) {
        refused_ = true;
        return arrow::Status::OutOfMemory("no memory for ", size, " bytes");
    }
    const std::uintptr_t least = reinterpret_cast<std::uintptr_t>(block) + sizeof(void *);
    *out = reinterpret_cast<std::uint8_t *>((least + apart - 1) / apart * apart);
    block_of(*out) = block;
    allocated_ += size;
    total_ += size;
    calls_++;
    return arrow::Status::OK();
}

arrow::Status HostPool::Reallocate(std::int64_t old_size, std::int64_t new_size,
                                   std::int64_t alignment, std::uint8_t **ptr)
{
    /* Shrinking to fit is not worth a copy. */
    if (old_size > 0 && new_size <= old_size && new_size >= old_size / 2) {
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

void HostPool::Free(std::uint8_t *buffer, std::int64_t size, std::int64_t /*alignment*/)
{
    if (buffer != nothing && buffer != nullptr) {
        allocated_ -= size;
        host_.free(block_of(buffer));
    }
}

arrow::Status HostSink::Write(const void *data, std::int64_t n)
{
    if (out_ == nullptr || refused_ != nullptr) {
        return arrow::Status::IOError("nothing is written between two calls");
    }
    try {
        out_->write({ static_cast<const char *>(data), static_cast<std::size_t>(n) });
    } catch (...) {
        refused_ = std::current_exception();
        return arrow::Status::IOError("the host refused what was written");
    }
    at_ += n;
    return arrow::Status::OK();
}

void HostSink::rethrow()
{
    if (refused_ != nullptr) {
        std::rethrow_exception(std::exchange(refused_, nullptr));
    }
}

void check_made(const arrow::Status &status, const char *what)
{
    if (status.IsOutOfMemory()) {
        throw std::bad_alloc();
    }
    if (!status.ok()) {
        throw sluice::error(SLUICE_E_INTERNAL,
                            std::string(what) + " can't be made: " + status.message());
    }
}

void guarded_write(const char *what, HostSink &sink, HostPool &pool,
                   const std::function<void()> &body)
{
    try {
        body();
    } catch (const std::exception &e) {
        if (pool.take_refusal()) {
            throw std::bad_alloc();
        }
        sink.rethrow();
        if (dynamic_cast<const sluice::error *>(&e) != nullptr ||
            dynamic_cast<const std::bad_alloc *>(&e) != nullptr) {
            throw;
        }
        throw sluice::error(SLUICE_E_INTERNAL, std::string(what) + " can't be made: " + e.what());
    }
}

} /* namespace sluice_columnar */
