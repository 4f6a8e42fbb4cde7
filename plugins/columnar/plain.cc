/* See plain.h. */
#include "plain.h"

#include <arrow/array/builder_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/extension_type.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/ree_util.h>

namespace sluice_columnar
{

namespace
{

using Array = std::shared_ptr<arrow::Array>;
using Type = std::shared_ptr<arrow::DataType>;

constexpr std::int64_t day_ms = 86400000;

/* Inside of others everything may be null: a file may say that it isn't, and hold nulls. */
std::shared_ptr<arrow::Field> inner(const std::string &name, const Type &type)
{
    return arrow::field(name, plain_type(type), true);
}

Type plain_struct(const arrow::DataType &type)
{
    arrow::FieldVector fields;

    for (const auto &field : type.fields()) {
        fields.push_back(inner(field->name(), field->type()));
    }
    return arrow::struct_(std::move(fields));
}

/* The nulls of an array, from bit 0 on; NULL where there are none. */
arrow::Result<std::shared_ptr<arrow::Buffer>> nulls_of(const arrow::Array &array)
{
    if (array.null_count() == 0 || array.null_bitmap() == nullptr) {
        return nullptr;
    }
    return arrow::internal::CopyBitmap(arrow::default_memory_pool(), array.null_bitmap_data(),
                                       array.offset(), array.length());
}

arrow::Result<std::shared_ptr<arrow::Buffer>> offsets_for(std::int64_t n)
{
    return arrow::AllocateBuffer((n + 1) * static_cast<std::int64_t>(sizeof(std::int32_t)));
}

arrow::Status too_much(std::int64_t n)
{
    return arrow::Status::CapacityError("found ", n, " bytes or items, expected at most ",
                                        INT32_MAX);
}

/* Texts with offsets of 64 bits: the bytes stay where they are. */
arrow::Result<Array> narrow_texts(const arrow::LargeBinaryArray &texts, const Type &to)
{
    const std::int64_t n = texts.length();
    const std::int64_t begin = n == 0 ? 0 : texts.value_offset(0);
    const std::int64_t bytes = n == 0 ? 0 : texts.value_offset(n) - begin;

    if (bytes > INT32_MAX) {
        return too_much(bytes);
    }
    ARROW_ASSIGN_OR_RAISE(auto nulls, nulls_of(texts));
    ARROW_ASSIGN_OR_RAISE(auto offsets, offsets_for(n));
    auto *out = reinterpret_cast<std::int32_t *>(offsets->mutable_data());
    out[0] = 0;
    for (std::int64_t k = 0; k < n; k++) {
        out[k + 1] = static_cast<std::int32_t>(texts.value_offset(k + 1) - begin);
    }
    const std::shared_ptr<arrow::Buffer> data =
        texts.value_data() == nullptr ? std::make_shared<arrow::Buffer>(nullptr, 0)
                                      : arrow::SliceBuffer(texts.value_data(), begin, bytes);
    return arrow::MakeArray(arrow::ArrayData::Make(
        to, n, { std::move(nulls), std::move(offsets), data }, texts.null_count()));
}

template <class Builder>
arrow::Result<Array> copy_views(const arrow::BinaryViewArray &views, Builder &&out)
{
    ARROW_RETURN_NOT_OK(out.Reserve(views.length()));
    for (std::int64_t k = 0; k < views.length(); k++) {
        if (views.IsNull(k)) {
            ARROW_RETURN_NOT_OK(out.AppendNull());
        } else {
            ARROW_RETURN_NOT_OK(out.Append(views.GetView(k)));
        }
    }
    return out.Finish();
}

/* Values picked one by one: place(k) is where the k-th stands, -1 = it is null. */
template <class Place> arrow::Result<Array> pick(const Array &values, std::int64_t n, Place place)
{
    ARROW_ASSIGN_OR_RAISE(auto out, arrow::MakeBuilder(values->type()));
    const arrow::ArraySpan from(*values->data());

    ARROW_RETURN_NOT_OK(out->Reserve(n));
    for (std::int64_t k = 0; k < n; k++) {
        const std::int64_t at = place(k);
        if (at < 0) {
            ARROW_RETURN_NOT_OK(out->AppendNull());
        } else {
            ARROW_RETURN_NOT_OK(out->AppendArraySlice(from, at, 1));
        }
    }
    return out->Finish();
}

arrow::Result<Array> from_dictionary(const arrow::DictionaryArray &array)
{
    ARROW_ASSIGN_OR_RAISE(const Array values, plain_array(array.dictionary()));
    return pick(values, array.length(), [&](std::int64_t k) {
        return array.IsNull(k) ? std::int64_t{ -1 } : array.GetValueIndex(k);
    });
}

arrow::Result<Array> from_runs(const arrow::RunEndEncodedArray &array)
{
    ARROW_ASSIGN_OR_RAISE(const Array values, plain_array(array.values()));
    const arrow::ArraySpan span(*array.data());
    return pick(values, array.length(), [&](std::int64_t k) {
        switch (array.run_ends()->type_id()) {
        case arrow::Type::INT16:
            return arrow::ree_util::internal::FindPhysicalIndex<std::int16_t>(span, k, span.offset);
        case arrow::Type::INT32:
            return arrow::ree_util::internal::FindPhysicalIndex<std::int32_t>(span, k, span.offset);
        default:
            return arrow::ree_util::internal::FindPhysicalIndex<std::int64_t>(span, k, span.offset);
        }
    });
}

/* A list of any kind whose items stand one behind the other. */
template <class List> arrow::Result<Array> narrow_list(const List &list, const Type &to)
{
    const std::int64_t n = list.length();
    const std::int64_t begin = n == 0 ? 0 : list.value_offset(0);
    const std::int64_t items = n == 0 ? 0 : list.value_offset(n) - begin;

    if (items > INT32_MAX) {
        return too_much(items);
    }
    ARROW_ASSIGN_OR_RAISE(const Array values, plain_array(list.values()->Slice(begin, items)));
    ARROW_ASSIGN_OR_RAISE(auto nulls, nulls_of(list));
    ARROW_ASSIGN_OR_RAISE(auto offsets, offsets_for(n));
    auto *out = reinterpret_cast<std::int32_t *>(offsets->mutable_data());
    out[0] = 0;
    for (std::int64_t k = 0; k < n; k++) {
        out[k + 1] = static_cast<std::int32_t>(list.value_offset(k + 1) - begin);
    }
    return arrow::MakeArray(arrow::ArrayData::Make(to, n, { std::move(nulls), std::move(offsets) },
                                                   { values->data() }, list.null_count()));
}

/* Lists whose items stand anywhere. */
template <class List> arrow::Result<Array> gather_list(const List &list, const Type &to)
{
    const std::int64_t n = list.length();
    std::vector<std::int64_t> places;

    ARROW_ASSIGN_OR_RAISE(auto nulls, nulls_of(list));
    ARROW_ASSIGN_OR_RAISE(auto offsets, offsets_for(n));
    auto *out = reinterpret_cast<std::int32_t *>(offsets->mutable_data());
    out[0] = 0;
    for (std::int64_t k = 0; k < n; k++) {
        const std::int64_t items = list.IsNull(k) ? 0 : list.value_length(k);
        /* Views may overlap: a few bytes of a file could become any number of items. */
        if (static_cast<std::int64_t>(places.size()) + items > INT32_MAX / 8) {
            return too_much(static_cast<std::int64_t>(places.size()) + items);
        }
        for (std::int64_t i = 0; i < items; i++) {
            places.push_back(list.value_offset(k) + i);
        }
        out[k + 1] = static_cast<std::int32_t>(places.size());
    }
    ARROW_ASSIGN_OR_RAISE(const Array all, plain_array(list.values()));
    ARROW_ASSIGN_OR_RAISE(const Array values,
                          pick(all, static_cast<std::int64_t>(places.size()), [&](std::int64_t k) {
                              return places[static_cast<std::size_t>(k)];
                          }));
    return arrow::MakeArray(arrow::ArrayData::Make(to, n, { std::move(nulls), std::move(offsets) },
                                                   { values->data() }, list.null_count()));
}

arrow::Result<Array> plain_members(const arrow::StructArray &all, const Type &to)
{
    std::vector<std::shared_ptr<arrow::ArrayData>> members;

    for (int k = 0; k < all.num_fields(); k++) {
        ARROW_ASSIGN_OR_RAISE(const Array member, plain_array(all.field(k)));
        members.push_back(member->data());
    }
    ARROW_ASSIGN_OR_RAISE(auto nulls, nulls_of(all));
    return arrow::MakeArray(arrow::ArrayData::Make(to, all.length(), { std::move(nulls) },
                                                   std::move(members), all.null_count()));
}

arrow::Result<Array> dates_of(const arrow::Date64Array &dates)
{
    arrow::Date32Builder out;

    ARROW_RETURN_NOT_OK(out.Reserve(dates.length()));
    for (std::int64_t k = 0; k < dates.length(); k++) {
        const std::int64_t ms = dates.Value(k);
        const std::int64_t days = ms / day_ms - (ms % day_ms < 0 ? 1 : 0);
        if (dates.IsNull(k)) {
            out.UnsafeAppendNull();
        } else if (days < INT32_MIN || days > INT32_MAX) {
            return arrow::Status::Invalid("a date of ", ms, " milliseconds is beyond all years");
        } else {
            out.UnsafeAppend(static_cast<std::int32_t>(days));
        }
    }
    return out.Finish();
}

template <class Value, class Small>
arrow::Result<Array> wide_decimals(const Small &decimals, const Type &to)
{
    arrow::Decimal128Builder out(to);

    for (std::int64_t k = 0; k < decimals.length(); k++) {
        if (decimals.IsNull(k)) {
            ARROW_RETURN_NOT_OK(out.AppendNull());
        } else {
            const Value one(decimals.GetValue(k));
            ARROW_RETURN_NOT_OK(
                out.Append(arrow::Decimal128(static_cast<std::int64_t>(one.value()))));
        }
    }
    return out.Finish();
}

} /* namespace */

Type plain_type(const Type &type)
{
    switch (type->id()) {
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
        return arrow::utf8();
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
        return arrow::binary();
    case arrow::Type::DATE64:
        return arrow::date32();
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64: {
        const auto &decimal = static_cast<const arrow::DecimalType &>(*type);
        return arrow::decimal128(decimal.precision(), decimal.scale());
    }
    case arrow::Type::DICTIONARY:
        return plain_type(static_cast<const arrow::DictionaryType &>(*type).value_type());
    case arrow::Type::RUN_END_ENCODED:
        return plain_type(static_cast<const arrow::RunEndEncodedType &>(*type).value_type());
    case arrow::Type::EXTENSION:
        return plain_type(static_cast<const arrow::ExtensionType &>(*type).storage_type());
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::MAP:
        return arrow::list(inner(type->field(0)->name(), type->field(0)->type()));
    case arrow::Type::STRUCT:
        return plain_struct(*type);
    default:
        return type;
    }
}

arrow::Result<Array> plain_array(const Array &array)
{
    const Type to = plain_type(array->type());

    switch (array->type_id()) {
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
        return narrow_texts(static_cast<const arrow::LargeBinaryArray &>(*array), to);
    case arrow::Type::STRING_VIEW:
        return copy_views(static_cast<const arrow::BinaryViewArray &>(*array),
                          arrow::StringBuilder());
    case arrow::Type::BINARY_VIEW:
        return copy_views(static_cast<const arrow::BinaryViewArray &>(*array),
                          arrow::BinaryBuilder());
    case arrow::Type::DATE64:
        return dates_of(static_cast<const arrow::Date64Array &>(*array));
    case arrow::Type::DECIMAL32:
        return wide_decimals<arrow::Decimal32>(static_cast<const arrow::Decimal32Array &>(*array),
                                               to);
    case arrow::Type::DECIMAL64:
        return wide_decimals<arrow::Decimal64>(static_cast<const arrow::Decimal64Array &>(*array),
                                               to);
    case arrow::Type::DICTIONARY:
        return from_dictionary(static_cast<const arrow::DictionaryArray &>(*array));
    case arrow::Type::RUN_END_ENCODED:
        return from_runs(static_cast<const arrow::RunEndEncodedArray &>(*array));
    case arrow::Type::EXTENSION:
        return plain_array(static_cast<const arrow::ExtensionArray &>(*array).storage());
    case arrow::Type::LIST:
    case arrow::Type::MAP:
        return narrow_list(static_cast<const arrow::ListArray &>(*array), to);
    case arrow::Type::LARGE_LIST:
        return narrow_list(static_cast<const arrow::LargeListArray &>(*array), to);
    case arrow::Type::FIXED_SIZE_LIST:
        return narrow_list(static_cast<const arrow::FixedSizeListArray &>(*array), to);
    case arrow::Type::LIST_VIEW:
        return gather_list(static_cast<const arrow::ListViewArray &>(*array), to);
    case arrow::Type::LARGE_LIST_VIEW:
        return gather_list(static_cast<const arrow::LargeListViewArray &>(*array), to);
    case arrow::Type::STRUCT:
        return plain_members(static_cast<const arrow::StructArray &>(*array), to);
    default:
        return array;
    }
}

/* ---- checks ---- */

namespace
{

/* The same type with bytes in the place of texts. */
Type bytes_for_texts(const Type &type)
{
    arrow::FieldVector fields;

    switch (type->id()) {
    case arrow::Type::STRING:
        return arrow::binary();
    case arrow::Type::LARGE_STRING:
        return arrow::large_binary();
    case arrow::Type::STRING_VIEW:
        return arrow::binary_view();
    case arrow::Type::EXTENSION:
        return bytes_for_texts(static_cast<const arrow::ExtensionType &>(*type).storage_type());
    case arrow::Type::DICTIONARY: {
        const auto &all = static_cast<const arrow::DictionaryType &>(*type);
        return arrow::dictionary(all.index_type(), bytes_for_texts(all.value_type()),
                                 all.ordered());
    }
    default:
        break;
    }
    for (const auto &field : type->fields()) {
        fields.push_back(field->WithType(bytes_for_texts(field->type())));
    }
    switch (type->id()) {
    case arrow::Type::LIST:
        return arrow::list(fields[0]);
    case arrow::Type::LARGE_LIST:
        return arrow::large_list(fields[0]);
    case arrow::Type::LIST_VIEW:
        return arrow::list_view(fields[0]);
    case arrow::Type::LARGE_LIST_VIEW:
        return arrow::large_list_view(fields[0]);
    case arrow::Type::FIXED_SIZE_LIST:
        return arrow::fixed_size_list(
            fields[0], static_cast<const arrow::FixedSizeListType &>(*type).list_size());
    case arrow::Type::MAP:
        return std::make_shared<arrow::MapType>(fields[0]);
    case arrow::Type::STRUCT:
        return arrow::struct_(std::move(fields));
    case arrow::Type::RUN_END_ENCODED:
        return arrow::run_end_encoded(fields[0]->type(), fields[1]->type());
    default:
        return type;
    }
}

std::shared_ptr<arrow::ArrayData> retyped(const arrow::ArrayData &data, const Type &type)
{
    auto out = std::make_shared<arrow::ArrayData>(data);

    out->type = type;
    for (std::size_t k = 0; k < out->child_data.size(); k++) {
        out->child_data[k] = retyped(*out->child_data[k], type->field(static_cast<int>(k))->type());
    }
    if (out->dictionary != nullptr && type->id() == arrow::Type::DICTIONARY) {
        out->dictionary = retyped(*out->dictionary,
                                  static_cast<const arrow::DictionaryType &>(*type).value_type());
    }
    return out;
}

} /* namespace */

arrow::Status check_untrusted(const arrow::RecordBatch &batch)
{
    for (int k = 0; k < batch.num_columns(); k++) {
        const auto &data = batch.column_data(k);
        const auto column = retyped(*data, bytes_for_texts(data->type));
        if (data->length != batch.num_rows()) {
            return arrow::Status::Invalid("column ", batch.schema()->field(k)->name(), " has ",
                                          data->length, " rows, the batch ", batch.num_rows());
        }
        const arrow::Status status = arrow::MakeArray(column)->ValidateFull();
        if (!status.ok()) {
            return status.WithMessage("column '", batch.schema()->field(k)->name(),
                                      "': ", status.message());
        }
    }
    return arrow::Status::OK();
}

} /* namespace sluice_columnar */
