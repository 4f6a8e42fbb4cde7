/* Which columns the reader gives, and where in a file each of them is. */
#ifndef COLUMNAR_COLUMNS_H
#define COLUMNAR_COLUMNS_H

#include <memory>
#include <string>
#include <vector>

#include <arrow/type.h>

#include "footer.h"
#include "types.h"

namespace sluice_columnar
{

/* A column that is given. */
struct Output {
    std::string name;   /* ours */
    std::string source; /* the file's; "" = made of the row's place */
    std::string type;   /* of ours, without "?" */
    bool id;            /* has no nulls: what is missing is made of the row's place */
    std::shared_ptr<arrow::DataType> nulls; /* for files that have no such column; may be NULL */
};

/* What the options say. */
struct Request {
    std::string text, id;
    std::vector<std::pair<std::string, std::string>> columns; /* name, type; none = all */
    bool fill; /* files without a column: nulls (else they are refused) */
};

/* All columns that can be given, by the first file's footer; NULL where none is known. Throws what
 * is wrong with the request. left_out: names of columns that the host keeps to itself. */
std::vector<Output> choose(const Request &request, const Footer *first,
                           std::vector<std::string> &left_out);

/* A column that is given, in one file. */
struct Source {
    int field = -1; /* top level column; -1 = it has none */
    Convert how = Convert::none;
    int at = -1; /* its place in what is read */
};

/* What is read of a file. */
struct Mapping {
    std::vector<Source> sources; /* one an output */
    std::vector<int> leaves;     /* ascending */
    std::vector<std::string> absent;
};

/* Throws where a file's columns are not those that were chosen. `all`: the reader gives all that
 * files have, so none may have more. */
Mapping map_columns(const Request &request, const std::vector<Output> &outputs, const Footer &file,
                    bool all);

} /* namespace sluice_columnar */

#endif
