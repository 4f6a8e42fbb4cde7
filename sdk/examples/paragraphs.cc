// paragraphs - a transform in C++ with sluice.hpp: a document becomes its paragraphs, a row each.
//
// Build it with a Makefile of one line beside it: include $(shell pkg-config --variable=pluginmk
// sluice)
#include <sluice.hpp>

namespace
{

struct paragraphs : sluice::transform<paragraphs> {
    static constexpr const char *name = "paragraphs";
    static constexpr const char *version = "1.0";
    static constexpr const char *summary = "A document becomes its paragraphs, a row each";
    static constexpr const char *example = "docs | s.paragraphs { min_bytes = 20 }";
    static constexpr std::uint64_t flags = SLUICE_STAGE_CONSUMES; // a document may have none

    struct options {
        std::int64_t min_bytes;
        sluice::column_name over;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::min_bytes, "min_bytes", "1", "Shorter paragraphs are left out, in bytes.")
            .range(1, 1e9);
        t.add(&options::over, "over", "text", "Column that holds the text.");
    }

    using output = sluice::rows<std::string_view, std::int64_t>;
    static constexpr const char *gives[] = { "text", "paragraph" };

    void transform(std::string_view text, output &out) const
    {
        std::int64_t number = 0;
        while (!text.empty()) {
            const std::size_t stop = text.find("\n\n");
            const std::string_view paragraph = text.substr(0, stop);
            if (paragraph.size() >= static_cast<std::size_t>(opts().min_bytes)) {
                out.add(paragraph, number++);
            }
            text.remove_prefix(stop == text.npos ? text.size() : stop + 2);
        }
    }
};

} // namespace

SLUICE_PLUGIN("example_paragraphs", "1.0", "MIT", paragraphs);
