/* Names of new stages: see new_name.h. */
#include "cmd/new/new_name.h"

#include <string.h>

/* Names of modules and functions that every script has. */
static const char *const kept[] = { "sluice", "lib", "core", "plugin", "template", "test" };

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool well_formed(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > NEW_NAME_MAX || !is_lower(name[0])) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        if (!is_lower(name[k]) && !is_digit(name[k]) && name[k] != '_') {
            return false;
        }
    }
    return true;
}

/* The nearest good name: "My-Filter 2" gives "my_filter_2", "9lives" gives "my_9lives". */
static void suggest(const char *name, char out[NEW_NAME_MAX + 1])
{
    const char *slash = strrchr(name, '/');
    size_t n = 0;

    name = slash != NULL && slash[1] != '\0' ? slash + 1 : name;
    for (; *name != '\0' && n < NEW_NAME_MAX; name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        if (!is_lower(c) && !is_digit(c)) {
            c = '_';
        }
        if (n == 0 && is_digit(c)) {
            memcpy(out, "my_", 3);
            n = 3;
        }
        if (c != '_' || (n > 0 && out[n - 1] != '_')) {
            out[n++] = c;
        }
    }
    while (n > 0 && out[n - 1] == '_') {
        n--;
    }
    if (n == 0) {
        memcpy(out, "my_stage", 8);
        n = 8;
    }
    out[n] = '\0';
}

sluice_status new_name_check(const char *name, struct sluice_error *err)
{
    char better[NEW_NAME_MAX + 1];

    for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
        if (strcmp(name, kept[k]) == 0) {
            return error_set(err, SLUICE_E_CONFIG,
                             "the name '%s' is kept for Sluice; choose another name, such as "
                             "'my_%s'",
                             name, name);
        }
    }
    if (well_formed(name)) {
        return SLUICE_OK;
    }
    suggest(name, better);
    return error_set(err, SLUICE_E_CONFIG,
                     "the name is '%.80s', expected a letter a to z, then a to z, 0 to 9 and _, at "
                     "most %d in all; '%s' would do%s",
                     name, NEW_NAME_MAX, better,
                     strchr(name, '/') != NULL ? " (--dir says in which folder it is made)" : "");
}
