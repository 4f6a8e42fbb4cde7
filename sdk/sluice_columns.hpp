/* sluice_columns.hpp - the C++ side of data: views of rows, makers of columns, and what process
 * gives back. Part of sluice.hpp.
 *
 * Depends on sluice_host.hpp. Views are borrowed for the call; makers own what they hold until the
 * host takes it. */
#ifndef SLUICE_COLUMNS_HPP
#define SLUICE_COLUMNS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice_asks.hpp"
#include "sluice_host.hpp"

namespace sluice
{

/* ---- views ---- */

template <class T> struct items {
    const T *data;
    std::size_t size;
    const T *begin() const
    {
        return data;
    }
    const T *end() const
    {
        return data + size;
    }
    const T &operator[](std::size_t k) const
    {
        return data[k];
    }
};

/* A selected row; columns by the places that plan gave. The accessors don't check types: ask plan
 * for the type that you read. */
class row
{
  public:
    row(const sluice_batch *batch, std::int64_t index, const std::vector<answer> *answers = nullptr)
        : batch_(batch), index_(index), answers_(answers)
    {
    }
    bool is_null(std::int32_t column) const
    {
        return sluice_is_null(&array(column), index_) != 0;
    }
    std::string_view text(std::int32_t column = 0) const /* utf8, binary, json; "" for a null */
    {
        std::size_t n = 0;
        const char *at = sluice_text(&array(column), index_, &n);
        return { at, n };
    }
    std::int64_t int64(std::int32_t column) const
    {
        return sluice_int64(&array(column), index_);
    }
    std::uint64_t uint64(std::int32_t column) const
    {
        return sluice_uint64(&array(column), index_);
    }
    double float64(std::int32_t column) const
    {
        return sluice_float64(&array(column), index_);
    }
    bool boolean(std::int32_t column) const
    {
        return sluice_bool(&array(column), index_) != 0;
    }
    items<std::uint64_t> list_u64(std::int32_t column) const /* also spans: begin | end << 32 */
    {
        std::size_t n = 0;
        const std::uint64_t *at = sluice_list_u64(&array(column), index_, &n);
        return { at, n };
    }
    items<std::uint32_t> list_u32(std::int32_t column) const
    {
        std::size_t n = 0;
        const std::uint32_t *at = sluice_list_u32(&array(column), index_, &n);
        return { at, n };
    }
    const ArrowArray &array(std::int32_t column) const
    {
        return *batch_->array->children[column];
    }
    std::int64_t index() const /* in array(column) */
    {
        return index_;
    }
    /* To what `ask` of the class asked for this row, in the order of asking. */
    const std::vector<answer> &answers() const
    {
        static const std::vector<answer> none;
        return answers_ != nullptr ? *answers_ : none;
    }

  private:
    const sluice_batch *batch_;
    std::int64_t index_;
    const std::vector<answer> *answers_;
};

class batch
{
  public:
    explicit batch(const sluice_batch *raw, const detail::answered *answers = nullptr)
        : raw_(raw), answers_(answers)
    {
    }
    std::int64_t size() const /* selected rows */
    {
        return raw_->n;
    }
    row operator[](std::int64_t k) const /* the k-th selected row */
    {
        return row(raw_, sluice_row(raw_, k),
                   answers_ != nullptr ? &(*answers_)[static_cast<std::size_t>(k)] : nullptr);
    }
    const sluice_batch &raw() const
    {
        return *raw_;
    }

  private:
    const sluice_batch *raw_;
    const detail::answered *answers_;
};

/* ---- memory and makers ---- */

/* struct sluice_bytes that frees itself and throws std::bad_alloc. */
class bytes
{
  public:
    bytes() = default;
    bytes(bytes &&other) noexcept : raw_(std::exchange(other.raw_, sluice_bytes{}))
    {
    }
    bytes &operator=(bytes &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~bytes()
    {
        sluice_bytes_free(&raw_);
    }
    void add(const void *data, std::size_t n)
    {
        if (sluice_bytes_add(&raw_, data, n) == 0) {
            throw std::bad_alloc();
        }
    }
    void add_bit(std::int64_t at, bool bit)
    {
        if (sluice_bytes_add_bit(&raw_, at, bit) == 0) {
            throw std::bad_alloc();
        }
    }
    std::uint64_t size() const
    {
        return raw_.size;
    }
    sluice_bytes *raw()
    {
        return &raw_;
    }

  private:
    sluice_bytes raw_ = {};
};

/* An ArrowArray that is released with it, unless it was given away. */
class array
{
  public:
    array() = default;
    array(array &&other) noexcept : raw_(std::exchange(other.raw_, ArrowArray{}))
    {
    }
    array &operator=(array &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~array()
    {
        if (raw_.release != nullptr) {
            raw_.release(&raw_);
        }
    }
    ArrowArray *raw()
    {
        return &raw_;
    }
    ArrowArray give()
    {
        return std::exchange(raw_, ArrowArray{});
    }

  private:
    ArrowArray raw_ = {};
};

namespace detail
{

template <class T> struct optional_of {
    static constexpr bool value = false;
    using type = T;
};
template <class T> struct optional_of<std::optional<T>> {
    static constexpr bool value = true;
    using type = T;
};
template <class T> struct is_vector : std::false_type {
};
template <class T> struct is_vector<std::vector<T>> : std::true_type {
};

/* "int64", "list<uint32>" … of a C++ type. */
template <class T> std::string type_name()
{
    if constexpr (optional_of<T>::value) {
        return type_name<typename optional_of<T>::type>() + "?";
    } else if constexpr (std::is_same_v<T, bool>) {
        return "bool";
    } else if constexpr (std::is_same_v<T, float>) {
        return "float32";
    } else if constexpr (std::is_same_v<T, double>) {
        return "float64";
    } else if constexpr (std::is_integral_v<T>) {
        return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
        return "utf8";
    } else if constexpr (is_vector<T>::value) {
        static_assert(std::is_arithmetic_v<typename T::value_type> &&
                          !std::is_same_v<typename T::value_type, bool>,
                      "lists hold numbers");
        return "list<" + type_name<typename T::value_type>() + ">";
    } else {
        static_assert(never<T>, "a column holds bool, numbers, texts, std::vector of numbers, or "
                                "std::optional of those");
        return "";
    }
}

} // namespace detail

/* Collects the values of one column: bool, numbers, texts (std::string, std::string_view),
 * std::vector of numbers, or std::optional of the first three. */
template <class T> class column_maker
{
  public:
    static std::string type()
    {
        return detail::type_name<T>();
    }
    void add(const T &value)
    {
        if constexpr (detail::optional_of<T>::value) {
            validity_.add_bit(n_, value.has_value());
            nulls_ += value.has_value() ? 0 : 1;
            put(value.has_value() ? *value : typename detail::optional_of<T>::type{});
        } else {
            put(value);
        }
        n_++;
    }
    std::int64_t rows() const
    {
        return n_;
    }
    std::uint64_t size() const /* bytes of values */
    {
        return values_.size();
    }
    /* Gives what was added and begins anew. */
    array finish()
    {
        using plain = typename detail::optional_of<T>::type;
        array out;
        sluice_bytes *validity = nulls_ > 0 ? validity_.raw() : nullptr;
        sluice_status status = SLUICE_OK;
        if constexpr (std::is_convertible_v<plain, std::string_view>) {
            status =
                sluice_make_text(out.raw(), n_, offsets_.raw(), values_.raw(), validity, nulls_);
        } else if constexpr (detail::is_vector<plain>::value) {
            static_assert(!detail::optional_of<T>::value, "lists have no nulls");
            status = sluice_make_list(out.raw(), n_, offsets_.raw(), values_.raw(), items_);
        } else {
            status = sluice_make_fixed(out.raw(), n_, values_.raw(), validity, nulls_);
        }
        if (status != SLUICE_OK) {
            out.raw()->release = nullptr;
        }
        *this = column_maker();
        detail::check(status, "a column can't be made");
        return out;
    }

  private:
    template <class V> void put(const V &value)
    {
        if constexpr (std::is_same_v<V, bool>) {
            values_.add_bit(n_, value);
        } else if constexpr (std::is_convertible_v<V, std::string_view>) {
            const std::string_view text(value);
            if (sluice_bytes_add_text(offsets_.raw(), values_.raw(), text.data(), text.size()) ==
                0) {
                throw std::bad_alloc();
            }
        } else if constexpr (detail::is_vector<V>::value) {
            const std::int32_t zero = 0;
            if (offsets_.size() == 0) {
                offsets_.add(&zero, sizeof zero);
            }
            if (value.size() > static_cast<std::size_t>(INT32_MAX - items_)) {
                throw std::bad_alloc();
            }
            values_.add(value.data(), value.size() * sizeof(typename V::value_type));
            items_ += static_cast<std::int32_t>(value.size());
            offsets_.add(&items_, sizeof items_);
        } else {
            values_.add(&value, sizeof value);
        }
    }
    bytes values_, offsets_, validity_;
    std::int64_t n_ = 0, nulls_ = 0;
    std::int32_t items_ = 0;
};

/* What process may give back (see struct sluice_emit). */
class emitter
{
  public:
    explicit emitter(sluice_emit *raw) : raw_(raw)
    {
    }
    void verdicts(const std::vector<sluice_verdict> &all)
    {
        detail::check(raw_->verdicts(raw_, all.data(), static_cast<std::int64_t>(all.size())),
                      "the host refused verdicts");
    }
    void give(array &&columns) /* a struct array, see struct_of */
    {
        ArrowArray raw = columns.give();
        detail::check(raw_->batch(raw_, &raw), "the host refused a batch");
    }
    void bad(std::uint64_t begin, std::uint64_t end, const char *reason, const char *detail)
    {
        detail::check(raw_->bad(raw_, begin, end, reason, detail), "the host refused a bad record");
    }
    /* Readers: rows of the records given in this call have nothing by that name; there: the names
     * that the first of them has. Hosts before ABI 1.1 are not told. */
    void absent(const char *name, std::uint64_t rows, const std::vector<const char *> &there)
    {
        if (SLUICE_HAS_EMIT(raw_, absent)) {
            detail::check(raw_->absent(raw_, name, rows, there.data(), there.size()),
                          "the host refused an absent column");
        }
    }
    void write(std::string_view data, std::uint32_t output = 0)
    {
        detail::check(raw_->write(raw_, output, data.data(), data.size()),
                      "the host refused what was written");
    }
    void roll(std::int64_t rows)
    {
        detail::check(raw_->roll(raw_, rows), "the host refused to end a file");
    }
    void measure(const char *name, std::int64_t delta)
    {
        detail::check(raw_->measure(raw_, name, delta), "the host refused a measure");
    }
    /* Readers that read at random: n bytes of the file from offset on, which come to resume. */
    void ask(std::uint64_t offset, std::uint64_t n, std::uint64_t tag = 0)
    {
        const sluice_extent extent{ offset, n };
        sluice_ask what{};
        what.size = sizeof what;
        what.kind = SLUICE_ASK_BYTES;
        what.tag = tag;
        what.payload = &extent;
        what.n = sizeof extent;
        detail::check(raw_->ask(raw_, &what), "the host refused an ask");
    }
    void unit(const sluice_unit &unit) /* in survey; its size is set here */
    {
        sluice_unit copy = unit;
        copy.size = sizeof copy;
        detail::check(raw_->unit(raw_, &copy), "the host refused a unit");
    }
    void describe(std::string_view data) /* in survey, once */
    {
        detail::check(raw_->describe(raw_, data.data(), data.size()),
                      "the host refused the description of a file");
    }
    void skipped(std::uint64_t rows, std::uint64_t bytes, const char *how)
    {
        detail::check(raw_->skipped(raw_, rows, bytes, how), "the host refused skipped rows");
    }

  private:
    sluice_emit *raw_;
};

/* The struct array of n rows that emitter::give takes, from its columns in the order of
 * plan::add. */
inline array struct_of(std::int64_t n, std::vector<array> columns)
{
    std::vector<ArrowArray> raw;
    array out;
    raw.reserve(columns.size() + 1);
    for (array &column : columns) {
        raw.push_back(column.give());
    }
    sluice_status status =
        sluice_make_struct(out.raw(), n, static_cast<std::int64_t>(raw.size()), raw.data());
    if (status != SLUICE_OK) {
        out.raw()->release = nullptr;
    }
    detail::check(status, "a batch can't be made");
    return out;
}

/* Rows of the declared output of a transform or reader: add() takes one value a column. Marks are
 * columns that the base classes fill: _origin of transforms; _begin, _end of readers. */
template <class... Ts> class rows
{
  public:
    static constexpr std::size_t width = sizeof...(Ts);
    void add(const Ts &...values)
    {
        add_each(std::index_sequence_for<Ts...>(), values...);
        for (std::size_t k = 0; k < n_marks_; k++) {
            marks_[k].add(mark_[k]);
        }
        n_++;
    }
    /* Readers: the bytes [begin, end) of the file are a record that can't be read; it is
     * quarantined. reason: [a-z0-9_]+. */
    void bad(std::uint64_t begin, std::uint64_t end, std::string reason, std::string detail = "")
    {
        bad_.push_back({ begin, end, std::move(reason), std::move(detail) });
    }
    std::int64_t size() const
    {
        return n_;
    }
    /* For the base classes. */
    static std::vector<std::string> types()
    {
        return { column_maker<Ts>::type()... };
    }
    void mark(std::size_t n, std::uint64_t first, std::uint64_t second = 0)
    {
        n_marks_ = n;
        mark_[0] = first;
        mark_[1] = second;
    }
    std::uint64_t bytes() const
    {
        return std::apply(
            [](const auto &...each) { return (std::uint64_t{ 0 } + ... + each.size()); }, columns_);
    }
    void give(emitter &out)
    {
        for (const bad_bytes &b : bad_) {
            out.bad(b.begin, b.end, b.reason.c_str(), b.detail.c_str());
        }
        bad_.clear();
        if (n_ == 0) {
            return;
        }
        std::vector<array> all;
        all.reserve(width + n_marks_);
        std::apply([&](auto &...each) { (all.push_back(each.finish()), ...); }, columns_);
        for (std::size_t k = 0; k < n_marks_; k++) {
            all.push_back(marks_[k].finish());
        }
        out.give(struct_of(std::exchange(n_, 0), std::move(all)));
    }

  private:
    struct bad_bytes {
        std::uint64_t begin, end;
        std::string reason, detail;
    };
    template <std::size_t... I> void add_each(std::index_sequence<I...>, const Ts &...values)
    {
        (std::get<I>(columns_).add(values), ...);
    }
    std::tuple<column_maker<Ts>...> columns_;
    column_maker<std::uint64_t> marks_[2];
    std::uint64_t mark_[2] = { 0, 0 };
    std::vector<bad_bytes> bad_;
    std::size_t n_marks_ = 0;
    std::int64_t n_ = 0;
};

} // namespace sluice

#endif
