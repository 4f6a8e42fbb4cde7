/* Fuzzes what is read of Parquet and Arrow files before the library sees it, pages of plain texts,
 * and what the library makes of messages of Arrow: footers, blocks, heads of pages, schemas, record
 * batches. Beside what the sanitizers find: places lie within the file, and batches that pass the
 * checks can be made plain. The first byte chooses. */
#include <cstdlib>
#include <cstring>

#include "columnar/footer.h"
#include "columnar/guard.h"
#include "columnar/ipc.h"
#include "columnar/pagehead.h"
#include "columnar/plain.h"
#include "columnar/plaintexts.h"
#include "columnar/union.h"

using namespace sluice_columnar;

namespace
{

void require(bool condition)
{
    if (!condition) {
        std::abort();
    }
}

void footer_of_parquet(std::string_view bytes)
{
    const std::uint64_t size = bytes.size() + 1000;
    const Footer footer(bytes);

    for (const RowGroup &group : footer.row_groups(size)) {
        require(group.begin < group.end && group.end <= size && group.rows > 0);
    }
    /* Its columns beside others of the same names and of one type: the union has each once. */
    const Request request = { "text", "id", {}, false, true, false };
    /* And as they are: each, once, unless that is refused. */
    const Request as_is = { "text", "id", {}, false, false, true };
    std::vector<std::string> left_out;
    try {
        const auto outputs = choose(as_is, &footer.schema(), left_out);
        require(static_cast<int>(outputs.size() + left_out.size()) == footer.schema().num_fields());
    } catch (const sluice::error &e) {
        require(e.code() == SLUICE_E_SCHEMA || e.code() == SLUICE_E_DATA);
    }
    arrow::FieldVector fields;
    Union all(request);
    for (const auto &field : footer.schema().fields()) {
        fields.push_back(arrow::field(field->name(), arrow::int16()));
    }
    all.add(footer.schema(), footer.schema().num_fields(), "a");
    require(all.schema()->num_fields() == footer.schema().num_fields());
    all.add(arrow::Schema(fields), footer.schema().num_fields(), "b");
    require(all.schema()->num_fields() == footer.schema().num_fields());
}

void page(std::string_view bytes)
{
    PageHead head;

    if (read_page_head(bytes, head)) {
        require(head.head_bytes <= bytes.size() && head.bytes <= INT32_MAX);
    }
}

/* A page of plain texts: its form, how many values, bytes of their levels, how many are taken at
 * once; and the page. */
void texts(std::string_view bytes)
{
    if (bytes.size() < 4) {
        return;
    }
    const auto at = [&](std::size_t k) { return static_cast<unsigned char>(bytes[k]); };
    const bool second = at(0) & 1;
    const std::int16_t null_level = at(0) & 2 ? 1 : 0;
    const auto data = arrow::Buffer::FromString(std::string(bytes.substr(4)));
    PlainTexts plain(null_level, arrow::binary(), Blocks::create());
    std::int64_t rows = 0;

    guarded_data("the page", [&] {
        if (second) {
            plain.begin(std::make_shared<parquet::DataPageV2>(
                data, at(1), 0, at(1), parquet::Encoding::PLAIN, at(2), at(0) >> 2, data->size()));
        } else {
            plain.begin(std::make_shared<parquet::DataPageV1>(
                data, at(1), parquet::Encoding::PLAIN,
                at(0) & 4 ? parquet::Encoding::BIT_PACKED : parquet::Encoding::RLE,
                parquet::Encoding::RLE, data->size()));
        }
        while (plain.left() > 0) {
            plain.take(1 + at(3) % 16, 1 + at(3));
            const auto made = plain.finish();
            require(made->length() > 0 && made->ValidateFull().ok());
            rows += made->length();
        }
    });
    require(rows == at(1));
}

void arrow_file(std::string_view bytes)
{
    Layout layout;

    if (read_head(bytes, bytes.size(), layout) > 0) {
        return;
    }
    if (!layout.stream) {
        const Extent footer = ipc_footer_of(bytes, bytes.size());
        read_blocks(bytes.substr(footer.offset, footer.n), bytes.size(), layout);
    }
    const Layout again = Layout::unpack(layout.pack());
    require(again.head == layout.head && again.dictionaries.size() == layout.dictionaries.size());
    schema_of(layout);
    Messages messages(layout, {});
    std::uint64_t at = layout.stream ? layout.head.size() : bytes.size();
    auto take = [&] {
        while (const auto batch = messages.next()) {
            for (const auto &column : batch->columns()) {
                const auto made =
                    plain_array(column->Slice(0, std::min<std::int64_t>(column->length(), 100)));
                require(!made.ok() || made.ValueUnsafe()->Validate().ok());
            }
        }
    };
    for (const auto *list : { &layout.dictionaries, &layout.batches }) {
        for (const Extent &one : *list) {
            require(one.offset + one.n <= bytes.size());
            messages.feed(arrow::Buffer::FromString(std::string(bytes.substr(one.offset, one.n))));
            take();
        }
    }
    while (at < bytes.size() && messages.needed() > 0 && messages.needed() <= bytes.size() - at) {
        const std::uint64_t n = messages.needed();
        messages.feed(arrow::Buffer::FromString(std::string(bytes.substr(at, n))));
        at += n;
        take();
    }
}

} /* namespace */

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size < 2) {
        return 0;
    }
    const std::string_view bytes(reinterpret_cast<const char *>(data + 1), size - 1);
    try {
        switch (data[0] == 3 ? 3 : data[0] % 3) {
        case 0:
            footer_of_parquet(bytes);
            break;
        case 1:
            page(bytes);
            break;
        case 3:
            texts(bytes);
            break;
        default:
            arrow_file(bytes);
        }
    } catch (const sluice::error &) {
    } catch (const std::bad_alloc &) {
    }
    return 0;
}
