/* sluice.hpp - write a class, get a stage. Header-only C++17 over sluice.h and sluice_arrays.h.
 *
 *     #include <sluice.hpp>
 *
 *     struct few_bytes : sluice::filter<few_bytes> {
 *         static constexpr const char *name = "few_bytes", *version = "1.0", *summary = "Drops
 *         short documents.",
 *                                     *reasons = "too_short";
 *         struct options { std::int64_t least; sluice::column_name over; };
 *         static void declare(sluice::option_table<options> &t) {
 *             t.add(&options::least, "least", "100", "Fewest bytes of a document.").range(0, 1e9);
 *             t.add(&options::over, "over", "text", "Column that holds the text.");
 *         }
 *         sluice::verdict judge(std::string_view text) const { return sluice::at_least(text.size(),
 *         opts().least); }
 *     };
 *     SLUICE_PLUGIN("acme", "1.0", "MIT", few_bytes);
 *
 * What a stage class S may have, all of it optional but what is marked *:
 *
 *     static constexpr const char *name*, *version*, *summary*, *doc, *example      as in struct
 *                                                                                   sluice_stage
 *     static constexpr std::uint32_t mode; std::uint64_t flags, bytes_worker, state_version
 *     struct options                        plain members of the types below; read with opts();
 *                                           given values and defaults by the host
 *     static void declare(option_table<options> &)            the option table; the members' types
 *                                                             decide the options' types
 *     void open()                           after opts() and host() are there: reads models,
 *                                           refuses options that contradict each other
 *     void prepare(plan &)                  which columns come in and go out; the default is stated
 *                                           with each base
 *     struct worker                         own memory of one worker, kept from call to call;
 *                                           made from `const S &` if it can be, else by default
 *     void run(const batch &, emitter &, worker &) const     takes whole batches, instead of the
 *                                                            row function of its role
 *     void side(const batch &, worker &) const               batches of port 1 (with flag
 *                                                            SLUICE_STAGE_SIDE_INPUT)
 *     std::optional<request> ask(const row &[, worker &]) const    filters, annotators, transforms:
 *                                           what the row asks a server next, in view of
 *                                           row.answers(), which holds what it was answered so far;
 *                                           nothing = it has all it wants. Then its row function
 *                                           is called, which sees row.answers() too. A function of
 *                                           the row and the answers alone
 *
 * The row function of a role gets the row as `const row &`, or only its text (column 0; a null is
 * "") as std::string_view, and may take `worker &` as a last argument. Default prepare: the text
 * column that the option `over` names, else `text`, becomes column 0.
 *
 * Thread rule: one S serves all workers, so what they call on it is const; only `worker` is theirs
 * alone. open and prepare run on one thread before. Ownership: views (row, batch, chunk, texts) are
 * borrowed for the call.
 *
 * Errors are exceptions, and none leaves the plugin: sluice::error becomes its status, field and
 * message; std::bad_alloc SLUICE_E_NOMEM; every other SLUICE_E_INTERNAL with what(). Refusals of
 * the host arrive as sluice::error. Destructors must not throw. Don't catch and go on after an
 * error of this header's classes: the call has failed. */
#ifndef SLUICE_HPP
#define SLUICE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice_hidden.h"
#include "sluice_stage.hpp"
#include "text/text_utf8.h"

namespace sluice
{

/* ---- verdicts ---- */

/* What becomes of a row. Reasons by their place in `reasons`, from 1. */
struct verdict {
    std::int32_t reason = 0;
    double value = 0, limit = 0;
    std::string text; /* id of the document it duplicates; of a bad row "reason: detail" */
    double similarity = 0;
};

inline verdict keep(double value = 0, double limit = 0)
{
    return { 0, value, limit, {}, 0 };
}
inline verdict drop(std::int32_t reason, double value = 0, double limit = 0)
{
    return { reason, value, limit, {}, 0 };
}
/* Keeps when value >= limit (<= limit); a value that is not a number drops. */
template <class V, class L> verdict at_least(V value, L limit, std::int32_t reason = 1)
{
    const double v = static_cast<double>(value);
    const double l = static_cast<double>(limit);
    return v >= l ? keep(v, l) : drop(reason, v, l);
}
template <class V, class L> verdict at_most(V value, L limit, std::int32_t reason = 1)
{
    const double v = static_cast<double>(value);
    const double l = static_cast<double>(limit);
    return v <= l ? keep(v, l) : drop(reason, v, l);
}
inline verdict duplicate(std::int32_t reason, std::string of, double similarity)
{
    return { reason, similarity, 0, std::move(of), similarity };
}
/* The row can't be judged and is quarantined. */
inline verdict bad_row(const std::string &reason, const std::string &detail)
{
    return { SLUICE_VERDICT_BAD, 0, 0, reason + ": " + detail, 0 };
}

/* ---- gates ---- */

struct judgement {
    std::int32_t outcome = SLUICE_GATE_PASS;
    std::string message;
};
inline judgement pass()
{
    return {};
}
inline judgement warn(std::string message)
{
    return { SLUICE_GATE_WARN, std::move(message) };
}
inline judgement halt(std::string message)
{
    return { SLUICE_GATE_HALT, std::move(message) };
}

/* Rows that left a node of the pipeline, by the value of a node_name option; -1 = unknown. */
class row_counts
{
  public:
    explicit row_counts(sluice_verdict_io *raw) : raw_(raw)
    {
    }
    std::int64_t operator()(const node_name &node) const
    {
        return node.value != nullptr ? raw_->count(raw_, node.value) : -1;
    }

  private:
    sluice_verdict_io *raw_;
};

/* ---- readers ---- */

/* Where a record stands: its bytes in the file's decoded bytes. */
struct place {
    std::string_view uri;
    std::uint64_t begin, end;
};

struct chunk { /* as struct sluice_chunk */
    explicit chunk(const sluice_chunk &c)
        : data(c.data, static_cast<std::size_t>(c.n)), offset(c.offset), uri(c.uri),
          first((c.flags & SLUICE_CHUNK_FIRST) != 0), last((c.flags & SLUICE_CHUNK_LAST) != 0)
    {
    }
    std::string_view data; /* SLUICE_PADDING more bytes may be read */
    std::uint64_t offset;
    std::string_view uri; /* a NUL stands behind it */
    bool first, last;
};

/* A filter. D: static constexpr const char *reasons ("too_short|too_long"); verdict judge(row or
 * text[, worker &]) const. */
template <class D> class filter : public detail::stage_base<D>
{
  public:
    void prepare(plan &p)
    {
        p.need(this->text_column(), "utf8?");
    }
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, state>::fill(s);
        s.role = SLUICE_ROLE_FILTER;
        s.reasons = D::reasons;
        detail::calls<D, state, each>::fill(s);
    }

  private:
    struct state : detail::holder<D> {
        using detail::holder<D>::holder;
        std::vector<sluice_verdict> verdicts;
        std::deque<std::string> texts; /* of dup_of, until the host has copied them */
    };
    struct each {
        state &s;
        void operator()(const batch &all, emitter &out) const
        {
            judge_all(s, all);
            out.verdicts(s.verdicts);
            s.texts.clear();
        }
    };
    template <class S>
    static void judge_all([[maybe_unused]] S &s, [[maybe_unused]] const batch &in)
    {
        if constexpr (!detail::takes_batches<D>) {
            s.verdicts.resize(static_cast<std::size_t>(in.size()));
            s.texts.clear();
            for (std::int64_t k = 0; k < in.size(); k++) {
                sluice_verdict &raw = s.verdicts[static_cast<std::size_t>(k)];
                verdict v = detail::call_row(detail::call_judge(), s.d, in[k], s.own);
                std::memset(&raw, 0, sizeof raw);
                raw.reason = v.reason;
                raw.value = v.value;
                raw.limit = v.limit;
                raw.similarity = v.similarity;
                if (!v.text.empty()) {
                    s.texts.push_back(std::move(v.text));
                    raw.dup_of = s.texts.back().c_str();
                    raw.dup_of_length = static_cast<std::int32_t>(s.texts.back().size());
                }
            }
        }
    }
};

/* An annotator of one column. D: static constexpr const char *gives, the column's name (a string
 * option `as` overrides it); T annotate(row or text[, worker &]) const, where T decides the
 * column's type: see column_maker. With run() instead: prepare declares the columns. */
template <class D> class annotator : public detail::stage_base<D>
{
  public:
    void prepare(plan &p)
    {
        p.need(this->text_column(), "utf8?");
        declare_column(p);
    }
    /* For classes with a prepare of their own: after what they need. */
    template <class T = D> void declare_column(plan &p)
    {
        p.add(this->text_option("as", SLUICE_OPT_STRING, T::gives),
              column_maker<value_of<T>>::type().c_str());
    }
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, detail::holder<D>>::fill(s);
        s.role = SLUICE_ROLE_ANNOTATOR;
        detail::calls<D, detail::holder<D>, each>::fill(s);
    }

  private:
    template <class T>
    using value_of =
        std::decay_t<decltype(detail::call_row(detail::call_annotate(), std::declval<const T &>(),
                                               std::declval<const row &>(),
                                               std::declval<typename T::worker &>()))>;

    struct each {
        detail::holder<D> &s;
        void operator()(const batch &all, emitter &out) const
        {
            annotate_all(s, all, out);
        }
    };
    template <class S>
    static void annotate_all([[maybe_unused]] S &s, [[maybe_unused]] const batch &in,
                             [[maybe_unused]] emitter &out)
    {
        if constexpr (!detail::takes_batches<D>) {
            column_maker<value_of<D>> column;
            std::vector<array> columns;
            for (std::int64_t k = 0; k < in.size(); k++) {
                column.add(detail::call_row(detail::call_annotate(), s.d, in[k], s.own));
            }
            columns.push_back(column.finish());
            out.give(struct_of(in.size(), std::move(columns)));
        }
    }
};

namespace detail
{

/* What transforms and readers share: `using output = sluice::rows<…>` and the names of its columns
 * in `gives`. */
template <class D, class T = D> void declare_output(plan &p)
{
    const std::vector<std::string> types = T::output::types();
    static_assert(std::size(T::gives) == T::output::width, "`gives` names each column of `output`");
    for (std::size_t k = 0; k < types.size(); k++) {
        p.add(T::gives[k], types[k].c_str());
    }
}

inline constexpr std::uint64_t batch_bytes = std::uint64_t{ 4 } << 20; /* of emitted batches */

/* finish(output &[, worker &]): transforms, at the end of a worker's input. */
template <class D>
constexpr bool finishes =
    std::is_invocable_v<call_finish, const D &, typename D::output &, typename D::worker &> ||
    std::is_invocable_v<call_finish, const D &, typename D::output &>;

template <class D, class S> void run_finish(S &s, emitter &out)
{
    if constexpr (std::is_invocable_v<call_finish, const D &, typename D::output &,
                                      typename D::worker &>) {
        s.d.finish(s.rows, s.own);
    } else if constexpr (finishes<D>) {
        s.d.finish(s.rows);
    }
    s.rows.give(out);
}

} // namespace detail

/* A transform: any number of new rows for a row. D: `using output = sluice::rows<std::string_view,
 * std::int64_t>`; static constexpr const char *gives[] = { "text", "part" }; void transform(row or
 * text, output &[, worker &]) const, which calls output.add("…", 1). Input columns don't pass;
 * _origin is filled by the base with the row at hand. Where a row may give none: flags =
 * SLUICE_STAGE_CONSUMES. Ordered ones may have void finish(output &[, worker &]) const, called when
 * a split's rows are through; output.mark(1, number) says before add() which row (the column _row)
 * it comes from. */
template <class D> class transform : public detail::stage_base<D>
{
  public:
    void prepare(plan &p)
    {
        p.need(this->text_column(), "utf8?");
        declare_output(p);
    }
    /* For classes with a prepare of their own: after what they need. */
    void declare_output(plan &p)
    {
        row_ = p.need(SLUICE_ROW, "uint64");
        detail::declare_output<D>(p);
        p.add(SLUICE_ORIGIN, "uint64");
    }
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, state>::fill(s);
        s.role = SLUICE_ROLE_TRANSFORM;
        detail::calls<D, state, each>::fill(s);
        if constexpr (detail::finishes<D>) {
            s.flush = flush;
        }
    }

  private:
    template <class T> struct state_of : detail::holder<T> {
        using detail::holder<T>::holder;
        typename T::output rows;
    };
    using state = state_of<D>;
    struct each {
        state &s;
        void operator()(const batch &all, emitter &out) const
        {
            transform_all(s, all, out);
        }
    };
    template <class S>
    static void transform_all([[maybe_unused]] S &s, [[maybe_unused]] const batch &in,
                              [[maybe_unused]] emitter &out)
    {
        if constexpr (!detail::takes_batches<D>) {
            for (std::int64_t k = 0; k < in.size(); k++) {
                const row r = in[k];
                s.rows.mark(1, r.uint64(s.d.row_));
                detail::call_row(detail::call_transform(), s.d, r, s.own, s.rows);
                if (s.rows.bytes() >= detail::batch_bytes) {
                    s.rows.give(out);
                }
            }
            s.rows.give(out);
        }
    }
    static sluice_status flush(void *worker, sluice_emit *emit, sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            emitter out(emit);
            detail::run_finish<D>(*static_cast<state *>(worker), out);
            return SLUICE_OK;
        });
    }
    std::int32_t row_ = -1;
};

/* A reader that makes its columns itself. D: prepare, which declares them, _begin and _end too, and
 *   std::uint64_t read(const chunk &, emitter &, worker &) const: how many bytes are done with; the
 *   rest comes again, with more.
 * static constexpr const char *cut as a reader has. */
template <class D> class chunk_reader : public detail::stage_base<D>
{
  public:
    static constexpr const char *cut = "newline";
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, detail::holder<D>>::fill(s);
        s.role = SLUICE_ROLE_READER;
        s.cut = D::cut;
        s.read = read_chunk;
    }

  private:
    static sluice_status read_chunk(void *worker, sluice_chunk *in, sluice_emit *emit,
                                    sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<detail::holder<D> *>(worker);
            emitter out(emit);
            in->consumed = s.d.read(chunk(*in), out, s.own);
            return SLUICE_OK;
        });
    }
};

/* A reader that reads at random (struct sluice_scan of sluice.h). D: prepare, which declares its
 * columns (_begin and _end, if it likes), and
 *   void survey(const sluice_file &, emitter &, worker &) const, with cut "own";
 *   void scan(sluice_scan &, emitter &, worker &) const;
 *   void resume(const sluice_answers &, emitter &, worker &) const.
 * emitter.ask asks for bytes, and has unit, describe, skipped and give. static constexpr const char
 * *cut: "own" by default, or "sync". */
template <class D> class random_reader : public detail::stage_base<D>
{
  public:
    static constexpr const char *cut = "own";
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, detail::holder<D>>::fill(s);
        s.role = SLUICE_ROLE_READER;
        s.cut = D::cut;
        s.scan = scan_unit;
        s.resume = resume_call;
        if constexpr (std::is_invocable_v<detail::call_survey, const D &, const sluice_file &,
                                          emitter &, typename D::worker &>) {
            s.survey = survey_file;
        }
    }

  private:
    static sluice_status survey_file(void *worker, const sluice_file *file, sluice_emit *emit,
                                     sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<detail::holder<D> *>(worker);
            emitter out(emit);
            s.d.survey(*file, out, s.own);
            return SLUICE_OK;
        });
    }
    static sluice_status scan_unit(void *worker, sluice_scan *scan, sluice_emit *emit,
                                   sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<detail::holder<D> *>(worker);
            emitter out(emit);
            s.d.scan(*scan, out, s.own);
            return SLUICE_OK;
        });
    }
    static sluice_status resume_call(void *worker, const sluice_answers *answers, sluice_emit *emit,
                                     sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<detail::holder<D> *>(worker);
            emitter out(emit);
            s.d.resume(*answers, out, s.own);
            return SLUICE_OK;
        });
    }
};

/* A reader. D: `output` and `gives` as a transform has; static constexpr const char *cut, "newline"
 * by default. It calls
 *   "newline": void record(std::string_view line, const place &, output &[, worker &]) const for
 *   each line, without its line end; one that
 *              is not UTF-8 is quarantined before (static constexpr bool binary = true: is not).
 *   "none":    std::size_t read(const chunk &, output &[, worker &]) const: how many bytes are done
 *              with; the rest comes again, with more.
 *              output.mark(2, begin, end) says where the records stand that are added next, in the
 *              file's decoded bytes; their texts must be UTF-8 (text_utf8_valid).
 * output.bad(begin, end, reason, detail) quarantines bytes; a bad_record that is thrown does so
 * with the line, or the whole chunk. */
template <class D> class reader : public detail::stage_base<D>
{
  public:
    static constexpr const char *cut = "newline";
    static constexpr bool binary = false;
    void prepare(plan &p)
    {
        detail::declare_output<D>(p);
        p.add(SLUICE_BEGIN, "uint64");
        p.add(SLUICE_END, "uint64");
    }
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, state>::fill(s);
        s.role = SLUICE_ROLE_READER;
        s.cut = D::cut;
        s.read = read_chunk;
    }

  private:
    template <class T> struct state_of : detail::holder<T> {
        using detail::holder<T>::holder;
        typename T::output rows;
    };
    using state = state_of<D>;
    static sluice_status read_chunk(void *worker, sluice_chunk *in, sluice_emit *emit,
                                    sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<state *>(worker);
            emitter out(emit);
            if constexpr (std::is_invocable_v<detail::call_read, const D &, const chunk &,
                                              typename D::output &, typename D::worker &> ||
                          std::is_invocable_v<detail::call_read, const D &, const chunk &,
                                              typename D::output &>) {
                in->consumed = read_any(s, in, out);
            } else {
                read_lines(s, in, out);
                in->consumed = in->n;
            }
            s.rows.give(out);
            return SLUICE_OK;
        });
    }
    template <class S> static std::uint64_t read_any(S &s, const sluice_chunk *in, emitter &out)
    {
        const chunk c(*in);
        s.rows.mark(2, in->offset, in->offset + in->n);
        try {
            if constexpr (std::is_invocable_v<detail::call_read, const D &, const chunk &,
                                              typename D::output &, typename D::worker &>) {
                return s.d.read(c, s.rows, s.own);
            } else {
                return s.d.read(c, s.rows);
            }
        } catch (const bad_record &e) {
            out.bad(in->offset, in->offset + in->n, e.reason().c_str(), e.what());
            return in->n;
        }
    }
    template <class S> static void read_lines(S &s, const sluice_chunk *in, emitter &out)
    {
        const char *at = in->data;
        const char *end = in->data + in->n;
        while (at < end) {
            const void *found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
            const char *stop = found != nullptr ? static_cast<const char *>(found) : end;
            const std::uint64_t begin = in->offset + static_cast<std::uint64_t>(at - in->data);
            const std::string_view line(at, static_cast<std::size_t>(stop - at));
            read_line(s, line, place{ in->uri, begin, begin + line.size() }, out);
            if (s.rows.bytes() >= detail::batch_bytes) {
                s.rows.give(out);
            }
            at = stop + 1;
        }
    }
    template <class S>
    static void read_line(S &s, std::string_view line, const place &where, emitter &out)
    {
        if (!D::binary && !text_utf8_valid(line.data(), line.size(), nullptr)) {
            out.bad(where.begin, where.end, "invalid_utf8", "the line is not UTF-8");
            return;
        }
        s.rows.mark(2, where.begin, where.end);
        try {
            if constexpr (std::is_invocable_v<detail::call_record, const D &, std::string_view,
                                              const place &, typename D::output &,
                                              typename D::worker &>) {
                s.d.record(line, where, s.rows, s.own);
            } else {
                s.d.record(line, where, s.rows);
            }
        } catch (const bad_record &e) {
            out.bad(where.begin, where.end, e.reason().c_str(), e.what());
        }
    }
};

/* A gate. D: struct totals, plain integers that add up (their bytes are the saved state: raise
 * state_version when they change); void observe(row or text, totals &[, worker &]) const; static
 * void merge(totals &, const totals &other), in any order; judgement judge(const totals &, const
 * row_counts &) const, at the barrier. */
template <class D> class gate : public detail::stage_base<D>
{
  public:
    static constexpr std::uint32_t mode = SLUICE_MODE_ORDERED;
    void prepare(plan &p)
    {
        p.need(this->text_column(), "utf8?");
    }
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, state>::fill(s);
        s.role = SLUICE_ROLE_GATE;
        s.process = process;
        s.save = save;
        s.load = load;
        s.merge = merge;
        s.judge = judge_all;
    }

  private:
    template <class T> struct state_of : detail::holder<T> {
        static_assert(std::is_trivially_copyable_v<typename T::totals>,
                      "totals are plain: their bytes are saved");
        explicit state_of(const T &stage) : detail::holder<T>(stage)
        {
            std::memset(static_cast<void *>(&totals), 0, sizeof totals);
        }
        typename T::totals totals; /* begins as zero bytes */
    };
    using state = state_of<D>;
    static sluice_status process(void *worker, const sluice_batch *in, sluice_emit *emit,
                                 sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<state *>(worker);
            detail::run_batch<D>(s, in, emit,
                                 [&s](const batch &all, emitter &) { observe_all(s, all); });
            return SLUICE_OK;
        });
    }
    template <class S>
    static void observe_all([[maybe_unused]] S &s, [[maybe_unused]] const batch &in)
    {
        if constexpr (!detail::takes_batches<D>) {
            for (std::int64_t k = 0; k < in.size(); k++) {
                detail::call_row(detail::call_observe(), s.d, in[k], s.own, s.totals);
            }
        }
    }
    static sluice_status save(void *worker, sluice_io *io, sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<state *>(worker);
            detail::check(io->write(io, &s.totals, sizeof s.totals), "the totals can't be saved");
            return SLUICE_OK;
        });
    }
    static sluice_status load(void *worker, sluice_io *io, std::uint64_t version,
                              sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<state *>(worker);
            s.totals = read_totals<D>(io, version);
            return SLUICE_OK;
        });
    }
    static sluice_status merge(void *worker, sluice_io *io, std::uint64_t version,
                               sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<state *>(worker);
            D::merge(s.totals, read_totals<D>(io, version));
            return SLUICE_OK;
        });
    }
    template <class T> static typename T::totals read_totals(sluice_io *io, std::uint64_t version)
    {
        typename T::totals read;
        std::memset(static_cast<void *>(&read), 0, sizeof read);
        if (version != T::state_version) {
            throw error(SLUICE_E_DATA, "the totals were saved by another version of this gate");
        }
        detail::check(io->read(io, &read, sizeof read), "the saved totals are cut");
        return read;
    }
    static sluice_status judge_all(void *worker, sluice_verdict_io *io, sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            auto &s = *static_cast<state *>(worker);
            const row_counts counts(io);
            const judgement j = s.d.judge(std::as_const(s.totals), counts);
            const std::size_t n = j.message.size() < sizeof io->message - 1
                                      ? j.message.size()
                                      : sizeof io->message - 1;
            io->outcome = j.outcome;
            std::memcpy(io->message, j.message.data(), n);
            io->message[n] = '\0';
            return SLUICE_OK;
        });
    }
};

/* A writer of one kind of file. D: static constexpr const char *suffix (".tsv"); void write(row or
 * text, std::string &out[, worker &]) const appends a record; an option with .output_path(). May
 * have: const char *codec() const ("none", "gzip", "zstd"); std::uint64_t shard_size() const, the
 * uncompressed bytes after which a file is ended, at the end of a record. With run() instead: it
 * ends files itself, and may have void finish(emitter &[, worker &]) const, the end of a worker's
 * input. */
template <class D> class writer : public detail::stage_base<D>
{
  public:
    static constexpr std::uint32_t mode = SLUICE_MODE_ORDERED;
    const char *codec() const
    {
        return "none";
    }
    std::uint64_t shard_size() const
    {
        return std::uint64_t{ 256 } << 20;
    }
    void prepare(plan &p)
    {
        p.need(this->text_column(), "utf8?");
        declare_file(p);
    }
    /* For classes with a prepare of their own: after what they need. */
    template <class T = D> void declare_file(plan &p)
    {
        p.output(T::suffix, static_cast<const T *>(this)->codec());
    }
    static void fill_role(sluice_stage &s)
    {
        detail::life<D, state>::fill(s);
        s.role = SLUICE_ROLE_WRITER;
        s.process = process;
        if constexpr (std::is_invocable_v<detail::call_finish, const D &, emitter &,
                                          typename D::worker &> ||
                      std::is_invocable_v<detail::call_finish, const D &, emitter &>) {
            s.flush = flush;
        }
    }

  private:
    static sluice_status flush(void *worker, sluice_emit *emit, sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            emitter out(emit);
            flush_all(*static_cast<state *>(worker), out);
            return SLUICE_OK;
        });
    }
    template <class S> static void flush_all(S &s, emitter &out)
    {
        if constexpr (std::is_invocable_v<detail::call_finish, const D &, emitter &,
                                          typename D::worker &>) {
            s.d.finish(out, s.own);
        } else {
            s.d.finish(out);
        }
    }
    struct state : detail::holder<D> {
        using detail::holder<D>::holder;
        std::string out;
        std::uint64_t bytes = 0; /* in the open file */
        std::int64_t rows = 0;
    };
    static sluice_status process(void *worker, const sluice_batch *in, sluice_emit *emit,
                                 sluice_error *err) noexcept
    {
        return detail::guard(err, [&] {
            state &s = *static_cast<state *>(worker);
            detail::run_batch<D>(s, in, emit,
                                 [&s](const batch &all, emitter &out) { write_all(s, all, out); });
            return SLUICE_OK;
        });
    }
    template <class S>
    static void write_all([[maybe_unused]] S &s, [[maybe_unused]] const batch &in,
                          [[maybe_unused]] emitter &out)
    {
        if constexpr (!detail::takes_batches<D>) {
            s.out.clear();
            for (std::int64_t k = 0; k < in.size(); k++) {
                const std::size_t before = s.out.size();
                detail::call_row(detail::call_write(), s.d, in[k], s.own, s.out);
                s.bytes += s.out.size() - before;
                s.rows++;
                if (s.bytes >= s.d.shard_size()) {
                    out.write(s.out);
                    out.roll(s.rows);
                    s.out.clear();
                    s.bytes = 0;
                    s.rows = 0;
                }
            }
            out.write(s.out);
            out.measure("documents", in.size());
        }
    }
};

} // namespace sluice

/* The exported descriptor: the plugin's name, its version, its licence, and the stage classes. */
#define SLUICE_PLUGIN(plugin_name, plugin_version, plugin_license, ...)                      \
    extern "C" const struct sluice_plugin *sluice_plugin_v1(void)                            \
    {                                                                                        \
        return ::sluice::detail::plugin_of_classes<__VA_ARGS__>(plugin_name, plugin_version, \
                                                                plugin_license);             \
    }                                                                                        \
    static_assert(sizeof(plugin_name) > 1, "a plugin needs a name")

/* The same where the classes stand in several files: each has a function that returns
 * sluice::stage_of<CLASS>(), and these are listed. */
#define SLUICE_PLUGIN_STAGES(plugin_name, plugin_version, plugin_license, ...)       \
    extern "C" const struct sluice_plugin *sluice_plugin_v1(void)                    \
    {                                                                                \
        return ::sluice::detail::plugin_of<__VA_ARGS__>(plugin_name, plugin_version, \
                                                        plugin_license);             \
    }                                                                                \
    static_assert(sizeof(plugin_name) > 1, "a plugin needs a name")

#endif
