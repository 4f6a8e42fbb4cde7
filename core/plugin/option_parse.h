/* One value into one place of a config struct. Private to the option engine. */
#ifndef SLUICE_PLUGIN_OPTION_PARSE_H
#define SLUICE_PLUGIN_OPTION_PARSE_H

#include "base/arena.h"
#include "plugin/value.h"

struct option_parse {
    const char *owner; /* stage's name, for messages */
    const struct sluice_option *option;
    const struct value *value;
    const char *base_dir;  /* for relative paths, or NULL */
    bool text;             /* strings are text to be converted */
    void *place;           /* where the value is stored */
    struct arena *arena;   /* behind the config: strings, lists, maps */
    struct buf *canonical; /* out: text of the value */
    struct sluice_error *err;
};

/* SLUICE_E_CONFIG: "option 'x' of 'y': found ..., expected ...". Whether memory ran out, the arena
 * knows. */
sluice_status option_parse_value(const struct option_parse *) MUST_USE;

#endif
