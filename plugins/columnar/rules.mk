# Arrow C++ is brought by pkg/setup, which writes this file last. Its headers want C++20. The
# libraries lie in ARROW beside the folder of the plugins, in a build as in an installation.
# Of simdjson only validate_utf8 is called: the copy in libparquet serves, while it exports one.
NEEDS   := build/assets/arrow/arrow.pc simdjson
DEBIAN  := libsimdjson-dev
DEFINES := -std=c++20
LIBS    := -Wl,-rpath,'$$ORIGIN/../arrow'
