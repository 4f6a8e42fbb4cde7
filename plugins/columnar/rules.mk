# Arrow C++ is brought by pkg/setup, which writes this file last. Its headers want C++20. The
# libraries lie in ARROW beside the folder of the plugins, in a build as in an installation.
NEEDS   := build/assets/arrow/arrow.pc simdjson
DEBIAN  := libsimdjson-dev
DEFINES := -std=c++20
LIBS    := -Wl,-rpath,'$$ORIGIN/../arrow'
