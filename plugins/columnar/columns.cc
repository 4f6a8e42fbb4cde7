/* See columns.h. */
#include "columns.h"

#include <algorithm>

#include "sluice_names.hpp"

namespace sluice_columnar
{

namespace
{

/* "found the columns id, txt, no 'text'; did you mean 'txt'?" */
std::string missing(const std::string &name, const arrow::Schema &file)
{
    return sluice::missing_column(name, file.field_names());
}

[[noreturn]] void wrong_type(sluice_status status, const std::string &name,
                             const arrow::DataType &found, const std::string &wanted)
{
    const std::string own = own_type(found);

    throw sluice::error(status,
                        "column '" + name + "' is " + found.ToString() + ", expected " + wanted +
                            (own.empty() || own == wanted ? "" : "; it can be had as " + own),
                        "columns");
}

const arrow::DataType &type_at(const arrow::Schema &file, int field)
{
    return *file.field(field)->type();
}

/* Adds a column under the name it has, or another one. */
void add(std::vector<Output> &outputs, const std::string &name, const std::string &source,
         const std::string &type, bool id, const arrow::Schema *first)
{
    const int field = first == nullptr || source.empty() ? -1 : find_column(*first, source);

    if (field >= 0 && convert_to(type_at(*first, field), type) == Convert::impossible) {
        wrong_type(SLUICE_E_SCHEMA, source, type_at(*first, field), type);
    }
    outputs.push_back({ name, source, type, id,
                        field >= 0 && own_convert(type_at(*first, field)) == Convert::none
                            ? first->field(field)->type()
                            : plain_arrow(type),
                        false });
}

void choose_all(std::vector<Output> &outputs, const Request &request, const arrow::Schema &first,
                std::vector<std::string> &left_out)
{
    for (const auto &field : first.fields()) {
        const std::string &name = field->name();
        if (!request.as_is && (name == request.text || name == request.id)) {
            continue;
        }
        if (!name.empty() && name[0] == '_') {
            left_out.push_back(name);
            continue;
        }
        if (!request.as_is && (name == "text" || name == "id")) {
            throw sluice::error(SLUICE_E_SCHEMA,
                                "the column '" + (name == "text" ? request.text : request.id) +
                                    "' is to become '" + name +
                                    "', but there is a column of that name: say with `columns` "
                                    "which others are wanted",
                                name);
        }
        const std::string type = own_type(*field->type());
        if (type.empty()) {
            throw sluice::error(SLUICE_E_SCHEMA,
                                "column '" + name + "' is " + field->type()->ToString() +
                                    ", which no column of ours holds: say with `columns` which "
                                    "others are wanted",
                                name);
        }
        add(outputs, name, name, type, false, &first);
        outputs.back().required = request.as_is && !field->nullable();
    }
}

} /* namespace */

int find_column(const arrow::Schema &schema, const std::string &name)
{
    const std::vector<int> all = schema.GetAllFieldIndices(name);

    if (all.size() > 1) {
        throw sluice::error(SLUICE_E_DATA, "found " + std::to_string(all.size()) +
                                               " columns of the name '" + name + "', expected one");
    }
    return all.empty() ? -1 : all[0];
}

std::vector<Output> choose(const Request &request, const arrow::Schema *first,
                           std::vector<std::string> &left_out)
{
    if (request.as_is) {
        std::vector<Output> all;
        if (!request.columns.empty()) {
            throw sluice::error(SLUICE_E_CONFIG, "`as_is` gives all columns; leave out `columns`",
                                "columns");
        }
        if (first != nullptr) {
            choose_all(all, request, *first, left_out);
        }
        return all;
    }
    const bool has_text = first == nullptr || find_column(*first, request.text) >= 0;
    const bool has_id = first == nullptr || find_column(*first, request.id) >= 0;
    std::vector<Output> out;

    /* Where there is no text, who needs it is told so by the host; but for a name that was
     * given. */
    if (!has_text && !request.fill && request.text != "text") {
        throw sluice::error(SLUICE_E_SCHEMA, missing(request.text, *first), "text");
    }
    if (!has_id && !request.fill && request.id != "id") {
        throw sluice::error(SLUICE_E_SCHEMA, missing(request.id, *first), "id");
    }
    if (has_text || request.fill) {
        add(out, "text", request.text, "utf8", false, first);
    }
    add(out, "id", has_id || request.fill ? request.id : "", "utf8", true, first);
    for (const auto &[name, type] : request.columns) {
        if (first != nullptr && !request.fill && find_column(*first, name) < 0) {
            throw sluice::error(SLUICE_E_SCHEMA, missing(name, *first), "columns");
        }
        add(out, name, name, type, false, first);
    }
    if (request.columns.empty() && first != nullptr) {
        choose_all(out, request, *first, left_out);
    }
    return out;
}

namespace
{

/* A file that lacks a column. */
void absent(const Request &request, const Output &output, const arrow::Schema &file, Mapping &out)
{
    if (output.id || output.source.empty()) {
        return;
    }
    if (!request.fill && !request.unite) {
        throw sluice::error(SLUICE_E_DATA,
                            missing(output.source, file) +
                                "; the first file has it: `missing = \"null\"` makes nulls of it, "
                                "`union_by_name = true` of all that a file lacks",
                            output.source);
    }
    if (output.nulls == nullptr) {
        throw sluice::error(SLUICE_E_DATA,
                            missing(output.source, file) + ", and nulls of the type " +
                                output.type + " are not made",
                            output.source);
    }
    out.absent.push_back(output.source);
}

void refuse_more(const Request &request, const std::vector<Output> &outputs,
                 const arrow::Schema &file)
{
    for (const auto &field : file.fields()) {
        const std::string &name = field->name();
        const bool known = std::any_of(outputs.begin(), outputs.end(),
                                       [&](const Output &output) { return output.source == name; });
        if (!known && (request.as_is || (name != request.text && name != request.id)) &&
            name.substr(0, 1) != "_") {
            throw sluice::error(SLUICE_E_DATA,
                                "it has a column '" + name +
                                    "', which the first file lacks: say with `columns` which are "
                                    "wanted, or `union_by_name = true` to have all of all files",
                                name);
        }
    }
}

} /* namespace */

Mapping map_columns(const Request &request, const std::vector<Output> &outputs,
                    const arrow::Schema &file, bool all)
{
    Mapping out;
    std::vector<int> &fields = out.fields;

    for (const Output &output : outputs) {
        Source source;
        source.field = output.source.empty() ? -1 : find_column(file, output.source);
        if (source.field >= 0 && request.unite && !output.id && output.nulls != nullptr &&
            type_at(file, source.field).id() == arrow::Type::NA) {
            source.field = -1; /* a column of nulls alone is as good as none */
        } else if (source.field < 0) {
            absent(request, output, file, out);
        } else {
            source.how = convert_to(type_at(file, source.field), output.type);
            if (source.how == Convert::impossible) {
                wrong_type(SLUICE_E_DATA, output.source, type_at(file, source.field), output.type);
            }
            fields.push_back(source.field);
        }
        out.sources.push_back(source);
    }
    if (all) {
        refuse_more(request, outputs, file);
    }
    /* The library gives columns in the order of the file, each once. */
    std::sort(fields.begin(), fields.end());
    fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
    for (Source &source : out.sources) {
        const auto found = std::lower_bound(fields.begin(), fields.end(), source.field);
        source.at = source.field < 0 ? -1 : static_cast<int>(found - fields.begin());
    }
    return out;
}

} /* namespace sluice_columnar */
