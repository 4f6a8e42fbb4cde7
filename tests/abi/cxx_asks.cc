// Stages in C++ that ask servers: a filter, an annotator that asks twice, a transform with a worker's memory, and one that takes whole
// batches. See tests/pipeline/asks_stages.sh.
#include <sluice.hpp>

namespace {

// The number of key in {"n":12,"sum":345}.
std::int64_t number(const std::string &body, const char *key)
{
    const std::size_t at = body.find("\"" + std::string(key) + "\":");
    if (at == std::string::npos) {
        throw sluice::error(SLUICE_E_DATA, "the answer has no " + std::string(key));
    }
    return std::stoll(body.substr(at + std::strlen(key) + 3));
}

struct server_option {
    const char *url;
    sluice::column_name over;
};

template <class Options> void declare_server(sluice::option_table<Options> &t)
{
    t.add(&Options::url, "url", "Where to ask.").required();
    t.add(&Options::over, "over", "text", "Column that holds the text.");
}

// Long texts ask nobody.
struct cxx_ask_filter : sluice::filter<cxx_ask_filter> {
    static constexpr const char *name = "cxx_ask_filter", *version = "1.0", *summary = "Drops what a server counts too few bytes of",
                                *reasons = "few|refused";
    using options = server_option;
    static void declare(sluice::option_table<options> &t) { declare_server(t); }
    std::optional<sluice::request> ask(const sluice::row &r) const
    {
        return r.answers().empty() && r.text().size() < 100 ? std::optional(sluice::request::post(opts().url, std::string(r.text())))
                                                            : std::nullopt;
    }
    sluice::verdict judge(const sluice::row &r) const
    {
        if (r.answers().empty()) {
            return sluice::keep();
        }
        return r.answers()[0].refused ? sluice::drop(2) : sluice::at_least(number(r.answers()[0].body, "n"), 20);
    }
};

struct cxx_ask_twice : sluice::annotator<cxx_ask_twice> {
    static constexpr const char *name = "cxx_ask_twice", *version = "1.0", *summary = "Asks about what was answered", *gives = "sum";
    using options = server_option;
    static void declare(sluice::option_table<options> &t) { declare_server(t); }
    std::optional<sluice::request> ask(const sluice::row &r) const
    {
        if (r.answers().empty()) {
            return sluice::request::post(opts().url, "first " + std::string(r.text()));
        }
        return r.answers().size() == 1 && !r.answers()[0].refused && number(r.answers()[0].body, "n") % 2 == 0
                   ? std::optional(sluice::request::post(opts().url, r.answers()[0].body))
                   : std::nullopt;
    }
    std::int64_t annotate(const sluice::row &r) const { return r.answers().back().refused ? -1 : number(r.answers().back().body, "sum"); }
};

struct cxx_ask_transform : sluice::transform<cxx_ask_transform> {
    static constexpr const char *name = "cxx_ask_transform", *version = "1.0", *summary = "A row for each third answer";
    static constexpr std::uint64_t flags = SLUICE_STAGE_CONSUMES;
    using options = server_option;
    using output = sluice::rows<std::string_view, std::int64_t>;
    static constexpr const char *gives[] = { "text", "n" };
    struct worker {
        std::string body;
    };
    static void declare(sluice::option_table<options> &t) { declare_server(t); }
    std::optional<sluice::request> ask(const sluice::row &r, worker &w) const
    {
        if (!r.answers().empty()) {
            return std::nullopt;
        }
        w.body.assign(r.text());
        w.body += "!";
        return sluice::request::post(opts().url, w.body, "text/plain");
    }
    void transform(const sluice::row &r, output &out) const
    {
        const std::int64_t n = r.answers()[0].refused ? 0 : number(r.answers()[0].body, "n");
        if (n % 3 == 0) {
            out.add(r.text(), n);
        }
    }
};

// A whole batch sees the answers of its rows.
struct cxx_ask_batch : sluice::annotator<cxx_ask_batch> {
    static constexpr const char *name = "cxx_ask_batch", *version = "1.0", *summary = "Takes whole batches";
    using options = server_option;
    static void declare(sluice::option_table<options> &t) { declare_server(t); }
    void prepare(sluice::plan &p)
    {
        p.need(text_column(), "utf8?");
        p.add("code", "int64");
    }
    std::optional<sluice::request> ask(const sluice::row &r) const
    {
        return r.answers().empty() ? std::optional(sluice::request::post(opts().url, std::string(r.text()))) : std::nullopt;
    }
    void run(const sluice::batch &all, sluice::emitter &out) const
    {
        sluice::column_maker<std::int64_t> codes;
        std::vector<sluice::array> columns;
        for (std::int64_t k = 0; k < all.size(); k++) {
            codes.add(all[k].answers().empty() ? 0 : static_cast<std::int64_t>(all[k].answers()[0].code));
        }
        columns.push_back(codes.finish());
        out.give(sluice::struct_of(all.size(), std::move(columns)));
    }
};

// A request that is none: an error with the stage's name.
struct cxx_ask_wrong : sluice::filter<cxx_ask_wrong> {
    static constexpr const char *name = "cxx_ask_wrong", *version = "1.0", *summary = "Asks for a URL of two lines", *reasons = "never";
    using options = server_option;
    static void declare(sluice::option_table<options> &t) { declare_server(t); }
    std::optional<sluice::request> ask(const sluice::row &) const { return sluice::request::get(std::string(opts().url) + "\nX: y"); }
    sluice::verdict judge(const sluice::row &) const { return sluice::keep(); }
};

} // namespace

SLUICE_PLUGIN("cxx_asks", "1.0", "MIT", cxx_ask_filter, cxx_ask_twice, cxx_ask_transform, cxx_ask_batch, cxx_ask_wrong);
