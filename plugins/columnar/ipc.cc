/* See ipc.h. */
#include "ipc.h"

#include <cstring>

#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>

#include "plain.h"

namespace sluice_columnar
{

namespace
{

constexpr std::string_view magic = "ARROW1";
constexpr std::uint64_t magic_bytes = 8; /* with padding */
constexpr std::uint64_t end_bytes = 10;  /* size of the footer, magic */
constexpr std::uint64_t head_most = std::uint64_t{ 256 } << 20;
constexpr std::uint32_t continuation = 0xFFFFFFFF; /* before the size of a message, since 0.15 */

[[noreturn]] void damaged(const std::string &what)
{
    throw sluice::error(SLUICE_E_DATA, what + ": the file is damaged, or no Arrow file");
}

/* Numbers of little-endian bytes; what lies outside is damaged. */
class Numbers
{
  public:
    explicit Numbers(std::string_view bytes) : bytes_(bytes)
    {
    }
    template <class T> T at(std::uint64_t offset) const
    {
        T out;
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof out) {
            damaged("the footer says something of byte " + std::to_string(offset) + ", it has " +
                    std::to_string(bytes_.size()));
        }
        std::memcpy(&out, bytes_.data() + offset, sizeof out);
        return out;
    }
    /* The vector that a flatbuffer's table has as its k-th field: where its items begin; 0: it has
     * none. */
    std::uint64_t vector(std::uint32_t k, std::uint32_t &n) const
    {
        const std::uint64_t table = at<std::uint32_t>(0);
        const std::int64_t fields =
            static_cast<std::int64_t>(table) - at<std::int32_t>(table); /* the vtable */
        n = 0;
        if (fields < 0) {
            damaged("the footer's table lies outside of it");
        }
        const std::uint64_t vtable = static_cast<std::uint64_t>(fields);
        const std::uint64_t entry = 4 + std::uint64_t{ 2 } * k;
        if (entry + 2 > at<std::uint16_t>(vtable)) {
            return 0;
        }
        const std::uint64_t field = at<std::uint16_t>(vtable + entry);
        if (field == 0) {
            return 0;
        }
        const std::uint64_t items = table + field + at<std::uint32_t>(table + field);
        n = at<std::uint32_t>(items);
        return items + 4;
    }

  private:
    std::string_view bytes_;
};

/* Blocks of the k-th field: {offset: int64, metadata: int32, 4 bytes, body: int64}. */
std::vector<Extent> blocks_of(const Numbers &footer, std::uint32_t k, std::uint64_t file_bytes)
{
    constexpr std::uint64_t block_bytes = 24;
    std::vector<Extent> out;
    std::uint32_t n = 0;
    const std::uint64_t first = footer.vector(k, n);
    const std::uint64_t room = file_bytes - end_bytes;

    for (std::uint32_t i = 0; i < n; i++) {
        const std::uint64_t at = first + i * block_bytes;
        const auto offset = footer.at<std::int64_t>(at);
        const auto metadata = footer.at<std::int32_t>(at + 8);
        const auto body = footer.at<std::int64_t>(at + 16);
        if (offset < static_cast<std::int64_t>(magic_bytes) || metadata <= 0 || body < 0 ||
            static_cast<std::uint64_t>(offset) > room ||
            static_cast<std::uint64_t>(metadata) > room - static_cast<std::uint64_t>(offset) ||
            static_cast<std::uint64_t>(body) >
                room - static_cast<std::uint64_t>(offset) - static_cast<std::uint64_t>(metadata)) {
            damaged((k == 2 ? "dictionary " : "record batch ") + std::to_string(i) +
                    " lies at byte " + std::to_string(offset) + " with " +
                    std::to_string(metadata) + " and " + std::to_string(body) +
                    " bytes, in a file of " + std::to_string(file_bytes));
        }
        out.push_back({ static_cast<std::uint64_t>(offset),
                        static_cast<std::uint64_t>(metadata) + static_cast<std::uint64_t>(body) });
    }
    return out;
}

void refuse_others(std::string_view first)
{
    static const struct {
        std::string_view magic;
        const char *name;
    } all[] = { { "FEA1",
                  "Feather version 1, which is not supported: write it again as Arrow IPC" },
                { "PAR1", "Parquet: read it with s.read_parquet" },
                { "\x28\xb5\x2f\xfd", "compressed by zstd as a whole: decompress it first" },
                { "\x1f\x8b", "compressed by gzip as a whole: decompress it first" } };

    for (const auto &one : all) {
        if (first.substr(0, one.magic.size()) == one.magic) {
            throw sluice::error(SLUICE_E_DATA,
                                std::string("found no Arrow file: it is ") + one.name);
        }
    }
}

void put_number(std::uint64_t value, std::string &out)
{
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

} /* namespace */

std::string Layout::pack() const
{
    std::string out(1, stream ? 'S' : 'F');

    put_number(dictionaries.size(), out);
    for (const Extent &one : dictionaries) {
        put_number(one.offset, out);
        put_number(one.n, out);
    }
    return out + head;
}

Layout Layout::unpack(std::string_view bytes)
{
    Layout out;
    const Numbers numbers(bytes);
    const auto n = numbers.at<std::uint64_t>(1);

    out.stream = bytes[0] == 'S';
    for (std::uint64_t k = 0; k < n; k++) {
        out.dictionaries.push_back(
            { numbers.at<std::uint64_t>(9 + 16 * k), numbers.at<std::uint64_t>(17 + 16 * k) });
    }
    out.head = bytes.substr(9 + 16 * n);
    return out;
}

std::uint64_t read_head(std::string_view first, std::uint64_t file_bytes, Layout &out)
{
    std::uint64_t begin = 0;
    std::uint64_t size = 8;

    refuse_others(first);
    out.stream = first.substr(0, magic.size()) != magic;
    begin = out.stream ? 0 : magic_bytes;
    if (first.size() < begin + size) {
        damaged("found " + std::to_string(file_bytes) + " bytes, no schema");
    }
    const Numbers numbers(first);
    auto metadata = numbers.at<std::uint32_t>(begin);
    if (metadata == continuation) {
        metadata = numbers.at<std::uint32_t>(begin + 4);
    } else {
        size = 4; /* before 0.15 the size came alone */
    }
    if (metadata == 0 || metadata > head_most || metadata > file_bytes - begin - size) {
        damaged("its schema would have " + std::to_string(metadata) + " bytes, of " +
                std::to_string(file_bytes));
    }
    size += metadata;
    if (first.size() < begin + size) {
        return begin + size;
    }
    out.head = first.substr(begin, size);
    return 0;
}

Extent ipc_footer_of(std::string_view tail, std::uint64_t file_bytes)
{
    if (tail.size() < end_bytes || tail.substr(tail.size() - magic.size()) != magic) {
        damaged("found no \"ARROW1\" at its end");
    }
    const auto n = Numbers(tail).at<std::int32_t>(tail.size() - end_bytes);
    if (n <= 0 || static_cast<std::uint64_t>(n) > file_bytes - end_bytes - magic_bytes) {
        damaged("its end says that the footer has " + std::to_string(n) + " bytes, of " +
                std::to_string(file_bytes));
    }
    return { file_bytes - end_bytes - static_cast<std::uint64_t>(n),
             static_cast<std::uint64_t>(n) };
}

void read_blocks(std::string_view footer, std::uint64_t file_bytes, Layout &out)
{
    const Numbers numbers(footer);
    std::uint64_t behind = 0;

    out.dictionaries = blocks_of(numbers, 2, file_bytes);
    out.batches = blocks_of(numbers, 3, file_bytes);
    for (std::size_t k = 0; k < out.batches.size(); k++) {
        if (out.batches[k].offset < behind) {
            damaged("record batch " + std::to_string(k) + " begins within the one before it");
        }
        behind = out.batches[k].offset + out.batches[k].n;
    }
}

std::shared_ptr<arrow::Schema> schema_of(const Layout &layout)
{
    return guarded_data("the schema", [&] {
        arrow::ipc::DictionaryMemo memo;
        arrow::io::BufferReader reader(arrow::Buffer::FromString(layout.head));
        auto read = arrow::ipc::ReadSchema(&reader, &memo);
        check_arrow(read.status(), "the schema");
        arrow::FieldVector fields;
        for (const auto &field : read.ValueUnsafe()->fields()) {
            fields.push_back(field->WithType(plain_type(field->type())));
        }
        return arrow::schema(std::move(fields), read.ValueUnsafe()->metadata());
    });
}

class Messages::Queue : public arrow::ipc::Listener
{
  public:
    arrow::Status OnRecordBatchDecoded(std::shared_ptr<arrow::RecordBatch> batch) override
    {
        batches.push_back(std::move(batch));
        return arrow::Status::OK();
    }
    std::deque<std::shared_ptr<arrow::RecordBatch>> batches;
};

Messages::Messages(const Layout &layout, const std::vector<int> &fields)
    : queue_(std::make_shared<Queue>())
{
    arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();

    options.use_threads = false;
    options.included_fields = fields;
    options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
    decoder_ = std::make_unique<arrow::ipc::StreamDecoder>(queue_, options);
    feed(arrow::Buffer::FromString(layout.head));
}

Messages::~Messages() = default;

std::uint64_t Messages::needed() const
{
    const std::int64_t n = decoder_->next_required_size();

    if (n < 0) {
        damaged("a message would have " + std::to_string(n) + " bytes");
    }
    return static_cast<std::uint64_t>(n);
}

bool Messages::between() const
{
    return between_;
}

void Messages::feed(std::shared_ptr<arrow::Buffer> bytes)
{
    guarded_data("a message", [&] {
        const std::int64_t before = decoder_->stats().num_messages;
        check_arrow(decoder_->Consume(std::move(bytes)), "a message");
        between_ = decoder_->stats().num_messages > before;
    });
}

std::shared_ptr<arrow::RecordBatch> Messages::next()
{
    if (queue_->batches.empty()) {
        return nullptr;
    }
    auto batch = std::move(queue_->batches.front());
    queue_->batches.pop_front();
    guarded_data("a record batch", [&] { check_arrow(check_untrusted(*batch), "a record batch"); });
    return batch;
}

} /* namespace sluice_columnar */
