/* See guard.h. */
#include "guard.h"

namespace sluice_columnar
{

void check_arrow(const arrow::Status &status, const char *what)
{
    if (status.IsOutOfMemory()) {
        throw std::bad_alloc();
    }
    if (!status.ok()) {
        throw sluice::error(SLUICE_E_DATA, std::string(what) + " is damaged: " + status.message());
    }
}

} /* namespace sluice_columnar */
