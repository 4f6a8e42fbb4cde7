/* CSV text into records, and records into fields: RFC 4180, and what Python's csv makes of text
 * that breaks its rules. Depends on nothing.
 *
 * Where a record ends is the same in both modes: a quote at a field's first byte opens a quoted
 * field, which ends at the next quote that is not doubled; what stands behind it up to the
 * delimiter belongs to the field. Lines end with LF or CR LF. */
#ifndef READ_CSV_SPLIT_H
#define READ_CSV_SPLIT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice_csv
{

struct Dialect {
    char delimiter = ',';
    char quote = '"'; /* NUL = there is none */
    bool strict = true;
    std::uint64_t max_record = std::uint64_t{ 16 } << 20;
};

/* A record: its bytes without the line's end, valid until the next feed. */
struct Record {
    const char *data = nullptr;
    std::size_t n = 0;
    std::uint64_t begin = 0, end = 0; /* in the text; end is behind the line's end */
    bool quotes = false;              /* it holds some */
    const char *fault = nullptr; /* a reason to quarantine it; then data may be its head only */
};

class Splitter
{
  public:
    explicit Splitter(const Dialect &dialect) : dialect_(dialect)
    {
    }
    /* Text that begins at a record, which is that byte of the whole; at byte 0 a byte order mark is
     * passed over. */
    void begin(std::uint64_t offset);
    void feed(const char *data, std::size_t n);
    void end(); /* nothing more comes */

    enum class Got { record, more, end };
    /* The next record. Blank lines are none where the mode is tolerant. A record of more than
     * max_record bytes, or one whose quote is not closed: in the strict mode it throws
     * sluice::error, with the byte; else the record is its first line, with a fault. */
    Got next(Record &out);

  private:
    const char *find_end(const char *at, const char *end, bool &open, bool &quotes);
    const char *find_close(const char *quote, const char *end);
    const char *next_quote(const char *at, const char *end);
    Got hopeless(const char *at, Record &out);
    Got skip_line(Record &out);
    std::uint64_t place(const char *at) const
    {
        return base_ + static_cast<std::uint64_t>(at - window_.data());
    }

    Dialect dialect_;
    std::string window_;
    std::size_t at_ = 0;      /* done with */
    std::uint64_t base_ = 0;  /* of the window in the text */
    std::uint64_t quote_ = 0; /* a known quote, or where there is none before */
    std::uint64_t no_close_from_ = 0, no_close_to_ = 0; /* no quoted field ends in there */
    std::uint64_t line_begin_ = 0;                      /* of the one that is skipped */
    bool ended_ = false, skipping_ = false;
};

struct Field {
    const char *data;
    std::size_t n;
    bool quoted;
};

/* The fields of a record; scratch holds those that are not as they stand. What it returns is what
 * breaks RFC 4180: "bad_quote", "bare_cr", "nul_byte"; NULL = nothing. The fields are good in any
 * case. */
const char *split_fields(const Dialect &dialect, const Record &record, std::vector<Field> &out,
                         std::string &scratch);

} /* namespace sluice_csv */

#endif
