// NAME_HERE - a transform: makes a row of each line of a document that has `min_bytes` or more.
//
// A transform gives whole rows: the columns of `gives` are all there are. The base class adds
// `_origin`, which tells the host from which input row each one came, so that it can be traced.
//
// To make it yours, change the options, what is cut, and the columns. <sluice.hpp> explains what a
// stage class may have.
#include <sluice.hpp>

namespace
{

struct stage : sluice::transform<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "A row for each line of a document";
    static constexpr const char *doc =
        "Columns: `text`, and `line`, its number from 1. Lines end at a newline.";
    static constexpr const char *example = "docs | NAME_HERE { min_bytes = 10 }";
    static constexpr std::uint64_t flags = SLUICE_STAGE_CONSUMES; // some documents give no row

    // The host parses the options, checks them and puts them here.
    struct options {
        std::int64_t min_bytes;
        sluice::column_name over;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::min_bytes, "min_bytes", "10", "Fewest bytes of a line that becomes a row.")
            .range(1, 1000000);
        t.add(&options::over, "over", "text", "Column that holds the text.");
    }

    using output = sluice::rows<std::string_view, std::int64_t>;
    static constexpr const char *gives[] = { "text", "line" };

    // Adds any number of rows. Called from many threads at once.
    void transform(std::string_view text, output &out) const
    {
        std::int64_t number = 0;
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            const std::string_view line = text.substr(0, end);
            number++;
            if (static_cast<std::int64_t>(line.size()) >= opts().min_bytes) {
                out.add(line, number);
            }
            text.remove_prefix(end == text.npos ? text.size() : end + 1);
        }
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
