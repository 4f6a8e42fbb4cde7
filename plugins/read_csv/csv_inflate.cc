/* See csv_inflate.h. */
#include "csv_inflate.h"

#include <new>

#include <zlib.h>
#include <zstd.h>

#include "sluice.hpp"

namespace sluice_csv
{

namespace
{

[[noreturn]] void damaged(const std::string &what)
{
    throw sluice::error(SLUICE_E_DATA, "the compressed data is damaged: " + what);
}

} /* namespace */

struct Inflater::Streams {
    ZSTD_DStream *zstd = nullptr;
    z_stream gzip = {};
    bool is_gzip = false, begun = false; /* begun: inside of a frame or member */

    explicit Streams(Codec codec) : is_gzip(codec == Codec::gzip)
    {
        if (is_gzip ? inflateInit2(&gzip, 15 + 16) != Z_OK
                    : (zstd = ZSTD_createDStream()) == nullptr) {
            throw std::bad_alloc();
        }
    }
    Streams(const Streams &) = delete;
    Streams &operator=(const Streams &) = delete;
    ~Streams()
    {
        if (is_gzip) {
            inflateEnd(&gzip);
        } else {
            ZSTD_freeDStream(zstd);
        }
    }
    void step_zstd(ZSTD_inBuffer &in, ZSTD_outBuffer &out)
    {
        const std::size_t left = ZSTD_decompressStream(zstd, &out, &in);
        if (ZSTD_isError(left)) {
            damaged(ZSTD_getErrorName(left));
        }
        begun = left != 0;
    }
    void step_gzip(ZSTD_inBuffer &in, ZSTD_outBuffer &out)
    {
        gzip.next_in = static_cast<Bytef *>(const_cast<void *>(in.src)) + in.pos;
        gzip.avail_in = static_cast<uInt>(in.size - in.pos);
        gzip.next_out = static_cast<Bytef *>(out.dst) + out.pos;
        gzip.avail_out = static_cast<uInt>(out.size - out.pos);
        const int status = inflate(&gzip, Z_NO_FLUSH);
        begun = true;
        if (status == Z_STREAM_END) {
            begun = false;
            inflateReset(&gzip);
        } else if (status == Z_MEM_ERROR) {
            throw std::bad_alloc();
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            damaged(gzip.msg != nullptr ? gzip.msg : "it is no gzip");
        }
        in.pos = in.size - gzip.avail_in;
        out.pos = out.size - gzip.avail_out;
    }
};

Codec codec_of(std::string_view first)
{
    return first.substr(0, 4) == "\x28\xb5\x2f\xfd" ? Codec::zstd
           : first.substr(0, 2) == "\x1f\x8b"       ? Codec::gzip
                                                    : Codec::none;
}

Inflater::Inflater(Codec codec) : streams_(std::make_unique<Streams>(codec))
{
}

Inflater::~Inflater() = default;

void Inflater::feed(std::string_view piece)
{
    in_.erase(0, at_);
    at_ = 0;
    in_.append(piece);
}

bool Inflater::next(std::string &out, std::size_t most)
{
    ZSTD_inBuffer in = { in_.data(), in_.size(), at_ };
    ZSTD_outBuffer to = { nullptr, most, 0 };

    out.resize(most);
    to.dst = out.data();
    /* Without input there may still be output that did not fit before. */
    for (;;) {
        const std::size_t read = in.pos;
        const std::size_t made = to.pos;
        if (in.pos == in.size && !streams_->begun) {
            break;
        }
        if (streams_->is_gzip) {
            streams_->step_gzip(in, to);
        } else {
            streams_->step_zstd(in, to);
        }
        if (to.pos == to.size || (in.pos == read && to.pos == made)) {
            break;
        }
    }
    at_ = in.pos;
    out.resize(to.pos);
    return to.pos > 0;
}

bool Inflater::complete() const
{
    return at_ == in_.size() && !streams_->begun;
}

} /* namespace sluice_csv */
