/* write_parquet - documents as Parquet files. The library encodes and compresses in memory of the
 * host, into files of the host. Where a row group, a page and a file end, rows alone decide. */
#include <optional>

#include "gather.h"
#include "nested.h"
#include "parquetfile.h"
#include "roworder.h"
#include "sluice_files.h"
#include "stages.h"

using namespace sluice_columnar;

namespace
{

enum class Layout : std::int32_t { flat, hf };
constexpr std::uint32_t output_name = 1; /* of files' kinds; 0 is the rows */

/* So much is gathered before the library gets it: it cuts pages only in between. */
constexpr Limits gathered = { 4096, std::int64_t{ 1 } << 20 };
/* So much of a file's beginning decides what its columns are like. */
constexpr Limits sampled = { 16384, std::int64_t{ 8 } << 20 };

/* What a worker keeps from call to call. */
struct Making {
    Making(const sluice::host_services &host, const std::vector<Target> &targets,
           const std::vector<std::size_t> &sorted)
        : pool(host), gather(targets, gathered, pool)
    {
        if (!sorted.empty()) {
            order.emplace(sorted);
        }
    }
    HostPool pool;
    HostSink sink;
    Gather gather;
    std::optional<RowOrder> order;
    arrow::RecordBatchVector sample; /* of a file that has not begun */
    std::optional<ParquetFile> file;
    Limits group = { 0, 0 }; /* what the open row group still takes */
    Limits to_sample = sampled;
    std::int64_t rows = 0; /* of the file */
};

struct write_parquet : sluice::writer<write_parquet> {
    static constexpr const char *name = "write_parquet";
    static constexpr const char *version = "1.0";
    static constexpr const char *summary = "Parquet files of a dataset";
    static constexpr const char *doc =
        "All columns, `text` and `id` first, in Parquet's types for them; nested ones as they are, "
        "json columns as text. What read_parquet had to give as text or as another number (dates, "
        "times, decimals, float16, maps) becomes what it was, where no stage replaced it. Tokens "
        "of a vocabulary up to 65536 are stored as uint16. Pages have checksums, row groups and "
        "pages statistics, columns that repeat themselves a dictionary (by the first rows of each "
        "file). The files name under `sluice.columns` what is known of each column, as its "
        "tokenizer. Row groups, pages and files end where the rows say so, whatever the batches "
        "and workers.";
    static constexpr const char *example =
        "docs | s.write_parquet { \"out/kept\", bloom = { \"id\" } }";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 96 } << 20;
    static constexpr double bytes_per_batch = 4; /* gathered, a page of it, and it compressed */

    struct options {
        sluice::path_name path;
        Codec compression;
        std::int64_t level;
        sluice::byte_size shard_size, row_group, page;
        sluice_list columns, bloom, sorted_by, partition_by;
        std::int64_t max_partitions;
        Layout layout;
        const char *split;
        bool dictionary, keep_partitions;
    };
    static void partition_options(sluice::option_table<options> &t)
    {
        t.add(&options::partition_by, "partition_by", SLUICE_FILES_PARTITION_BY_DOC);
        t.add(&options::max_partitions, "max_partitions", "100", SLUICE_FILES_MAX_PARTITIONS_DOC)
            .range(1, 10000);
        t.add(&options::keep_partitions, "keep_partitions", "false",
              "Store columns whose values name folders in the files as well. Others read them from "
              "the folders' names, read_parquet too.");
    }
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::path, "path", "Dataset folder that is written.")
            .positional()
            .required()
            .output_path();
        t.add(&options::compression, "compression", "zstd", "Codec of the pages.")
            .choices("zstd|snappy|gzip|brotli|lz4|none");
        t.add(&options::level, "level", "0", "Level of the codec; 0 is its default, of zstd 3.")
            .range(0, 22);
        t.add(&options::shard_size, "shard_size", "256MiB",
              "Stored bytes after which a file is ended, at the end of a row group.")
            .range(1, 1e15);
        t.add(&options::row_group, "row_group", "64MiB",
              "Bytes of texts and numbers after which a row group is ended, at the end of a row; "
              "1048576 rows end one, too.")
            .range(1, 1e12);
        t.add(&options::page, "page", "1MiB", "Bytes after which a page is ended.").range(1, 1e9);
        t.add(&options::columns, "columns",
              "Columns to write, in this order; none given: all, `text` and `id` first.");
        t.add(&options::bloom, "bloom",
              "Columns of numbers or texts that get a bloom filter, for looking up single values.");
        t.add(&options::sorted_by, "sorted_by",
              "Columns by which the rows come sorted, ascending, nulls first; it is checked and "
              "noted in the files.");
        partition_options(t);
        t.add(&options::dictionary, "dictionary", "true",
              "Store columns whose values repeat themselves as numbers into a dictionary.");
        t.add(&options::layout, "layout", "flat",
              "flat: one folder of files. hf: data/SPLIT-00000-of-00001.parquet and a card, "
              "README.md, as Hugging Face's hub and its `load_dataset` want them.")
            .choices("flat|hf");
        t.add(&options::split, "split", "train", "Name of the split, in the layout hf.");
    }
    struct worker : Making {
        explicit worker(const write_parquet &stage)
            : Making(stage.host(), stage.targets, stage.wish.sorted)
        {
        }
    };

    void prepare(sluice::plan &p)
    {
        check_level(opts().compression, opts().level);
        targets = choose_targets(p, opts().columns, left_out());
        partition(p);
        schema = schema_of(targets);
        wish = { opts().compression,
                 static_cast<int>(opts().level),
                 static_cast<std::int64_t>(opts().page),
                 opts().dictionary,
                 {},
                 {} };
        for (std::uint64_t k = 0; k < opts().bloom.n; k++) {
            wish.bloom.push_back(find_target(targets, "bloom", opts().bloom.items[k]));
        }
        for (std::uint64_t k = 0; k < opts().sorted_by.n; k++) {
            wish.sorted.push_back(find_target(targets, "sorted_by", opts().sorted_by.items[k]));
        }
        check_wish(wish, targets, *schema);
        p.output(".parquet");
        if (opts().layout == Layout::hf) {
            lay_out(p);
        }
    }

    void run(const sluice::batch &batch, sluice::emitter &out, worker &w) const
    {
        const SinkCall call(w.sink, out);
        const BatchView view(targets, batch.raw());

        for (std::int64_t k = 0; k < view.size();) {
            if (w.group.rows <= 0 || w.group.bytes <= 0) {
                w.group = { group_rows_most, static_cast<std::int64_t>(opts().row_group) };
            }
            k = w.gather.add(view, k, w.group);
            if (w.gather.full()) {
                host().stop_if_cancelled();
                give(w);
                if (w.group.rows <= 0 || w.group.bytes <= 0) {
                    end_group(out, w);
                }
            }
        }
        out.measure("documents", batch.size());
    }

    void finish(sluice::emitter &out, worker &w) const
    {
        const SinkCall call(w.sink, out);

        if (w.gather.rows() > 0) {
            give(w);
        }
        if (w.rows > 0) {
            begin(w);
            close(out, w);
        }
    }

  private:
    /* Asks for folders by columns' values. Columns of the files are asked for before. */
    void partition(sluice::plan &p) const
    {
        std::vector<char> note(SLUICE_FILES_NOTE_MAX);
        sluice_error e = {};

        e.size = sizeof e;
        if (opts().partition_by.n == 0) {
            return;
        }
        if (opts().layout == Layout::hf) {
            throw sluice::error(SLUICE_E_CONFIG,
                                "`partition_by` and the layout hf both name the files; leave one "
                                "of them out",
                                "partition_by");
        }
        if (sluice_files_partition_note(&opts().partition_by, opts().max_partitions, note.data(),
                                        &e) != SLUICE_OK) {
            throw sluice::error(e.code, e.message, e.field);
        }
        for (std::uint64_t k = 0; k < opts().partition_by.n; k++) {
            sluice_files_part part;
            (void)sluice_files_parse_part(opts().partition_by.items[k], &part);
            p.need(std::string(part.column, part.n), SLUICE_FILES_PART_TYPES);
        }
        p.note("partition", note.data());
    }

    /* The columns that files do without, as folders tell their values. */
    std::vector<std::string> left_out() const
    {
        std::vector<std::string> names;

        for (std::uint64_t k = 0; !opts().keep_partitions && k < opts().partition_by.n; k++) {
            sluice_files_part part;
            if (sluice_files_parse_part(opts().partition_by.items[k], &part) && part.buckets == 0) {
                names.emplace_back(part.column, part.n);
            }
        }
        return names;
    }

    /* The names of a snapshot's files, and a card that tells what they are. */
    void lay_out(sluice::plan &p) const
    {
        const std::string split = opts().split;
        std::string card, note = "{\"file\":\"README.md\",\"begin\":";

        if (split.empty() || split.size() > 60 ||
            split.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_.") != split.npos ||
            split[0] == '.') {
            throw sluice::error(SLUICE_E_CONFIG,
                                "`split`: found '" + split +
                                    "', expected letters, digits, _ and ., up to 60",
                                "split");
        }
        card = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: " + split +
               "\n    path: data/" + split +
               "-*.parquet\n---\n\n# Dataset\n\nWritten by Sluice, one "
               "row a document.\n\n" +
               columns_table(targets);
        json_text(card, note);
        note += ",\"entries\":\".none\",\"separator\":\"\",\"end\":\"\"}";
        p.output(".name");
        p.note("names", "\".name\"");
        p.note("catalogue", note);
    }

    /* Ends the file; in a layout its name stands beside it. */
    void close(sluice::emitter &out, worker &w) const
    {
        w.file->close();
        w.file.reset();
        if (opts().layout == Layout::hf) {
            out.write(std::string("data/") + opts().split + "-@NUMBER@-of-@COUNT@.parquet",
                      output_name);
        }
    }

    /* The gathered rows to the file, which begins when enough is known. */
    void give(worker &w) const
    {
        const std::int64_t bytes = w.gather.bytes();
        auto rows = w.gather.take();

        if (w.order.has_value()) {
            w.order->check(rows);
        }
        w.rows += rows->num_rows();
        if (w.file.has_value()) {
            w.file->add(*rows);
            return;
        }
        w.to_sample.rows -= rows->num_rows();
        w.to_sample.bytes -= bytes;
        w.sample.push_back(std::move(rows));
        if (w.to_sample.rows <= 0 || w.to_sample.bytes <= 0) {
            begin(w);
        }
    }

    void begin(worker &w) const
    {
        if (w.file.has_value()) {
            return;
        }
        w.file.emplace(wish, targets, schema, w.sample, w.sink, w.pool);
        for (auto &rows : w.sample) {
            w.file->add(*rows);
            rows.reset();
        }
        w.sample.clear();
        w.to_sample = sampled;
    }

    void end_group(sluice::emitter &out, worker &w) const
    {
        begin(w);
        w.file->end_group();
        if (w.order.has_value()) {
            w.order->forget();
        }
        if (static_cast<std::uint64_t>(w.sink.size()) >= opts().shard_size) {
            close(out, w);
            out.roll(std::exchange(w.rows, 0));
        }
    }

    std::vector<Target> targets;
    std::shared_ptr<arrow::Schema> schema;
    ParquetWish wish;
};

} /* namespace */

const sluice_stage *sluice_columnar::write_parquet_stage()
{
    return sluice::stage_of<write_parquet>();
}
