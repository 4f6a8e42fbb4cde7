/* Calls of the library, whose exceptions and statuses become errors about a file. */
#ifndef COLUMNAR_GUARD_H
#define COLUMNAR_GUARD_H

#include <cstdint>
#include <new>
#include <string>

#include <arrow/status.h>

#include "sluice.hpp"

namespace sluice_columnar
{

struct Extent {
    std::uint64_t offset, n; /* bytes of the file */
};

/* Runs something of the library; what it throws becomes a sluice::error about the file. */
template <class Body> decltype(auto) guarded_data(const char *what, Body &&body)
{
    try {
        return body();
    } catch (const sluice::error &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &e) {
        throw sluice::error(SLUICE_E_DATA, std::string(what) + " is damaged: " + e.what());
    }
}

/* The same for what it returns. */
void check_arrow(const arrow::Status &status, const char *what);

} /* namespace sluice_columnar */

#endif
