// NAME_HERE - a reader: lines of an id, a tab and a text become documents.
//
// The host finds, opens, decompresses and cuts the files. A line that is no record is quarantined
// with its bytes, and the run goes on.
//
// To make it yours, change the options, record(), and the columns. <sluice.hpp> explains what a
// stage class may have.
#include <sluice.hpp>

namespace
{

struct stage : sluice::reader<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "Lines of an id, a tab and a text";
    static constexpr const char *doc =
        "Columns: `text` and `id`. Empty lines are skipped. Other lines are quarantined: no_tab, "
        "long_id, invalid_utf8.";
    static constexpr const char *example = "s.files \"data/*.tsv.zst\" | NAME_HERE {}";

    // The host parses the options, checks them and puts them here.
    struct options {
        std::int64_t max_id_bytes;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::max_id_bytes, "max_id_bytes", "200",
              "Longest id; a line with a longer one is no record.")
            .range(1, 10000);
    }

    using output = sluice::rows<std::string_view, std::string_view>;
    static constexpr const char *gives[] = { "text", "id" };

    // One line, without its end. The base class has seen to it that it is UTF-8.
    void record(std::string_view line, const sluice::place &, output &out) const
    {
        const std::size_t tab = line.find('\t');
        if (line.empty()) {
            return;
        }
        if (tab == line.npos) {
            throw sluice::bad_record("no_tab", "the line has no tab between id and text");
        }
        if (static_cast<std::int64_t>(tab) > opts().max_id_bytes) {
            throw sluice::bad_record("long_id", "the id is longer than max_id_bytes");
        }
        out.add(line.substr(tab + 1), line.substr(0, tab));
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
