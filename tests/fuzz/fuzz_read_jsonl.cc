/* Fuzzes the reader of JSON records: lines of an input become columns of every type, or bad
 * records. Beside what the sanitizers find: each line is a row or is bad, columns have a value for
 * each row, a line among others is judged as it is alone, and one that is plain to see is what the
 * parser makes of it. The first byte says what is asked of the records. */
#include <cstdlib>
#include <cstring>

#include "read_jsonl/record.h"

namespace
{

void require(bool condition)
{
    if (!condition) {
        std::abort();
    }
}

/* What a call gave. */
struct taken {
    sluice_emit emit; /* first: leads back to the whole */
    std::uint64_t bad = 0, rows = 0, absent = 0, truths = 0;
    const sluice_json::Settings *settings;
    std::string last;      /* what became of the last line: its reason, or its values */
    bool inserted = false; /* lines have `parsed` in front */
};

/* A member that no column takes, and whose number is for the parser: before all others of a record,
 * it keeps the record from being taken without one. */
constexpr const char *parsed = "\"~\":1e0";

/* The value of row 0, told apart from all others; the member above, if it was inserted, left out of
 * the metadata. */
std::string value_of(const ArrowArray *column, sluice_json::Kind kind, bool inserted)
{
    std::string value(1, sluice_is_null(column, 0) ? '0' : '1');
    std::size_t n = 0;

    if (kind == sluice_json::Kind::text || kind == sluice_json::Kind::json) {
        const char *text = sluice_text(column, 0, &n);
        std::string_view shown(text, n);
        const std::string head = std::string("{") + parsed;
        if (inserted && shown == head + "}") {
            return "0";
        }
        if (inserted && shown.rfind(head + ",", 0) == 0) {
            return value + "{" + std::string(shown.substr(head.size() + 1));
        }
        return value.append(text, n);
    }
    if (value == "1") {
        value.append(static_cast<const char *>(column->buffers[1]),
                     kind == sluice_json::Kind::boolean ? 1 : 8);
    }
    return value;
}

std::uint64_t look_at(const void *data, std::size_t n)
{
    const unsigned char *bytes = static_cast<const unsigned char *>(data);
    std::uint64_t sum = 0;

    for (std::size_t k = 0; k < n; k++) {
        sum += bytes[k];
    }
    return sum;
}

void look_at_column(const ArrowArray *column, std::int64_t rows, sluice_json::Kind kind)
{
    static volatile std::uint64_t kept; /* so that the reads are made */
    std::size_t n = static_cast<std::size_t>(rows);
    std::int64_t nulls = 0;

    require(column->length == rows && column->offset == 0);
    for (std::int64_t row = 0; row < rows; row++) {
        nulls += sluice_is_null(column, row) ? 1 : 0;
    }
    require(nulls == column->null_count);
    (void)kept;
    switch (kind) {
    case sluice_json::Kind::text:
    case sluice_json::Kind::json: {
        const std::int32_t *offsets = static_cast<const std::int32_t *>(column->buffers[1]);
        for (std::size_t row = 0; row < n; row++) {
            require(offsets[row] <= offsets[row + 1]);
        }
        kept = look_at(column->buffers[2], static_cast<std::size_t>(offsets[n]));
        break;
    }
    case sluice_json::Kind::boolean:
        kept = look_at(column->buffers[1], (n + 7) / 8);
        break;
    case sluice_json::Kind::integer:
    case sluice_json::Kind::number:
        kept = look_at(column->buffers[1], 8 * n);
        break;
    }
}

sluice_status take_batch(sluice_emit *emit, ArrowArray *batch)
{
    taken *all = reinterpret_cast<taken *>(emit);
    const auto &fields = all->settings->fields;
    std::size_t n = fields.size();

    require(batch->n_children ==
            static_cast<std::int64_t>(n + (all->settings->metadata ? 3u : 2u)));
    for (std::size_t k = 0; k < n; k++) {
        const ArrowArray *column = batch->children[k];
        look_at_column(column, batch->length, fields[k].kind);
        for (std::int64_t row = 0;
             fields[k].kind == sluice_json::Kind::boolean && row < batch->length; row++) {
            const unsigned char *bits = static_cast<const unsigned char *>(column->buffers[1]);
            all->truths += !sluice_is_null(column, row) && (bits[row / 8] >> (row % 8) & 1) != 0;
        }
    }
    all->last.clear();
    for (std::size_t k = 0; k < n; k++) {
        all->last += value_of(batch->children[k], fields[k].kind, false) + '\n';
    }
    if (all->settings->metadata) {
        look_at_column(batch->children[n], batch->length, sluice_json::Kind::json);
        all->last += value_of(batch->children[n], sluice_json::Kind::json, all->inserted);
    }
    for (std::int64_t k = batch->n_children - 2; k < batch->n_children; k++) {
        look_at_column(batch->children[k], batch->length, sluice_json::Kind::integer);
    }
    all->rows += static_cast<std::uint64_t>(batch->length);
    batch->release(batch);
    return SLUICE_OK;
}

sluice_status take_bad(sluice_emit *emit, std::uint64_t begin, std::uint64_t end,
                       const char *reason, const char *detail)
{
    require(begin <= end && reason[0] != '\0' && std::strlen(detail) < 100000);
    reinterpret_cast<taken *>(emit)->bad++;
    reinterpret_cast<taken *>(emit)->last = reason;
    return SLUICE_OK;
}

sluice_status take_absent(sluice_emit *emit, const char *name, std::uint64_t rows,
                          const char *const *there, std::uint64_t n)
{
    for (std::uint64_t k = 0; k < n; k++) {
        require(std::strcmp(there[k], name) != 0);
    }
    reinterpret_cast<taken *>(emit)->absent += rows;
    return SLUICE_OK;
}

taken taker(const sluice_json::Settings &settings)
{
    taken all{};

    all.emit.size = sizeof all.emit;
    all.emit.batch = take_batch;
    all.emit.bad = take_bad;
    all.emit.absent = take_absent;
    all.settings = &settings;
    return all;
}

/* The line with the member `parsed` in front; empty: it is no object. */
std::string for_the_parser(const char *line, std::size_t n)
{
    static const char space[] = " \t\r";
    std::string text(line, n);
    std::size_t open = text.find_first_not_of(space);

    if (open == std::string::npos || text[open] != '{') {
        return std::string();
    }
    std::size_t next = text.find_first_not_of(space, open + 1);
    bool none = next != std::string::npos && text[next] == '}';
    return text.insert(open + 1, none ? parsed : std::string(parsed) + ",");
}

sluice_json::Field field(const char *key, sluice_json::Kind kind, bool expected = false)
{
    return { key, sluice_json::path_of(key), key, kind, false, expected };
}

} /* namespace */

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    using sluice_json::Kind;
    const bool expected = size > 0 && (data[0] & 4) != 0;
    sluice_json::Settings settings{ { field("text", Kind::text, expected),
                                      { "id", {}, "id", Kind::text, true, false },
                                      field("b", Kind::boolean, expected),
                                      field("i", Kind::integer, expected),
                                      field("f", Kind::number),
                                      field("j", Kind::json) },
                                    size > 0 && (data[0] & 1) != 0,
                                    size > 0 && (data[0] & 2) != 0 };
    if (size > 0 && (data[0] & 8) != 0) {
        settings.fields.push_back(field("p.q.r", Kind::integer, expected));
        settings.fields.push_back(field("p.t", Kind::text));
    }
    if (size > 0 && (data[0] & 16) != 0) {
        settings.fields.push_back(field("a[1].k", Kind::text, expected));
    }
    sluice_json::Records together(settings);
    sluice_json::Records alone(settings);
    sluice_json::Records parsing(settings);
    taken all = taker(settings);
    taken one = taker(settings);
    taken other = taker(settings);
    sluice::emitter out(&all.emit);
    sluice::emitter single(&one.emit);
    sluice::emitter parser(&other.emit);
    other.inserted = true;
    std::uint64_t lines = 0;

    if (size < 2) {
        return 0;
    }
    /* In memory of its own, with the padding that readers may read. */
    std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
    text.append(SLUICE_PADDING, '\0');
    together.begin();
    for (std::size_t at = 0; at + 1 < size; lines++) {
        std::size_t end = text.find('\n', at);
        end = end == std::string::npos || end > size - 1 ? size - 1 : end;
        together.add(text.data() + at, end - at, at, "in.jsonl", out);
        alone.begin();
        alone.add(text.data() + at, end - at, at, "in.jsonl", single);
        alone.finish(single);
        std::string line = for_the_parser(text.data() + at, end - at);
        if (!line.empty()) {
            std::size_t n = line.size();
            line.append(SLUICE_PADDING, '\0');
            parsing.begin();
            parsing.add(line.data(), n, at, "in.jsonl", parser);
            parsing.finish(parser);
            require(one.last == other.last);
        }
        at = end + 1;
    }
    together.finish(out);
    require(all.rows + all.bad == lines);
    require(one.rows == all.rows && one.bad == all.bad && one.absent == all.absent &&
            one.truths == all.truths);
    return 0;
}
