/* One JSON record into typed columns: see record.h. Every byte of a record is validated: nothing
 * is accepted in members that nobody reads. Most records are plain to see (record_plain.cc); all
 * others are for simdjson's DOM parser, which alone says what is bad. */
#include "record.h"

#include <cstring>

namespace sluice_json
{

namespace
{

constexpr size_t big_record = 4u << 20; /* a parser that grew beyond is given back */

bool is_text_kind(Kind kind)
{
    return kind == Kind::text || kind == Kind::json;
}

const char *reason_of(simdjson::error_code code)
{
    switch (code) {
    case simdjson::UTF8_ERROR:
        return "invalid_utf8";
    case simdjson::DEPTH_ERROR:
        return "too_deep";
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
    case simdjson::UNCLOSED_STRING:
        return "bad_string";
    case simdjson::NUMBER_ERROR:
        return "bad_number";
    case simdjson::CAPACITY:
        return "record_too_long";
    default:
        return "invalid_json";
    }
}

/* Past the string whose opening quote stands before p, in text known to be valid JSON: behind the
 * first quote with an even number of backslashes before it. least: bytes that it has, or fewer. */
const char *skip_string(const char *p, const char *end, size_t least = 0)
{
    const char *begin = p;

    p += least;
    while (p < end) {
        const char *quote = static_cast<const char *>(memchr(p, '"', static_cast<size_t>(end - p)));
        const char *q = quote;
        if (quote == nullptr) {
            break;
        }
        while (q > begin && q[-1] == '\\') {
            q--;
        }
        if ((quote - q) % 2 == 0) {
            return quote + 1;
        }
        p = quote + 1;
    }
    return end;
}

/* Past the value that begins at p, in text known to be valid JSON. */
const char *skip_value(const char *p, const char *end)
{
    int depth = 0;

    while (p < end) {
        switch (*p) {
        case '"':
            p = skip_string(p + 1, end);
            if (depth == 0) {
                return p;
            }
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (depth == 0) {
                return p;
            }
            if (--depth == 0) {
                return p + 1;
            }
            break;
        case ',':
            if (depth == 0) {
                return p;
            }
            break;
        default:
            break;
        }
        p++;
    }
    return end;
}

const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
        p++;
    }
    return p;
}

} /* namespace */

Records::Records(const Settings &settings)
    : settings_(settings), parser_(new simdjson::dom::parser),
      columns_(settings.fields.size() + (settings.metadata ? 3 : 2)),
      found_(settings.fields.size()), plain_(settings.fields.size()), has_(settings.fields.size()),
      plain_paths_(plant_paths(settings.fields, paths_)), absent_(settings.fields.size()),
      there_(settings.fields.size())
{
}

Records::~Records()
{
    for (Column &column : columns_) {
        sluice_bytes_free(&column.values);
        sluice_bytes_free(&column.offsets);
        sluice_bytes_free(&column.validity);
    }
}

void Records::begin()
{
    bool ok = true;

    rows_ = 0;
    std::fill(absent_.begin(), absent_.end(), 0);
    for (Column &column : columns_) {
        column.values.size = 0;
        column.offsets.size = 0;
        column.validity.size = 0;
        column.nulls = 0;
        /* What the last batch took and a little more: columns seldom grow while they are filled. */
        ok = ok &&
             sluice_bytes_reserve(&column.values, column.values_last + column.values_last / 8) &&
             sluice_bytes_reserve(&column.offsets, column.offsets_last + column.offsets_last / 8);
    }
    if (!ok) {
        throw std::bad_alloc();
    }
}

bool Records::append_field(size_t k, const simdjson::dom::element *value, uint64_t begin,
                           std::string_view uri)
{
    const Field &field = settings_.fields[k];
    Column &column = columns_[k];
    const uint64_t zero = 0;
    bool is_null = value == nullptr || value->is_null();

    if (field.id && is_null) {
        return append_id(column, begin, uri);
    }
    if (field.kind == Kind::boolean) { /* bits, also where there is none */
        bool set = !is_null && value->get_bool().value_unsafe();
        return sluice_bytes_add_bit(&column.values, rows_, set) != 0 &&
               append(column, is_null, nullptr, 0, false);
    }
    if (is_null) {
        bool text = is_text_kind(field.kind);
        return append(column, true, &zero, text ? 0 : sizeof zero, text);
    }
    switch (field.kind) {
    case Kind::text: {
        std::string_view text;
        if (value->is_string()) {
            text = value->get_string().value_unsafe();
        } else {
            scratch_ = simdjson::minify(*value);
            text = scratch_;
        }
        return append(column, false, text.data(), text.size(), true);
    }
    case Kind::json:
        scratch_ = simdjson::minify(*value);
        return append(column, false, scratch_.data(), scratch_.size(), true);
    case Kind::integer: {
        int64_t number = value->get_int64().value_unsafe();
        return append(column, false, &number, sizeof number, false);
    }
    case Kind::number: {
        double number = value->get_double().value_unsafe();
        return append(column, false, &number, sizeof number, false);
    }
    case Kind::boolean:
        break;
    }
    return false;
}

/* The members that no column takes, byte by byte as they stand. */
bool Records::append_metadata(const char *data, size_t n)
{
    const char *end = data + n;
    const char *p = skip_space(data, end) + 1;

    scratch_.assign("{");
    for (p = skip_space(p, end); p < end && *p == '"'; p = skip_space(p, end)) {
        const char *key = p;
        const char *key_end = skip_value(p, end);
        const char *value = skip_space(skip_space(key_end, end) + 1, end);
        const char *value_end = nullptr;
        const char *tail;
        bool taken = false;
        for (size_t k = 0; k < settings_.fields.size(); k++) {
            const Field &field = settings_.fields[k];
            /* A key with escapes is compared unescaped below, by the parser's own view. */
            if (static_cast<size_t>(key_end - key) == field.key.size() + 2 &&
                memcmp(key + 1, field.key.data(), field.key.size()) == 0) {
                taken = true;
                if (has_[k] && found_[k].is_string()) {
                    /* Escapes are longer than what they stand for. */
                    value_end =
                        skip_string(value + 1, end, found_[k].get_string_length().value_unsafe());
                }
            }
        }
        if (value_end == nullptr) {
            value_end = skip_value(value, end);
        }
        tail = value_end;
        while (tail > value &&
               (tail[-1] == ' ' || tail[-1] == '\t' || tail[-1] == '\r' || tail[-1] == '\n')) {
            tail--;
        }
        if (!taken && memchr(key, '\\', static_cast<size_t>(key_end - key)) != nullptr) {
            simdjson::dom::parser one;
            std::string text(key, static_cast<size_t>(key_end - key));
            std::string_view plain;
            if (one.parse(text).get(plain) == simdjson::SUCCESS) {
                for (const Field &field : settings_.fields) {
                    taken = taken || plain == field.key;
                }
            }
        }
        if (!taken) {
            if (scratch_.size() > 1) {
                scratch_ += ',';
            }
            scratch_.append(key, static_cast<size_t>(key_end - key));
            scratch_ += ':';
            scratch_.append(value, static_cast<size_t>(tail - value));
        }
        p = skip_space(value_end, end);
        if (p < end && *p == ',') {
            p++;
        }
    }
    scratch_ += '}';
    return append(columns_[settings_.fields.size()], scratch_.size() == 2, scratch_.data(),
                  scratch_.size() == 2 ? 0 : scratch_.size(), true);
}

void Records::tell_absent(sluice::emitter &out)
{
    for (size_t k = 0; k < absent_.size(); k++) {
        std::vector<const char *> names;
        if (absent_[k] == 0) {
            continue;
        }
        for (const std::string &name : there_[k]) {
            names.push_back(name.c_str());
        }
        out.absent(settings_.fields[k].key.c_str(), absent_[k], names);
        absent_[k] = 0;
    }
}

/* Does the value have a type that the field's column takes? */
static bool has_type(const Field &field, const simdjson::dom::element &value)
{
    switch (field.kind) {
    case Kind::text:
        return value.is_string() || (field.id && (value.is_int64() || value.is_uint64()));
    case Kind::integer:
        return value.is_int64();
    case Kind::number:
        return value.is_number();
    case Kind::boolean:
        return value.is_bool();
    case Kind::json:
        break;
    }
    return true;
}

/* Parses a record and finds its members; false: it is bad. */
bool Records::look(const char *data, size_t n, std::string &reason, std::string &detail)
{
    simdjson::error_code code = parser_->parse(data, n, false).get(root_);

    if (code == simdjson::MEMALLOC) {
        throw sluice::error(
            SLUICE_E_NOMEM,
            "out of memory for a JSON record; give a larger --memory or a smaller max_record");
    }
    if (code != simdjson::SUCCESS) {
        reason = reason_of(code);
        detail = simdjson::error_message(code);
        return false;
    }
    if (root_.get(object_) != simdjson::SUCCESS) {
        reason = "not_an_object";
        detail = "found another JSON value, expected an object";
        return false;
    }
    std::fill(has_.begin(), has_.end(), 0);
    for (simdjson::dom::key_value_pair member : object_) {
        for (size_t k = 0; k < settings_.fields.size(); k++) {
            if (member.key == settings_.fields[k].key) {
                if (has_[k]) {
                    reason = "duplicate_key";
                    detail = "found the member '" + settings_.fields[k].key + "' twice";
                    return false;
                }
                has_[k] = 1;
                found_[k] = member.value;
            }
        }
    }
    for (size_t k = 0; k < settings_.fields.size(); k++) {
        const Field &field = settings_.fields[k];
        if (!has_[k] && !field.path.empty() && !find_inside(field, k, reason, detail)) {
            return false;
        }
        if (!has_[k] && settings_.quarantine_missing && !field.id) {
            reason = "missing_column";
            detail = "no member '" + field.key + "'";
            return false;
        }
        if (has_[k] && !found_[k].is_null() && !has_type(field, found_[k])) {
            reason = "wrong_type";
            detail = "member '" + field.key + "' has another type than its column";
            return false;
        }
    }
    return true;
}

void Records::add(const char *data, size_t n, uint64_t begin, std::string_view uri,
                  sluice::emitter &out)
{
    const size_t fields = settings_.fields.size();
    uint64_t end = begin + n;
    bool plain = take(data, n);
    bool ok = true;

    if (plain) {
        for (size_t k = 0; ok && k < fields; k++) {
            ok = append_taken(k, begin, uri);
            absent_[k] += !has_[k] && settings_.fields[k].expected ? 1 : 0;
        }
        ok = ok && (!settings_.metadata || append(columns_[fields], rest_.size() == 2, rest_.data(),
                                                  rest_.size() == 2 ? 0 : rest_.size(), true));
    } else {
        std::string reason;
        std::string detail;
        if (!look(data, n, reason, detail)) {
            out.bad(begin, end, reason.c_str(), detail.c_str());
            return;
        }
        for (size_t k = 0; ok && k < fields; k++) {
            ok = append_field(k, has_[k] ? &found_[k] : nullptr, begin, uri);
        }
        ok = ok && (!settings_.metadata || append_metadata(data, n));
    }
    ok = ok && append(columns_[columns_.size() - 2], false, &begin, sizeof begin, false) &&
         append(columns_[columns_.size() - 1], false, &end, sizeof end, false);
    if (!ok) {
        throw sluice::error(SLUICE_E_NOMEM, "out of memory for records, or more than 2 GiB of text "
                                            "in one batch");
    }
    if (!plain) {
        note_absent();
        if (n > big_record) {
            parser_.reset(new simdjson::dom::parser);
        }
    }
    rows_++;
}

void Records::finish(sluice::emitter &out)
{
    std::vector<sluice::array> arrays;

    if (rows_ == 0) {
        return;
    }
    for (size_t k = 0; k < columns_.size(); k++) {
        Column &column = columns_[k];
        sluice::array made;
        sluice_status status;
        bool text = k < settings_.fields.size() ? is_text_kind(settings_.fields[k].kind)
                                                : k + 2 < columns_.size();
        column.values_last = column.values.size;
        column.offsets_last = column.offsets.size;
        if (column.nulls == 0) {
            sluice_bytes_free(&column.validity);
        }
        status = text ? sluice_make_text(made.raw(), rows_, &column.offsets, &column.values,
                                         &column.validity, column.nulls)
                      : sluice_make_fixed(made.raw(), rows_, &column.values, &column.validity,
                                          column.nulls);
        column.nulls = 0;
        if (status != SLUICE_OK) {
            made.raw()->release = nullptr;
            throw std::bad_alloc();
        }
        arrays.push_back(std::move(made));
    }
    out.give(sluice::struct_of(rows_, std::move(arrays)));
    tell_absent(out);
}

} /* namespace sluice_json */
