/* See hive.h. */
#include "hive.h"

#include <algorithm>
#include <charconv>

#include "sluice.hpp"
#include "text/text_utf8.h"

namespace sluice_columnar
{

namespace
{

int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

std::string decoded(std::string_view text)
{
    std::string out;

    for (std::size_t k = 0; k < text.size(); k++) {
        if (text[k] == '%' && k + 2 < text.size() && digit(text[k + 1]) >= 0 &&
            digit(text[k + 2]) >= 0) {
            out.push_back(static_cast<char>(digit(text[k + 1]) << 4 | digit(text[k + 2])));
            k += 2;
        } else {
            out.push_back(text[k]);
        }
    }
    return out;
}

} /* namespace */

std::vector<Partition> partitions_of(std::string_view path)
{
    std::vector<Partition> out;

    for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos;
         path.remove_prefix(slash + 1)) {
        const std::string_view folder = path.substr(0, slash);
        const std::size_t equals = folder.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            continue;
        }
        Partition one = { decoded(folder.substr(0, equals)), decoded(folder.substr(equals + 1)) };
        if (!text_utf8_valid(one.name.data(), one.name.size(), nullptr) ||
            !text_utf8_valid(one.value->data(), one.value->size(), nullptr)) {
            continue;
        }
        if (*one.value == "__HIVE_DEFAULT_PARTITION__") {
            one.value.reset();
        }
        out.erase(std::remove_if(out.begin(), out.end(),
                                 [&](const Partition &other) { return other.name == one.name; }),
                  out.end());
        out.push_back(std::move(one));
    }
    return out;
}

void Parts::add(const Partition &part, const std::shared_ptr<arrow::DataType> &type)
{
    if (!part.value.has_value()) {
        values.push_back(arrow::MakeNullScalar(type));
    } else {
        auto made = arrow::Scalar::Parse(type, *part.value);
        if (!made.ok()) {
            throw sluice::error(SLUICE_E_DATA,
                                "found the folder '" + part.name + "=" + *part.value +
                                    "', expected a value that is " + type->ToString() +
                                    ": ask for it as utf8, and compare it with a text in quotes",
                                part.name);
        }
        values.push_back(made.ValueUnsafe());
    }
    fields.push_back(arrow::field(part.name, type));
}

std::shared_ptr<arrow::DataType> type_of(const Partition &part)
{
    std::int64_t whole = 0;

    if (part.value.has_value()) {
        const char *end = part.value->data() + part.value->size();
        const auto read = std::from_chars(part.value->data(), end, whole);
        if (read.ec == std::errc() && read.ptr == end && std::to_string(whole) == *part.value) {
            return arrow::int64();
        }
    }
    return arrow::utf8();
}

Parts part_columns(const std::vector<Partition> &parts, const arrow::Schema &file,
                   const std::function<std::shared_ptr<arrow::DataType>(const std::string &)> &type)
{
    Parts out;

    for (const Partition &part : parts) {
        if (part.name[0] != '_' && file.GetAllFieldIndices(part.name).empty()) {
            const auto asked = type(part.name);
            out.add(part, asked != nullptr ? asked : type_of(part));
        }
    }
    return out;
}

std::shared_ptr<arrow::Schema> schema_with(const arrow::Schema &file, const Parts &parts)
{
    arrow::FieldVector all = file.fields();

    all.insert(all.end(), parts.fields.begin(), parts.fields.end());
    return arrow::schema(std::move(all), file.metadata());
}

} /* namespace sluice_columnar */
