/* sluice_stage.hpp - how a stage class becomes a struct sluice_stage: what all roles share. Part of
 * sluice.hpp; nothing here is for authors of plugins but what their classes inherit (opts, host,
 * text_column, text_option).
 *
 * Depends on sluice_columns.hpp. Promises: no exception leaves an entry point. */
#ifndef SLUICE_STAGE_HPP
#define SLUICE_STAGE_HPP

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice_columns.hpp"

namespace sluice
{

namespace detail
{

template <class D> struct built;

/* What all roles share. D is the stage class. */
template <class D> class stage_base
{
  public:
    struct options {
    };
    struct worker {
    };
    static constexpr const char *doc = nullptr;
    static constexpr const char *example = nullptr;
    static constexpr std::uint32_t mode = SLUICE_MODE_STATELESS;
    static constexpr std::uint64_t flags = 0;
    static constexpr std::uint64_t bytes_worker = std::uint64_t{ 1 } << 20;
    static constexpr std::uint64_t state_version = 1;
    static constexpr double bytes_per_batch = 0; // see sluice.h

    template <class T = D> const typename T::options &opts() const
    {
        return *static_cast<const typename T::options *>(config_);
    }
    const host_services &host() const
    {
        return host_;
    }
    void open()
    {
    }
    /* The column that the option `over` names, else "text". */
    std::string text_column() const
    {
        return text_option("over", SLUICE_OPT_COLUMN, "text");
    }
    std::string text_option(const char *name, std::int32_t type, const char *standard) const
    {
        for (const sluice_option &option : built<D>::get().rows) {
            if (option.type == type && std::strcmp(option.name, name) == 0) {
                const char *value = nullptr;
                std::memcpy(&value, static_cast<const char *>(config_) + option.offset,
                            sizeof value);
                return value != nullptr && value[0] != '\0' ? value : standard;
            }
        }
        return standard;
    }
    void bind(const sluice_host_api *api, sluice_host *host, const void *config)
    {
        host_ = host_services(api, host);
        config_ = config;
    }

  private:
    const void *config_ = nullptr;
    host_services host_;
};

/* Calls the row function in the form that the class has. */
template <class Call, class D, class W, class... More>
decltype(auto) call_row(Call call, const D &d, const row &r, W &w, More &...more)
{
    if constexpr (std::is_invocable_v<Call, const D &, const row &, More &..., W &>) {
        return call(d, r, more..., w);
    } else if constexpr (std::is_invocable_v<Call, const D &, const row &, More &...>) {
        return call(d, r, more...);
    } else if constexpr (std::is_invocable_v<Call, const D &, std::string_view, More &..., W &>) {
        return call(d, r.text(), more..., w);
    } else {
        static_assert(std::is_invocable_v<Call, const D &, std::string_view, More &...>,
                      "the row function takes `const row &` or `std::string_view`, what the base "
                      "class says, perhaps `worker &`; and is const");
        return call(d, r.text(), more...);
    }
}

/* SFINAE-friendly calls of the member functions that a stage class may have. */
#define SLUICE_CALL_(function)                                                                     \
    struct call_##function {                                                                       \
        template <class D, class... A>                                                             \
        auto operator()(const D &d, A &&...a) const -> decltype(d.function(std::forward<A>(a)...)) \
        {                                                                                          \
            return d.function(std::forward<A>(a)...);                                              \
        }                                                                                          \
    };
SLUICE_CALL_(judge)
SLUICE_CALL_(annotate)
SLUICE_CALL_(transform)
SLUICE_CALL_(record)
SLUICE_CALL_(read)
SLUICE_CALL_(survey)
SLUICE_CALL_(finish)
SLUICE_CALL_(observe)
SLUICE_CALL_(write)
SLUICE_CALL_(run)
SLUICE_CALL_(side)
SLUICE_CALL_(ask)
#undef SLUICE_CALL_

template <class W, class D> W make_worker(const D &stage)
{
    if constexpr (std::is_constructible_v<W, const D &>) {
        return W(stage);
    } else {
        return W{};
    }
}

template <class D> struct holder {
    explicit holder(const D &stage) : d(stage), own(make_worker<typename D::worker>(stage))
    {
    }
    const D &d;
    typename D::worker own;
    answered said; /* of classes that ask: to the rows of the call at hand */
};

/* Does the class take whole batches? */
template <class D>
constexpr bool takes_batches =
    std::is_invocable_v<call_run, const D &, const batch &, emitter &, typename D::worker &> ||
    std::is_invocable_v<call_run, const D &, const batch &, emitter &>;

/* Does the class ask servers? */
template <class D>
constexpr bool asks = std::is_invocable_v<call_ask, const D &, const row &, typename D::worker &> ||
                      std::is_invocable_v<call_ask, const D &, const row &>;

/* What row k asks next; false: nothing (more). */
template <class D> bool ask_row(holder<D> &s, const batch &all, std::int64_t k, sluice_emit *emit)
{
    if constexpr (asks<D>) {
        const std::optional<request> what = call_row(call_ask(), s.d, all[k], s.own);
        if (what.has_value()) {
            ask_server(emit, *what, static_cast<std::uint64_t>(k));
        }
        return what.has_value();
    } else {
        (void)s, (void)all, (void)k, (void)emit;
        return false;
    }
}

/* Batches of port 1, and classes that take whole batches; each_row(batch, emitter) does all
 * others. */
template <class D, class EachRow>
void run_batch(holder<D> &s, const sluice_batch *in, sluice_emit *emit, EachRow each_row)
{
    using W = typename D::worker;
    const batch all(in, in->port == 0 && asks<D> ? &s.said : nullptr);
    emitter out(emit);
    if (in->port == 1) {
        if constexpr (std::is_invocable_v<call_side, const D &, const batch &, W &>) {
            s.d.side(all, s.own);
        } else {
            throw error(SLUICE_E_INTERNAL, "a side input came, and the class has no side()");
        }
    } else if constexpr (std::is_invocable_v<call_run, const D &, const batch &, emitter &, W &>) {
        s.d.run(all, out, s.own);
    } else if constexpr (takes_batches<D>) {
        s.d.run(all, out);
    } else {
        each_row(all, out);
    }
}

/* process and resume of a role. Each is made of a holder and does a batch row by row. Rows ask, all
 * of them at once, until none asks any more: only then are they judged, annotated or
 * transformed. */
template <class D, class State, class Each> struct calls {
    static sluice_status process(void *worker, const sluice_batch *in, sluice_emit *emit,
                                 sluice_error *err) noexcept
    {
        return guard(err, [&] {
            State &s = *static_cast<State *>(worker);
            bool asked = false;
            if (asks<D> && in->port == 0) {
                s.said.assign(static_cast<std::size_t>(in->n), {});
                const batch all(in, &s.said);
                for (std::int64_t k = 0; k < in->n; k++) {
                    asked = ask_row<D>(s, all, k, emit) || asked;
                }
            }
            if (!asked) {
                run_batch<D>(s, in, emit, Each{ s });
            }
            return SLUICE_OK;
        });
    }
    static sluice_status resume(void *worker, const sluice_answers *answers, sluice_emit *emit,
                                sluice_error *err) noexcept
    {
        return guard(err, [&] {
            State &s = *static_cast<State *>(worker);
            const batch all(answers->batch, &s.said);
            bool asked = false;
            take_answers(*answers, s.said);
            for (std::uint64_t k = 0; k < answers->n; k++) { /* rows that asked, once each */
                const auto &one = *reinterpret_cast<const sluice_answer *>(
                    reinterpret_cast<const char *>(answers->items) + k * answers->stride);
                asked = ask_row<D>(s, all, static_cast<std::int64_t>(one.tag), emit) || asked;
            }
            if (!asked) {
                run_batch<D>(s, answers->batch, emit, Each{ s });
            }
            return SLUICE_OK;
        });
    }
    static void fill(sluice_stage &stage)
    {
        stage.process = process;
        if constexpr (asks<D>) {
            stage.resume = resume;
            stage.flags |= SLUICE_STAGE_RECORDED | SLUICE_STAGE_MAY_BLOCK;
        }
    }
};

/* The functions that every role has. Role supplies `state` (constructed from const D &) and the
 * rest. */
template <class D, class State> struct life {
    static sluice_status open(const sluice_host_api *api, sluice_host *host, const void *config,
                              void **shared, sluice_error *err) noexcept
    {
        return guard(err, [&] {
            auto d = std::make_unique<D>();
            d->bind(api, host, config);
            d->open();
            *shared = d.release();
            return SLUICE_OK;
        });
    }
    static sluice_status prepare(void *shared, sluice_plan *raw, sluice_error *err) noexcept
    {
        return guard(err, [&] {
            plan p(raw);
            static_cast<D *>(shared)->prepare(p);
            return SLUICE_OK;
        });
    }
    static sluice_status worker_open(void *shared, void **worker, sluice_error *err) noexcept
    {
        return guard(err, [&] {
            *worker = new State(*static_cast<const D *>(shared));
            return SLUICE_OK;
        });
    }
    static void worker_close(void *worker) noexcept
    {
        delete static_cast<State *>(worker);
    }
    static void close(void *shared) noexcept
    {
        delete static_cast<D *>(shared);
    }
    static void fill(sluice_stage &s)
    {
        s.open = open;
        s.prepare = prepare;
        s.worker_open = worker_open;
        s.worker_close = worker_close;
        s.close = close;
    }
};

/* The option table and the descriptor of a stage class, made once. */
template <class D> struct built {
    std::vector<sluice_option> rows;
    sluice_stage stage;

    static const built &get()
    {
        static const built one;
        return one;
    }

  private:
    template <class T>
    static auto declared(int)
        -> decltype(T::declare(std::declval<option_table<typename T::options> &>()),
                    std::vector<sluice_option>())
    {
        option_table<typename T::options> table;
        T::declare(table);
        return table.rows();
    }
    template <class T> static std::vector<sluice_option> declared(long)
    {
        return {};
    }
    built() : rows(declared<D>(0))
    {
        std::memset(&stage, 0, sizeof stage);
        stage.size = sizeof stage;
        stage.name = D::name;
        stage.version = D::version;
        stage.summary = D::summary;
        stage.doc = D::doc;
        stage.example = D::example;
        stage.mode = D::mode;
        stage.flags = D::flags;
        stage.bytes_worker = D::bytes_worker;
        stage.state_version = D::state_version;
        stage.bytes_per_batch = D::bytes_per_batch;
        stage.options = rows.empty() ? nullptr : rows.data();
        stage.n_options = rows.size();
        stage.option_stride = sizeof(sluice_option);
        stage.config_size = rows.empty() ? 0 : sizeof(typename D::options);
        D::fill_role(stage);
    }
};

/* The descriptor of a plugin; stages: functions that give its stages. */
template <const sluice_stage *(*...Stages)()>
const sluice_plugin *plugin_of(const char *name, const char *version, const char *license,
                               const char *libraries = nullptr) noexcept
{
    try {
        static const sluice_stage *const stages[] = { Stages()..., nullptr };
        constexpr std::uint32_t none = 0;
        const std::uint32_t needs = (none | ... | (Stages()->resume != nullptr ? 1u : 0u));
        static const sluice_plugin plugin = { sizeof(sluice_plugin),
                                              SLUICE_ABI_MAJOR,
                                              SLUICE_ABI_MINOR,
                                              needs, /* asks came with 1.1 */
                                              sizeof(sluice_verdict),
                                              name,
                                              version,
                                              license,
                                              stages,
                                              libraries };
        return &plugin;
    } catch (...) {
        return nullptr;
    }
}

} // namespace detail

/* The stage that a class becomes: for SLUICE_PLUGIN_STAGES. */
template <class D> const sluice_stage *stage_of()
{
    return &detail::built<D>::get().stage;
}

namespace detail
{

template <class... Stages>
const sluice_plugin *plugin_of_classes(const char *name, const char *version,
                                       const char *license) noexcept
{
    return plugin_of<stage_of<Stages>...>(name, version, license);
}

} // namespace detail

} // namespace sluice

#endif
