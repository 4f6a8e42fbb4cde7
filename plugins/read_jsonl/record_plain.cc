/* Records that are plain to see: see record.h. Most records are an object of strings, numbers and
 * words; a look at each byte tells that they are valid, and writes the texts where they belong.
 * What isn't plain (half a surrogate pair, a number with an exponent, a member twice, a missing
 * one, any fault) is left to the parser, so that this file says of no record that it is bad. */
#include "record.h"

#include <algorithm>
#include <charconv>

#include "scan.h"

namespace sluice_json
{

namespace
{

constexpr int depth_most = 16; /* arrays and objects in each other; the parser takes more */

} /* namespace */

/* The value of field k, at scan.p. */
bool Records::take_value(Scan &scan, size_t k)
{
    const Field &field = settings_.fields[k];
    sluice_bytes &values = columns_[k].values;
    Plain &plain = plain_[k];
    const char *first = scan.p;
    bool integer = false;

    if (scan.p < scan.end && *scan.p == 'n') {
        plain.form = Plain::Form::null;
        return scan.word("null", 4);
    }
    switch (field.kind) {
    case Kind::text:
        plain.form = Plain::Form::text;
        if (scan.take('"')) {
            return scan.string(&values, &plain.n);
        }
        if (!field.id || first >= scan.end || *first == '-' || !scan.number(&integer) || !integer) {
            return false;
        }
        plain.n = static_cast<size_t>(scan.p - first);
        if (!sluice_bytes_reserve(&values, plain.n)) {
            scan.out_of_memory = true;
            return false;
        }
        std::memcpy(values.data + values.size, first, plain.n);
        return true;
    case Kind::integer:
    case Kind::number:
        if (!scan.number(&integer)) {
            return false;
        }
        plain.form = field.kind == Kind::integer ? Plain::Form::integer : Plain::Form::number;
        if (!integer) {
            return field.kind == Kind::number &&
                   std::from_chars(first, scan.p, plain.number).ec == std::errc();
        }
        if (std::from_chars(first, scan.p, plain.integer).ec != std::errc()) {
            return false;
        }
        plain.number = static_cast<double>(plain.integer); /* -0 is 0, to the parser, too */
        return true;
    case Kind::boolean:
        plain.form = Plain::Form::boolean;
        plain.integer = scan.p < scan.end && *scan.p == 't';
        return plain.integer != 0 ? scan.word("true", 4) : scan.word("false", 5);
    case Kind::json:
        break;
    }
    return false;
}

/* A value that paths lead to or through, at scan.p: into plain_, of what they end at. */
bool Records::take_branch(Scan &scan, Branch &branch, int depth)
{
    size_t unused;

    if (branch.seen || depth == 0) {
        return false;
    }
    branch.seen = true;
    if (branch.field != SIZE_MAX) {
        if (has_[branch.field]) {
            return false;
        }
        has_[branch.field] = 1;
        return take_value(scan, branch.field);
    }
    for (Branch &inner : branch.inner) {
        inner.seen = false;
    }
    if (scan.p < scan.end && *scan.p == 'n') {
        return scan.word("null", 4);
    }
    if (!scan.take('{')) {
        return false;
    }
    for (bool more = !scan.take('}'); more;) {
        if (!scan.take('"')) {
            return false;
        }
        const char *key = scan.p;
        if (!scan.string(nullptr, &unused)) {
            return false;
        }
        const std::string_view name(key, static_cast<size_t>(scan.p - key) - 1);
        if (name.find('\\') != name.npos || !scan.take(':')) {
            return false;
        }
        scan.space();
        auto inner = std::find_if(branch.inner.begin(), branch.inner.end(),
                                  [&](const Branch &b) { return b.key == name; });
        if (!(inner != branch.inner.end() ? take_branch(scan, *inner, depth - 1)
                                          : scan.value(depth - 1))) {
            return false;
        }
        more = scan.take(',');
        if (!more && !scan.take('}')) {
            return false;
        }
    }
    return true;
}

/* A member: into plain_, or rest_ where no field takes it. */
bool Records::take_member(Scan &scan)
{
    const auto &fields = settings_.fields;
    size_t k = fields.size();
    size_t unused;

    if (!scan.take('"')) {
        return false;
    }
    const char *key = scan.p;
    if (!scan.string(nullptr, &unused)) {
        return false;
    }
    const size_t key_n = static_cast<size_t>(scan.p - key) - 1;
    if (std::memchr(key, '\\', key_n) != nullptr || !scan.take(':')) {
        return false;
    }
    scan.space();
    const char *value = scan.p;
    for (size_t i = 0; i < fields.size(); i++) {
        if (fields[i].key.size() == key_n && std::memcmp(fields[i].key.data(), key, key_n) == 0) {
            if (k < fields.size()) {
                return false; /* two columns of one member */
            }
            k = i;
        }
    }
    if (k < fields.size()) {
        if (has_[k]) {
            return false;
        }
        has_[k] = 1;
        return take_value(scan, k);
    }
    auto branch = std::find_if(paths_.inner.begin(), paths_.inner.end(), [&](const Branch &b) {
        return b.key == std::string_view(key, key_n);
    });
    if (!(branch != paths_.inner.end() ? take_branch(scan, *branch, depth_most)
                                       : scan.value(depth_most))) {
        return false;
    }
    if (settings_.metadata) {
        rest_.append(",", rest_.size() > 1 ? 1 : 0);
        rest_.append(key - 1, key_n + 2);
        rest_ += ':';
        rest_.append(value, static_cast<size_t>(scan.p - value));
    }
    return true;
}

/* Takes a record that is valid and has what it must have: fields into plain_, the rest into rest_.
 * False: the parser is to be asked; columns are as they were, as far as their sizes go. */
bool Records::take(const char *data, size_t n)
{
    const auto &fields = settings_.fields;
    Scan scan(data, n);

    if (!plain_paths_ || !scan.take('{')) {
        return false;
    }
    for (Branch &branch : paths_.inner) {
        branch.seen = false;
    }
    std::fill(has_.begin(), has_.end(), 0);
    rest_.assign("{");
    for (bool more = !scan.take('}'); more;) {
        bool ok = take_member(scan);
        if (scan.out_of_memory) {
            throw std::bad_alloc();
        }
        if (!ok) {
            return false;
        }
        more = scan.take(',');
        if (!more && !scan.take('}')) {
            return false;
        }
    }
    rest_ += '}';
    scan.space();
    if (scan.p != scan.end || (scan.wide() && !simdjson::validate_utf8(data, n))) {
        return false;
    }
    for (size_t k = 0; k < fields.size(); k++) {
        /* The first of a batch that lacks a column is told of with the members that it has. */
        if (!has_[k] && ((settings_.quarantine_missing && !fields[k].id) ||
                         (fields[k].expected && absent_[k] == 0))) {
            return false;
        }
    }
    return true;
}

bool Records::append_taken(size_t k, uint64_t begin, std::string_view uri)
{
    const Field &field = settings_.fields[k];
    const Plain &plain = plain_[k];
    Column &column = columns_[k];
    const uint64_t zero = 0;
    bool is_null = !has_[k] || plain.form == Plain::Form::null;

    if (is_null && field.id) {
        return append_id(column, begin, uri);
    }
    switch (field.kind) {
    case Kind::text:
    case Kind::json:
        return append_there(column, is_null, is_null ? 0 : plain.n, true);
    case Kind::boolean: /* bits, also where there is none */
        return sluice_bytes_add_bit(&column.values, rows_, !is_null && plain.integer != 0) != 0 &&
               append_there(column, is_null, 0, false);
    case Kind::integer:
        return append(column, is_null, is_null ? &zero : static_cast<const void *>(&plain.integer),
                      sizeof zero, false);
    case Kind::number:
        break;
    }
    return append(column, is_null, is_null ? &zero : static_cast<const void *>(&plain.number),
                  sizeof zero, false);
}

} /* namespace sluice_json */
