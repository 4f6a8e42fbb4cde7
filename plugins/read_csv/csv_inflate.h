/* Compressed bytes that come in pieces, decoded in pieces. gzip and zstd, also several of them one
 * behind the other. */
#ifndef READ_CSV_INFLATE_H
#define READ_CSV_INFLATE_H

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sluice_csv
{

enum class Codec : char { none = '-', gzip = 'g', zstd = 'z' };

/* By a file's first bytes. */
Codec codec_of(std::string_view first);

class Inflater
{
  public:
    explicit Inflater(Codec codec); /* not none */
    ~Inflater();
    void feed(std::string_view piece);
    /* Replaces out by at most `most` decoded bytes; false: there are none before more is fed.
     * Throws sluice::error, SLUICE_E_DATA, for what is damaged. */
    bool next(std::string &out, std::size_t most);
    bool complete() const; /* all that was fed is whole */

  private:
    struct Streams;
    std::unique_ptr<Streams> streams_;
    std::string in_;
    std::size_t at_ = 0;
};

} /* namespace sluice_csv */

#endif
