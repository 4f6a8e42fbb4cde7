# Sluice: one Makefile for everything. `make help` lists the targets.
#
# The folders are the architecture (core/LAYER, plugins/NAME, sdk, scripts, tests, pkg), so
# sources are found by wildcard: a new file or plugin needs no edit here. A variant is the same
# build with other flags in a directory of its own: `make asan` fills build/asan. Everything that
# is compiled lands below $(BUILD); nothing is written beside the sources.

VERSION := 0.1.0
comma   := ,

# ---- dependencies (pkg-config names; pkg/setup knows the Debian packages) ------------------------

CORE_NEEDS := lua5.4 libffi libzstd libxxhash jansson zlib libisal libseccomp nettle libdw libelf
TEXT_NEEDS := libpcre2-8 libutf8proc
CORE_LIBS  := -ldl -lm
TEST_NEEDS := cmocka nettle

# ---- variants ------------------------------------------------------------------------------------

VARIANT ?= release
VARIANTS := debug asan tsan clang fuzz

ifeq ($(filter release $(VARIANTS),$(VARIANT)),)
$(error unknown VARIANT '$(VARIANT)'; there are: release $(VARIANTS))
endif
BUILD ?= $(if $(filter release,$(VARIANT)),build,build/$(VARIANT))

# The compiler is gcc unless the caller says otherwise (make's built-in default, cc, does not
# count as saying so).
ifeq ($(origin CC),default)
CC := $(if $(filter clang fuzz,$(VARIANT)),clang-14,gcc)
endif
ifeq ($(origin CXX),default)
CXX := $(if $(filter clang fuzz,$(VARIANT)),clang++-14,g++)
endif
PKG_CONFIG ?= pkg-config

# No -march: one binary runs on every x86-64 (and arm64); what is faster with AVX2 or AVX-512 is
# chosen at run time, file by file. No contraction and no LTO: the same sums on every machine, and
# the same bytes from every build directory.
OPTIMISE_release := -O2
OPTIMISE_clang   := -O2
OPTIMISE_debug   := -O0
OPTIMISE_asan    := -O1 -fno-omit-frame-pointer
OPTIMISE_tsan    := -O1 -fno-omit-frame-pointer
OPTIMISE_fuzz    := -O1 -fno-omit-frame-pointer
# A sanitizer's report needs lines only, and these builds are large.
SYMBOLS          := $(if $(filter asan tsan fuzz,$(VARIANT)),-g1,-g)
SANITISE_asan    := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITISE_tsan    := -fsanitize=thread
SANITISE_fuzz    := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
SANITISE         := $(SANITISE_$(VARIANT))

WARNINGS   := -Wall -Wextra -Wshadow -Wconversion -Wvla $(if $(WERROR),-Werror)
WARNINGS_C := -Wstrict-prototypes -Wmissing-prototypes
COMMON     := $(SYMBOLS) $(OPTIMISE_$(VARIANT)) $(SANITISE) -fPIC -pthread -fvisibility=hidden -ffp-contract=off \
              -ffile-prefix-map=$(CURDIR)=. -D_GNU_SOURCE
INCLUDES   := -Isdk -Icore
ALL_CFLAGS   := -std=c11 $(COMMON) $(WARNINGS) $(WARNINGS_C) $(CPPFLAGS) $(CFLAGS)
ALL_CXXFLAGS := -std=c++17 $(COMMON) $(WARNINGS) $(CPPFLAGS) $(CXXFLAGS)
ALL_LDFLAGS  := $(SANITISE) -pthread -Wl,--as-needed,--compress-debug-sections=zlib $(LDFLAGS)
# A shared library must name what it needs; under clang's sanitizers the run-time's symbols come
# from the executable.
NO_UNDEFINED := $(if $(filter fuzz,$(VARIANT)),,-Wl$(comma)--no-undefined)

# ---- where things are ----------------------------------------------------------------------------

PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc 2>/dev/null || echo 1)
# The number of processors, unless the caller's own -j reaches this make.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

have   = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)
cflags = $(if $(strip $(1)),$(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null))
libs   = $(if $(strip $(1)),$(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null))

# Goals that compile nothing themselves must work before pkg-config and a compiler are there.
BUILDS := $(filter-out help setup demo test check bench soak parity lint fuzz clean format uninstall $(filter-out fuzz,$(VARIANTS)),\
            $(or $(MAKECMDGOALS),all))
EXTERNAL_CFLAGS := $(if $(BUILDS),$(call cflags,$(CORE_NEEDS) $(TEXT_NEEDS)))
CORE_LINK       := $(if $(BUILDS),$(call libs,$(CORE_NEEDS) $(TEXT_NEEDS))) $(CORE_LIBS)
TEXT_LINK       := $(if $(BUILDS),$(call libs,$(TEXT_NEEDS))) -lm
TEST_LINK       := $(if $(BUILDS),$(call libs,$(TEST_NEEDS)))

# ---- sources -------------------------------------------------------------------------------------

# In dependency order: a layer may use those before it (make lint checks that).
LAYERS    := base net data store plugin isolate plan run lua cmd
CORE_SRC  := $(filter-out core/cmd/launcher.c,$(wildcard $(LAYERS:%=core/%/*.c) $(LAYERS:%=core/%/*/*.c)))
TEXT_SRC  := $(wildcard sdk/text/*.c sdk/where/*.c)
KIT_SRC   := $(wildcard sdk/testkit/*.c)
PLUGINS   := $(sort $(patsubst plugins/%/,%,$(filter %/,$(wildcard plugins/*/))))
# Which stages are in which plugin, so that a run loads only what it uses. A sanitized program is not
# run during the build; without an index all plugins are loaded.
INDEX     := $(if $(SANITISE),,$(BUILD)/plugins/index.txt)
objects    = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
# What tests need to make things fail is compiled into objects of their own: see core/base/hooks.h.
HOOKED_SRC := $(shell grep -ls '^\#include "base/hooks.h"' $(CORE_SRC))
hooked     = $(call objects,$(filter-out $(HOOKED_SRC),$(1))) $(patsubst %.c,$(BUILD)/obj/hooked/%.o,$(filter $(HOOKED_SRC),$(1)))

CORE_SO     := $(BUILD)/libsluice-core.so
# The same program with test hooks, in a folder of its own.
TEST_CORE_SO := $(BUILD)/test/libsluice-core.so
TEXT_LIB    := $(BUILD)/libsluice-text.a
SDK_SO      := $(BUILD)/libsluice-sdk.so
KIT_SO      := $(BUILD)/libsluice-testkit.so
KIT_LIB     := $(BUILD)/obj/sdk/testkit.a
TOKENIZER_SO = $(if $(filter tokenize,$(PLUGINS_BUILT)),$(BUILD)/libsluice-tokenizer.so)
CORE_LIBS_A := $(foreach l,$(LAYERS),$(if $(wildcard core/$l/*.c),$(BUILD)/obj/core/$l.a))

.PHONY: all debug asan tsan clang setup demo test check bench soak parity lint fuzz install wheel uninstall clean format reference help \
        plugins tokenizer unit-tests test-libraries benches fuzzers parity-programs objects FORCE
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all: $(BUILD)/sluice $(CORE_SO) $(SDK_SO) $(KIT_SO) plugins tokenizer $(BUILD)/share/scripts $(INDEX)  ## build the program, its core library and all plugins (default)

# One short line a command; V=1 shows the commands.
show = $(if $(V),,@printf '  %-5s %s\n' $(1) '$@' &&)

# ---- compiling -----------------------------------------------------------------------------------

# Rewritten only when the flags change, so that other flags rebuild what they touch.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(ALL_CFLAGS) $(INCLUDES) $(EXTERNAL_CFLAGS)' '$(CXX) $(ALL_CXXFLAGS)' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call show,CC) $(CC) $(ALL_CFLAGS) $(INCLUDES) $(EXTERNAL_CFLAGS) $(FLAGS) $(COMPILE)

$(BUILD)/obj/hooked/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call show,CC) $(CC) $(ALL_CFLAGS) $(INCLUDES) $(EXTERNAL_CFLAGS) -DSLUICE_HOOKS $(FLAGS) $(COMPILE)

$(BUILD)/obj/%.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call show,CXX) $(CXX) $(ALL_CXXFLAGS) $(INCLUDES) $(EXTERNAL_CFLAGS) $(filter-out -Wno-missing-prototypes,$(FLAGS)) $(COMPILE)

# With SYNTAX=1 a compiler only looks: make lint does that with clang.
COMPILE = -MMD -MP $(if $(SYNTAX),-fsyntax-only -MF $(@:.o=.d) -MT $@ $< && touch $@,-c $< -o $@)

define archive
@mkdir -p $(@D)
@rm -f $@
$(call show,AR) ar rcsD $@ $(filter %.o,$^)
endef

# ---- core ----------------------------------------------------------------------------------------

# The text primitives are linked into the core and into every plugin that uses them: plugins never
# look for symbols in their host.
$(TEXT_LIB): $(call objects,$(TEXT_SRC))
	$(archive)

# One archive a layer, so that a unit test links only the layers it includes and those below them.
define layer
$(BUILD)/obj/core/$(1).a: $(call hooked,$(filter core/$(1)/%,$(CORE_SRC)))
	$$(archive)
$(BUILD)/obj/kit/$(1).a: $(call objects,$(filter core/$(1)/%,$(CORE_SRC)))
	$$(archive)
endef
$(foreach l,$(LAYERS),$(eval $(call layer,$l)))

$(CORE_SO): $(call objects,$(CORE_SRC))
$(TEST_CORE_SO): $(call hooked,$(CORE_SRC))
$(CORE_SO) $(TEST_CORE_SO): $(TEXT_LIB) pkg/core.map
	@mkdir -p $(@D)
	$(call show,LINK) $(CC) $(ALL_LDFLAGS) -shared $(NO_UNDEFINED) -Wl,--version-script=pkg/core.map -Wl,-soname,libsluice-core.so \
	    $(filter %.o,$^) $(TEXT_LIB) $(CORE_LINK) -o $@

# The inline functions of the SDK's headers for callers without a C compiler.
$(SDK_SO): $(call objects,sdk/sluice_ffi.c)
	$(call show,LINK) $(CC) $(ALL_LDFLAGS) -shared $(NO_UNDEFINED) -Wl,-soname,libsluice-sdk.so $^ -o $@

# The conformance kit has the engine below it linked in: archives, of which it takes what it uses.
$(KIT_LIB): $(call objects,$(KIT_SRC))
	$(archive)
KIT_CORE := $(foreach l,lua run plan isolate plugin store data net base,$(BUILD)/obj/kit/$l.a)
$(KIT_SO): $(call objects,$(KIT_SRC)) $(KIT_CORE) $(TEXT_LIB) pkg/testkit.map
	$(call show,LINK) $(CC) $(ALL_LDFLAGS) -shared $(NO_UNDEFINED) -Wl,--version-script=pkg/testkit.map -Wl,-soname,libsluice-testkit.so \
	    $(filter %.o,$^) $(filter %.a,$^) $(CORE_LINK) -o $@
$(BUILD)/obj/core/cmd/%.o $(BUILD)/obj/hooked/core/cmd/%.o $(BUILD)/obj/core/run/saving.o $(BUILD)/obj/hooked/core/run/saving.o $(BUILD)/obj/sdk/testkit/%.o: FLAGS := -DSLUICE_VERSION='"$(VERSION)"'

# Linked to libc alone: what an executable links is visible to every plugin and would replace a
# plugin's own libraries.
$(BUILD)/sluice: $(BUILD)/obj/core/cmd/launcher.o
	$(call show,LINK) $(CC) $(ALL_LDFLAGS) $< -o $@

$(BUILD)/test/sluice: $(BUILD)/sluice $(TEST_CORE_SO)
	@mkdir -p $(@D)
	@cp $< $@
	@ln -sfn ../plugins $(@D)/plugins
	@ln -sfn ../share $(@D)/share
	@ln -sfn ../libsluice-sdk.so ../libsluice-testkit.so ../libsluice-tokenizer.so $(@D)/

# The Lua half of the standard library is found beside the core library, as in an installed tree.
$(BUILD)/share/scripts:
	@mkdir -p $(@D)
	@ln -sfn "$$(realpath --relative-to=$(@D) scripts)" $@

# ---- plugins -------------------------------------------------------------------------------------
#
# plugins/NAME/*.c, *.cc and those one folder below become $(BUILD)/plugins/NAME.so. plugins/NAME/rules.mk may set
#   NEEDS   pkg-config packages; while one is absent the plugin is skipped (plugins/skipped.txt)
#   DEBIAN  the Debian packages that hold them, on one line: pkg/setup installs them
#   LIBS    further linker arguments          DEFINES  further compiler arguments
#   SOURCES the sources, if not all of these but test_*.c

PLUGINS_BUILT   :=
PLUGINS_SKIPPED :=

define plugin
NEEDS :=
DEBIAN :=
LIBS :=
DEFINES :=
SOURCES := $$(filter-out plugins/$(1)/test_%,$$(wildcard plugins/$(1)/*.c plugins/$(1)/*.cc plugins/$(1)/*/*.c))
-include plugins/$(1)/rules.mk
$(1)_sources := $$(SOURCES)
$(1)_needs   := $$(NEEDS)
$(1)_flags   := $$(call cflags,$$(NEEDS)) $$(DEFINES)
$(1)_libs    := $$(call libs,$$(NEEDS)) $$(LIBS)
ifeq ($$(strip $$(SOURCES)),)
else ifneq ($$(if $$(strip $$(NEEDS)),$$(call have,$$(NEEDS)),yes),yes)
PLUGINS_SKIPPED += $(1)
$(1)_why := $(1): needs $$(strip $$(NEEDS))$$(if $$(strip $$(DEBIAN)), (Debian: $$(strip $$(DEBIAN))))
else
PLUGINS_BUILT += $(1)
$$(BUILD)/plugins/$(1).so: $$(call objects,$$($(1)_sources)) $$(TEXT_LIB) pkg/plugin.map
	@mkdir -p $$(@D)
	@rm -f $$(@D)/index.txt
	$$(call show,LINK) $$(if $$(filter %.cc,$$($(1)_sources)),$$(CXX),$$(CC)) $$(ALL_LDFLAGS) -shared $$(NO_UNDEFINED) \
	    -Wl,--version-script=pkg/plugin.map $$(filter %.o,$$^) $$(TEXT_LIB) $$($(1)_libs) $$(TEXT_LINK) -o $$@
$$(BUILD)/obj/plugins/$(1).a: $$(call objects,$$($(1)_sources))
	$$(archive)
$$(BUILD)/obj/plugins/$(1)/%.o: FLAGS := -Iplugins/$(1) $$($(1)_flags)
endif
endef
$(if $(BUILDS),$(foreach p,$(PLUGINS),$(eval $(call plugin,$p))))

# The tokenizer without its stage, for C programs and for `sluice tokenize`.
$(BUILD)/libsluice-tokenizer.so: $(call objects,$(filter-out plugins/tokenize/tokenize.c plugins/tokenize/tokenize_rows.c,$(tokenize_sources))) $(TEXT_LIB) pkg/tokenizer.map
	$(call show,LINK) $(CC) $(ALL_LDFLAGS) -shared $(NO_UNDEFINED) -Wl,--version-script=pkg/tokenizer.map \
	    -Wl,-soname,libsluice-tokenizer.so $(filter %.o,$^) $(TEXT_LIB) $(tokenize_libs) -o $@
tokenizer: $(TOKENIZER_SO)

plugins: $(PLUGINS_BUILT:%=$(BUILD)/plugins/%.so) $(BUILD)/plugins/skipped.txt

# Libraries of plugins that no package has (pkg/setup) lie beside the folder of the plugins.
$(BUILD)/plugins/columnar.so: | $(BUILD)/arrow
$(BUILD)/arrow:
	@mkdir -p $(@D)
	@ln -sfn "$$(realpath --relative-to=$(@D) build/assets/arrow/lib)" $@

$(BUILD)/plugins/index.txt: $(BUILD)/sluice $(CORE_SO) $(PLUGINS_BUILT:%=$(BUILD)/plugins/%.so)
	@rm -f $@
	$(call show,INDEX) $(BUILD)/sluice plugins --index >$@.new && mv $@.new $@ || rm -f $@.new

$(BUILD)/plugins/skipped.txt: FORCE
	@mkdir -p $(@D)
	@: >$@.new
	$(foreach p,$(PLUGINS_SKIPPED),@echo 'skipped plugin $($(p)_why)' && echo '$($(p)_why)' >>$@.new$(newline))
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
define newline


endef

# ---- tests ---------------------------------------------------------------------------------------
#
# tests/unit/test_X.c and plugins/NAME/test_X.c: a cmocka program each, linked with the layers it
# includes and those below, the text archive, and the objects of every plugin whose headers it
# includes. tests/{abi,bad,…}/X.c: a plugin each, for the scripts beside it.

UNIT_SRC   := $(wildcard tests/unit/test_*.c plugins/*/test_*.c)
UNIT_BIN   := $(foreach t,$(UNIT_SRC),$(BUILD)/tests/unit/$(basename $(notdir $t)))
SCRIPTED   := abi bad crash pipeline conform cli
TEST_SO    := $(patsubst %,$(BUILD)/%.so,$(basename $(wildcard $(foreach k,$(SCRIPTED),tests/$k/*.c tests/$k/*.cc)))) \
              $(patsubst sdk/examples/%,$(BUILD)/examples/%.so,$(basename $(wildcard sdk/examples/*.c sdk/examples/*.cc)))
BENCH_SRC  := $(wildcard tests/bench/*.c)
FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c tests/fuzz/fuzz_*.cc)
PARITY_SRC := $(wildcard tests/parity/*.c)
PROGRAM_SRC := $(UNIT_SRC) $(BENCH_SRC) $(FUZZ_SRC) $(PARITY_SRC)
KITS       := $(wildcard tests/unit/*.h tests/fuzz/*.h tests/bench/*.h)
TEST_FLAGS := -I. -Iplugins -Wno-missing-prototypes -Wno-conversion

# File:include pairs of all test programs and the headers they share, found with one grep.
TEST_INCLUDES := $(if $(BUILDS),$(shell grep -Hos '^ *\# *include *"[^"]*"' $(PROGRAM_SRC) $(KITS) /dev/null | \
                   sed 's/ *\# *include *//;s/"//g'))
direct      = $(patsubst $(1):%,%,$(filter $(1):%,$(TEST_INCLUDES)))
includes_of = $(foreach i,$(call direct,$(1)),$i $(foreach k,$(filter $i %/$i,$(KITS)),$(call direct,$k)))
# Highest layer first, as the linker wants it; the layers up to the highest one included.
layers_upto = $(if $(2),$(if $(filter $(firstword $(2)),$(1)),$(2),$(call layers_upto,$(1),$(wordlist 2,99,$(2)))))
layers_of   = $(call layers_upto,$(foreach l,$(LAYERS),$(if $(filter $l/% core/$l/% %/core/$l/%,$(1)),$l)) \
                $(if $(filter testkit/%,$(1)),lua),$(LAYERS_DOWN))
LAYERS_DOWN := cmd lua run plan isolate plugin store data net base
# The plugins whose headers are included, by path or by their unique names.
plugins_of  = $(foreach p,$(PLUGINS_BUILT),$(if $(filter $p/% plugins/$p/% %/plugins/$p/%,$(1))$(wildcard \
                $(foreach i,$(1),plugins/$p/$i)),$p))
archives_of = $(foreach p,$(call plugins_of,$(1)),$(BUILD)/obj/plugins/$p.a) $(if $(filter testkit/%,$(1)),$(KIT_LIB)) \
              $(filter $(CORE_LIBS_A),$(foreach l,$(call layers_of,$(1)),$(BUILD)/obj/core/$l.a)) $(TEXT_LIB)

# program(target, source, further linker arguments)
define program
$(1): $(call objects,$(2)) $(call archives_of,$(call includes_of,$(2)))
	@mkdir -p $$(@D)
	$$(call show,LINK) $(if $(filter %.cc,$(foreach p,$(call plugins_of,$(call includes_of,$(2))),$($(p)_sources))),$$(CXX),$$(CC)) $$(ALL_LDFLAGS) \
	    $$(filter %.o,$$^) $$(filter %.a,$$^) $(3) $(foreach p,$(call plugins_of,$(call includes_of,$(2))),$($(p)_libs)) \
	    $$(CORE_LINK) -o $$@
$(call objects,$(2)): FLAGS := $$(TEST_FLAGS) $(foreach p,$(call plugins_of,$(call includes_of,$(2))),-Iplugins/$p $($(p)_flags))
endef
$(if $(BUILDS),$(foreach t,$(UNIT_SRC),\
  $(eval $(call program,$(BUILD)/tests/unit/$(basename $(notdir $t)),$t,$$(TEST_LINK)))))
$(if $(BUILDS),$(foreach t,$(BENCH_SRC) $(PARITY_SRC),$(eval $(call program,$(BUILD)/$(basename $t),$t,))))
$(if $(BUILDS),$(foreach t,$(FUZZ_SRC),$(eval $(call program,$(BUILD)/$(basename $t),$t,-fsanitize=fuzzer))))

# No --no-undefined and no version script here: some of these are broken on purpose.
$(BUILD)/tests/%.so: $(BUILD)/obj/tests/%.o $(TEXT_LIB)
	@mkdir -p $(@D)
	$(call show,LINK) $(if $(wildcard tests/$*.cc),$(CXX),$(CC)) $(ALL_LDFLAGS) -shared $< $(TEXT_LIB) $(TEXT_LINK) -o $@
$(BUILD)/examples/%.so: $(BUILD)/obj/sdk/examples/%.o $(TEXT_LIB) pkg/plugin.map
	@mkdir -p $(@D)
	$(call show,LINK) $(if $(wildcard sdk/examples/$*.cc),$(CXX),$(CC)) $(ALL_LDFLAGS) -shared -Wl,--version-script=pkg/plugin.map \
	    $< $(TEXT_LIB) $(TEXT_LINK) -o $@
# What the prototypes of foreign functions are compared with; one library tells lines alone.
$(SCRIPTED:%=$(BUILD)/obj/tests/%/%.o): FLAGS := -I. -g $(TEST_FLAGS)
$(BUILD)/obj/tests/conform/native_lines.o: FLAGS := -I. -g1 $(TEST_FLAGS)

unit-tests: $(UNIT_BIN)
test-libraries: $(TEST_SO) $(BUILD)/test/sluice
benches: $(patsubst %.c,$(BUILD)/%,$(BENCH_SRC)) $(BUILD)/tests/conform/native_share.so
parity-programs: $(patsubst %.c,$(BUILD)/%,$(PARITY_SRC))
fuzzers: $(addprefix $(BUILD)/,$(basename $(FUZZ_SRC)))

OBJECTS := $(if $(BUILDS),$(call hooked,$(CORE_SRC)) $(call objects,$(CORE_SRC) core/cmd/launcher.c $(TEXT_SRC) $(KIT_SRC) sdk/sluice_ffi.c $(PROGRAM_SRC) \
             $(foreach p,$(PLUGINS_BUILT),$($(p)_sources)) $(wildcard $(foreach k,$(SCRIPTED),tests/$k/*.c tests/$k/*.cc) sdk/examples/*.c sdk/examples/*.cc)))
objects: $(OBJECTS)
-include $(OBJECTS:.o=.d)

# ---- what people type ----------------------------------------------------------------------------

debug asan tsan clang:  ## the same build with other flags, in build/debug, build/asan, build/tsan, build/clang
	+$(MAKE) $(PARALLEL) VARIANT=$@ all unit-tests test-libraries

setup:  ## install what is missing to build, demonstrate and test (Debian packages, vocabularies)
	pkg/setup

demo:  ## set up, build, and turn real text into training data
	pkg/setup --for demo
	+$(MAKE) $(PARALLEL) all
	pkg/demo $(BUILD)

test check:  ## set up, build, and run every test (ONLY=name… to choose)
	pkg/setup --for test
	+$(MAKE) $(PARALLEL) all unit-tests test-libraries
	tests/run --build $(BUILD) $(ONLY)

bench:  ## measure speed against named limits and peers (SMOKE=1: all of them, tiny and without peers; ONLY=name…)
	pkg/setup --for $(if $(SMOKE),test,bench)
	+$(MAKE) $(PARALLEL) all benches test-libraries
	tests/run --build $(BUILD) --kind bench -j 1 $(ONLY)

soak:  ## long acceptance runs with their bounds (SEED=N chooses; ONLY=name…)
	pkg/setup --for test
	+$(MAKE) $(PARALLEL) all benches test-libraries
	tests/run --build $(BUILD) --kind soak -j 1 $(ONLY)

parity:  ## compare with reference implementations, bit for bit
	pkg/setup --for parity
	+$(MAKE) $(PARALLEL) all parity-programs
	tests/run --build $(BUILD) --kind parity $(ONLY)

lint:  ## both compilers with -Werror, formatting, layering, banned functions, Lua and shell syntax
	pkg/setup --for lint
	tests/lint/run

FUZZ_SECONDS ?= 20
fuzz:  ## fuzz every parser for FUZZ_SECONDS (20) each, from the kept corpus
	pkg/setup --for lint
	+$(MAKE) $(PARALLEL) VARIANT=fuzz fuzzers
	tests/lint/fuzz build/fuzz $(FUZZ_SECONDS) $(ONLY)

install: all  ## install below PREFIX (/usr/local), staged in DESTDIR
	pkg/install $(BUILD) '$(DESTDIR)' '$(PREFIX)' $(VERSION)

wheel: all  ## a Python wheel of the build in build/wheel: pip install build/wheel/*.whl
	pkg/wheel $(BUILD) $(VERSION) $(BUILD)/wheel

uninstall:  ## remove what install put there
	pkg/install --remove '$(DESTDIR)' '$(PREFIX)'

clean:  ## remove build/ but for downloaded assets
	find build -mindepth 1 -maxdepth 1 ! -name assets -exec rm -rf {} + 2>/dev/null || true

reference: all  ## write sdk/reference and sdk/lua/stages.lua from the option tables
	$(BUILD)/sluice inspect --luals >sdk/lua/stages.lua.new && mv sdk/lua/stages.lua.new sdk/lua/stages.lua
	pkg/reference $(BUILD)/sluice sdk/reference

format:  ## format all sources in place
	tests/lint/run --formatted | xargs clang-format-14 -i

help:  ## this list
	@sed -n 's/^\([a-z][a-z ]*\):[^#]*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r t d; do \
	    printf '  %-22s %s\n' "$$t" "$$d"; done
