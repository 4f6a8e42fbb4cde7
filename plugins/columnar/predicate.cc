/* See predicate.h. */
#include "predicate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include <arrow/array/util.h>
#include <arrow/c/bridge.h>
#include <parquet/statistics.h>

#include "sluice.hpp"
#include "text/text_utf8.h"

namespace sluice_columnar
{

Expression parse_where(const char *text)
{
    sluice_error e{};
    where *out = nullptr;

    e.size = sizeof e;
    const sluice_status status = where_parse(text, &out, &e);
    if (status != SLUICE_OK) {
        throw sluice::error(status, e.message, "where");
    }
    return Expression(out);
}

/* ---- columns ---- */

/* What a value of the path is compared with says which type it has. */
static std::shared_ptr<arrow::DataType> type_for(const Partition &part, where_kind compared)
{
    const bool number = compared == WHERE_INT || compared == WHERE_BIG || compared == WHERE_REAL;
    const auto own = type_of(part);

    return compared == WHERE_BOOL                                       ? arrow::boolean()
           : !number                                                    ? arrow::utf8()
           : own->id() == arrow::Type::INT64 || !part.value.has_value() ? arrow::int64()
                                                                        : arrow::float64();
}

/* The column of the file that a path leads to; -1 = none, or more than one. */
int Predicate::column_of(const where_leaf &leaf) const
{
    const parquet::arrow::SchemaField *at = nullptr;

    if (leaf.n == 0 || static_cast<int>(leaf.children[0]) >= n_fields_) {
        return -1;
    }
    at = &footer_.manifest().schema_fields[leaf.children[0]];
    for (std::size_t k = 1; k < leaf.n; k++) {
        if (leaf.children[k] >= at->children.size()) {
            return -1;
        }
        at = &at->children[leaf.children[k]];
    }
    return at->is_leaf() ? at->column_index : -1;
}

namespace
{

where_bound *bind(const where &expression, const arrow::Schema &columns, bool fill)
{
    ArrowSchema schema{};
    where_bound *bound = nullptr;
    sluice_error e{};

    check_arrow(arrow::ExportSchema(columns, &schema), "the schema");
    e.size = sizeof e;
    const sluice_status status =
        where_bind(&expression, &schema, fill ? WHERE_ABSENT_IS_NULL : 0, &bound, &e);
    schema.release(&schema);
    if (status != SLUICE_OK) {
        where_unbind(bound);
        throw sluice::error(status, e.message, "where");
    }
    return bound;
}

} /* namespace */

void check_where(const where &expression, const arrow::Schema &schema, bool fill)
{
    where_unbind(bind(expression, schema, fill));
}

Predicate::Predicate(const where &expression, const Footer &footer,
                     const std::vector<Partition> &parts, bool fill)
    : footer_(footer), n_fields_(footer.schema().num_fields())
{
    where_kind compared;

    for (const Partition &part : parts) {
        if (where_names(&expression, part.name.c_str(), &compared) &&
            footer.schema().GetFieldIndex(part.name) < 0) {
            parts_.add(part, type_for(part, compared));
        }
    }
    where_bound *const bound = bind(expression, *schema_with(footer.schema(), parts_), fill);
    bound_.reset(bound);
    for (std::size_t k = 0; k < where_leaves(bound); k++) {
        const where_leaf &leaf = *where_leaf_at(bound, k);
        columns_.push_back(column_of(leaf));
        if (leaf.n > 0 && static_cast<int>(leaf.children[0]) < n_fields_) {
            fields_.push_back(static_cast<int>(leaf.children[0]));
        }
    }
    std::sort(fields_.begin(), fields_.end());
    fields_.erase(std::unique(fields_.begin(), fields_.end()), fields_.end());
}

/* ---- what is known before rows are read ---- */

struct Predicate::Asking {
    const Predicate &of;
    int row_group;
    const std::vector<Probe> *probes; /* NULL: what is asked for is noted in `wanted` */
    std::vector<std::shared_ptr<parquet::Statistics>> held; /* texts of bounds are theirs */
    std::vector<int> wanted;
    /* What is called from C throws nothing; what the library can't make sense of is not known. */
    bool no_memory = false;
    template <class Body> void guarded(Body &&body) noexcept
    {
        try {
            body();
        } catch (const std::bad_alloc &) {
            no_memory = true;
        } catch (const std::exception &) {
        }
    }
    bool may(where_facts_fn facts, where_absent_fn absent)
    {
        const bool out = where_may(of.bound_.get(), facts, absent, this);
        if (no_memory) {
            throw std::bad_alloc();
        }
        return out;
    }
};

namespace
{

where_value of_text(const char *data, std::size_t n)
{
    where_value out{};

    out.kind = WHERE_TEXT;
    out.as.text = data;
    out.n = n;
    return out;
}

where_value of_whole(std::int64_t whole)
{
    where_value out{};

    out.kind = WHERE_INT;
    out.as.whole = whole;
    return out;
}

where_value of_real(double real)
{
    where_value out{};

    out.kind = WHERE_REAL;
    out.as.real = real;
    return out;
}

where_value of_scalar(const arrow::Scalar &scalar)
{
    where_value out{};

    switch (scalar.type->id()) {
    case arrow::Type::BOOL:
        out.kind = WHERE_BOOL;
        out.as.truth = static_cast<const arrow::BooleanScalar &>(scalar).value;
        return out;
    case arrow::Type::INT64:
        return of_whole(static_cast<const arrow::Int64Scalar &>(scalar).value);
    case arrow::Type::DOUBLE:
        return of_real(static_cast<const arrow::DoubleScalar &>(scalar).value);
    default: {
        const auto view = static_cast<const arrow::StringScalar &>(scalar).view();
        return of_text(view.data(), view.size());
    }
    }
}

/* Leaf types whose values are compared as the numbers of the file. */
bool is_whole(const char *format)
{
    return format[0] == 't' || (std::strchr("csilCSIL", format[0]) != nullptr && format[1] == '\0');
}

bool is_unsigned(const char *format)
{
    return format[0] >= 'A' && format[0] <= 'Z';
}

template <class Type, class Make>
void bounds_of(const parquet::Statistics &all, where_facts &out, Make make)
{
    const auto &typed = static_cast<const parquet::TypedStatistics<Type> &>(all);

    out.min = make(typed.min());
    out.max = make(typed.max());
}

/* Bounds in the order of the library, which has them for what it believes. */
void add_bounds(const parquet::Statistics &all, const char *format, where_facts &out)
{
    switch (all.physical_type()) {
    case parquet::Type::BOOLEAN:
        bounds_of<parquet::BooleanType>(all, out, [](bool truth) {
            where_value value{};
            value.kind = WHERE_BOOL;
            value.as.truth = truth;
            return value;
        });
        break;
    case parquet::Type::INT32:
        if (is_whole(format)) {
            bounds_of<parquet::Int32Type>(all, out, [&](std::int32_t v) {
                return of_whole(is_unsigned(format) ? static_cast<std::uint32_t>(v)
                                                    : std::int64_t{ v });
            });
        }
        break;
    case parquet::Type::INT64:
        if (is_whole(format)) {
            bounds_of<parquet::Int64Type>(all, out, [&](std::int64_t v) {
                return is_unsigned(format) ? where_unsigned(static_cast<std::uint64_t>(v))
                                           : of_whole(v);
            });
        }
        break;
    case parquet::Type::FLOAT:
        bounds_of<parquet::FloatType>(all, out, [](float v) { return of_real(double{ v }); });
        break;
    case parquet::Type::DOUBLE:
        bounds_of<parquet::DoubleType>(all, out, [](double v) { return of_real(v); });
        break;
    case parquet::Type::BYTE_ARRAY:
        if (format[0] == 'u' || format[0] == 'z') {
            bounds_of<parquet::ByteArrayType>(all, out, [](const parquet::ByteArray &v) {
                return of_text(reinterpret_cast<const char *>(v.ptr), v.len);
            });
        }
        break;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        if (format[0] == 'w') {
            const auto n = static_cast<std::size_t>(all.descr()->type_length());
            bounds_of<parquet::FLBAType>(all, out, [&](const parquet::FixedLenByteArray &v) {
                return of_text(reinterpret_cast<const char *>(v.ptr), n);
            });
        }
        break;
    default:
        break;
    }
}

} /* namespace */

void Predicate::parts_facts_of(void *ctx, std::size_t leaf, where_facts *out)
{
    const auto &asking = *static_cast<Asking *>(ctx);
    const where_leaf &at = *where_leaf_at(asking.of.bound_.get(), leaf);

    if (at.n == 1 && static_cast<int>(at.children[0]) >= asking.of.n_fields_) {
        const auto part =
            static_cast<std::size_t>(static_cast<int>(at.children[0]) - asking.of.n_fields_);
        const arrow::Scalar &value = *asking.of.parts_.values[part];
        out->values = 1;
        out->nulls = value.is_valid ? 0 : 1;
        if (value.is_valid) {
            out->min = out->max = of_scalar(value);
        }
    }
}

void Predicate::facts_of(void *ctx, std::size_t leaf, where_facts *out)
{
    auto &asking = *static_cast<Asking *>(ctx);
    const int column = asking.of.columns_[leaf];

    if (column < 0) {
        parts_facts_of(ctx, leaf, out);
        return;
    }
    asking.guarded([&] {
        const auto chunk =
            asking.of.footer_.meta()->RowGroup(asking.row_group)->ColumnChunk(column);
        const auto all = chunk->statistics();
        where_facts facts = { {}, {}, -1, chunk->num_values() };
        if (all != nullptr && all->HasNullCount() && all->null_count() >= 0 &&
            all->null_count() <= facts.values) {
            facts.nulls = all->null_count();
        }
        if (all != nullptr && all->HasMinMax()) {
            asking.held.push_back(all);
            add_bounds(*all, where_leaf_at(asking.of.bound_.get(), leaf)->format, facts);
            if (where_compare(&facts.min, &facts.max) == 1) {
                facts.min = facts.max = where_value{};
            }
        }
        *out = facts;
    });
}

namespace
{

std::uint64_t hash_of(const parquet::BloomFilter &filter, const parquet::ColumnDescriptor &column,
                      const where_value &value, bool with_sign, bool &possible)
{
    std::int64_t whole = 0;

    possible = true;
    if (column.physical_type() == parquet::Type::BYTE_ARRAY ||
        column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY) {
        const auto *data = reinterpret_cast<const std::uint8_t *>(value.as.text);
        if (column.physical_type() == parquet::Type::BYTE_ARRAY) {
            const parquet::ByteArray bytes(static_cast<std::uint32_t>(value.n), data);
            return filter.Hash(&bytes);
        }
        possible = value.n == static_cast<std::size_t>(column.type_length());
        const parquet::FixedLenByteArray bytes(data);
        return possible ? filter.Hash(&bytes, static_cast<std::uint32_t>(value.n)) : 0;
    }
    if (value.kind == WHERE_REAL) {
        possible = std::floor(value.as.real) == value.as.real && std::fabs(value.as.real) < 9e18;
        whole = possible ? static_cast<std::int64_t>(value.as.real) : 0;
    } else {
        whole = value.kind == WHERE_BIG ? static_cast<std::int64_t>(value.as.big) : value.as.whole;
        possible = value.kind != WHERE_BIG || !with_sign;
    }
    if (column.physical_type() == parquet::Type::INT64) {
        possible = possible && (with_sign || whole >= 0 || value.kind == WHERE_BIG);
        return filter.Hash(whole);
    }
    possible = possible && value.kind != WHERE_BIG && whole >= (with_sign ? INT32_MIN : 0) &&
               whole <= (with_sign ? std::int64_t{ INT32_MAX } : std::int64_t{ UINT32_MAX });
    return filter.Hash(static_cast<std::int32_t>(static_cast<std::uint32_t>(whole)));
}

/* Reals: 0 and -0 are equal, and hash apart. */
bool real_absent(const parquet::BloomFilter &filter, bool single, const where_value &value)
{
    const double real = value.kind == WHERE_REAL  ? value.as.real
                        : value.kind == WHERE_BIG ? static_cast<double>(value.as.big)
                                                  : static_cast<double>(value.as.whole);
    const where_value as_real = of_real(real);

    if (where_compare(&as_real, &value) != 0) {
        return true; /* no real is that number */
    }
    for (const double one : { real, -real }) {
        if ((real == 0.0 || one == real) &&
            filter.FindHash(single ? filter.Hash(static_cast<float>(one)) : filter.Hash(one))) {
            return false;
        }
    }
    return true;
}

} /* namespace */

bool Predicate::is_absent(std::size_t leaf, const Probe &probe, const where_value &value) const
{
    const auto &descr = *footer_.meta()->schema()->Column(probe.leaf);
    const char *format = where_leaf_at(bound_.get(), leaf)->format;
    bool possible = true;

    switch (descr.physical_type()) {
    case parquet::Type::FLOAT:
    case parquet::Type::DOUBLE:
        return real_absent(*probe.filter, descr.physical_type() == parquet::Type::FLOAT, value);
    case parquet::Type::INT32:
    case parquet::Type::INT64:
        if (value.kind == WHERE_TEXT || !is_whole(format)) {
            return false;
        }
        break;
    case parquet::Type::BYTE_ARRAY:
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        if (value.kind != WHERE_TEXT) {
            return false;
        }
        break;
    default:
        return false;
    }
    const std::uint64_t hash = hash_of(*probe.filter, descr, value, !is_unsigned(format), possible);
    return !possible || !probe.filter->FindHash(hash);
}

bool Predicate::absent_in(void *ctx, std::size_t leaf, const where_value *value)
{
    auto &asking = *static_cast<Asking *>(ctx);
    const int column = asking.of.columns_[leaf];
    bool out = false;

    if (column < 0) {
        return false;
    }
    asking.guarded([&] {
        if (asking.probes == nullptr) {
            asking.wanted.push_back(column);
            return;
        }
        for (const Probe &probe : *asking.probes) {
            if (probe.leaf == column && probe.filter != nullptr) {
                out = asking.of.is_absent(leaf, probe, *value);
            }
        }
    });
    return out;
}

const char *Predicate::ruled_out() const
{
    Asking asking = { *this, 0, nullptr, {}, {} };

    return asking.may(parts_facts_of, nullptr) ? nullptr : "partition";
}

const char *Predicate::ruled_out(int row_group) const
{
    Asking asking = { *this, row_group, nullptr, {}, {} };
    const char *before = ruled_out();

    return before != nullptr || asking.may(facts_of, nullptr) ? before : "min_max";
}

std::vector<Probe> Predicate::probes(int row_group, std::uint64_t file_bytes) const
{
    Asking asking = { *this, row_group, nullptr, {}, {} };
    std::vector<Probe> out;

    (void)asking.may(facts_of, absent_in);
    std::sort(asking.wanted.begin(), asking.wanted.end());
    asking.wanted.erase(std::unique(asking.wanted.begin(), asking.wanted.end()),
                        asking.wanted.end());
    for (const int column : asking.wanted) {
        const auto chunk = footer_.meta()->RowGroup(row_group)->ColumnChunk(column);
        const auto offset = chunk->bloom_filter_offset();
        const auto n = chunk->bloom_filter_length();
        if (offset.has_value() && n.has_value() && *offset > 0 && *n > 0 &&
            static_cast<std::uint64_t>(*offset) < file_bytes &&
            static_cast<std::uint64_t>(*n) <= file_bytes - static_cast<std::uint64_t>(*offset)) {
            out.push_back({ column,
                            { static_cast<std::uint64_t>(*offset), static_cast<std::uint64_t>(*n) },
                            nullptr });
        }
    }
    return out;
}

bool Predicate::may_hold(int row_group, const std::vector<Probe> &probes) const
{
    Asking asking = { *this, row_group, &probes, {}, {} };

    return asking.may(facts_of, absent_in);
}

/* ---- rows ---- */

void Predicate::judge(const arrow::RecordBatch &batch, std::uint8_t *keep) const
{
    const std::int64_t n = batch.num_rows();
    std::vector<sluice::array> held(fields_.size() + parts_.values.size());
    ArrowArray none{};
    ArrowArray rows{};
    const void *buffers[1] = { nullptr };
    std::vector<ArrowArray *> children(static_cast<std::size_t>(n_fields_) + parts_.values.size(),
                                       &none);
    sluice_error e{};

    for (std::size_t k = 0; k < held.size(); k++) {
        std::shared_ptr<arrow::Array> column;
        if (k < fields_.size()) {
            column = batch.column(static_cast<int>(k));
            children[static_cast<std::size_t>(fields_[k])] = held[k].raw();
        } else {
            auto made = arrow::MakeArrayFromScalar(*parts_.values[k - fields_.size()], n);
            check_arrow(made.status(), "a value of the path");
            column = made.ValueUnsafe();
            children[static_cast<std::size_t>(n_fields_) + k - fields_.size()] = held[k].raw();
        }
        check_arrow(arrow::ExportArray(*column, held[k].raw(), nullptr), "a column");
    }
    rows.length = n;
    rows.n_buffers = 1;
    rows.buffers = buffers;
    rows.n_children = static_cast<std::int64_t>(children.size());
    rows.children = children.data();
    e.size = sizeof e;
    if (where_eval(bound_.get(), &rows, keep, &e) != SLUICE_OK) {
        throw std::bad_alloc();
    }
}

} /* namespace sluice_columnar */
