// A stage of each role in C++ over sluice.hpp, and a filter that fails in every way an author can make it fail.
#include <sluice.hpp>
#include <algorithm>
#include <stdexcept>

namespace {

// filter: verdicts with a duplicate's id and a bad row; a worker's memory; an enum, a range, a list and a map among the options.
struct cxx_judge : sluice::filter<cxx_judge> {
    static constexpr const char *name = "cxx_judge", *version = "1.0", *summary = "Judges by the first byte of a text",
                                *reasons = "short|twin|odd";
    enum class how : std::int32_t { strict, lenient };
    struct options {
        std::int64_t least;
        double share;
        bool flag;
        how mode;
        sluice_range within;
        sluice_list words;
        sluice_map names;
        sluice::byte_size bytes;
        sluice::duration time;
        const char *label;
        sluice::column_name over;
        sluice::path_name file;
    };
    struct worker {
        std::string lower;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::least, "least", "3", "Fewest bytes.").range(0, 100).positional();
        t.add(&options::share, "share", "0.5", "A share.").range(0, 1);
        t.add(&options::flag, "flag", "true", "A flag.").no_output();
        t.add(&options::mode, "mode", "lenient", "How.").choices("strict|lenient");
        t.add(&options::within, "within", "1..5", "A range.");
        t.add(&options::words, "words", "Words.");
        t.add(&options::names, "names", "Names.");
        t.add(&options::bytes, "bytes", "64KiB", "Bytes.");
        t.add(&options::time, "time", "5s", "Time.");
        t.add(&options::label, "label", "blue", "A label.");
        t.add(&options::over, "over", "text", "Column that holds the text.");
        t.add(&options::file, "file", "A file.");
    }
    void open()
    {
        const options &o = opts();
        if (o.words.n == 1 && std::string_view(o.words.items[0]) == "forbidden") {
            throw sluice::error(SLUICE_E_CONFIG, "found the word forbidden; take another", "words");
        }
        if (o.words.n != 2) {
            return;
        }
        if (o.share != 0.5 || !o.flag || o.mode != how::lenient || o.within.lo != 1 || o.within.hi != 5 || o.names.n != 0 ||
            o.bytes != 65536 || o.time.nanoseconds != 5000000000 || std::string_view(o.label) != "blue" || o.over.view() != "text" ||
            o.file.value != nullptr) {
            throw std::logic_error("the options don't have their defaults");
        }
    }
    sluice::verdict judge(const sluice::row &row, worker &own) const
    {
        own.lower = row.text();
        switch (own.lower.empty() ? '-' : own.lower[0]) {
        case 'T':
            return sluice::duplicate(2, "the-original-" + own.lower, 0.75);
        case 'B':
            return sluice::bad_row("broken", "begins with B");
        case 'O':
            return sluice::drop(3, 1, 0);
        default:
            return sluice::at_least(own.lower.size(), opts().least);
        }
    }
};

// filter: throws what its option says.
struct cxx_throw : sluice::filter<cxx_throw> {
    static constexpr const char *name = "cxx_throw", *version = "1.0", *summary = "Throws in a row or elsewhere", *reasons = "never";
    struct options {
        std::int32_t what, where;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::what, "what", "nothing", "What is thrown.").choices("nothing|data|logic|memory|number|config");
        t.add(&options::where, "where", "row", "Where.").choices("row|open|prepare|worker");
    }
    static void throw_it(std::int32_t what)
    {
        switch (what) {
        case 1:
            throw sluice::error(SLUICE_E_DATA, "this row is not for me", "text");
        case 2:
            throw std::logic_error("a defect that says so");
        case 3:
            throw std::bad_alloc();
        case 4:
            throw 42;
        case 5:
            throw sluice::error(SLUICE_E_CONFIG, "expected something else", "what");
        default:
            break;
        }
    }
    void open()
    {
        if (opts().where == 1) {
            throw_it(opts().what);
        }
    }
    void prepare(sluice::plan &p)
    {
        if (opts().where == 2) {
            throw_it(opts().what);
        }
        p.need(opts().where == 2 ? "missing" : "text", "utf8?");
    }
    sluice::verdict judge(std::string_view text) const
    {
        if (opts().where == 0 && text.find("THROW") != text.npos) {
            throw_it(opts().what);
        }
        return sluice::keep();
    }
};

// annotators: nullable numbers, texts, lists; one that takes whole batches and adds two columns.
struct cxx_number : sluice::annotator<cxx_number> {
    static constexpr const char *name = "cxx_number", *version = "1.0", *summary = "Adds the number a text begins with", *gives = "number";
    std::optional<std::int64_t> annotate(std::string_view text) const
    {
        std::int64_t n = 0;
        std::size_t i = 0;
        for (; i < text.size() && i < 9 && text[i] >= '0' && text[i] <= '9'; i++) {
            n = n * 10 + (text[i] - '0');
        }
        return i == 0 ? std::nullopt : std::optional<std::int64_t>(n);
    }
};

struct cxx_reverse : sluice::annotator<cxx_reverse> {
    static constexpr const char *name = "cxx_reverse", *version = "1.0", *summary = "Adds an ASCII text backwards", *gives = "reversed";
    struct options {
        const char *as;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::as, "as", "backwards", "The column.");
    }
    std::string annotate(const sluice::row &row) const
    {
        std::string text(row.text());
        for (char &c : text) {
            c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
        }
        return { text.rbegin(), text.rend() };
    }
};

struct cxx_lengths : sluice::annotator<cxx_lengths> {
    static constexpr const char *name = "cxx_lengths", *version = "1.0", *summary = "Adds the lengths of the pieces between spaces",
                                *gives = "lengths";
    std::vector<std::uint32_t> annotate(std::string_view text) const
    {
        std::vector<std::uint32_t> all;
        while (!text.empty()) {
            const std::size_t stop = std::min(text.find(' '), text.size());
            all.push_back(static_cast<std::uint32_t>(stop));
            text.remove_prefix(std::min(stop + 1, text.size()));
        }
        return all;
    }
};

struct cxx_batch : sluice::annotator<cxx_batch> {
    static constexpr const char *name = "cxx_batch", *version = "1.0", *summary = "Adds two columns, a batch at a time";
    void prepare(sluice::plan &p)
    {
        p.need("text", "utf8?");
        p.add("empty", "bool");
        p.add("size", "float64?");
    }
    void run(const sluice::batch &in, sluice::emitter &out) const
    {
        sluice::column_maker<bool> empty;
        sluice::column_maker<std::optional<double>> size;
        std::vector<sluice::array> columns;
        for (std::int64_t k = 0; k < in.size(); k++) {
            const auto text = in[k].text();
            empty.add(text.empty());
            size.add(text.empty() ? std::nullopt : std::optional<double>(static_cast<double>(text.size())));
        }
        columns.push_back(empty.finish());
        columns.push_back(size.finish());
        out.give(sluice::struct_of(in.size(), std::move(columns)));
    }
};

// transform: ordered, with a last row for the split.
struct cxx_lines : sluice::transform<cxx_lines> {
    static constexpr const char *name = "cxx_lines", *version = "1.0", *summary = "A row for each line, and one for the longest line";
    static constexpr std::uint32_t mode = SLUICE_MODE_ORDERED;
    static constexpr std::uint64_t flags = SLUICE_STAGE_CONSUMES;
    using output = sluice::rows<std::string, std::int64_t>;
    static constexpr const char *gives[] = { "text", "line" };
    std::int32_t row = -1;
    struct worker {
        std::string longest;
        std::uint64_t row = 0;
    };
    void prepare(sluice::plan &p)
    {
        p.need("text", "utf8?");
        row = p.need("_row", "uint64");
        declare_output(p);
    }
    void transform(const sluice::row &in, output &out, worker &own) const
    {
        std::string_view text = in.text();
        for (std::int64_t k = 0; !text.empty(); k++) {
            const std::size_t stop = std::min(text.find('\n'), text.size());
            if (stop > own.longest.size()) {
                own.longest = text.substr(0, stop);
                own.row = in.uint64(row);
            }
            out.add(std::string(text.substr(0, stop)), k);
            text.remove_prefix(std::min(stop + 1, text.size()));
        }
    }
    void finish(output &out, worker &own) const
    {
        if (!own.longest.empty()) {
            out.mark(1, own.row);
            out.add(own.longest, -1);
        }
    }
};

// readers: lines "id<tab>text"; and a file whose records end with a semicolon.
struct cxx_tsv : sluice::reader<cxx_tsv> {
    static constexpr const char *name = "cxx_tsv", *version = "1.0", *summary = "Lines of id, tab, text";
    using output = sluice::rows<std::string, std::string_view>;
    static constexpr const char *gives[] = { "id", "text" };
    void record(std::string_view line, const sluice::place &where, output &out) const
    {
        const std::size_t tab = line.find('\t');
        if (tab == line.npos) {
            throw sluice::bad_record("no_tab", "the line at " + std::to_string(where.begin) + " has no tab");
        }
        out.add(std::string(line.substr(0, tab)), line.substr(tab + 1));
    }
};

struct cxx_semicolons : sluice::reader<cxx_semicolons> {
    static constexpr const char *name = "cxx_semicolons", *version = "1.0", *summary = "Records that end with a semicolon",
                                *cut = "none";
    using output = sluice::rows<std::string_view>;
    static constexpr const char *gives[] = { "text" };
    std::size_t read(const sluice::chunk &c, output &out) const
    {
        std::size_t at = 0;
        while (at < c.data.size()) {
            std::size_t stop = c.data.find(';', at);
            if (stop == c.data.npos) {
                if (!c.last) {
                    break;
                }
                stop = c.data.size();
            }
            const std::string_view text = c.data.substr(at, stop - at);
            if (text_utf8_valid(text.data(), text.size(), nullptr)) {
                out.mark(2, c.offset + at, c.offset + stop);
                out.add(text);
            } else {
                out.bad(c.offset + at, c.offset + stop, "invalid_utf8", "the record is not UTF-8");
            }
            at = std::min(stop + 1, c.data.size());
        }
        return at;
    }
};

// gate and writer
struct cxx_most : sluice::gate<cxx_most> {
    static constexpr const char *name = "cxx_most", *version = "1.0", *summary = "Halts above a number of bytes";
    struct options {
        std::int64_t bytes;
        sluice::node_name of;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::bytes, "bytes", "1000", "Most bytes of text.").range(0, 1e12).no_output();
        t.add(&options::of, "of", "A node.").no_output();
    }
    struct totals {
        std::int64_t bytes, rows;
    };
    void observe(std::string_view text, totals &sum) const
    {
        sum.bytes += static_cast<std::int64_t>(text.size());
        sum.rows++;
    }
    static void merge(totals &sum, const totals &other)
    {
        sum.bytes += other.bytes;
        sum.rows += other.rows;
    }
    sluice::judgement judge(const totals &sum, const sluice::row_counts &counts) const
    {
        return sum.bytes <= opts().bytes
                   ? sluice::pass()
                   : sluice::halt(std::to_string(sum.bytes) + " bytes in " + std::to_string(sum.rows) + " rows (of " +
                                  std::to_string(counts(opts().of)) + "), expected at most " + std::to_string(opts().bytes));
    }
};

// reader that reads at random: blocks of 64 bytes, a row each, which says how many bytes it has and what they add up to.
struct cxx_blocks : sluice::random_reader<cxx_blocks> {
    static constexpr const char *name = "cxx_blocks", *version = "1.0", *summary = "Blocks of bytes";
    static constexpr std::uint64_t size = 64;
    struct worker {
        std::uint64_t blocks = 0;
    };
    void prepare(sluice::plan &p)
    {
        const auto said = p.described();
        p.add(said && *said != "blocks" ? "other" : "sum", "int64");
    }
    void survey(const sluice_file &file, sluice::emitter &out, worker &) const
    {
        for (std::uint64_t at = 0; at < file.bytes; at += size) {
            sluice_unit unit{};
            unit.begin = at;
            unit.end = std::min(at + size, file.bytes);
            unit.rows = 1;
            out.unit(unit);
        }
        out.describe("blocks");
    }
    void scan(sluice_scan &scan, sluice::emitter &out, worker &) const
    {
        out.ask(scan.begin, scan.end - scan.begin, scan.unit);
    }
    void resume(const sluice_answers &answers, sluice::emitter &out, worker &own) const
    {
        const std::string_view data(answers.items->data, static_cast<std::size_t>(answers.items->n));
        std::int64_t sum = 0;
        for (const char c : data) {
            sum += static_cast<unsigned char>(c);
        }
        own.blocks++;
        sluice::column_maker<std::int64_t> sums;
        sums.add(sum);
        std::vector<sluice::array> columns;
        columns.push_back(sums.finish());
        out.give(sluice::struct_of(1, std::move(columns)));
    }
};

struct cxx_lines_out : sluice::writer<cxx_lines_out> {
    static constexpr const char *name = "cxx_lines_out", *version = "1.0", *summary = "Texts, one a line", *suffix = ".txt";
    struct options {
        sluice::path_name path;
        sluice::byte_size shard;
        std::int32_t compression;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::path, "path", "Dataset folder.").output_path().positional().required();
        t.add(&options::shard, "shard_size", "1MiB", "Bytes after which a file is ended.").range(1, 1e12);
        t.add(&options::compression, "compression", "none", "Codec.").choices("none|gzip|zstd");
    }
    const char *codec() const
    {
        static const char *const names[] = { "none", "gzip", "zstd" };
        return names[opts().compression];
    }
    std::uint64_t shard_size() const
    {
        return opts().shard;
    }
    void write(std::string_view text, std::string &out) const
    {
        out.append(text).append("\n");
    }
};

} // namespace

SLUICE_PLUGIN("cxx_roles", "1.0", "MIT", cxx_judge, cxx_throw, cxx_number, cxx_reverse, cxx_lengths, cxx_batch, cxx_lines, cxx_tsv,
              cxx_semicolons, cxx_most, cxx_blocks, cxx_lines_out);
