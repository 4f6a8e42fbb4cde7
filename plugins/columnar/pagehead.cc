/* See pagehead.h. */
#include "pagehead.h"

#include <string>

#include "sluice.hpp"

namespace sluice_columnar
{

namespace
{

constexpr std::uint64_t head_most = std::uint64_t{ 16 } << 20;
constexpr int depth_most = 16;

/* Thrift's compact protocol, as far as it is needed to find the end of a page's head. */
class Thrift
{
  public:
    explicit Thrift(std::string_view bytes) : bytes_(bytes)
    {
    }
    struct Short {
    };
    std::uint64_t number()
    {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const unsigned char c = byte();
            out |= static_cast<std::uint64_t>(c & 0x7F) << shift;
            if (c < 0x80) {
                return out;
            }
        }
        bad_page("a page's head has a number without an end");
    }
    std::int64_t signed_number()
    {
        const std::uint64_t n = number();
        return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
    }
    /* The next field of a struct; 0: it has no more. */
    unsigned field(std::int64_t &id)
    {
        const unsigned char c = byte();
        const unsigned delta = c >> 4;
        if (c == 0) {
            return 0;
        }
        id = delta == 0 ? signed_number() : id + delta;
        return c & 15;
    }
    void skip(unsigned type, int depth)
    {
        if (depth > depth_most) {
            bad_page("a page's head is nested too deeply");
        }
        switch (type) {
        case 1: /* true, false */
        case 2:
            return;
        case 3:
            pass(1);
            return;
        case 4:
        case 5:
        case 6:
            number();
            return;
        case 7:
            pass(8);
            return;
        case 8:
            pass(number());
            return;
        case 9: /* lists, sets */
        case 10:
            skip_list(depth);
            return;
        case 12: {
            std::int64_t id = 0;
            for (unsigned inner = field(id); inner != 0; inner = field(id)) {
                skip(inner, depth + 1);
            }
            return;
        }
        default:
            bad_page("a page's head has a field of type " + std::to_string(type));
        }
    }
    std::uint64_t at() const
    {
        return at_;
    }

  private:
    unsigned char byte()
    {
        if (at_ == bytes_.size()) {
            throw Short();
        }
        return static_cast<unsigned char>(bytes_[at_++]);
    }
    void pass(std::uint64_t n)
    {
        if (n > head_most) {
            bad_page("a page's head would have " + std::to_string(n) + " bytes");
        }
        if (n > bytes_.size() - at_) {
            throw Short();
        }
        at_ += n;
    }
    void skip_list(int depth)
    {
        const unsigned char c = byte();
        const std::uint64_t n = c >> 4 == 15 ? number() : c >> 4;
        const unsigned type = c & 15;
        if (n > head_most) {
            bad_page("a page's head has a list of " + std::to_string(n));
        }
        for (std::uint64_t k = 0; k < n; k++) {
            if (type == 1 || type == 2) {
                pass(1);
            } else {
                skip(type, depth + 1);
            }
        }
    }
    std::string_view bytes_;
    std::uint64_t at_ = 0;
};

/* What the head of a data page says in the field of this number. */
std::int32_t encoding_of(Thrift &thrift, std::int64_t field)
{
    std::int32_t out = -1;
    std::int64_t id = 0;

    for (unsigned type = thrift.field(id); type != 0; type = thrift.field(id)) {
        if (type == 5 && id == field) {
            out = static_cast<std::int32_t>(thrift.signed_number());
        } else {
            thrift.skip(type, 1);
        }
    }
    return out;
}

} /* namespace */

void bad_page(const std::string &what)
{
    throw sluice::error(SLUICE_E_DATA, "the row group is damaged: " + what);
}

bool read_page_head(std::string_view bytes, PageHead &out)
{
    Thrift thrift(bytes);
    std::int64_t id = 0;

    out = PageHead();
    out.decoded_bytes = -1;
    try {
        std::int64_t stored = -1;
        for (unsigned type = thrift.field(id); type != 0; type = thrift.field(id)) {
            if (type == 5 && id >= 1 && id <= 3) {
                const std::int64_t value = thrift.signed_number();
                (id == 2 ? out.decoded_bytes : stored) = id == 1 ? stored : value;
                out.type = id == 1 ? static_cast<std::int32_t>(value) : out.type;
            } else if (type == 12 && (id == 5 || id == 8)) {
                out.encoding = encoding_of(thrift, id == 5 ? 2 : 4);
            } else {
                thrift.skip(type, 0);
            }
        }
        if (stored < 0 || stored > INT32_MAX || out.decoded_bytes < 0 ||
            out.decoded_bytes > INT32_MAX) {
            bad_page("a page would have " + std::to_string(stored) + " bytes");
        }
        out.head_bytes = thrift.at();
        out.bytes = static_cast<std::uint64_t>(stored);
        return true;
    } catch (const Thrift::Short &) {
        if (bytes.size() > head_most) {
            bad_page("a page's head has no end");
        }
        return false;
    }
}

} /* namespace sluice_columnar */
