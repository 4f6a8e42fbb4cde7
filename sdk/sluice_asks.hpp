/* sluice_asks.hpp - what a row asks of a server, and what it was answered. Part of sluice.hpp,
 * which says how they are used. Depends on sluice_host.hpp. */
#ifndef SLUICE_ASKS_HPP
#define SLUICE_ASKS_HPP

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice_host.hpp"

namespace sluice
{

/* A request. Equal ones of one stage are one: it is made once, and its answer kept. So nothing in
 * it may change from run to run (no times, no numbers of attempts). */
struct request {
    std::string method, url;
    std::vector<std::pair<std::string, std::string>> headers; /* one line each */
    std::string body;                                         /* any bytes */

    static request get(std::string url)
    {
        return { "GET", std::move(url), {}, {} };
    }
    static request post(std::string url, std::string body, const char *type = "application/json")
    {
        return { "POST", std::move(url), { { "Content-Type", type } }, std::move(body) };
    }
    /* As the host takes it. */
    std::string text() const
    {
        std::string out = word(method, "a method") + " " + word(url, "a URL") + "\n";
        for (const auto &[name, value] : headers) {
            out += word(name, "a header's name") + ": " + line(value, "a header") + "\n";
        }
        return out + "\n" + body;
    }

  private:
    static const std::string &line(const std::string &text, const char *what)
    {
        for (const char letter : text) {
            const auto c = static_cast<unsigned char>(letter);
            if (c < 0x20 || c == 0x7f) {
                throw error(SLUICE_E_INTERNAL,
                            std::string("a request has ") + what + " with a control byte in it");
            }
        }
        return text;
    }
    static const std::string &word(const std::string &text, const char *what)
    {
        if (text.empty() || line(text, what).find(' ') != std::string::npos) {
            throw error(SLUICE_E_INTERNAL,
                        std::string("a request has ") + what + " that is empty, or with a space");
        }
        return text;
    }
};

struct answer {
    std::uint32_t code = 0; /* the server's status */
    bool refused = false;   /* for good: a status 4xx */
    std::string type, body; /* content type, "" = none said */
};

namespace detail
{

/* What each row of a batch was answered so far, by its place among the selected ones. */
using answered = std::vector<std::vector<answer>>;

inline void take_answers(const sluice_answers &all, answered &rows)
{
    for (std::uint64_t k = 0; k < all.n; k++) {
        const sluice_answer &one = *reinterpret_cast<const sluice_answer *>(
            reinterpret_cast<const char *>(all.items) + k * all.stride);
        rows.at(static_cast<std::size_t>(one.tag))
            .push_back({ one.code, one.status != SLUICE_OK, one.type,
                         std::string(one.data, static_cast<std::size_t>(one.n)) });
    }
}

inline void ask_server(sluice_emit *emit, const request &what, std::uint64_t tag)
{
    const std::string text = what.text();
    sluice_ask ask{};

    ask.size = sizeof ask;
    ask.kind = SLUICE_ASK_HTTP;
    ask.tag = tag;
    ask.payload = text.data();
    ask.n = text.size();
    check(emit->ask(emit, &ask), "the host refused an ask");
}

} // namespace detail

} // namespace sluice

#endif
