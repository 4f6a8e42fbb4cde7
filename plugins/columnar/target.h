/* The columns that a writer puts into its files: where each comes from, and of what type it is
 * there. */
#ifndef COLUMNAR_TARGET_H
#define COLUMNAR_TARGET_H

#include <memory>
#include <string>
#include <vector>

#include <arrow/type.h>

#include "sluice.hpp"

namespace sluice_columnar
{

/* How values get from our column to the file's. */
enum class Restore {
    none,
    retype, /* the same memory under another type */
    parse,  /* dates, times and decimals that are texts with us */
    half,   /* float32 to float16, of which it came */
    narrow  /* lists of uint32 to lists of uint16 */
};

struct Target {
    std::string name, own; /* name: ours; own: our type, without "?" */
    std::int32_t index;    /* in the batch */
    std::shared_ptr<arrow::DataType> given;
    std::shared_ptr<arrow::Field> field; /* of the file */
    Restore restore = Restore::none;
    bool tokens = false; /* a list of tokens, by what is known of it */
    std::string said;    /* "N JSON": what a file of these N columns says of them; or "" */
};

/* Arrow's type for one of ours ("struct<a:int64?>"), without what is said of nulls outside. */
std::shared_ptr<arrow::DataType> arrow_type(const std::string &own);

/* The metadata with which a reader gives a column that is another one in its file, so that a writer
 * can give it back: "arrow_type=timestamp[us]"; "" where there is nothing to say. */
std::string arrow_note(const arrow::DataType &type, const std::string &own);

/* Asks for the named columns; none named: all but those left out, text and id first. Throws what
 * can't be written. */
std::vector<Target> choose_targets(sluice::plan &p, const sluice_list &names,
                                   const std::vector<std::string> &left_out = {});
std::shared_ptr<arrow::Schema> schema_of(const std::vector<Target> &targets);
/* {"name": {"type": "list<uint32>", "vocab_size": "50257"}}: all columns with what is known of
 * them. */
std::string columns_json(const std::vector<Target> &targets);
/* The place of a name in an option among them. */
std::size_t find_target(const std::vector<Target> &targets, const char *option,
                        const std::string &name);
/* | `name` | type |, for people. */
std::string columns_table(const std::vector<Target> &targets);

} /* namespace sluice_columnar */

#endif
