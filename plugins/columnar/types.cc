/* See types.h. */
#include "types.h"

#include <arrow/type_traits.h>

namespace sluice_columnar
{

namespace
{

bool name_plain(const std::string &name)
{
    for (const char letter : name) {
        const auto c = static_cast<unsigned char>(letter);
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || c == '.' || c >= 0x80)) {
            return false;
        }
    }
    return !name.empty();
}

std::string member_name(const std::string &name)
{
    std::string out = "\"";

    if (name_plain(name)) {
        return name;
    }
    for (const char c : name) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out + "\"";
}

/* The type of what stands inside others, where nothing is converted; "" where that can't be. */
std::string inner_type(const arrow::Field &field)
{
    const arrow::DataType &type = *field.type();
    const Convert how = own_convert(type);

    if (how != Convert::none && !(how == Convert::text && type.id() == arrow::Type::STRING)) {
        return "";
    }
    const std::string own = own_type(type);
    return own.empty() ? own : own + (field.nullable() ? "?" : "");
}

std::string struct_type(const arrow::DataType &type)
{
    std::string out = "struct<";

    for (const auto &field : type.fields()) {
        const std::string inner = inner_type(*field);
        if (inner.empty() || field->name().empty()) {
            return "";
        }
        out += (out.size() > 7 ? "," : "") + member_name(field->name()) + ":" + inner;
    }
    return out + ">";
}

bool formats(const arrow::DataType &type)
{
    switch (type.id()) {
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
        return true;
    default:
        return false;
    }
}

} /* namespace */

std::string own_type(const arrow::DataType &type)
{
    switch (type.id()) {
    case arrow::Type::BOOL:
        return "bool";
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
        return type.name();
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
        return "float32";
    case arrow::Type::DOUBLE:
        return "float64";
    case arrow::Type::STRING:
    case arrow::Type::NA:
        return "utf8";
    case arrow::Type::BINARY:
        return "binary";
    case arrow::Type::FIXED_SIZE_BINARY: {
        const int width = static_cast<const arrow::FixedSizeBinaryType &>(type).byte_width();
        return width > 0 ? "fixed[" + std::to_string(width) + "]" : "";
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
        const std::string item = inner_type(*type.field(0));
        return item.empty() ? "" : "list<" + item + ">";
    }
    case arrow::Type::STRUCT:
        return struct_type(type);
    default:
        return formats(type) ? "utf8" : "";
    }
}

Convert own_convert(const arrow::DataType &type)
{
    switch (type.id()) {
    case arrow::Type::STRING:
        return Convert::text;
    case arrow::Type::HALF_FLOAT:
        return Convert::single;
    case arrow::Type::NA:
        return Convert::formatted;
    default:
        return formats(type) ? Convert::formatted : Convert::none;
    }
}

bool json_able(const arrow::DataType &type)
{
    switch (type.id()) {
    case arrow::Type::NA:
    case arrow::Type::BOOL:
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::STRING:
        return true;
    case arrow::Type::LIST:
    case arrow::Type::MAP:
    case arrow::Type::STRUCT:
        for (const auto &field : type.fields()) {
            if (!json_able(*field->type())) {
                return false;
            }
        }
        return true;
    default:
        return arrow::is_integer(type.id()) || own_convert(type) == Convert::formatted;
    }
}

Convert convert_to(const arrow::DataType &type, const std::string &wanted)
{
    const arrow::Type::type id = type.id();
    const bool whole = arrow::is_integer(id);

    if (wanted == own_type(type)) {
        return own_convert(type);
    }
    if (wanted == "json") {
        /* That a text is JSON, nobody has checked. */
        return arrow::is_nested(id) && json_able(type) ? Convert::json : Convert::impossible;
    }
    if (wanted == "utf8") {
        return id == arrow::Type::BINARY ? Convert::text
               : whole                   ? Convert::formatted
                                         : Convert::impossible;
    }
    if (wanted == "int64") {
        return whole || (formats(type) && !arrow::is_decimal(id)) ? Convert::integer
                                                                  : Convert::impossible;
    }
    if (wanted == "float64") {
        return (whole && arrow::bit_width(id) <= 32) || id == arrow::Type::FLOAT ||
                       id == arrow::Type::HALF_FLOAT
                   ? Convert::real
                   : Convert::impossible;
    }
    return id == arrow::Type::NA ? Convert::formatted : Convert::impossible;
}

std::string canonical_type(const std::string &given)
{
    return given == "string"  ? "utf8"
           : given == "int"   ? "int64"
           : given == "float" ? "float64"
                              : given;
}

std::shared_ptr<arrow::DataType> plain_arrow(const std::string &type)
{
    static const std::shared_ptr<arrow::DataType> all[] = {
        arrow::boolean(), arrow::int8(),   arrow::int16(),  arrow::int32(),  arrow::int64(),
        arrow::uint8(),   arrow::uint16(), arrow::uint32(), arrow::uint64(), arrow::float32(),
        arrow::float64(), arrow::utf8(),   arrow::binary(),
    };

    if (type == "json") {
        return arrow::utf8();
    }
    for (const auto &one : all) {
        if (own_type(*one) == type) {
            return one;
        }
    }
    return nullptr;
}

} /* namespace sluice_columnar */
