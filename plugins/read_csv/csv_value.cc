/* See csv_value.h. */
#include "csv_value.h"

#include <charconv>
#include <cmath>

namespace sluice_csv
{

namespace
{

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits behind a sign, of which only 0 alone begins with 0. */
bool begins_as_number(std::string_view text)
{
    const std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;

    return text.size() > at && is_digit(text[at]) &&
           (text[at] != '0' || text.size() == at + 1 || !is_digit(text[at + 1]));
}

} /* namespace */

const char *type_name(Type type)
{
    switch (type) {
    case Type::integer:
        return "int64";
    case Type::real:
        return "float64";
    case Type::boolean:
        return "bool";
    default:
        return "utf8";
    }
}

bool type_named(const std::string &name, Type &out)
{
    static const struct {
        const char *name;
        Type type;
    } all[] = {
        { "utf8", Type::text },    { "string", Type::text },  { "int64", Type::integer },
        { "int", Type::integer },  { "float64", Type::real }, { "float", Type::real },
        { "bool", Type::boolean },
    };

    for (const auto &one : all) {
        if (name == one.name) {
            out = one.type;
            return true;
        }
    }
    return false;
}

bool parse_boolean(std::string_view text, bool &out)
{
    out = text == "true" || text == "True" || text == "TRUE";
    return out || text == "false" || text == "False" || text == "FALSE";
}

bool parse_integer(std::string_view text, std::int64_t &out)
{
    const char *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, out);

    return begins_as_number(text) && parsed.ec == std::errc() && parsed.ptr == end;
}

bool parse_real(std::string_view text, double &out)
{
    const char *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, out);

    return begins_as_number(text) && parsed.ec == std::errc() && parsed.ptr == end &&
           std::isfinite(out);
}

void Guess::see(std::string_view text)
{
    std::int64_t whole;
    double number;
    bool word;

    any_ = true;
    integer_ = integer_ && parse_integer(text, whole);
    /* Whole numbers that int64 does not hold are names, not measures. */
    real_ = real_ && parse_real(text, number) &&
            (text.find_first_of(".eE") != std::string_view::npos || parse_integer(text, whole));
    boolean_ = boolean_ && parse_boolean(text, word);
}

Type Guess::type() const
{
    return !any_      ? Type::none
           : integer_ ? Type::integer
           : real_    ? Type::real
           : boolean_ ? Type::boolean
                      : Type::text;
}

} /* namespace sluice_csv */
