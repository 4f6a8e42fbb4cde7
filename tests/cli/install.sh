# install.sh - what `make install` puts in place, and plugins built outside the tree from that alone: plugin.mk, pkg-config, C and C++, a missing library,
# a tree that was moved.
. "$SRC/tests/lib.sh"

if grep -q -e -fsanitize= "$BUILD/flags"; then skip 'plugins of other people are built without sanitizers'; fi
for tool in make gcc g++ pkg-config; do command -v "$tool" >/dev/null || skip "no $tool"; done
unset MAKEFLAGS MAKELEVEL MFLAGS

# ---- the installed tree ---------------------------------------------------------------------------

"$SRC/pkg/install" "$BUILD" "$TMP/staged" /usr 1.2.3 || fail 'pkg/install failed'
mkdir somewhere
mv staged/usr somewhere/moved
root=$TMP/somewhere/moved
for file in bin/sluice lib/sluice/libsluice-core.so lib/sluice/libsluice-text.a lib/sluice/libsluice-sdk.so lib/sluice/libsluice-testkit.so lib/sluice/plugins/words.so \
    include/sluice/sluice.h include/sluice/sluice_arrays.h include/sluice/sluice_simple.h include/sluice/sluice.hpp include/sluice/text/text.h \
    share/sluice/plugin.mk share/sluice/plugin.map share/sluice/scripts/lib/sluice.lua share/sluice/scripts/views/lib.lua share/sluice/examples/few_lines.c \
    lib/pkgconfig/sluice.pc share/man/man1/sluice.1 share/doc/sluice/LICENSE; do
    [ -f "$root/$file" ] || fail "$file is not installed"
done
# Every header, and every folder of the SDK that is meant for people.
(cd "$SRC/sdk" && ls ./*.h ./*.hpp text/*.h) | while read -r header; do
    cmp "$SRC/sdk/$header" "$root/include/sluice/$header" || fail "$header is not installed"
done || exit 1
for folder in template lua rust; do
    [ -d "$SRC/sdk/$folder" ] || continue
    [ -d "$root/share/sluice/$folder" ] || fail "sdk/$folder is not installed"
done
for folder in guides reference; do
    [ -d "$SRC/sdk/$folder" ] || continue
    [ -d "$root/share/doc/sluice/$folder" ] || fail "sdk/$folder is not installed"
done
if grep -rlI -e "$SRC" -e staged "$root/lib/pkgconfig" "$root/share/sluice/plugin.mk"; then
    fail 'what is installed knows where it came from'
fi

grep -q '"/usr/share/sluice/lua"' "$root/share/sluice/lua/luarc.json" || fail 'the path in luarc.json is not that of PREFIX'
[ -d "$root/share/sluice/lua" ] || fail 'the folder that luarc.json names'

# pkg-config's paths follow the tree.
PKG_CONFIG_PATH=$root/lib/pkgconfig
export PKG_CONFIG_PATH
is "$(pkg-config --modversion sluice)" 1.2.3 'the version'
for variable in pluginmk pluginmap plugindir sluice sdklib; do
    file=$(pkg-config "--variable=$variable" sluice)
    [ -e "$file" ] || fail "$variable of sluice.pc: there is no $file"
    case $(realpath "$file") in "$root"/*) ;; *) fail "$variable of sluice.pc points to $file" ;; esac
done
echo '#include <sluice_simple.h>
#include <text/text.h>
int main(void) { return SLUICE_ABI_MAJOR == 1 && text_utf8_count("x", 1) == 1 ? 0 : 1; }' >use.c
# shellcheck disable=SC2046
gcc -std=c11 use.c $(pkg-config --cflags --libs sluice) -o use || fail 'a program can not be built with pkg-config'
./use || fail 'a program built with pkg-config fails'

# ---- plugins --------------------------------------------------------------------------------------

# shellcheck disable=SC2016
include='include $(shell pkg-config --variable=pluginmk sluice)'
folder() { # NAME SOURCE [LINES OF ITS MAKEFILE]
    mkdir -p "$1"
    cp "$root/share/sluice/examples/$2" "$1/"
    printf '%s\n' "NAME := $1" "${3-}" "$include" >"$1/Makefile"
}
XDG_DATA_HOME=$TMP/data
export XDG_DATA_HOME
folder few_lines few_lines.c
folder shouting shouting.c
folder paragraphs paragraphs.cc 'CXXFLAGS := -O1'
for name in few_lines shouting paragraphs; do
    expect 0 make -C "$name" install
    is "$(nm -D --defined-only "$name/$name.so" | sed 's/.* T //')" sluice_plugin_v1 "what $name.so exports"
    [ -f "data/sluice/plugins/$name.so" ] || fail "make install did not install $name.so"
    make -C "$name" -q all || fail "make builds $name.so again though nothing changed"
done
# Plugins of a folder of one's own are found without being named. They run in child processes by default; here they are trusted.
printf '%s\n' '{"id":"1","text":"First line of the text here\nSecond line of the text here\nTHIRD LINE\n\nanother paragraph of it, the last"}' \
    '{"id":"2","text":"short"}' >in.jsonl
cat >p.lua <<'END'
local s = require "sluice"
return s.pipeline { "p", s.files "in.jsonl" | s.read_jsonl {} | s.few_lines { min_lines = 2 } | s.shouting {} | s.write_jsonl { "out", compression = "none" } }
END
expect 0 "$root/bin/sluice" run p.lua --quiet --trust
is "$(lines out | member shouting)" 0.13580246913580246 'the share of upper case'
cat >q.lua <<'END'
local s = require "sluice"
return s.pipeline { "q", s.files "in.jsonl" | s.read_jsonl {} | s.paragraphs { min_bytes = 6 } | s.write_jsonl { "pieces", compression = "none" } }
END
expect 0 "$root/bin/sluice" run q.lua --quiet --trust
is "$(lines pieces | member paragraph | tr '\n' ' ')" '0 1 ' 'the paragraphs'

# A changed header or source is compiled again; `make clean` leaves the sources.
touch -d '+2 seconds' few_lines/few_lines.c
make -C few_lines -q all && fail 'make misses that few_lines.c changed'
expect 0 make -C few_lines clean
is "$(find few_lines -type f | LC_ALL=C sort | tr '\n' ' ')" 'few_lines/Makefile few_lines/few_lines.c ' 'what is left by make clean'
expect 0 make -C few_lines uninstall
[ ! -e data/sluice/plugins/few_lines.so ] || fail 'make uninstall left the plugin'

# ---- faults and their messages --------------------------------------------------------------------

folder needy few_lines.c 'NEEDS := zlib-with-a-twist
DEBIAN := libz-twist-dev'
expect 2 make -C needy
says 'needy needs zlib-with-a-twist, and no folder of pkg-config has zlib-with-a-twist.pc' "$root/lib/pkgconfig" '/usr/lib' \
    'apt-get install libz-twist-dev' 'PKG_CONFIG_PATH'
expect 0 make -C needy clean
mkdir -p needy/pc
printf 'Name: z\nDescription: z\nVersion: 1\nCflags: -DTWIST=1\nLibs: -lm\n' >needy/pc/zlib-with-a-twist.pc
printf '%s\n' '#if !defined(TWIST)' '#error no twist' '#endif' >>needy/few_lines.c
expect 0 env PKG_CONFIG_PATH="$root/lib/pkgconfig:$TMP/needy/pc" make -C needy
mkdir empty
echo "$include" >empty/Makefile
expect 2 make -C empty
says 'there are no sources here'
# A symbol that nothing defines is found when the plugin is built, not when it is loaded.
folder undefined few_lines.c
echo 'int nobody_has_this(void); int use(void); int use(void) { return nobody_has_this(); }' >>undefined/few_lines.c
expect 2 make -C undefined
says nobody_has_this
# In the source tree itself, with the same Makefile.
folder tree few_lines.c
printf '%s\n' 'NAME := tree' "SLUICE_BUILD := $BUILD" "include $SRC/sdk/plugin.mk" >tree/Makefile
expect 0 make -C tree

# ---- removal --------------------------------------------------------------------------------------

mkdir -p "$root/share/sluice/plugins"
echo mine >"$root/share/sluice/plugins/own.so"
"$SRC/pkg/install" --remove "$TMP" /somewhere/moved || fail 'pkg/install --remove failed'
is "$(cd "$root" && find . -type f | LC_ALL=C sort | tr '\n' ' ')" './share/sluice/plugins/own.so ' 'what is left after make uninstall'
