/* Paths to members of members: how they are written, and what they lead to in a record that the
 * parser took. See record.h; record_plain.cc has them where no parser is needed. */
#include "record.h"

#include <algorithm>
#include <charconv>

namespace sluice_json
{

std::vector<Step> path_of(const std::string &key)
{
    std::vector<Step> path;
    size_t at = 0;

    while (at < key.size()) {
        bool is_index = key[at] == '[';
        size_t end = is_index ? key.find(']', at) : key.find_first_of(".[", at);
        end = end == key.npos ? key.size() : end;
        std::string part = key.substr(at + (is_index ? 1 : 0), end - at - (is_index ? 1 : 0));
        size_t index = 0;
        if (is_index) {
            auto [last, ec] = std::from_chars(part.data(), part.data() + part.size(), index);
            if (end == key.size() || path.empty() || part.empty() || ec != std::errc() ||
                last != part.data() + part.size()) {
                return {};
            }
            end++;
        } else if (part.empty()) {
            return {};
        }
        path.push_back({ part, is_index, index });
        if (end < key.size() && key[end] == '.') {
            end++;
            if (end == key.size()) {
                return {};
            }
        } else if (end < key.size() && key[end] != '[') {
            return {};
        }
        at = end;
    }
    return path.size() > 1 ? path : std::vector<Step>();
}

bool plant_paths(const std::vector<Field> &fields, Branch &root)
{
    for (size_t k = 0; k < fields.size(); k++) {
        Branch *at = &root;
        for (const Step &step : fields[k].path) {
            auto same = std::find_if(at->inner.begin(), at->inner.end(),
                                     [&](const Branch &b) { return b.key == step.key; });
            if (step.is_index || at->field != SIZE_MAX) {
                return false;
            }
            if (same == at->inner.end()) {
                at->inner.emplace_back();
                at->inner.back().key = step.key;
                same = at->inner.end() - 1;
            }
            at = &*same;
        }
        if (at == &root) {
            continue;
        }
        if (at->field != SIZE_MAX || !at->inner.empty()) {
            return false;
        }
        at->field = k;
    }
    /* A member that is a column itself, and that a path goes through. */
    return std::none_of(root.inner.begin(), root.inner.end(), [&](const Branch &b) {
        return std::any_of(fields.begin(), fields.end(),
                           [&](const Field &field) { return field.key == b.key; });
    });
}

/* The value that a path leads to, as far as it goes: *steps of it. */
static simdjson::dom::element follow(simdjson::dom::element at, const std::vector<Step> &path,
                                     size_t *steps)
{
    for (*steps = 0; *steps < path.size(); (*steps)++) {
        const Step &step = path[*steps];
        simdjson::dom::element next;
        simdjson::error_code code =
            step.is_index
                ? at.is_array() ? at.get_array().at(step.index).get(next) : simdjson::INCORRECT_TYPE
                : at.at_key(step.key).get(next);
        if (code != simdjson::SUCCESS) {
            break;
        }
        at = next;
    }
    return at;
}

/* "metadata", of "metadata.url" and one step. */
static std::string begin_of(const std::vector<Step> &path, size_t steps)
{
    std::string text;

    for (size_t i = 0; i < steps; i++) {
        text += path[i].is_index ? "[" + std::to_string(path[i].index) + "]"
                                 : (i > 0 ? "." : "") + path[i].key;
    }
    return text;
}

/* Counts the expected fields that a record lacks; of the first one, what stands in their place. */
void Records::note_absent()
{
    for (size_t k = 0; k < settings_.fields.size(); k++) {
        const Field &field = settings_.fields[k];
        simdjson::dom::object inner;
        size_t steps = 0;
        if (has_[k] || !field.expected || absent_[k]++ > 0) {
            continue;
        }
        std::vector<std::string> &there = there_[k];
        there.clear();
        if (follow(root_, field.path, &steps).get(inner) == simdjson::SUCCESS && steps > 0) {
            for (simdjson::dom::key_value_pair member : inner) {
                if (there.size() < 32) {
                    there.push_back(begin_of(field.path, steps) + "." + std::string(member.key));
                }
            }
        }
        for (simdjson::dom::key_value_pair member : object_) {
            if (there.size() < 64) {
                there.emplace_back(member.key);
            }
        }
    }
}

/* Finds what the path of a field leads to, if it leads to anything; false: the record is bad. */
bool Records::find_inside(const Field &field, size_t k, std::string &reason, std::string &detail)
{
    simdjson::dom::element at = root_;

    for (size_t i = 0; i < field.path.size(); i++) {
        const Step &step = field.path[i];
        simdjson::dom::element next;
        simdjson::dom::object object;
        simdjson::dom::array array;
        size_t n = 0;
        if (at.is_null()) {
            return true;
        }
        if (step.is_index ? at.get(array) != simdjson::SUCCESS
                          : at.get(object) != simdjson::SUCCESS) {
            reason = "wrong_type";
            detail = "member '" + begin_of(field.path, i) + "' is no " +
                     (step.is_index ? "array" : "object") + ", expected '" + field.key + "' in it";
            return false;
        }
        if (step.is_index) {
            n = array.at(step.index).get(next) == simdjson::SUCCESS;
        } else {
            for (simdjson::dom::key_value_pair member : object) {
                if (member.key == step.key) {
                    next = member.value;
                    n++;
                }
            }
        }
        if (n > 1) {
            reason = "duplicate_key";
            detail = "found the member '" + begin_of(field.path, i + 1) + "' twice";
            return false;
        }
        if (n == 0) {
            return true;
        }
        at = next;
    }
    has_[k] = 1;
    found_[k] = at;
    return true;
}

} /* namespace sluice_json */
