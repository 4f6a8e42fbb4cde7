/* The stage "native": a C function of any shared library as a column. An adapter on the vtable of
 * plugins, compiled into the core. Depends on ffi_foreign and plugin.
 *
 * The library's code runs where the stage is opened, so the stage opens in child processes only:
 * native_register marks it as always isolated, and outside of a child its open refuses. */
#ifndef SLUICE_LUA_NATIVE_H
#define SLUICE_LUA_NATIVE_H

#include "plugin/registry.h"
#include "plugin/value.h"

/* Adds the stage to a registry. here: this process may load libraries: a child that has given up
 * its rights. */
sluice_status native_register(struct registry *, bool here, struct sluice_error *err) MUST_USE;
/* Is the entry this stage, and do these options (a VALUE_MAP or nil) not say thread_safe? */
bool native_is_serial(const struct registry_entry *, const struct value *named);

#endif
