// NAME_HERE - a reader that reads at random: files with an index, of which no more is read than is
// asked for.
//
// A shelf is lines of an id, a tab and a text; then a line for each unit of them, of where it
// begins and ends (two numbers of ten digits); then a line of where those lines begin. The host
// opens the files and reads them: survey() and scan() ask for bytes, resume() goes on when they are
// there. Units are read by any worker, in any order. What is asked for must depend on the file and
// the options alone.
//
// To make it yours, change the options, units(), record(), and the columns. <sluice.hpp> explains
// what a stage class may have.
#include <sluice.hpp>
#include <string>
#include <text/text_utf8.h>

namespace
{

constexpr std::uint64_t number_size = 11; // ten digits and what ends them
constexpr std::uint64_t entry_size = 2 * number_size;
constexpr std::size_t batch_bytes = std::size_t{ 1 } << 20;

struct stage : sluice::random_reader<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary =
        "Shelves: lines of an id, a tab and a text, with an index";
    static constexpr const char *doc =
        "Columns: `text` and `id`. Lines without a tab, or that are not UTF-8, are quarantined: "
        "no_tab, invalid_utf8.";
    static constexpr const char *example = "s.files \"data/*.shelf\" | NAME_HERE { least = 1000 }";

    // The host parses the options, checks them and puts them here.
    struct options {
        std::int64_t least;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::least, "least", "0", "Units of fewer bytes are not read: they are skipped.")
            .range(0, 1e12);
    }

    // What a worker keeps from call to call.
    struct worker {
        std::uint64_t bytes = 0, index = 0; // of the survey's file; 0 = not known yet
        std::string unit;                   // of the scan
        std::size_t at = 0;
    };

    // `_begin` and `_end` are where a record stands in its file, so that it can be traced; without
    // them rows are traced to their unit.
    void prepare(sluice::plan &p)
    {
        p.add("text", "utf8");
        p.add("id", "utf8");
        p.add("_begin", "uint64");
        p.add("_end", "uint64");
    }

    void survey(const sluice_file &file, sluice::emitter &out, worker &own) const
    {
        if (file.bytes < number_size) {
            throw sluice::error(SLUICE_E_DATA, "the file ends before its last line");
        }
        own.bytes = file.bytes - number_size;
        own.index = 0;
        out.ask(own.bytes, number_size);
    }

    void scan(sluice_scan &scan, sluice::emitter &out, worker &own) const
    {
        if (scan.call > 0) {
            rows(scan, out, own);
        } else {
            out.ask(scan.begin, scan.end - scan.begin);
        }
    }

    void resume(const sluice_answers &answers, sluice::emitter &out, worker &own) const
    {
        const std::string_view data(answers.items->data,
                                    static_cast<std::size_t>(answers.items->n));
        if (answers.scan != nullptr) {
            own.unit = data; // lent for this call, and there may be more rows than go into one
            own.at = 0;
            rows(*answers.scan, out, own);
        } else if (own.index == 0) {
            own.index = number(data, '\n');
            if (own.index == 0 || own.index >= own.bytes ||
                (own.bytes - own.index) % entry_size != 0) {
                throw sluice::error(SLUICE_E_DATA, "the last line is damaged");
            }
            out.ask(own.index, own.bytes - own.index);
        } else {
            units(data, out, own);
        }
    }

  private:
    // Ten digits and `end`.
    static std::uint64_t number(std::string_view text, char end)
    {
        std::uint64_t value = 0;
        for (std::size_t k = 0; k + 1 < number_size; k++) {
            if (text[k] < '0' || text[k] > '9') {
                throw sluice::error(SLUICE_E_DATA, "a number of the index is damaged");
            }
            value = value * 10 + static_cast<std::uint64_t>(text[k] - '0');
        }
        if (text[number_size - 1] != end) {
            throw sluice::error(SLUICE_E_DATA, "a line of the index is damaged");
        }
        return value;
    }

    // The index: the units, in ascending order.
    void units(std::string_view data, sluice::emitter &out, const worker &own) const
    {
        std::uint64_t behind = 0;
        for (; !data.empty(); data.remove_prefix(entry_size)) {
            sluice_unit unit{};
            unit.begin = number(data, ' ');
            unit.end = number(data.substr(number_size), '\n');
            unit.rows = -1;
            if (unit.begin < behind || unit.end <= unit.begin || unit.end > own.index) {
                throw sluice::error(SLUICE_E_DATA, "a line of the index is damaged");
            }
            if (unit.end - unit.begin < static_cast<std::uint64_t>(opts().least)) {
                unit.skip = "small";
            }
            behind = unit.end;
            out.unit(unit);
        }
    }

    struct columns {
        sluice::column_maker<std::string_view> text, id;
        sluice::column_maker<std::uint64_t> begin, end;
    };

    // One line without its end, at bytes begin to end of the file.
    static void record(std::string_view line, std::uint64_t begin, columns &made,
                       sluice::emitter &out)
    {
        const std::uint64_t end = begin + line.size();
        const std::size_t tab = line.find('\t');
        if (text_utf8_valid(line.data(), line.size(), nullptr) == 0) {
            out.bad(begin, end, "invalid_utf8", "the line is not UTF-8");
        } else if (tab == line.npos) {
            out.bad(begin, end, "no_tab", "the line has no tab between id and text");
        } else {
            made.text.add(line.substr(tab + 1));
            made.id.add(line.substr(0, tab));
            made.begin.add(begin);
            made.end.add(end);
        }
    }

    // About a mebibyte a call.
    void rows(sluice_scan &scan, sluice::emitter &out, worker &own) const
    {
        const std::string_view unit(own.unit);
        const std::size_t stop = std::min(unit.size(), own.at + batch_bytes);
        columns made;
        while (own.at < stop) {
            const std::size_t end = std::min(unit.find('\n', own.at), unit.size());
            record(unit.substr(own.at, end - own.at), scan.begin + own.at, made, out);
            own.at = std::min(end + 1, unit.size());
        }
        scan.more = own.at < unit.size() ? 1 : 0;
        if (const std::int64_t n = made.text.rows(); n > 0) {
            std::vector<sluice::array> all;
            all.push_back(made.text.finish());
            all.push_back(made.id.finish());
            all.push_back(made.begin.finish());
            all.push_back(made.end.finish());
            out.give(sluice::struct_of(n, std::move(all)));
        }
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
