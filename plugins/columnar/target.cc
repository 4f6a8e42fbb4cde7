/* See target.h. */
#include "target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arrow/util/key_value_metadata.h>

#include "nested.h"
#include "types.h"

namespace sluice_columnar
{

namespace
{

/* Reads the names of types as sluice.h has them. */
class TypeText
{
  public:
    explicit TypeText(const std::string &text) : text_(text)
    {
    }
    std::shared_ptr<arrow::DataType> all()
    {
        auto out = type();
        if (at_ != text_.size()) {
            wrong();
        }
        return out;
    }

  private:
    [[noreturn]] void wrong() const
    {
        throw sluice::error(SLUICE_E_SCHEMA,
                            "the type '" + text_ + "' is not known to this format");
    }
    bool take(const char *what)
    {
        const std::size_t n = std::strlen(what);
        if (text_.compare(at_, n, what) != 0) {
            return false;
        }
        at_ += n;
        return true;
    }
    std::shared_ptr<arrow::Field> field(const std::string &name)
    {
        auto out = type();
        return arrow::field(name, out, take("?"));
    }
    std::string name()
    {
        std::string out;
        if (!take("\"")) {
            while (at_ < text_.size() && text_[at_] != ':') {
                out += text_[at_++];
            }
            return out;
        }
        while (at_ < text_.size() && text_[at_] != '"') {
            at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 1 : 0;
            out += text_[at_++];
        }
        at_++;
        return out;
    }
    std::shared_ptr<arrow::DataType> type()
    {
        if (take("list<")) {
            auto item = field("element");
            if (!take(">")) {
                wrong();
            }
            return arrow::list(item);
        }
        if (take("struct<")) {
            arrow::FieldVector fields;
            while (!take(">")) {
                if (!fields.empty() && !take(",")) {
                    wrong();
                }
                const std::string member = name();
                if (!take(":")) {
                    wrong();
                }
                fields.push_back(field(member));
            }
            return arrow::struct_(fields);
        }
        if (take("fixed[")) {
            char *end = nullptr;
            const long width = std::strtol(text_.c_str() + at_, &end, 10);
            at_ = static_cast<std::size_t>(end - text_.c_str());
            if (width < 1 || width > INT32_MAX || !take("]")) {
                wrong();
            }
            return arrow::fixed_size_binary(static_cast<std::int32_t>(width));
        }
        if (take("spans")) {
            return arrow::list(arrow::field("element", arrow::uint64(), false));
        }
        const std::size_t from = at_;
        while (at_ < text_.size() && std::strchr("?,>", text_[at_]) == nullptr) {
            at_++;
        }
        auto out = plain_arrow(text_.substr(from, at_ - from));
        if (out == nullptr) {
            wrong();
        }
        return out;
    }
    const std::string &text_;
    std::size_t at_ = 0;
};

/* "(12, 3)" */
bool read_pair(const std::string &text, int &a, int &b)
{
    return std::sscanf(text.c_str(), "(%d, %d)", &a, &b) == 2;
}

/* The type that arrow_note tells; NULL where it is none of those. */
std::shared_ptr<arrow::DataType> noted_type(const std::string &note)
{
    static const std::shared_ptr<arrow::DataType> all[] = {
        arrow::date32(),
        arrow::float16(),
        arrow::time32(arrow::TimeUnit::SECOND),
        arrow::time32(arrow::TimeUnit::MILLI),
        arrow::time64(arrow::TimeUnit::MICRO),
        arrow::time64(arrow::TimeUnit::NANO),
        arrow::timestamp(arrow::TimeUnit::SECOND),
        arrow::timestamp(arrow::TimeUnit::MILLI),
        arrow::timestamp(arrow::TimeUnit::MICRO),
        arrow::timestamp(arrow::TimeUnit::NANO),
    };
    int precision = 0, scale = 0;

    for (const auto &one : all) {
        const std::string name = one->ToString();
        if (name == note) {
            return one;
        }
        /* "timestamp[us, tz=UTC]" */
        if (one->id() == arrow::Type::TIMESTAMP && !note.empty() && note.back() == ']' &&
            note.compare(0, name.size() + 4, name.substr(0, name.size() - 1) + ", tz=") == 0) {
            const std::size_t from = name.size() + 4;
            return arrow::timestamp(static_cast<const arrow::TimestampType &>(*one).unit(),
                                    note.substr(from, note.size() - from - 1));
        }
    }
    if (note.compare(0, 10, "decimal128") == 0 && read_pair(note.substr(10), precision, scale)) {
        auto type = arrow::Decimal128Type::Make(precision, scale);
        return type.ok() ? type.ValueUnsafe() : nullptr;
    }
    if (note.compare(0, 10, "decimal256") == 0 && read_pair(note.substr(10), precision, scale)) {
        auto type = arrow::Decimal256Type::Make(precision, scale);
        return type.ok() ? type.ValueUnsafe() : nullptr;
    }
    return nullptr;
}

/* ---- maps, which are lists of entries with us ---- */

/* Appends for each list and map, from the outside in, 'l' or 'm'. */
void spell_lists(const arrow::DataType &type, std::string &out)
{
    if (type.id() == arrow::Type::LIST || type.id() == arrow::Type::MAP) {
        out += type.id() == arrow::Type::MAP ? 'm' : 'l';
    }
    for (const auto &field : type.fields()) {
        spell_lists(*field->type(), out);
    }
}

/* The type with those lists as maps that `letters` says, from `at` on; NULL where that can't be. */
std::shared_ptr<arrow::DataType> with_maps(const std::shared_ptr<arrow::DataType> &type,
                                           const char *&letters)
{
    const bool list = type->id() == arrow::Type::LIST;
    const bool map = list && *letters == 'm';
    arrow::FieldVector fields;

    if (list && *letters != 'm' && *letters != 'l') {
        return nullptr;
    }
    letters += list ? 1 : 0;
    for (const auto &field : type->fields()) {
        const auto inner = with_maps(field->type(), letters);
        if (inner == nullptr) {
            return nullptr;
        }
        fields.push_back(field->WithType(inner));
    }
    if (type->id() == arrow::Type::STRUCT) {
        return arrow::struct_(fields);
    }
    if (!map) {
        return list ? arrow::list(fields[0]) : type;
    }
    const auto &entry = *fields[0]->type();
    return fields[0]->nullable() || entry.num_fields() != 2 || entry.field(0)->nullable()
               ? nullptr
               : std::make_shared<arrow::MapType>(entry.field(0), entry.field(1));
}

void restore_type(Target &target, std::shared_ptr<arrow::DataType> &type, const char *note)
{
    if (note == nullptr || note[0] == '\0') {
        return;
    }
    if (std::strncmp(note, "lists:", 6) == 0) {
        const char *letters = note + 6;
        const auto maps = with_maps(target.given, letters);
        if (maps != nullptr && *letters == '\0') {
            type = maps;
            target.restore = Restore::retype;
        }
        return;
    }
    const auto noted = noted_type(note);
    if (noted == nullptr) {
        return;
    }
    if (noted->id() == arrow::Type::HALF_FLOAT && target.own == "float32") {
        type = noted;
        target.restore = Restore::half;
    } else if (noted->id() != arrow::Type::HALF_FLOAT && target.own == "utf8") {
        type = noted;
        target.restore = Restore::parse;
    }
}

/* Tokens of a vocabulary that two bytes can tell apart are stored so. */
void narrow_tokens(Target &target, std::shared_ptr<arrow::DataType> &type, const char *vocabulary)
{
    if (vocabulary == nullptr || vocabulary[0] == '\0' || type->id() != arrow::Type::LIST) {
        return;
    }
    const auto &item = type->field(0);
    target.tokens = arrow::is_integer(item->type()->id());
    if (item->type()->id() == arrow::Type::UINT32 &&
        std::strtoull(vocabulary, nullptr, 10) <= 65536) {
        type = arrow::list(item->WithType(arrow::uint16()));
        target.restore = Restore::narrow;
    }
}

/* All that is known of the column, for whoever reads the file. */
std::shared_ptr<arrow::KeyValueMetadata> notes_of(const char *all)
{
    auto out = std::make_shared<arrow::KeyValueMetadata>();

    for (const char *at = all == nullptr ? "" : all; *at != '\0';) {
        const char *end = std::strchr(at, '\n');
        const std::string line(at, end == nullptr ? std::strlen(at)
                                                  : static_cast<std::size_t>(end - at));
        const std::size_t equal = line.find('=');
        if (equal != std::string::npos && line.compare(0, equal, "arrow_type") != 0 &&
            line.compare(0, equal, "columns") != 0) {
            out->Append(line.substr(0, equal), line.substr(equal + 1));
        }
        at = end == nullptr ? "" : end + 1;
    }
    return out->size() > 0 ? out : nullptr;
}

void add_target(std::vector<Target> &out, sluice::plan &p, const std::string &name,
                const std::string &own)
{
    Target target;
    const bool nullable = !own.empty() && own.back() == '?';

    target.name = name;
    target.own = nullable ? own.substr(0, own.size() - 1) : own;
    target.index = p.need(name);
    if (static_cast<std::size_t>(target.index) < out.size()) {
        return; /* named twice */
    }
    try {
        target.given = arrow_type(target.own);
    } catch (const sluice::error &e) {
        throw sluice::error(e.code(), e.what(), name);
    }
    auto type = target.given;
    restore_type(target, type, p.metadata(target.index, "arrow_type"));
    narrow_tokens(target, type, p.metadata(target.index, "vocab_size"));
    if (const char *said = p.metadata(target.index, "columns"); said != nullptr) {
        target.said = said;
    }
    target.field = arrow::field(name, type, nullable, notes_of(p.metadata(target.index, "")));
    out.push_back(std::move(target));
}

} /* namespace */

std::shared_ptr<arrow::DataType> arrow_type(const std::string &own)
{
    return TypeText(own).all();
}

std::string arrow_note(const arrow::DataType &type, const std::string &own)
{
    std::string lists;

    if (own == own_type(type) && own_convert(type) == Convert::none) {
        spell_lists(type, lists);
        return lists.find('m') != lists.npos ? "arrow_type=lists:" + lists : "";
    }
    const bool other = (own == "utf8" && own_convert(type) == Convert::formatted) ||
                       (own == "float32" && type.id() == arrow::Type::HALF_FLOAT);
    const std::string name = type.ToString();
    return other && noted_type(name) != nullptr ? "arrow_type=" + name : "";
}

std::vector<Target> choose_targets(sluice::plan &p, const sluice_list &names,
                                   const std::vector<std::string> &left_out)
{
    auto all = p.columns();
    std::vector<Target> out;
    const auto find = [&](const std::string &name) {
        return std::find_if(all.begin(), all.end(),
                            [&](const auto &column) { return column.first == name; });
    };

    for (std::uint64_t k = 0; k < names.n; k++) {
        const auto found = find(names.items[k]);
        if (found == all.end()) {
            p.need(names.items[k]); /* says what there is instead; it also knows hidden columns */
            throw sluice::error(SLUICE_E_CONFIG,
                                "`columns`: found the name of a hidden or derived column, which is "
                                "not written; give it another name first",
                                "columns");
        }
        add_target(out, p, found->first, found->second);
    }
    if (names.n == 0) {
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [&](const auto &column) {
                                     return std::find(left_out.begin(), left_out.end(),
                                                      column.first) != left_out.end();
                                 }),
                  all.end());
        for (const char *first : { "text", "id" }) {
            if (find(first) != all.end()) {
                add_target(out, p, first, find(first)->second);
            }
        }
        for (const auto &[name, type] : all) {
            if (name[0] != '_' && name != "text" && name != "id") {
                add_target(out, p, name, type);
            }
        }
    }
    if (out.empty()) {
        throw sluice::error(SLUICE_E_SCHEMA, "found no column to write", "columns");
    }
    return out;
}

std::shared_ptr<arrow::Schema> schema_of(const std::vector<Target> &targets)
{
    arrow::FieldVector fields;

    for (const Target &target : targets) {
        fields.push_back(target.field);
    }
    return arrow::schema(std::move(fields));
}

std::string columns_json(const std::vector<Target> &targets)
{
    std::string out = "{";

    for (const Target &target : targets) {
        char *rest = nullptr;
        if (std::strtoull(target.said.c_str(), &rest, 10) == targets.size()) {
            return rest + 1; /* these are the columns of a file that is written as it was */
        }
    }
    for (const Target &target : targets) {
        out += out.size() > 1 ? "," : "";
        json_text(target.field->name(), out);
        out += ":{\"type\":";
        json_text(target.own + (target.field->nullable() ? "?" : ""), out);
        const auto notes = target.field->metadata();
        for (std::int64_t k = 0; notes != nullptr && k < notes->size(); k++) {
            out += ',';
            json_text(notes->key(k), out);
            out += ':';
            json_text(notes->value(k), out);
        }
        out += '}';
    }
    return out + "}";
}

std::string columns_table(const std::vector<Target> &targets)
{
    std::string out = "| column | type |\n|---|---|\n";

    for (const Target &target : targets) {
        std::string name = target.field->name();
        for (char &c : name) {
            c = c == '|' || c == '`' || static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        out += "| `" + name + "` | `" + target.field->type()->ToString() + "` |\n";
    }
    return out;
}

std::size_t find_target(const std::vector<Target> &targets, const char *option,
                        const std::string &name)
{
    std::string there;

    for (std::size_t k = 0; k < targets.size(); k++) {
        if (targets[k].name == name) {
            return k;
        }
        there += (k > 0 ? ", " : "") + targets[k].name;
    }
    throw sluice::error(SLUICE_E_CONFIG,
                        std::string("`") + option + "`: found '" + name +
                            "', expected one of the columns that are written: " + there,
                        option);
}

} /* namespace sluice_columnar */
