/* Which of Sluice's types a column of Arrow's type becomes, and how. Immutable. */
#ifndef COLUMNAR_TYPES_H
#define COLUMNAR_TYPES_H

#include <memory>
#include <string>

#include <arrow/type.h>

namespace sluice_columnar
{

/* How values get from a file's column to ours. */
enum class Convert {
    none,      /* as they are */
    text,      /* texts and bytes that must be UTF-8 */
    formatted, /* dates, times, decimals and whole numbers as text */
    integer,   /* to int64: narrower or unsigned numbers, dates and times as the file counts them */
    real,      /* to float64 */
    single,    /* float16 to float32 */
    json,      /* any value as JSON text */
    impossible
};

/* "int64", "list<utf8?>": what the column becomes if nothing else is asked for; without the ? of a
 * column that may hold nulls. "" where no type of ours holds it. */
std::string own_type(const arrow::DataType &type);
/* The conversion to own_type. */
Convert own_convert(const arrow::DataType &type);
/* Can values of the type be written as JSON? Of bool, numbers, text, what is formatted as text, and
 * lists, structs and maps of these; maps are lists of {"key", "value"}. */
bool json_able(const arrow::DataType &type);

/* The conversion to a type that was asked for. */
Convert convert_to(const arrow::DataType &type, const std::string &wanted);
/* The name that a script may use for a type, as the host knows it ("string" is utf8). */
std::string canonical_type(const std::string &given);
/* Arrow's type of a column that holds nulls alone; NULL where the type has members. */
std::shared_ptr<arrow::DataType> plain_arrow(const std::string &type);

} /* namespace sluice_columnar */

#endif
