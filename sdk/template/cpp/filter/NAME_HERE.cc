// NAME_HERE - a filter: drops documents that have fewer words than `min_words`.
//
// To make it yours, change the options, the measure, and the reasons. <sluice.hpp> explains what a
// stage class may have.
#include <sluice.hpp>

namespace
{

struct stage : sluice::filter<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "Drops documents of few words";
    static constexpr const char *doc = "Words are what stands between white space.";
    static constexpr const char *example = "docs | NAME_HERE { min_words = 5 }";
    static constexpr const char *reasons = "too_short";

    // The host parses the options, checks them and puts them here.
    struct options {
        std::int64_t min_words;
        sluice::column_name over;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::min_words, "min_words", "5", "Fewest words of a document that is kept.")
            .range(0, 1000000);
        t.add(&options::over, "over", "text", "Column that holds the text.");
    }

    // Words are what stands between white space.
    static std::int64_t count_words(std::string_view text)
    {
        std::int64_t words = 0;
        bool inside = false;
        for (const char c : text) {
            const bool space = c == ' ' || (c >= '\t' && c <= '\r');
            words += !space && !inside;
            inside = !space;
        }
        return words;
    }

    // Keeps the row, or drops it for the first of `reasons`. Called from many threads at once.
    sluice::verdict judge(std::string_view text) const
    {
        return sluice::at_least(count_words(text), opts().min_words);
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
