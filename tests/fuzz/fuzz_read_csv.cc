/* Fuzzes what read_csv makes of text: records, their fields, values, and compressed bytes. Beside
 * what the sanitizers find: records stand one behind the other and cover the text; they are the
 * same in whatever pieces the text comes, and where it is read from a record's begin alone, which
 * is how units are read; a field that is split again is itself. The first byte chooses the
 * dialect. */
#include <cstdlib>
#include <cstring>
#include <vector>

#include "read_csv/csv_inflate.h"
#include "read_csv/csv_split.h"
#include "read_csv/csv_value.h"
#include "sluice.hpp"

namespace
{

void require(bool condition)
{
    if (!condition) {
        std::abort();
    }
}

struct Seen {
    std::uint64_t begin, end;
    std::string fault;
    std::size_t fields;
    bool operator==(const Seen &other) const
    {
        return begin == other.begin && end == other.end && fault == other.fault &&
               fields == other.fields;
    }
};

/* All records of the text from `from` on, which is given in pieces. */
std::vector<Seen> records(const sluice_csv::Dialect &dialect, std::string_view text,
                          std::size_t from, std::size_t to, std::size_t piece)
{
    sluice_csv::Splitter splitter(dialect);
    sluice_csv::Record record;
    std::vector<sluice_csv::Field> fields;
    std::vector<Seen> out;
    std::string scratch;

    splitter.begin(from);
    for (;;) {
        switch (splitter.next(record)) {
        case sluice_csv::Splitter::Got::record:
            if (record.fault == nullptr) {
                sluice_csv::split_fields(dialect, record, fields, scratch);
                for (const auto &field : fields) {
                    std::int64_t whole;
                    double number;
                    sluice_csv::Guess guess;
                    const std::string_view value(field.data, field.n);
                    sluice_csv::parse_integer(value, whole);
                    sluice_csv::parse_real(value, number);
                    guess.see(value);
                }
            }
            out.push_back({ record.begin, record.end, record.fault == nullptr ? "" : record.fault,
                            record.fault == nullptr ? fields.size() : 0 });
            require(out.size() <= text.size());
            break;
        case sluice_csv::Splitter::Got::more:
            if (from == to) {
                splitter.end();
            } else {
                const std::size_t n = std::min(piece, to - from);
                splitter.feed(text.data() + from, n);
                from += n;
            }
            break;
        default:
            return out;
        }
    }
}

void inflate(sluice_csv::Codec codec, std::string_view bytes)
{
    try {
        sluice_csv::Inflater inflater(codec);
        std::string out;
        std::size_t all = 0;
        for (std::size_t at = 0; at < bytes.size(); at += 7) {
            inflater.feed(bytes.substr(at, 7));
            while (all < (std::size_t{ 1 } << 20) && inflater.next(out, 1000)) {
                all += out.size();
            }
        }
        (void)inflater.complete();
    } catch (const sluice::error &) {
    }
}

} /* namespace */

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    sluice_csv::Dialect dialect;

    if (size < 2) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char *>(data + 1), size - 1);
    if ((data[0] & 0x80) != 0) {
        inflate((data[0] & 1) != 0 ? sluice_csv::Codec::gzip : sluice_csv::Codec::zstd, text);
        return 0;
    }
    dialect.strict = (data[0] & 1) != 0;
    dialect.quote = (data[0] & 2) != 0 ? '"' : '\0';
    dialect.max_record = (data[0] & 4) != 0 ? 40 : 1 << 20;
    try {
        const std::vector<Seen> whole = records(dialect, text, 0, text.size(), text.size());
        std::uint64_t behind = 0;
        for (const Seen &one : whole) {
            require(one.begin >= behind && one.end > one.begin && one.end <= text.size());
            behind = one.end;
        }
        require(records(dialect, text, 0, text.size(), 1) == whole);
        require(records(dialect, text, 0, text.size(), 13) == whole);
        if (!whole.empty()) { /* a unit of some of them */
            const std::size_t first = data[0] % whole.size();
            const std::size_t last = first + (whole.size() - first) / 2;
            std::vector<Seen> part(whole.begin() + static_cast<std::ptrdiff_t>(first),
                                   whole.begin() + static_cast<std::ptrdiff_t>(last) + 1);
            require(records(dialect, text, part.front().begin, part.back().end, 9) == part ||
                    last >= whole.size());
        }
    } catch (const sluice::error &) {
        require(dialect.strict);
    }
    return 0;
}
