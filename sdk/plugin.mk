# plugin.mk - builds a Sluice plugin outside Sluice's tree, from installed files alone. A whole Makefile:
#
#     NAME := acme
#     include $(shell pkg-config --variable=pluginmk sluice)
#
# Before the include it may set
#
#   NAME      the plugin: NAME.so is built (default: the name of the folder)
#   SOURCES   C and C++ sources (default: all *.c, *.cc and *.cpp here but test_*)
#   NEEDS     pkg-config packages that it is compiled and linked with
#   DEBIAN    the Debian packages that hold those, for the message when one is missing
#   LIBS      further linker arguments (-lfoo)         DEFINES   further compiler arguments (-DX=1)
#   TESTS     shell scripts that `make test` runs after the conformance tests (default: test/run.sh if it is there); they see SLUICE
#             (the program) and PLUGIN (the absolute path of NAME.so)
#   TEST_DATA a file that the conformance tests use beside what they make: rows as JSON Lines, for readers what they read (default:
#             test/sample.* if it is there)
#
# A folder with a Cargo.toml is built by cargo (a cdylib whose library is called NAME). CC, CXX, CFLAGS, CXXFLAGS, LDFLAGS and CARGO are
# obeyed. Targets: all, test, install (into $XDG_DATA_HOME/sluice/plugins, or PLUGIN_DIR), uninstall, clean.
#
# Promises: only the entry point is exported (two plugins with their own copies of one library don't meet), nothing is left undefined,
# floating-point sums are not contracted (the same bits on every machine). Objects go to .build/. Needs GNU make, a compiler, pkg-config.

SLUICE_MK := $(abspath $(lastword $(MAKEFILE_LIST)))
SLUICE_HERE := $(patsubst %/,%,$(dir $(SLUICE_MK)))

ifneq ($(wildcard $(SLUICE_HERE)/sluice.h),)
# In Sluice's source tree.
SLUICE_BUILD    ?= $(abspath $(SLUICE_HERE)/../build)
SLUICE_INCLUDES := -I$(SLUICE_HERE)
SLUICE_MAP      := $(abspath $(SLUICE_HERE)/../pkg/plugin.map)
SLUICE_TEXT     := $(SLUICE_BUILD)/libsluice-text.a
SLUICE          ?= $(SLUICE_BUILD)/sluice
else
# PREFIX/share/sluice/plugin.mk: the rest stands where `make install` put it, wherever that tree has been moved to.
SLUICE_PREFIX   := $(abspath $(SLUICE_HERE)/../..)
SLUICE_INCLUDES := -I$(SLUICE_PREFIX)/include/sluice
SLUICE_MAP      := $(SLUICE_HERE)/plugin.map
SLUICE_TEXT     := $(SLUICE_PREFIX)/lib/sluice/libsluice-text.a
SLUICE          ?= $(SLUICE_PREFIX)/bin/sluice
endif

NAME       ?= $(notdir $(CURDIR))
PKG_CONFIG ?= pkg-config
CARGO      ?= cargo
TESTS      ?= $(wildcard test/run.sh)
TEST_DATA  ?= $(firstword $(wildcard test/sample.*))
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CFLAGS   ?= -O2 -g
CXXFLAGS ?= -O2 -g

SLUICE_DATA := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)
PLUGIN_DIR  ?= $(SLUICE_DATA)/sluice/plugins

.PHONY: all test install uninstall clean
.DELETE_ON_ERROR:
.SUFFIXES:

all: $(NAME).so

SLUICE_CRATE := $(wildcard Cargo.toml)
ifneq ($(SLUICE_CRATE),)

# ---- Rust: cargo knows what is out of date -------------------------------------------------------

SLUICE_TARGET := $(or $(CARGO_TARGET_DIR),target)
.PHONY: FORCE
$(NAME).so: FORCE
	$(CARGO) build --release --offline
	@cmp -s '$(SLUICE_TARGET)/release/lib$(subst -,_,$(NAME)).so' $@ || cp '$(SLUICE_TARGET)/release/lib$(subst -,_,$(NAME)).so' $@

else

# ---- C and C++ -----------------------------------------------------------------------------------

SOURCES ?= $(filter-out test_%,$(wildcard *.c *.cc *.cpp))
SLUICE_CXX_SOURCES := $(filter %.cc %.cpp,$(SOURCES))
SLUICE_OBJECTS := $(patsubst %,.build/%.o,$(basename $(SOURCES)))

# make clean and make uninstall need no libraries.
SLUICE_BUILDS := $(filter-out clean uninstall,$(or $(MAKECMDGOALS),all))
ifneq ($(SLUICE_BUILDS),)
ifeq ($(strip $(SOURCES)),)
$(error there are no sources here (*.c, *.cc or *.cpp in $(CURDIR)); set SOURCES before plugin.mk is included)
endif
ifneq ($(strip $(NEEDS)),)
ifeq ($(shell command -v $(PKG_CONFIG) 2>/dev/null),)
$(error $(NAME) needs $(strip $(NEEDS)), and there is no $(PKG_CONFIG) to find it; install it (Debian: pkg-config), or set PKG_CONFIG)
endif
SLUICE_ABSENT := $(strip $(foreach p,$(NEEDS),$(if $(shell $(PKG_CONFIG) --exists '$p' 2>/dev/null && echo yes),,$p)))
ifneq ($(SLUICE_ABSENT),)
SLUICE_EMPTY :=
SLUICE_SEARCHED := $(subst :, ,$(PKG_CONFIG_PATH)) $(subst :, ,$(shell $(PKG_CONFIG) --variable pc_path pkg-config 2>/dev/null))
# The package is the one that the Makefile names, or the one that apt-file (where installed) finds the .pc file in.
SLUICE_PACKAGES := $(or $(strip $(DEBIAN)),$(strip $(foreach p,$(SLUICE_ABSENT),\
                     $(shell apt-file search --regexp --package-only '/pkgconfig/$p\.pc$$' 2>/dev/null | head -n 1))))
$(error $(NAME) needs $(SLUICE_ABSENT), and no folder of $(PKG_CONFIG) has $(patsubst %,%.pc,$(SLUICE_ABSENT)). \
Searched: $(SLUICE_SEARCHED). $(if $(SLUICE_PACKAGES),On Debian: apt-get install $(SLUICE_PACKAGES),Install the development files) \
or name their folder in PKG_CONFIG_PATH)
endif
SLUICE_NEEDS_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(NEEDS))
SLUICE_NEEDS_LIBS   := $(shell $(PKG_CONFIG) --libs $(NEEDS))
endif
# What text_simplify() of the text primitives is linked with; all others need libc alone.
SLUICE_TEXT_LIBS := $(shell $(PKG_CONFIG) --libs libutf8proc 2>/dev/null) -lm
endif

SLUICE_COMMON := -fPIC -fvisibility=hidden -ffp-contract=off -Wall -Wextra -D_GNU_SOURCE $(SLUICE_INCLUDES) $(SLUICE_NEEDS_CFLAGS) \
                 $(DEFINES) $(CPPFLAGS)

.build/%.o: %.c $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CC) -std=c11 $(SLUICE_COMMON) $(CFLAGS) -MMD -MP -c $< -o $@
.build/%.o: %.cc $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(SLUICE_COMMON) $(CXXFLAGS) -MMD -MP -c $< -o $@
.build/%.o: %.cpp $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(SLUICE_COMMON) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(NAME).so: $(SLUICE_OBJECTS) $(SLUICE_MAP) $(SLUICE_TEXT)
	$(if $(SLUICE_CXX_SOURCES),$(CXX),$(CC)) -shared -Wl,--as-needed -Wl,--no-undefined -Wl,--version-script=$(SLUICE_MAP) $(LDFLAGS) \
	    $(SLUICE_OBJECTS) $(SLUICE_TEXT) $(SLUICE_NEEDS_LIBS) $(LIBS) $(SLUICE_TEXT_LIBS) -o $@

-include $(SLUICE_OBJECTS:.o=.d)

endif

# ---- using it ------------------------------------------------------------------------------------

test: all
	'$(SLUICE)' test-plugin ./$(NAME).so $(if $(TEST_DATA),--data '$(TEST_DATA)')
	$(foreach t,$(TESTS),SLUICE='$(SLUICE)' PLUGIN='$(CURDIR)/$(NAME).so' sh '$t'$(SLUICE_NEWLINE))
define SLUICE_NEWLINE


endef

install: all
	install -d '$(DESTDIR)$(PLUGIN_DIR)'
	install -m 644 $(NAME).so '$(DESTDIR)$(PLUGIN_DIR)/$(NAME).so'

uninstall:
	rm -f '$(DESTDIR)$(PLUGIN_DIR)/$(NAME).so'

clean:
	rm -rf .build $(NAME).so $(if $(SLUICE_CRATE),'$(or $(CARGO_TARGET_DIR),target)')
