/* Types of Arrow that Parquet does not have, as types that it has: what a reader's columns are made
 * of. Offsets of 64 bits, views, dictionaries and runs become ordinary texts, lists and values. */
#ifndef COLUMNAR_PLAIN_H
#define COLUMNAR_PLAIN_H

#include <memory>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace sluice_columnar
{

/* The type that plain_array makes of it; itself where nothing is to be done (also for types that
 * nobody holds, which are refused by name elsewhere). */
std::shared_ptr<arrow::DataType> plain_type(const std::shared_ptr<arrow::DataType> &type);

/* The values as plain_type; memory is shared where nothing changes. CapacityError: more than 2 GiB
 * of text or items, which fewer rows may not be. The array is valid (check_untrusted). */
arrow::Result<std::shared_ptr<arrow::Array>>
plain_array(const std::shared_ptr<arrow::Array> &array);

/* Checks all that a file may lie about (offsets, places in dictionaries, lengths), but for UTF-8,
 * which is a row's affair. */
arrow::Status check_untrusted(const arrow::RecordBatch &batch);

} /* namespace sluice_columnar */

#endif
