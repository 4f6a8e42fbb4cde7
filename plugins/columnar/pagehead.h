/* The head of a page: what stands before its bytes. */
#ifndef COLUMNAR_PAGEHEAD_H
#define COLUMNAR_PAGEHEAD_H

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice_columnar
{

struct PageHead {
    std::uint64_t head_bytes = 0, bytes = 0; /* stored */
    std::int64_t decoded_bytes = 0;
    std::int32_t type = 0;
    std::int32_t encoding =
        -1; /* of a data page's values, as parquet::Encoding; -1: none is said */
};
/* Reads one; false: it has more bytes than these. Throws sluice::error for what is none. */
bool read_page_head(std::string_view bytes, PageHead &out);

/* Throws sluice::error about a row group. */
[[noreturn]] void bad_page(const std::string &what);

} /* namespace sluice_columnar */

#endif
