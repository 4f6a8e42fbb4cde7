/* Arrow IPC files and streams: what their heads and footers say, and batches from their messages.
 * No I/O: bytes come in, and what is needed next goes out. Throws sluice::error, SLUICE_E_DATA for
 * what is damaged. */
#ifndef COLUMNAR_IPC_H
#define COLUMNAR_IPC_H

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>

#include "guard.h"

namespace sluice_columnar
{

/* What a survey finds out of a file, and scans are told. */
struct Layout {
    bool stream = false; /* messages one behind the other; else a file with a footer */
    std::string head;    /* the message of the schema */
    std::vector<Extent> dictionaries, batches; /* of a file; where their messages lie */

    std::string pack() const; /* but for the batches */
    static Layout unpack(std::string_view bytes);
};

inline constexpr std::uint64_t ipc_first_bytes = std::uint64_t{ 64 } << 10;
/* By the first bytes of a file: sets `stream`, and takes the head out of them. What it gives is how
 * many bytes are needed for that; 0 = it has them. Refuses other formats by their names. */
std::uint64_t read_head(std::string_view first, std::uint64_t file_bytes, Layout &out);
/* Where a file's footer lies, by its last bytes. */
Extent ipc_footer_of(std::string_view tail, std::uint64_t file_bytes);
/* Checks all sizes and places before anything is asked for by them. */
void read_blocks(std::string_view footer, std::uint64_t file_bytes, Layout &out);
std::shared_ptr<arrow::Schema> schema_of(const Layout &layout);

/* Batches from messages that come one behind the other. */
class Messages
{
  public:
    /* fields: top level columns, ascending; the others are not decoded. Begins with the head. */
    Messages(const Layout &layout, const std::vector<int> &fields);
    ~Messages();
    /* How many bytes to feed next; 0: the stream has ended. */
    std::uint64_t needed() const;
    bool between() const; /* what was fed ends with a message */
    void feed(std::shared_ptr<arrow::Buffer> bytes);
    /* The next batch that came of it, checked; NULL: there is none. */
    std::shared_ptr<arrow::RecordBatch> next();

  private:
    class Queue;
    std::shared_ptr<Queue> queue_;
    std::unique_ptr<arrow::ipc::StreamDecoder> decoder_;
    bool between_ = true;
};

} /* namespace sluice_columnar */

#endif
