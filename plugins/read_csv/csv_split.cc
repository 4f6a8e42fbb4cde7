/* See csv_split.h. */
#include "csv_split.h"

#include <algorithm>
#include <cstring>

#include "sluice.hpp"

namespace sluice_csv
{

namespace
{

const char *find(const char *at, const char *end, char what)
{
    const void *found =
        at < end ? std::memchr(at, what, static_cast<std::size_t>(end - at)) : nullptr;

    return static_cast<const char *>(found);
}

} /* namespace */

void Splitter::begin(std::uint64_t offset)
{
    window_.clear();
    at_ = 0;
    base_ = quote_ = offset;
    no_close_from_ = no_close_to_ = 0;
    ended_ = skipping_ = false;
}

void Splitter::feed(const char *data, std::size_t n)
{
    if (at_ > 0) {
        window_.erase(0, at_);
        base_ += at_;
        at_ = 0;
    }
    window_.append(data, n);
}

void Splitter::end()
{
    ended_ = true;
}

/* The first quote at or behind `at`, or end. It is remembered: most records have none. */
const char *Splitter::next_quote(const char *at, const char *end)
{
    const char *known = window_.data() + (quote_ > base_ ? quote_ - base_ : 0);

    if (known < at || (known < end && *known != dialect_.quote)) {
        known = known < at ? at : known;
        known = find(known, end, dialect_.quote);
        known = known == nullptr ? end : known;
        quote_ = place(known);
    }
    return known < end ? known : end;
}

/* Behind the quoted field that a quote opens; NULL: its end is not there. A run of quotes ends it
 * if their number is odd; the opening quote is none of them. */
const char *Splitter::find_close(const char *quote, const char *end)
{
    const char *at = quote + 1;
    bool first = true;

    for (;;) {
        const char *run = first ? at : find(at, end, dialect_.quote);
        if (run == nullptr) {
            no_close_from_ = place(quote + 1);
            no_close_to_ = place(end);
            return nullptr;
        }
        const char *behind = run;
        while (behind < end && *behind == dialect_.quote) {
            behind++;
        }
        if (behind == end && !ended_) { /* more of them may follow */
            no_close_from_ = place(quote + 1);
            no_close_to_ = place(run);
            return nullptr;
        }
        if ((behind - run) % 2 != 0) {
            return behind;
        }
        at = behind;
        /* What was searched for another quote in vain is not searched again. */
        if (place(at) >= no_close_from_ && place(at) < no_close_to_) {
            at = window_.data() + (no_close_to_ - base_);
        }
        first = false;
    }
}

/* Behind the line's end of the record that begins at `at`; NULL: it is not there, and `open` says
 * whether a quoted field is open at the end of what is. */
const char *Splitter::find_end(const char *at, const char *end, bool &open, bool &quotes)
{
    const char *from = at;

    open = quotes = false;
    for (;;) {
        const char *newline = find(from, end, '\n');
        const char *quote =
            dialect_.quote != '\0' ? next_quote(from, newline != nullptr ? newline : end) : end;
        if (quote >= (newline != nullptr ? newline : end)) {
            return newline != nullptr ? newline + 1 : nullptr;
        }
        quotes = true;
        if (quote == at || quote[-1] == dialect_.delimiter) {
            from = find_close(quote, end);
            if (from == nullptr) {
                open = true;
                return nullptr;
            }
        } else {
            from = quote + 1;
        }
    }
}

Splitter::Got Splitter::next(Record &out)
{
    for (;;) {
        const char *at = window_.data() + at_;
        const char *end = window_.data() + window_.size();
        bool open = false;
        bool quotes = false;
        if (skipping_) {
            return skip_line(out);
        }
        if (place(at) == 0) { /* a byte order mark is no text; the beginning of one waits */
            const std::size_t n = std::min<std::size_t>(window_.size(), 3);
            if (std::memcmp(at, "\xef\xbb\xbf", n) == 0 && (n == 3 || !ended_)) {
                if (n < 3) {
                    return Got::more;
                }
                at_ = n;
                at += n;
            }
        }
        if (at == end) {
            return ended_ ? Got::end : Got::more;
        }
        const char *behind = find_end(at, end, open, quotes);
        if (behind == nullptr && ended_ && !open) {
            behind = end; /* the last line has no end */
        }
        const auto n = static_cast<std::uint64_t>((behind != nullptr ? behind : end) - at);
        if (n > dialect_.max_record || (behind == nullptr && ended_)) {
            quote_ = place(at); /* it is looked at again */
            return hopeless(at, out);
        }
        if (behind == nullptr) {
            quote_ = place(at);
            return Got::more;
        }
        out = Record();
        out.data = at;
        out.n = static_cast<std::size_t>(n);
        out.begin = place(at);
        out.end = place(behind);
        out.quotes = quotes;
        if (behind[-1] == '\n') {
            out.n--;
            out.n -= out.n > 0 && at[out.n - 1] == '\r' ? 1 : 0;
        }
        at_ += static_cast<std::size_t>(n);
        if (out.n > 0 || dialect_.strict) {
            return Got::record;
        }
    }
}

/* A record that has no end within max_record bytes, or none at all. Its first line alone says which
 * fault that is, so that it is the same where a unit ends behind it. */
Splitter::Got Splitter::hopeless(const char *at, Record &out)
{
    if (dialect_.strict) {
        throw sluice::error(
            SLUICE_E_DATA,
            "the record at byte " + std::to_string(place(at)) + " has no end within " +
                std::to_string(dialect_.max_record) +
                " bytes: a quote in it is not closed, or `max_record` is too small; `mode = "
                "\"tolerant\"` quarantines its first line and goes on behind it",
            "max_record");
    }
    line_begin_ = place(at);
    skipping_ = true;
    return skip_line(out);
}

Splitter::Got Splitter::skip_line(Record &out)
{
    const char *at = window_.data() + at_;
    const char *end = window_.data() + window_.size();
    const char *newline = find(at, end, '\n');

    if (newline == nullptr && !ended_) {
        if (place(at) > line_begin_ || place(end) - line_begin_ > dialect_.max_record) {
            at_ = window_.size(); /* nobody wants it all */
        }
        return Got::more;
    }
    skipping_ = false;
    out = Record();
    out.data = place(at) == line_begin_ ? at : nullptr;
    out.n = out.data == nullptr
                ? 0
                : static_cast<std::size_t>((newline != nullptr ? newline : end) - at);
    out.begin = line_begin_;
    at_ = newline != nullptr ? static_cast<std::size_t>(newline + 1 - window_.data())
                             : window_.size();
    out.end = place(window_.data() + at_);
    out.fault = out.end - out.begin > dialect_.max_record ? "record_too_long" : "unclosed_quote";
    return Got::record;
}

namespace
{

/* A quoted field whose opening quote stands before `at`: past it, and past what stands behind its
 * closing quote. */
const char *quoted_field(const Dialect &dialect, const char *at, const char *end, Field &out,
                         std::string &scratch, const char **fault)
{
    const std::size_t begin = scratch.size();
    const char *from = at;
    bool copied = false;
    const char *quote;

    for (;;) {
        quote = find(from, end, dialect.quote);
        if (quote == nullptr || quote + 1 >= end || quote[1] != dialect.quote) {
            break;
        }
        scratch.append(from, static_cast<std::size_t>(quote + 1 - from));
        copied = true;
        from = quote + 2;
    }
    quote = quote == nullptr ? end : quote;
    const char *rest = quote < end ? quote + 1 : end;
    const char *behind = find(rest, end, dialect.delimiter);
    behind = behind == nullptr ? end : behind;
    if (behind > rest) {
        *fault = "bad_quote";
        copied = true;
    }
    if (!copied) {
        out = { at, static_cast<std::size_t>(quote - at), true };
        return behind;
    }
    scratch.append(from, static_cast<std::size_t>(quote - from));
    scratch.append(rest, static_cast<std::size_t>(behind - rest));
    out = { scratch.data() + begin, scratch.size() - begin, true };
    return behind;
}

} /* namespace */

const char *split_fields(const Dialect &dialect, const Record &record, std::vector<Field> &out,
                         std::string &scratch)
{
    const char *at = record.data;
    const char *end = record.data + record.n;
    const char *fault = nullptr;

    out.clear();
    scratch.clear();
    scratch.reserve(record.n + 1); /* so that fields stay where they are */
    for (;;) {
        const char *behind;
        if (record.quotes && at < end && *at == dialect.quote) {
            Field field;
            behind = quoted_field(dialect, at + 1, end, field, scratch, &fault);
            out.push_back(field);
        } else {
            behind = find(at, end, dialect.delimiter);
            behind = behind == nullptr ? end : behind;
            out.push_back({ at, static_cast<std::size_t>(behind - at), false });
            if (record.quotes && find(at, behind, dialect.quote) != nullptr) {
                fault = "bad_quote";
            }
            if (find(at, behind, '\r') != nullptr) {
                fault = "bare_cr";
            }
        }
        if (behind == end) {
            break;
        }
        at = behind + 1;
    }
    return find(record.data, end, '\0') != nullptr ? "nul_byte" : fault;
}

} /* namespace sluice_csv */
