/* Tables: which columns a CSV file has, by its head; which are given; rows in the making. */
#ifndef READ_CSV_TABLE_H
#define READ_CSV_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "csv_inflate.h"
#include "csv_split.h"
#include "csv_value.h"

#include "sluice.hpp"

namespace sluice_csv
{

/* What a survey finds out of a file, and scans are told. */
struct Head {
    Codec codec = Codec::none;
    char delimiter = ',';
    std::uint64_t first = 0; /* the decoded byte at which the first record begins */
    std::vector<std::string> names;
    std::vector<Type> types; /* by its first rows; Type::none: they have no value */

    std::string pack() const;
    static Head unpack(std::string_view bytes);
    int find(const std::string &name) const; /* -1 = it has none; throws where there are several */
};

/* A column that is given. */
struct Output {
    std::string name, source; /* ours, the file's */
    Type type;
    bool id; /* has no nulls: what is missing is made of the row's place */
};

/* What the options say. */
struct Request {
    std::string text, id;
    std::vector<std::pair<std::string, Type>> columns; /* none = all */
    bool fill = false;              /* files without a column: nulls (else they are refused) */
    std::vector<std::string> nulls; /* texts without quotes that are none */
    bool unite = false;             /* columns are those of all files, by their names */

    bool is_null(const Field &field) const;
};

/* All columns that can be given, by the first file's head; NULL where none is known. Throws what is
 * wrong with the request. left_out: names of columns that the host keeps to itself. */
std::vector<Output> choose(const Request &request, const Head *first,
                           std::vector<std::string> &left_out);

/* The heads of all files as one: each column once, in the order in which they were found. */
class Union
{
  public:
    /* Of columns whose type the request says, and of text and id, no types are compared. */
    explicit Union(const Request &request) : request_(request)
    {
    }
    /* Throws SLUICE_E_SCHEMA with both files where the types of a column differ. */
    void add(const Head &file, const std::string &uri);
    const Head &head() const
    {
        return head_;
    }

  private:
    bool is_told(const std::string &name) const;
    const Request &request_;
    Head head_;
    std::vector<std::string> uris_; /* one a column: whose type it is */
};

/* The places of the outputs' fields in a record; -1 = it has none. Throws where a file's columns
 * are not those that were chosen. `all`: the reader gives all that files have. */
std::vector<int> places_of(const Request &request, const std::vector<Output> &outputs,
                           const Head &file, bool all, std::vector<std::string> &absent);

/* Rows that are not yet given away. */
class Table
{
  public:
    void begin(const std::vector<Output> *outputs, const std::vector<int> *places);
    /* Adds a record; false: it is bad, and nothing of it is added. prefix: of ids that are made. */
    bool add(const Request &request, const std::vector<Field> &fields, const Record &record,
             const std::string &prefix, std::string &detail);
    std::uint64_t bytes() const
    {
        return bytes_;
    }
    std::int64_t rows() const
    {
        return rows_;
    }
    void give(sluice::emitter &out);

  private:
    struct Column {
        sluice::bytes values, offsets, nulls;
        std::int64_t n_nulls = 0;
    };
    struct Value {
        bool null;
        std::string_view text;
        std::int64_t whole;
        double number;
    };
    bool parse(std::size_t k, const Request &request, const Field *field, std::string &detail);
    void put(std::size_t k);
    const std::vector<Output> *outputs_ = nullptr;
    const std::vector<int> *places_ = nullptr;
    std::vector<Column> columns_;
    std::vector<Value> values_;
    sluice::bytes begins_, ends_;
    std::string made_; /* an id */
    std::int64_t rows_ = 0;
    std::uint64_t bytes_ = 0;
};

} /* namespace sluice_csv */

#endif
