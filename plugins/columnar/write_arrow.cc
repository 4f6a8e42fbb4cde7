/* write_arrow - documents as Arrow IPC files (Feather), or as streams of the same messages. Where a
 * record batch and a file end, rows alone decide. */
#include <optional>

#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>

#include "gather.h"
#include "hostpool.h"
#include "stages.h"

using namespace sluice_columnar;

namespace
{

enum class BodyCodec : std::int32_t { zstd, lz4, none };
enum class Layout : std::int32_t { file, stream };

/* What a worker keeps from call to call. */
struct Making {
    Making(const sluice::host_services &host, const std::vector<Target> &targets, Limits limits)
        : pool(host), gather(targets, limits, pool)
    {
    }
    HostPool pool;
    HostSink sink;
    Gather gather;
    std::shared_ptr<arrow::ipc::RecordBatchWriter> file;
    std::int64_t rows = 0; /* of the file */
};

struct write_arrow : sluice::writer<write_arrow> {
    static constexpr const char *name = "write_arrow";
    static constexpr const char *version = "1.0";
    static constexpr const char *summary = "Arrow IPC files of a dataset";
    static constexpr const char *doc =
        "All columns, `text` and `id` first, in Arrow's types for them: files that can be mapped "
        "(Feather, version 2), or streams. What read_parquet had to give as text or as another "
        "number becomes what it was, where no stage replaced it, and tokens of a vocabulary up to "
        "65536 are uint16, as write_parquet has it. The schema's metadata names under "
        "`sluice.columns` what is known of each column.";
    static constexpr const char *example = "docs | s.write_arrow { \"out/kept\" }";
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 24 } << 20;
    static constexpr double bytes_per_batch = 4; /* gathered, and it compressed */

    struct options {
        sluice::path_name path;
        BodyCodec compression;
        std::int64_t level;
        sluice::byte_size shard_size, batch;
        sluice_list columns;
        Layout layout;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::path, "path", "Dataset folder that is written.")
            .positional()
            .required()
            .output_path();
        t.add(&options::compression, "compression", "zstd", "Codec of the record batches.")
            .choices("zstd|lz4|none");
        t.add(&options::level, "level", "0", "Level of zstd; 0 is its default, 3.").range(0, 22);
        t.add(&options::shard_size, "shard_size", "256MiB",
              "Stored bytes after which a file is ended, at the end of a record batch.")
            .range(1, 1e15);
        t.add(&options::batch, "batch", "4MiB",
              "Bytes of texts and numbers after which a record batch is ended, at the end of a "
              "row; 65536 rows end one, too.")
            .range(1, 1e9);
        t.add(&options::columns, "columns",
              "Columns to write, in this order; none given: all, `text` and `id` first.");
        t.add(&options::layout, "layout", "file",
              "file: with an index of its record batches at its end. stream: without.")
            .choices("file|stream");
    }
    struct worker : Making {
        explicit worker(const write_arrow &stage)
            : Making(stage.host(), stage.targets,
                     { 65536, static_cast<std::int64_t>(stage.opts().batch) })
        {
        }
    };

    void prepare(sluice::plan &p)
    {
        if (opts().level > 0 && opts().compression != BodyCodec::zstd) {
            throw sluice::error(SLUICE_E_CONFIG, "`level`: found one, but zstd alone has levels",
                                "level");
        }
        targets = choose_targets(p, opts().columns);
        schema = schema_of(targets)->WithMetadata(
            arrow::key_value_metadata({ "sluice.columns" }, { columns_json(targets) }));
        p.output(opts().layout == Layout::file ? ".arrow" : ".arrows");
    }

    void run(const sluice::batch &batch, sluice::emitter &out, worker &w) const
    {
        const SinkCall call(w.sink, out);
        const BatchView view(targets, batch.raw());

        for (std::int64_t k = 0; k < view.size();) {
            Limits all = { INT64_MAX, INT64_MAX };
            k = w.gather.add(view, k, all);
            if (w.gather.full()) {
                host().stop_if_cancelled();
                give(w);
                if (static_cast<std::uint64_t>(w.sink.size()) >= opts().shard_size) {
                    close(w);
                    out.roll(std::exchange(w.rows, 0));
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
            close(w);
        }
    }

  private:
    void give(worker &w) const
    {
        const auto rows = w.gather.take();

        guarded_write("the file", w.sink, w.pool, [&] {
            if (w.file == nullptr) {
                begin(w);
            }
            check_made(w.file->WriteRecordBatch(*rows), "a record batch");
        });
        w.rows += rows->num_rows();
    }

    void begin(worker &w) const
    {
        auto how = arrow::ipc::IpcWriteOptions::Defaults();

        how.memory_pool = &w.pool;
        how.use_threads = false;
        if (opts().compression != BodyCodec::none) {
            const bool zstd = opts().compression == BodyCodec::zstd;
            how.codec = made(arrow::util::Codec::Create(
                                 zstd ? arrow::Compression::ZSTD : arrow::Compression::LZ4_FRAME,
                                 !zstd               ? arrow::util::kUseDefaultCompressionLevel
                                 : opts().level == 0 ? 3
                                                     : static_cast<int>(opts().level)),
                             "the codec");
        }
        w.sink.rewind();
        w.file =
            made(opts().layout == Layout::file ? arrow::ipc::MakeFileWriter(&w.sink, schema, how)
                                               : arrow::ipc::MakeStreamWriter(&w.sink, schema, how),
                 "the file");
    }

    static void close(worker &w)
    {
        guarded_write("the file", w.sink, w.pool, [&] { check_made(w.file->Close(), "the file"); });
        w.file.reset();
    }

    std::vector<Target> targets;
    std::shared_ptr<arrow::Schema> schema;
};

} /* namespace */

const sluice_stage *sluice_columnar::write_arrow_stage()
{
    return sluice::stage_of<write_arrow>();
}
