// NAME_HERE - a writer: documents as lines of an id, a tab and a text.
//
// The writer turns rows into bytes; the host compresses them, owns the files and publishes them as
// a dataset.
//
// To make it yours, change the options and write(). <sluice.hpp> explains what a stage class may
// have.
#include <sluice.hpp>

namespace
{

enum class compression : std::int32_t { none, gzip, zstd };

struct stage : sluice::writer<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "Lines of an id, a tab and a text";
    static constexpr const char *doc = "Tabs and line ends inside a field become spaces.";
    static constexpr const char *example = "docs | NAME_HERE { \"out/lines\" }";
    static constexpr const char *suffix = ".tsv";

    // The host parses the options, checks them and puts them here.
    struct options {
        sluice::path_name path;
        sluice::byte_size file_size;
        compression codec;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::path, "path", "Dataset folder that is written.")
            .output_path()
            .positional()
            .required();
        t.add(&options::file_size, "file_size", "256MiB",
              "Uncompressed bytes after which a file is ended, at the end of a line.")
            .range(1, 1e15);
        t.add(&options::codec, "compression", "zstd", "Codec of the files.")
            .choices("none|gzip|zstd");
    }

    const char *codec() const
    {
        static constexpr const char *names[] = { "none", "gzip", "zstd" };
        return names[static_cast<int>(opts().codec)];
    }
    std::uint64_t shard_size() const
    {
        return opts().file_size;
    }

    std::int32_t text_ = 0, id_ = 0; // places of the columns
    void prepare(sluice::plan &p)
    {
        text_ = p.need("text", "utf8?");
        id_ = p.need("id", "utf8?");
        declare_file(p);
    }

    static void put(std::string &out, std::string_view field, char end)
    {
        for (const char c : field) {
            out.push_back(c == '\t' || c == '\n' || c == '\r' ? ' ' : c);
        }
        out.push_back(end);
    }

    // Appends one row's bytes.
    void write(const sluice::row &row, std::string &out) const
    {
        put(out, row.text(id_), '\t');
        put(out, row.text(text_), '\n');
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
