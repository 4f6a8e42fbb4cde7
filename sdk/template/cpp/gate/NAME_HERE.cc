// NAME_HERE - a gate: halts the run when too large a share of its documents is short.
//
// A gate lets all rows pass. Each task counts its own, the host saves the totals and adds them up
// at the barrier (`merge`), and `judge` decides before anything is published. Totals are integers:
// their sum must not depend on the order.
//
// To make it yours, change the options, what is counted, and judge(). <sluice.hpp> explains what a
// stage class may have.
#include <sluice.hpp>

namespace
{

struct stage : sluice::gate<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "Halts the run when too many documents are short";
    static constexpr const char *doc =
        "Judged when all rows are counted, before anything is published.";
    static constexpr const char *example = "docs | NAME_HERE { max_share = 0.2 }";
    static constexpr std::uint64_t state_version = 1; // of struct totals

    // The host parses the options, checks them and puts them here.
    struct options {
        std::int64_t min_bytes;
        double max_share;
        sluice::column_name over;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::min_bytes, "min_bytes", "20",
              "Fewest bytes of a document that isn't short.")
            .range(0, 1000000);
        // Only judge() looks at it: changing it counts nothing again.
        t.add(&options::max_share, "max_share", "0.5", "Largest share of short documents, 0 to 1.")
            .range(0, 1)
            .no_output();
        t.add(&options::over, "over", "text", "Column that holds the text.");
    }

    struct totals {
        std::uint64_t rows, short_rows;
    };

    void observe(std::string_view text, totals &sum) const
    {
        sum.rows++;
        sum.short_rows += static_cast<std::int64_t>(text.size()) < opts().min_bytes;
    }

    static void merge(totals &sum, const totals &other)
    {
        sum.rows += other.rows;
        sum.short_rows += other.short_rows;
    }

    sluice::judgement judge(const totals &sum, const sluice::row_counts &) const
    {
        const double share =
            sum.rows == 0 ? 0 : static_cast<double>(sum.short_rows) / static_cast<double>(sum.rows);
        if (share <= opts().max_share) {
            return sluice::pass();
        }
        // or sluice::warn()
        return sluice::halt(
            std::to_string(sum.short_rows) + " of " + std::to_string(sum.rows) +
            " documents are short, expected max_share = " + std::to_string(opts().max_share) +
            " or less. Likely cause: the input changed: see `sluice report`");
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
