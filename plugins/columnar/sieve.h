/* The units of a surveyed file, and which of them an expression rules out: by the file's path, by
 * statistics, by Bloom filters, which it asks for. No I/O. */
#ifndef COLUMNAR_SIEVE_H
#define COLUMNAR_SIEVE_H

#include <memory>
#include <string>
#include <vector>

#include "predicate.h"

namespace sluice_columnar
{

class Sieve
{
  public:
    /* footer: its bytes. */
    Sieve(std::string_view footer, std::uint64_t file_bytes);
    /* Before the first question. An expression that the file does not fit rules nothing out:
     * whoever reads it will say so. statistics: they and Bloom filters are believed. */
    void set_where(const where &expression, const std::vector<Partition> &parts, bool fill,
                   bool statistics);
    /* What to ask for next; nothing: it is done. */
    std::vector<Extent> questions();
    void answer(const std::vector<std::string_view> &answers);
    void give(sluice::emitter &out) const;

  private:
    struct Open { /* a row group with filters to look at */
        std::size_t unit;
        std::vector<Probe> probes;
    };
    std::string bytes_;
    std::uint64_t file_bytes_;
    Footer footer_;
    std::vector<RowGroup> groups_;
    std::vector<const char *> skips_; /* one a row group; NULL = it is read */
    std::unique_ptr<Predicate> predicate_;
    std::vector<Open> open_;
    std::size_t next_ = 0, asked_ = 0; /* of these: answered up to, asked up to */
};

} /* namespace sluice_columnar */

#endif
