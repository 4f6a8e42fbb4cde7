/* The option engine: one table (struct sluice_option) drives parsing, suggestions, `inspect` and
 * the task key. Owns parsed configs; depends on value. An options object is immutable after
 * parsing, so any thread may read it.
 *
 * An option without a value and default leaves zeros in the config, an enum -1.
 *
 * What is accepted, by type (text = from a command line, a default or a need_derived string, where
 * everything is a string):
 *   bool      bool; text true, false
 *   int       int; float without fraction; text digits
 *   float     float, int, "12%" (= 0.12); text as well; never NaN; infinities only where the option
 *             has no range
 *   string    string (UTF-8 without NUL)
 *   enum      one of the choices
 *   size      int >= 0 or text: number, then B k M G T (powers of 1000, with or without B) or
 *             Ki Mi Gi Ti (1024; with or without B)
 *   duration  number = seconds, or text: 10s 5m 1h30m 2d 250ms 10us 5ns; min and max of the table
 *             are nanoseconds
 *   path      string, made absolute against base_dir; "scheme://..." stays
 *   column, node   string, not empty
 *   range     "lo..hi" "lo.." "..hi", {lo, hi} or {min=, max=}; open ends are infinite
 *   list      list of strings (numbers are taken as text), or one string = one item; text a,b,"c,d"
 *   map       map of strings (numbers and bools are taken as text); text a=x,b="y,z" */
#ifndef SLUICE_PLUGIN_OPTIONS_H
#define SLUICE_PLUGIN_OPTIONS_H

#include "base/hash.h"
#include "plugin/value.h"

#define OPTIONS_MAX 1024u             /* options of one table */
#define OPTIONS_CONFIG_MAX (1u << 20) /* bytes of one config struct */

/* A table as a stage describes it (plugins of other minors have other strides). Everything is
 * borrowed. */
struct option_table {
    const char *owner; /* stage's name, for messages */
    const struct sluice_option *options;
    uint64_t n, stride, config_size;
    bool scripted; /* declared by a script: what is wrong with it is no plugin's defect */
};

/* What a user gave. Both may be NULL. A nil value counts as not given. */
struct option_args {
    const struct value *named; /* VALUE_MAP */
    /* For the option marked POSITIONAL; a VALUE_LIST of several only where that is a list. */
    const struct value *positional;
    bool text; /* string values are text to be converted (command line), see above */
};

struct options;

/* One option with its effective value. */
struct option_value {
    struct sluice_option option; /* zero-extended copy; pointers borrowed from the table */
    const char *text;            /* canonical, as a user would type it; NULL = unset; borrowed */
    bool given;                  /* false = the default */
};

struct option_table option_table_of(const struct sluice_stage *);
/* Copies the k-th option zero-extended: false past the end. */
bool option_at(const struct option_table *, uint64_t k, struct sluice_option *out);
/* "int" "float" ...; "?" for an unknown type. */
const char *option_type_name(int32_t type);
/* What a value must be, for people: "int in [0, 1000000]", "one of a, b, c", "size like 64MiB". */
void option_expected(const struct sluice_option *, struct buf *out);

/* Is the table sane: names, types, offsets within the config, aligned, no overlap, choices,
 * defaults that parse, at most one positional? SLUICE_E_INTERNAL: the plugin's defect. */
sluice_status option_table_check(const struct option_table *, struct sluice_error *err) MUST_USE;

/* Parses args into a new options object; base_dir (absolute, or NULL where no relative path may
 * come) resolves relative paths. Gives. The table must outlive it. SLUICE_E_CONFIG with the option
 * in err->field. */
sluice_status options_parse(const struct option_table *, const struct option_args *args,
                            const char *base_dir, struct options **out,
                            struct sluice_error *err) MUST_USE;
/* "rule=uax29,lower=true" (need_derived) or name=value words: adds string values to *named, a
 * VALUE_MAP or nil; values may be JSON strings in quotes. SLUICE_E_CONFIG. */
sluice_status options_split(const char *text, struct value *named,
                            struct sluice_error *err) MUST_USE;
void options_destroy(struct options *); /* NULL is fine */

const void *options_config(
    const struct options *); /* the filled struct, 16-byte aligned; valid until options_destroy */
uint64_t options_count(const struct options *);
bool options_get(const struct options *, uint64_t k,
                 struct option_value *out); /* k-th of the table; false past the end */
bool options_find(const struct options *, const char *name,
                  struct option_value *out); /* false = no such option */
/* Plain bytes of a string, path, column, node or enum option: NULL = unset or no such option.
 * Borrowed. */
const char *options_string(const struct options *, const char *name);

/* Canonical text for the task key: "name=value\n" of every option that affects output, sorted by
 * name, defaults included; strings are JSON strings; unset is `null`; a path that is set appears as
 * `name=path` only (its content hash is the planner's to add). */
void options_canonical(const struct options *, struct buf *out);
/* The k-th path option that is set, in name order; flags tells NO_OUTPUT and OUTPUT_PATH. false
 * past the end. Borrowed. */
bool options_path(const struct options *, uint64_t k, const char **name, const char **path,
                  uint32_t *flags);
/* Puts another path in the place of such a one, in the config and in all texts: that of a copy. The
 * task key does not change by it. */
sluice_status options_set_path(struct options *, const char *name, const char *path,
                               struct sluice_error *err) MUST_USE;
/* All options as one JSON object {"name": canonical text or null}, sorted: for manifests and
 * `plan`. */
void options_json(const struct options *, struct buf *out);

#endif
