/* One JSON record into typed columns: shared by read_jsonl and read_json. C++17 for simdjson. */
#ifndef READ_JSONL_RECORD_H
#define READ_JSONL_RECORD_H

#include <memory>
#include <string>
#include <vector>

#include <simdjson.h>

#include "sluice.hpp"

namespace sluice_json
{

enum class Kind { text, integer, number, boolean, json };

/* One step of a path: a member's name, or an array's index. */
struct Step {
    std::string key;
    bool is_index;
    size_t index;
};

struct Field {
    std::string key; /* in the record: a member's name, or a path where no member has that name */
    std::vector<Step> path; /* of key, where it is one: two steps or more */
    std::string column;
    Kind kind;
    bool id;       /* numbers become text; absent ids are made from the place */
    bool expected; /* some record of the input must have it */
};

/* What an opened stage knows. */
struct Settings {
    std::vector<Field> fields;
    bool metadata;           /* the rest of the members, verbatim */
    bool quarantine_missing; /* a record without the text column is bad (else: null) */
};

/* The steps of "metadata.url" or "messages[0].content"; none: it is no path, a name alone. */
std::vector<Step> path_of(const std::string &key);

/* Members of objects that paths go through, the record's own first: what a look at the text needs
 * of all paths. Paths with an index are not among them. */
struct Branch {
    std::string key;
    size_t field = SIZE_MAX; /* which ends here */
    std::vector<Branch> inner;
    bool seen = false; /* in the record that is looked at */
};

/* Puts the paths of all fields into a tree; false: they don't fit in one, or have an index. */
bool plant_paths(const std::vector<Field> &fields, Branch &root);

/* Columns in the making. */
struct Column {
    sluice_bytes values{}, offsets{}, validity{};
    uint64_t values_last = 0, offsets_last = 0; /* bytes of the last batch */
    int64_t nulls = 0;
};

/* A member that a field takes, as a look at the text found it. */
struct Plain {
    enum class Form { absent, null, text, integer, number, boolean } form = Form::absent;
    size_t n = 0; /* bytes of a text: they stand in its column, behind what counts there */
    int64_t integer = 0;
    double number = 0;
};

class Scan;

/* Reads records into columns; one a worker. */
class Records
{
  public:
    explicit Records(const Settings &settings);
    ~Records();
    Records(const Records &) = delete;
    Records &operator=(const Records &) = delete;

    void begin();
    /* data[n .. n+63] must be readable. A bad record is told to out and leaves the columns as they
     * were. */
    void add(const char *data, size_t n, uint64_t begin, std::string_view uri,
             sluice::emitter &out);
    /* Gives what was read. */
    void finish(sluice::emitter &out);

  private:
    bool take(const char *data, size_t n);
    bool take_member(Scan &scan);
    bool take_branch(Scan &scan, Branch &branch, int depth);
    bool find_inside(const Field &field, size_t k, std::string &reason, std::string &detail);
    bool take_value(Scan &scan, size_t k);
    bool append_taken(size_t k, uint64_t begin, std::string_view uri);
    bool look(const char *data, size_t n, std::string &reason, std::string &detail);
    bool append(Column &column, bool is_null, const void *data, size_t n, bool is_text);
    bool append_there(Column &column, bool is_null, size_t n, bool is_text);
    bool append_id(Column &column, uint64_t begin, std::string_view uri);
    bool append_field(size_t k, const simdjson::dom::element *value, uint64_t begin,
                      std::string_view uri);
    void note_absent();
    void tell_absent(sluice::emitter &out);
    bool append_metadata(const char *data, size_t n);

    const Settings &settings_;
    std::unique_ptr<simdjson::dom::parser> parser_;
    simdjson::dom::element root_;  /* the record that is looked at */
    simdjson::dom::object object_; /* the same */
    std::vector<Column> columns_;  /* fields, then metadata, _begin, _end */
    std::vector<simdjson::dom::element> found_;
    std::vector<Plain> plain_; /* instead of found_, where no parser was needed */
    std::vector<char> has_;
    Branch paths_;                                /* its key is "" */
    bool plain_paths_;                            /* a look at the text is enough for all paths */
    std::vector<uint64_t> absent_;                /* per field: records of this batch without it */
    std::vector<std::vector<std::string>> there_; /* per field: the members of the first of them */
    std::string scratch_;
    std::string rest_; /* the metadata of a record that no parser was needed for */
    int64_t rows_ = 0;
};

} /* namespace sluice_json */

#endif
