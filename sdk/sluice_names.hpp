/* sluice_names.hpp - what to say of a column that a file lacks. For readers of files with names of
 * their own; header-only, depends on nothing. */
#ifndef SLUICE_NAMES_HPP
#define SLUICE_NAMES_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace sluice
{

/* How many letters of one name have to change to make it the other. */
inline std::size_t name_distance(const std::string &a, const std::string &b)
{
    std::vector<std::size_t> row(b.size() + 1);

    for (std::size_t k = 0; k <= b.size(); k++) {
        row[k] = k;
    }
    for (std::size_t i = 1; i <= a.size(); i++) {
        std::size_t before = row[0]++;
        for (std::size_t k = 1; k <= b.size(); k++) {
            const std::size_t here = before + (a[i - 1] == b[k - 1] ? 0 : 1);
            before = row[k];
            row[k] = std::min({ row[k] + 1, row[k - 1] + 1, here });
        }
    }
    return row[b.size()];
}

/* "found the columns id, txt, no 'text'; did you mean 'txt'?" */
inline std::string missing_column(const std::string &name, const std::vector<std::string> &there)
{
    constexpr std::size_t told = 40, longest = 200;
    std::string out = "found the columns ";
    const std::string *near = nullptr;
    std::size_t nearest = 1 + name.size() / 3;

    for (std::size_t k = 0; k < there.size(); k++) {
        const std::string &other = there[k];
        if (k < told) {
            out += (k > 0 ? ", " : "") + other;
        }
        if (other.size() < longest && name.size() < longest &&
            name_distance(name, other) <= nearest) {
            nearest = name_distance(name, other);
            near = &other;
        }
    }
    out += there.size() > told ? " and more" : "";
    out += ", no '" + name + "'";
    return near != nullptr ? out + "; did you mean '" + *near + "'?" : out;
}

} // namespace sluice

#endif
