// NAME_HERE - a judge: asks a server about each document and adds what it answers, the column
// `score`.
//
// To make it yours, change what is asked (ask) and what is made of an answer (annotate). A stage
// opens no connection: the host asks, many at once. <sluice.hpp> explains what a stage class may
// have.
#include <sluice.hpp>

namespace
{

struct stage : sluice::annotator<stage> {
    static constexpr const char *name = "NAME_HERE";
    static constexpr const char *version = "0.1.0";
    static constexpr const char *summary = "Adds the score that a server gives a document";
    static constexpr const char *doc =
        "Posts the text to `url`, which answers {\"score\": NUMBER}, "
        "and adds the column `score`.";
    static constexpr const char *example =
        "docs | NAME_HERE { url = \"http://localhost:8000/score\", "
        "ask = { hosts = { \"localhost:8000\" } } }";
    static constexpr const char *gives = "score";

    // The host parses the options, checks them and puts them here.
    struct options {
        const char *url;
        sluice::column_name over;
    };
    static void declare(sluice::option_table<options> &t)
    {
        t.add(&options::url, "url", "Where to ask: the text is posted to it.").required();
        t.add(&options::over, "over", "text", "Column that holds the text.");
    }

    // What is asked about a row; asked again with what was answered, until it asks nothing. Equal
    // requests are one: they are made once, and the answer is kept. So nothing in it may change
    // from run to run, such as a time.
    std::optional<sluice::request> ask(const sluice::row &r) const
    {
        if (!r.answers().empty()) {
            return std::nullopt;
        }
        return sluice::request::post(opts().url, std::string(r.text()), "text/plain");
    }

    // The value of one row: what it returns is the column's type. An error of data sets the row
    // aside as a bad one.
    double annotate(const sluice::row &r) const
    {
        const sluice::answer &answer = r.answers().back();
        const std::string key = "\"score\":";
        const std::size_t at = answer.body.find(key);
        if (answer.refused || at == std::string::npos) {
            throw sluice::error(SLUICE_E_DATA, "the server gives the text no score");
        }
        return std::strtod(answer.body.c_str() + at + key.size(), nullptr);
    }
};

} // namespace

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", stage);
