/* sluice_host.hpp - the C++ side of errors, options, host services and prepare. Part of sluice.hpp,
 * which says how they are used.
 *
 * Depends on sluice_arrays.h. Every function that the host refuses throws sluice::error
 * (std::bad_alloc for SLUICE_E_NOMEM). */
#ifndef SLUICE_HOST_HPP
#define SLUICE_HOST_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice_arrays.h"

namespace sluice
{

/* ---- errors ---- */

/* A failure with its status. message: what was found, what was expected, what to do. field: the
 * option or column at fault. */
class error : public std::exception
{
  public:
    error(sluice_status code, std::string message, std::string field = "", std::int64_t row = -1)
        : code_(code), row_(row), field_(std::move(field)), message_(std::move(message))
    {
    }
    const char *what() const noexcept override
    {
        return message_.c_str();
    }
    sluice_status code() const noexcept
    {
        return code_;
    }
    const std::string &field() const noexcept
    {
        return field_;
    }
    std::int64_t row() const noexcept
    {
        return row_;
    }

  private:
    sluice_status code_;
    std::int64_t row_;
    std::string field_, message_;
};

/* Thrown by a reader's `record`: this record is quarantined and reading goes on. reason:
 * [a-z0-9_]+. */
class bad_record : public std::exception
{
  public:
    explicit bad_record(std::string reason, std::string detail = "")
        : reason_(std::move(reason)), detail_(std::move(detail))
    {
    }
    const char *what() const noexcept override
    {
        return detail_.c_str();
    }
    const std::string &reason() const noexcept
    {
        return reason_;
    }

  private:
    std::string reason_, detail_;
};

namespace detail
{

/* Runs the body of an entry point; no exception passes. */
template <class Body> sluice_status guard(sluice_error *err, Body &&body) noexcept
{
    try {
        try {
            return body();
        } catch (const error &e) {
            sluice_fail(err, e.code(), e.field().c_str(), e.what());
            if (err != nullptr) {
                err->row = e.row();
            }
            return e.code() != SLUICE_OK ? e.code() : SLUICE_E_INTERNAL;
        } catch (const std::bad_alloc &) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
        } catch (const std::exception &e) {
            return sluice_fail(err, SLUICE_E_INTERNAL, "", e.what());
        } catch (...) {
            return sluice_fail(err, SLUICE_E_INTERNAL, "",
                               "an exception that is no std::exception");
        }
    } catch (...) { /* what() of a foreign class threw */
        return sluice_fail(err, SLUICE_E_INTERNAL, "", "an exception while handling an exception");
    }
}

} // namespace detail

/* A plugin in C that calls a C++ library: runs the body, and no exception passes. What the library
 * throws comes back as `code` about `field`, what does not fit in memory as SLUICE_E_NOMEM. */
template <class Body>
sluice_status guarded(sluice_error *err, sluice_status code, const char *field,
                      Body &&body) noexcept
{
    return detail::guard(err, [&] {
        try {
            body();
            return static_cast<sluice_status>(SLUICE_OK);
        } catch (const error &) {
            throw;
        } catch (const std::bad_alloc &) {
            throw;
        } catch (const std::length_error &) {
            throw std::bad_alloc();
        } catch (const std::exception &e) {
            throw error(code, e.what(), field);
        }
    });
}

namespace detail
{

inline sluice_error empty_error() noexcept
{
    sluice_error e;
    std::memset(&e, 0, sizeof e);
    e.size = sizeof e;
    e.row = -1;
    return e;
}

/* Throws what the host refused. */
inline void check(sluice_status status, const sluice_error &e)
{
    if (status == SLUICE_E_NOMEM) {
        throw std::bad_alloc();
    }
    if (status != SLUICE_OK) {
        throw error(status, e.message, e.field, e.row);
    }
}

inline void check(sluice_status status, const char *what)
{
    if (status == SLUICE_E_NOMEM) {
        throw std::bad_alloc();
    }
    if (status != SLUICE_OK) {
        throw error(status, what);
    }
}

template <class> inline constexpr bool never = false;

} // namespace detail

/* ---- options ---- */

/* Types of option members beside bool, std::int64_t (int), double (float), const char * (string,
 * may be NULL), std::int32_t or an enum class : std::int32_t (enum), sluice_range, sluice_list and
 * sluice_map. */
template <int Kind> struct named_text {
    const char *value; /* NULL when not given */
    std::string_view view() const
    {
        return value != nullptr ? std::string_view(value) : std::string_view();
    }
    operator std::string_view() const
    {
        return view();
    }
};
using path_name = named_text<SLUICE_OPT_PATH>;
using column_name = named_text<SLUICE_OPT_COLUMN>;
using node_name = named_text<SLUICE_OPT_NODE>;
struct byte_size {
    std::uint64_t bytes;
    operator std::uint64_t() const
    {
        return bytes;
    }
};
struct duration {
    std::int64_t nanoseconds;
};

namespace detail
{

template <class T> constexpr std::int32_t option_kind()
{
    if constexpr (std::is_same_v<T, bool>) {
        static_assert(sizeof(bool) == 1, "the host stores a byte");
        return SLUICE_OPT_BOOL;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return SLUICE_OPT_INT;
    } else if constexpr (std::is_same_v<T, double>) {
        return SLUICE_OPT_FLOAT;
    } else if constexpr (std::is_same_v<T, const char *>) {
        return SLUICE_OPT_STRING;
    } else if constexpr (std::is_same_v<T, path_name>) {
        return SLUICE_OPT_PATH;
    } else if constexpr (std::is_same_v<T, column_name>) {
        return SLUICE_OPT_COLUMN;
    } else if constexpr (std::is_same_v<T, node_name>) {
        return SLUICE_OPT_NODE;
    } else if constexpr (std::is_same_v<T, byte_size>) {
        return SLUICE_OPT_SIZE;
    } else if constexpr (std::is_same_v<T, duration>) {
        return SLUICE_OPT_DURATION;
    } else if constexpr (std::is_same_v<T, sluice_range>) {
        return SLUICE_OPT_RANGE;
    } else if constexpr (std::is_same_v<T, sluice_list>) {
        return SLUICE_OPT_LIST;
    } else if constexpr (std::is_same_v<T, sluice_map>) {
        return SLUICE_OPT_MAP;
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
        return SLUICE_OPT_ENUM;
    } else if constexpr (std::is_enum_v<T>) {
        static_assert(sizeof(T) == sizeof(std::int32_t), "enum class NAME : std::int32_t");
        return SLUICE_OPT_ENUM;
    } else {
        static_assert(never<T>, "no option has this type; see sluice.hpp for those that exist");
        return 0;
    }
}

} // namespace detail

/* Further facts of the option that was added last: t.add(…).range(0, 1).positional(). */
class option_row
{
  public:
    explicit option_row(sluice_option &option) : option_(option)
    {
    }
    option_row &range(double least, double most)
    {
        option_.min = least;
        option_.max = most;
        return *this;
    }
    option_row &choices(const char *words) /* "a|b|c", for enums */
    {
        option_.choices = words;
        return *this;
    }
    option_row &since(const char *version)
    {
        option_.since = version;
        return *this;
    }
    option_row &positional()
    {
        option_.flags |= SLUICE_OPTF_POSITIONAL;
        return *this;
    }
    option_row &no_output()
    {
        option_.flags |= SLUICE_OPTF_NO_OUTPUT;
        return *this;
    }
    option_row &deprecated()
    {
        option_.flags |= SLUICE_OPTF_DEPRECATED;
        return *this;
    }
    option_row &required()
    {
        option_.flags |= SLUICE_OPTF_REQUIRED;
        return *this;
    }
    option_row &output_path() /* the dataset folder that a writer's host writes */
    {
        option_.flags |= SLUICE_OPTF_OUTPUT_PATH;
        return *this;
    }

  private:
    sluice_option &option_;
};

template <class Options> class option_table
{
    static_assert(std::is_standard_layout_v<Options> && std::is_trivially_copyable_v<Options>,
                  "options are a plain struct: the host fills its bytes");

  public:
    /* standard: the default as a user would type it; all texts are literals. A member's own
     * initialiser has no effect. */
    template <class T>
    option_row add(T Options::*member, const char *name, const char *standard, const char *doc)
    {
        static const Options probe{};
        sluice_option option;
        std::memset(&option, 0, sizeof option);
        option.name = name;
        option.doc = doc;
        option.def = standard;
        option.type = detail::option_kind<T>();
        option.offset =
            static_cast<std::uint64_t>(reinterpret_cast<const char *>(&(probe.*member)) -
                                       reinterpret_cast<const char *>(&probe));
        rows_.push_back(option);
        return option_row(rows_.back());
    }
    /* Without a default: unset (zero) when not given. */
    template <class T> option_row add(T Options::*member, const char *name, const char *doc)
    {
        return add(member, name, nullptr, doc);
    }
    const std::vector<sluice_option> &rows() const
    {
        return rows_;
    }

  private:
    std::vector<sluice_option> rows_;
};

/* ---- host services (see struct sluice_host_api) ---- */

class host_services
{
  public:
    host_services() = default;
    host_services(const sluice_host_api *api, sluice_host *host) : api_(api), host_(host)
    {
    }
    void *alloc(std::uint64_t bytes) const /* throws std::bad_alloc at the budget's end */
    {
        void *memory = api_->alloc(host_, bytes);
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        return memory;
    }
    void free(void *memory) const noexcept
    {
        api_->free(host_, memory);
    }
    void log(std::int32_t level, const std::string &message) const
    {
        api_->log(host_, level, message.c_str());
    }
    std::string_view read_file(const char *path) const /* lives until the stage is closed */
    {
        const void *data = nullptr;
        std::uint64_t size = 0;
        sluice_error e = detail::empty_error();
        detail::check(api_->read_file(host_, path, &data, &size, &e), e);
        return { static_cast<const char *>(data), static_cast<std::size_t>(size) };
    }
    std::string_view map(const char *path) const /* as it is stored; likewise */
    {
        const void *data = nullptr;
        std::uint64_t size = 0;
        sluice_error e = detail::empty_error();
        detail::check(api_->map(host_, path, &data, &size, &e), e);
        return { static_cast<const char *>(data), static_cast<std::size_t>(size) };
    }
    std::uint64_t seed(std::uint64_t salt) const
    {
        return api_->seed(host_, salt);
    }
    std::string scratch_dir() const
    {
        const char *folder = api_->scratch_dir(host_);
        if (folder == nullptr) {
            throw error(SLUICE_E_IO, "the host has no folder for temporary files");
        }
        return folder;
    }
    std::uint64_t memory_share() const
    {
        return api_->memory_share(host_);
    }
    void stop_if_cancelled() const /* in loops over 10 ms */
    {
        if (api_->cancelled(host_) != 0) {
            throw error(SLUICE_E_CANCELLED, "the run is being stopped");
        }
    }

  private:
    const sluice_host_api *api_ = nullptr;
    sluice_host *host_ = nullptr;
};

/* ---- prepare (see struct sluice_plan) ---- */

class plan
{
  public:
    explicit plan(sluice_plan *raw) : raw_(raw)
    {
    }
    /* The place of a column of the input: what row's and batch's functions take. */
    std::int32_t need(std::string_view name, const char *type = "", std::uint32_t port = 0)
    {
        return ask(name, type, port, 0);
    }
    std::int32_t need_optional(std::string_view name, const char *type = "", /* -1 = absent */
                               std::uint32_t port = 0)
    {
        return ask(name, type, port, 1);
    }
    std::int32_t need_derived(const char *provider, const char *given, std::string_view source,
                              std::uint32_t port = 0)
    {
        std::int32_t index = -1;
        sluice_error e = detail::empty_error();
        detail::check(raw_->need_derived(raw_, port, provider, given, std::string(source).c_str(),
                                         &index, &e),
                      e);
        return index;
    }
    const char *metadata(std::int32_t index, const char *key, std::uint32_t port = 0)
    {
        return raw_->metadata(raw_, port, index, key);
    }
    void add(std::string_view name, const char *type, const char *metadata = nullptr)
    {
        sluice_error e = detail::empty_error();
        detail::check(raw_->add(raw_, std::string(name).c_str(), type, metadata, &e), e);
    }
    void output(const char *suffix, const char *codec = "none", std::int32_t level = 0)
    {
        sluice_error e = detail::empty_error();
        detail::check(raw_->output(raw_, suffix, codec, level, &e), e);
    }
    void note(const char *key, const std::string &json)
    {
        sluice_error e = detail::empty_error();
        detail::check(raw_->note(raw_, key, json.c_str(), &e), e);
    }
    std::vector<std::pair<std::string, std::string>> columns(std::uint32_t port = 0)
    {
        std::vector<std::pair<std::string, std::string>> all;
        for (std::uint32_t k = 0;; k++) {
            const char *name = "";
            const char *type = "";
            detail::check(raw_->column(raw_, port, k, &name, &type),
                          "the columns of the input can't be listed");
            if (name[0] == '\0') {
                return all;
            }
            all.emplace_back(name, type);
        }
    }
    bool wanted(const char *name)
    {
        return raw_->wanted(raw_, name) != 0;
    }
    /* Readers with cut "own": what survey said of the first file; nothing where none is known, or
     * nothing was said. */
    std::optional<std::string> described(std::string *name = nullptr) /* the file's */
    {
        const char *uri = nullptr;
        const void *data = nullptr;
        std::uint64_t n = 0;
        sluice_error e = detail::empty_error();
        detail::check(raw_->described(raw_, &uri, &data, &n, &e), e);
        if (data == nullptr) {
            return std::nullopt;
        }
        if (name != nullptr) {
            *name = uri == nullptr ? "" : uri;
        }
        return std::string(static_cast<const char *>(data), static_cast<std::size_t>(n));
    }

    /* The same of the k-th file, from 0, which is surveyed for that; false: there are no more. */
    bool described_at(std::uint64_t k, std::string &name, std::optional<std::string> &said)
    {
        const char *uri = nullptr;
        const void *data = nullptr;
        std::uint64_t n = 0;
        sluice_error e = detail::empty_error();
        if (raw_->size < offsetof(sluice_plan, described_at) + sizeof raw_->described_at ||
            raw_->described_at == nullptr) {
            throw error(SLUICE_E_CONFIG, "this version of Sluice tells readers of the first file "
                                         "of an input alone");
        }
        detail::check(raw_->described_at(raw_, k, &uri, &data, &n, &e), e);
        if (uri == nullptr) {
            return false;
        }
        name = uri;
        said.reset();
        if (data != nullptr) {
            said.emplace(static_cast<const char *>(data), static_cast<std::size_t>(n));
        }
        return true;
    }

  private:
    std::int32_t ask(std::string_view name, const char *type, std::uint32_t port,
                     std::int32_t optional)
    {
        std::int32_t index = -1;
        sluice_error e = detail::empty_error();
        detail::check(raw_->need(raw_, port, std::string(name).c_str(), type, optional, &index, &e),
                      e);
        return index;
    }
    sluice_plan *raw_;
};

} // namespace sluice

#endif
