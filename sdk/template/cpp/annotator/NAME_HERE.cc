// NAME_HERE - an annotator: adds the column `long_words`, how many words of a document have
// `min_length` bytes or more.
//
// To make it yours, change the options, the measure, and the column. <sluice.hpp> explains what a
// stage class may have.
#include <sluice.hpp>

namespace
{

struct stage : sluice::annotator<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "Counts the long words of a document";
    static constexpr const char *doc =
        "Adds the column `long_words`. Words are what stands between white space.";
    static constexpr const char *example = "docs | NAME_HERE { min_length = 7 }";
    static constexpr const char *gives = "long_words";

    // The host parses the options, checks them and puts them here.
    struct options {
        std::int64_t min_length;
        sluice::column_name over;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::min_length, "min_length", "7", "Fewest bytes of a word that counts.")
            .range(1, 1000);
        t.add(&options::over, "over", "text", "Column that holds the text.");
    }

    // The value of one row: what it returns is the column's type. Called from many threads at once.
    std::int64_t annotate(std::string_view text) const
    {
        std::int64_t words = 0;
        std::int64_t length = 0;
        for (const char c : text) {
            length = c == ' ' || (c >= '\t' && c <= '\r') ? 0 : length + 1;
            words += length == opts().min_length;
        }
        return words;
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
