/* Which columns the reader gives, and where in a file each of them is. */
#ifndef COLUMNAR_COLUMNS_H
#define COLUMNAR_COLUMNS_H

#include <memory>
#include <string>
#include <vector>

#include <arrow/type.h>

#include "sluice.hpp"
#include "types.h"

namespace sluice_columnar
{

/* What files that lack a column are to be. */
enum class Missing : std::int32_t { refuse, null, allow };

/* A column that is given. */
struct Output {
    std::string name;   /* ours */
    std::string source; /* the file's; "" = made of the row's place */
    std::string type;   /* of ours, without "?" */
    bool id;            /* has no nulls: what is missing is made of the row's place */
    std::shared_ptr<arrow::DataType> nulls; /* for files that have no such column; may be NULL */
    bool required = false;                  /* the files' schema says that it has none */
};

/* What the options say. */
struct Request {
    std::string text, id;
    std::vector<std::pair<std::string, std::string>> columns; /* name, type; none = all */
    bool fill;  /* files without a column: nulls (else they are refused) */
    bool unite; /* columns are those of all files, by their names */
    bool as_is; /* all columns under their own names, none made */
};

/* The options that readers of columns share: members text, id, columns, missing, union_by_name and
 * as_is of theirs. */
template <class Options> void declare_columns(sluice::option_table<Options> &t)
{
    t.add(&Options::text, "text", "text",
          "Column that holds the text; it becomes the column `text`.");
    t.add(&Options::id, "id", "id",
          "Column that names the document (text or whole numbers); absent ids are made of the "
          "file and the row's place in it.");
    t.add(&Options::columns, "columns",
          "Further columns: name to utf8, int64, float64, bool, json (of nested ones), or the "
          "type that it has; all where none is named.");
    t.add(&Options::missing, "missing", "refuse",
          "What becomes of a file without a column that is wanted: it is refused, or nulls are "
          "made; an input in which no file has the column is refused, but for `allow`.")
        .choices("refuse|null|allow");
    t.add(&Options::union_by_name, "union_by_name", "false",
          "Columns are those of all files, by name: a file that lacks one gives nulls, and types "
          "that differ become one that holds all values of both (int32 and int64: int64; float "
          "and double: float64), or are refused with file and column. The footers of all files "
          "are read before anything else.");
    t.add(&Options::as_is, "as_is", "false",
          "Give all columns as the files have them, under their own names: no id is made where "
          "there is none, and `text` and `id` name nothing.");
}
template <class Options> Request request_of(const Options &options)
{
    Request out = { options.text,          options.id,   {}, options.missing != Missing::refuse,
                    options.union_by_name, options.as_is };

    for (std::uint64_t k = 0; k < options.columns.n; k++) {
        out.columns.emplace_back(options.columns.keys[k],
                                 canonical_type(options.columns.values[k]));
    }
    return out;
}

/* The top level column of that name; -1 = there is none. Throws where there are several. */
int find_column(const arrow::Schema &schema, const std::string &name);

/* All columns that can be given, by the first file's schema; NULL where none is known. Throws what
 * is wrong with the request. left_out: names of columns that the host keeps to itself. */
std::vector<Output> choose(const Request &request, const arrow::Schema *first,
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
    std::vector<int> fields;     /* top level columns, ascending */
    std::vector<std::string> absent;
};

/* Throws where a file's columns are not those that were chosen. `all`: the reader gives all that
 * files have, so none may have more. */
Mapping map_columns(const Request &request, const std::vector<Output> &outputs,
                    const arrow::Schema &file, bool all);

} /* namespace sluice_columnar */

#endif
