/* See csv_table.h. */
#include "csv_table.h"

#include <algorithm>
#include <cstring>

#include "sluice_names.hpp"

namespace sluice_csv
{

/* ---- heads ---- */

std::string Head::pack() const
{
    std::string out = { static_cast<char>(codec), delimiter };

    out.append(reinterpret_cast<const char *>(&first), sizeof first);
    for (std::size_t k = 0; k < names.size(); k++) {
        out += static_cast<char>(types[k]);
        out += names[k];
        out += '\0'; /* no name holds one */
    }
    return out;
}

Head Head::unpack(std::string_view bytes)
{
    Head out;
    std::size_t at = 2 + sizeof out.first;

    if (bytes.size() < at) {
        throw sluice::error(SLUICE_E_INTERNAL, "what was remembered of a file is cut");
    }
    out.codec = static_cast<Codec>(bytes[0]);
    out.delimiter = bytes[1];
    std::memcpy(&out.first, bytes.data() + 2, sizeof out.first);
    while (at < bytes.size()) {
        const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
        out.types.push_back(static_cast<Type>(bytes[at]));
        out.names.emplace_back(bytes.substr(at + 1, end - at - 1));
        at = end + 1;
    }
    return out;
}

int Head::find(const std::string &name) const
{
    const auto n = std::count(names.begin(), names.end(), name);

    if (n > 1) {
        throw sluice::error(SLUICE_E_DATA, "found " + std::to_string(n) + " columns of the name '" +
                                               name + "', expected one");
    }
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/* ---- columns ---- */

bool Request::is_null(const Field &field) const
{
    const std::string_view value(field.data, field.n);

    return !field.quoted && std::find(nulls.begin(), nulls.end(), value) != nulls.end();
}

namespace
{

[[noreturn]] void missing(sluice_status status, const std::string &name, const Head &file,
                          const char *more, const char *field)
{
    throw sluice::error(status, sluice::missing_column(name, file.names) + more, field);
}

void choose_all(const Request &request, const Head &first, std::vector<Output> &out,
                std::vector<std::string> &left_out)
{
    for (std::size_t k = 0; k < first.names.size(); k++) {
        const std::string &name = first.names[k];
        if (name == request.text || name == request.id) {
            continue;
        }
        if (name[0] == '_') {
            left_out.push_back(name);
            continue;
        }
        if (name == "text" || name == "id") {
            throw sluice::error(SLUICE_E_SCHEMA,
                                "the column '" + (name == "text" ? request.text : request.id) +
                                    "' is to become '" + name +
                                    "', but there is a column of that name: say with `columns` "
                                    "which others are wanted",
                                name);
        }
        first.find(name); /* once */
        const Type type = first.types[k];
        out.push_back({ name, name, type == Type::none ? Type::text : type, false });
    }
}

} /* namespace */

std::vector<Output> choose(const Request &request, const Head *first,
                           std::vector<std::string> &left_out)
{
    const bool has_text = first == nullptr || first->find(request.text) >= 0;
    const bool has_id = first == nullptr || first->find(request.id) >= 0;
    std::vector<Output> out;

    if (!has_text && !request.fill && request.text != "text") {
        missing(SLUICE_E_SCHEMA, request.text, *first, "", "text");
    }
    if (!has_id && !request.fill && request.id != "id") {
        missing(SLUICE_E_SCHEMA, request.id, *first, "", "id");
    }
    if (has_text || request.fill) {
        out.push_back({ "text", request.text, Type::text, false });
    }
    out.push_back({ "id", has_id || request.fill ? request.id : "", Type::text, true });
    for (const auto &[name, type] : request.columns) {
        if (first != nullptr && !request.fill && first->find(name) < 0) {
            missing(SLUICE_E_SCHEMA, name, *first, "", "columns");
        }
        out.push_back({ name, name, type, false });
    }
    if (request.columns.empty() && first != nullptr) {
        choose_all(request, *first, out, left_out);
    }
    return out;
}

bool Union::is_told(const std::string &name) const
{
    return name == request_.text || name == request_.id || name[0] == '_' ||
           std::any_of(request_.columns.begin(), request_.columns.end(),
                       [&](const auto &column) { return column.first == name; });
}

void Union::add(const Head &file, const std::string &uri)
{
    for (std::size_t k = 0; k < file.names.size(); k++) {
        const std::string &name = file.names[k];
        file.find(name); /* once */
        const int at = head_.find(name);
        if (at < 0) {
            head_.names.push_back(name);
            head_.types.push_back(file.types[k]);
            uris_.push_back(uri);
            continue;
        }
        const auto place = static_cast<std::size_t>(at);
        Type &known = head_.types[place];
        if (known == Type::none) {
            known = file.types[k];
            uris_[place] = uri;
        } else if (known != file.types[k] && file.types[k] != Type::none && !is_told(name)) {
            throw sluice::error(SLUICE_E_SCHEMA,
                                uri + ": column '" + name + "' seems to be " +
                                    type_name(file.types[k]) + ", but " + type_name(known) +
                                    " in " + uris_[place] + ": say with `columns` what it is",
                                "union_by_name");
        }
    }
}

std::vector<int> places_of(const Request &request, const std::vector<Output> &outputs,
                           const Head &file, bool all, std::vector<std::string> &absent)
{
    std::vector<int> out;

    for (const Output &output : outputs) {
        const int at = output.source.empty() ? -1 : file.find(output.source);
        if (at < 0 && !output.id) {
            if (!request.fill && !request.unite) {
                missing(SLUICE_E_DATA, output.source, file,
                        "; the first file has it: `missing = \"null\"` makes nulls of it, "
                        "`union_by_name = true` of all that a file lacks",
                        output.source.c_str());
            }
            absent.push_back(output.source);
        }
        out.push_back(at);
    }
    for (const std::string &name : file.names) {
        const bool known = std::any_of(outputs.begin(), outputs.end(),
                                       [&](const Output &output) { return output.source == name; });
        if (all && !known && name != request.text && name != request.id && name[0] != '_') {
            throw sluice::error(SLUICE_E_DATA,
                                "it has a column '" + name +
                                    "', which the first file lacks: say with `columns` which are "
                                    "wanted, or `union_by_name = true` to have all of all files",
                                name);
        }
    }
    return out;
}

/* ---- rows ---- */

void Table::begin(const std::vector<Output> *outputs, const std::vector<int> *places)
{
    outputs_ = outputs;
    places_ = places;
    columns_.clear();
    columns_.resize(outputs->size());
    values_.resize(outputs->size());
    begins_ = sluice::bytes();
    ends_ = sluice::bytes();
    rows_ = 0;
    bytes_ = 0;
}

/* The k-th output's value of a record into values_; field NULL: it has none. */
bool Table::parse(std::size_t k, const Request &request, const Field *field, std::string &detail)
{
    const Output &output = (*outputs_)[k];
    Value &value = values_[k];
    bool good = true;
    bool word = false;

    value = Value();
    value.null = field == nullptr || request.is_null(*field);
    if (value.null) {
        return true;
    }
    value.text = std::string_view(field->data, field->n);
    switch (output.type) {
    case Type::integer:
        good = parse_integer(value.text, value.whole);
        break;
    case Type::real:
        good = parse_real(value.text, value.number);
        break;
    case Type::boolean:
        good = parse_boolean(value.text, word);
        value.whole = word ? 1 : 0;
        break;
    case Type::none: /* never of an output */
    case Type::text:
        break;
    }
    if (!good) {
        detail = "column '" + output.source + "': found '" + std::string(value.text.substr(0, 60)) +
                 "', expected " + type_name(output.type);
    }
    return good;
}

void Table::put(std::size_t k)
{
    Column &column = columns_[k];
    const Value &value = values_[k];

    column.nulls.add_bit(rows_, !value.null);
    column.n_nulls += value.null ? 1 : 0;
    switch ((*outputs_)[k].type) {
    case Type::none: /* never of an output */
    case Type::text:
        if (sluice_bytes_add_text(column.offsets.raw(), column.values.raw(), value.text.data(),
                                  value.text.size()) == 0) {
            throw std::bad_alloc();
        }
        bytes_ += value.text.size() + sizeof(std::int32_t);
        return;
    case Type::integer:
        column.values.add(&value.whole, sizeof value.whole);
        break;
    case Type::real:
        column.values.add(&value.number, sizeof value.number);
        break;
    case Type::boolean:
        column.values.add_bit(rows_, value.whole != 0);
        break;
    }
    bytes_ += sizeof value.whole;
}

bool Table::add(const Request &request, const std::vector<Field> &fields, const Record &record,
                const std::string &prefix, std::string &detail)
{
    for (std::size_t k = 0; k < outputs_->size(); k++) {
        const int place = (*places_)[k];
        const bool has = place >= 0 && static_cast<std::size_t>(place) < fields.size();
        if (!parse(k, request, has ? &fields[static_cast<std::size_t>(place)] : nullptr, detail)) {
            return false;
        }
        if ((*outputs_)[k].id && (values_[k].null || values_[k].text.empty())) {
            made_ = prefix + std::to_string(record.begin);
            values_[k].null = false;
            values_[k].text = made_;
        }
    }
    for (std::size_t k = 0; k < outputs_->size(); k++) {
        put(k);
    }
    begins_.add(&record.begin, sizeof record.begin);
    ends_.add(&record.end, sizeof record.end);
    bytes_ += 2 * sizeof record.begin;
    rows_++;
    return true;
}

void Table::give(sluice::emitter &out)
{
    std::vector<sluice::array> arrays;

    if (rows_ == 0) {
        return;
    }
    for (std::size_t k = 0; k < columns_.size() + 2; k++) {
        const bool place = k >= columns_.size();
        sluice::bytes &values = !place                 ? columns_[k].values
                                : k == columns_.size() ? begins_
                                                       : ends_;
        sluice_bytes *nulls = place || columns_[k].n_nulls == 0 ? nullptr : columns_[k].nulls.raw();
        const std::int64_t n_nulls = place ? 0 : columns_[k].n_nulls;
        sluice::array made;
        const sluice_status status =
            !place && (*outputs_)[k].type == Type::text
                ? sluice_make_text(made.raw(), rows_, columns_[k].offsets.raw(), values.raw(),
                                   nulls, n_nulls)
                : sluice_make_fixed(made.raw(), rows_, values.raw(), nulls, n_nulls);
        if (status != SLUICE_OK) {
            made.raw()->release = nullptr;
            throw std::bad_alloc();
        }
        arrays.push_back(std::move(made));
    }
    out.give(sluice::struct_of(rows_, std::move(arrays)));
    begin(outputs_, places_);
}

} /* namespace sluice_csv */
