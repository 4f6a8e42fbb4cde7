/* write_csv - documents as CSV (RFC 4180), a header in front. */
#include <charconv>
#include <cmath>

#include "format.h"
#include "gather.h"
#include "nested.h"
#include "stages.h"
#include "text/text_base64.h"

using namespace sluice_columnar;

namespace
{

enum class TextCodec : std::int32_t { none, gzip, zstd };
const char *const codec_names[] = { "none", "gzip", "zstd" };
enum class Ends : std::int32_t { lf, crlf };

/* What a worker keeps from call to call. */
struct Making {
    std::string out, value;
    std::uint64_t bytes = 0; /* of the file, of which `out` is the end */
    std::int64_t rows = 0;   /* of the file */
};

struct write_csv : sluice::writer<write_csv> {
    static constexpr const char *name = "write_csv";
    static constexpr const char *version = "1.0";
    static constexpr const char *summary = "CSV files of a dataset";
    static constexpr const char *doc =
        "One row a record, fields in quotation marks where RFC 4180 wants them; `text` and `id` "
        "first. Floats are the shortest digits that read back equal, or inf, -inf, nan; binary "
        "columns are base64, lists and structs JSON. A null is what `null` says, without quotation "
        "marks; a text of the same letters has them, so that the two can be told apart.";
    static constexpr const char *example =
        "docs | s.write_csv { \"out/kept\", delimiter = \"\\t\" }";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 16 } << 20;
    static constexpr double bytes_per_batch = 7; /* control characters of nested texts take six */

    struct options {
        sluice::path_name path;
        TextCodec compression;
        std::int64_t level;
        sluice::byte_size shard_size;
        sluice_list columns;
        const char *delimiter, *null;
        bool header;
        Ends line_ends;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::path, "path", "Dataset folder that is written.")
            .positional()
            .required()
            .output_path();
        t.add(&options::compression, "compression", "none", "Codec of the files.")
            .choices("none|gzip|zstd");
        t.add(&options::level, "level", "0",
              "Level of the codec (gzip to 9, zstd to 22); 0 is its default.")
            .range(0, 22);
        t.add(&options::shard_size, "shard_size", "256MiB",
              "Uncompressed bytes after which a file is ended, at the end of a record.")
            .range(1, 1e15);
        t.add(&options::columns, "columns",
              "Columns to write, in this order; none given: all, `text` and `id` first.");
        t.add(&options::delimiter, "delimiter", ",", "What stands between fields, one character.");
        t.add(&options::null, "null", "", "What stands for a null.");
        t.add(&options::header, "header", "true", "Begin each file with the names of the columns.");
        t.add(&options::line_ends, "line_ends", "lf", "What ends a record.").choices("lf|crlf");
    }
    struct worker : Making {
    };

    void prepare(sluice::plan &p)
    {
        const std::string delimiter = opts().delimiter;
        const std::string null = opts().null;

        if (delimiter.size() != 1 || delimiter[0] == '"' || delimiter[0] == '\n' ||
            delimiter[0] == '\r' || static_cast<unsigned char>(delimiter[0]) >= 0x80) {
            throw sluice::error(SLUICE_E_CONFIG,
                                "`delimiter`: found '" + delimiter +
                                    "', expected one character of ASCII, not \" or a line end",
                                "delimiter");
        }
        if (null.find_first_of("\"\n\r" + delimiter) != std::string::npos) {
            throw sluice::error(SLUICE_E_CONFIG,
                                "`null`: found '" + null +
                                    "', expected a text without quotation marks, line ends and "
                                    "delimiters",
                                "null");
        }
        targets = choose_targets(p, opts().columns);
        p.output(opts().delimiter[0] == '\t' ? ".tsv" : ".csv",
                 codec_names[static_cast<std::size_t>(opts().compression)],
                 static_cast<std::int32_t>(opts().level));
    }

    void run(const sluice::batch &batch, sluice::emitter &out, worker &w) const
    {
        const BatchView view(targets, batch.raw());

        w.out.clear();
        for (std::int64_t k = 0; k < view.size(); k++) {
            const std::size_t before = w.out.size();
            if (w.rows == 0) {
                put_header(w);
            }
            put_row(view, view.row(k), w);
            w.bytes += w.out.size() - before;
            w.rows++;
            if (w.bytes >= opts().shard_size) {
                out.write(w.out);
                out.roll(std::exchange(w.rows, 0));
                w.out.clear();
                w.bytes = 0;
            }
        }
        out.write(w.out);
        out.measure("documents", batch.size());
    }

  private:
    void end_record(worker &w) const
    {
        w.out += opts().line_ends == Ends::crlf ? "\r\n" : "\n";
    }

    void put_header(worker &w) const
    {
        if (opts().header) {
            for (std::size_t c = 0; c < targets.size(); c++) {
                w.out.append(c > 0 ? 1 : 0, opts().delimiter[0]);
                put_text(targets[c].field->name(), w.out);
            }
            end_record(w);
        }
    }

    /* Quotation marks where something stands in it that means something, or that readers trim. */
    void put_text(std::string_view text, std::string &out) const
    {
        const char stops[] = { '"', '\n', '\r', opts().delimiter[0], '\0' };
        const bool plain = text != std::string_view(opts().null) &&
                           text.find_first_of(std::string_view(stops, 4)) == text.npos &&
                           (text.empty() || (text.front() != ' ' && text.back() != ' '));

        if (plain) {
            out += text;
            return;
        }
        out += '"';
        for (std::size_t at = 0;;) {
            const std::size_t quote = text.find('"', at);
            out += text.substr(at, quote == text.npos ? quote : quote + 1 - at);
            if (quote == text.npos) {
                break;
            }
            out += '"';
            at = quote + 1;
        }
        out += '"';
    }

    template <class T> static void put_real(T value, std::string &out)
    {
        char digits[40];

        if (!std::isfinite(value)) {
            out += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
            return;
        }
        out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }

    static void put_base64(std::string_view bytes, std::string &out)
    {
        out.resize(TEXT_BASE64_SIZE(bytes.size()));
        out.resize(text_base64_encode(bytes.data(), bytes.size(), out.data()));
    }

    void put_value(const arrow::Array &column, std::int64_t row, worker &w) const
    {
        w.value.clear();
        switch (column.type_id()) {
        case arrow::Type::STRING:
            put_text(static_cast<const arrow::StringArray &>(column).GetView(row), w.out);
            return;
        case arrow::Type::BINARY:
            put_base64(static_cast<const arrow::BinaryArray &>(column).GetView(row), w.value);
            break;
        case arrow::Type::FIXED_SIZE_BINARY:
            put_base64(static_cast<const arrow::FixedSizeBinaryArray &>(column).GetView(row),
                       w.value);
            break;
        case arrow::Type::FLOAT:
            put_real(static_cast<const arrow::FloatArray &>(column).Value(row), w.value);
            break;
        case arrow::Type::DOUBLE:
            put_real(static_cast<const arrow::DoubleArray &>(column).Value(row), w.value);
            break;
        default:
            if (!json_value(column, row, w.value)) {
                throw sluice::error(SLUICE_E_DATA,
                                    "a list or struct holds a number that JSON has no word for");
            }
        }
        put_text(w.value, w.out);
    }

    void put_row(const BatchView &view, std::int64_t row, worker &w) const
    {
        const std::size_t begin = w.out.size();

        for (std::size_t c = 0; c < targets.size(); c++) {
            const arrow::Array &column = *view.columns()[c];
            w.out.append(c > 0 ? 1 : 0, opts().delimiter[0]);
            if (column.IsNull(row)) {
                w.out += opts().null;
            } else {
                put_value(column, row, w);
            }
        }
        /* An empty line is no record to most readers. */
        if (w.out.size() == begin) {
            w.out += "\"\"";
        }
        end_record(w);
    }

    std::vector<Target> targets;
};

} /* namespace */

const sluice_stage *sluice_columnar::write_csv_stage()
{
    return sluice::stage_of<write_csv>();
}
