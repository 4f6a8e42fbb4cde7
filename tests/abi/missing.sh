# missing.sh - a plugin that can't be loaded because a library is missing: the message names the library, who needs it, and where it was looked for.
. "$SRC/tests/lib.sh"

cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip 'no C compiler'
if grep -q -e -fsanitize= "$BUILD/flags"; then skip 'libraries without sanitizers are not loaded by a program with them'; fi

cat >lib.c <<'END'
int answer(void);
int answer(void) { return 42; }
END
cat >far.c <<'END'
int answer(void);
int far_answer(void);
int far_answer(void) { return answer(); }
END
cat >plugin.c <<'END'
#include "tests/abi/sluice_1_0.h"
int FUNCTION(void);
#define PLUGIN_NAME "needy"
#define STAGE_NAME "needy"
#include "tests/abi/words.h"
__attribute__((used)) static int use(void) { return FUNCTION(); }
END
mkdir libs
"$cc" -shared -fPIC lib.c -Wl,-soname,libsluice_answer.so.7 -o libs/libsluice_answer.so.7
"$cc" -shared -fPIC far.c -Wl,-soname,libsluice_far.so.1 libs/libsluice_answer.so.7 -o libs/libsluice_far.so.1
# shellcheck disable=SC2016
"$cc" -shared -fPIC -I"$SRC" -DFUNCTION=answer plugin.c libs/libsluice_answer.so.7 -Wl,--enable-new-dtags,-rpath,'$ORIGIN/libs:/nowhere/else' -o needy.so
"$cc" -shared -fPIC -I"$SRC" -DFUNCTION=far_answer plugin.c libs/libsluice_far.so.1 -Wl,-rpath,"$TMP/libs",-rpath-link,libs -o indirect.so
"$cc" -shared -fPIC -I"$SRC" -DFUNCTION=nobody_has_this plugin.c -o symbol.so
cat >p.lua <<'END'
local s = require "sluice"
return s.pipeline { "p", s.files "in.txt" | s.read_text {} | s.needy { min_words = 1 } | s.write_jsonl { "out" } }
END
echo 'one two' >in.txt

# All is there.
expect 0 "$SLUICE" check p.lua --trust --plugin needy.so
# It is not, with and without LD_LIBRARY_PATH; $ORIGIN is the plugin's folder.
mv libs/libsluice_answer.so.7 away
expect 2 "$SLUICE" check p.lua --trust --plugin needy.so
says "cannot load the plugin $TMP/needy.so" 'the library libsluice_answer.so.7, which it needs, was not found' \
    "$TMP/libs (RUNPATH of the plugin)" '/nowhere/else (RUNPATH of the plugin)' 'what /etc/ld.so.cache lists' '/usr/lib' 'LD_LIBRARY_PATH'
expect 2 env LD_LIBRARY_PATH=/opt/some:/opt/other "$SLUICE" check p.lua --trust --plugin needy.so
says '/opt/some (LD_LIBRARY_PATH), /opt/other (LD_LIBRARY_PATH)'
# A library that one of its libraries needs: its own RUNPATH is not what counts.
expect 2 "$SLUICE" check p.lua --trust --plugin indirect.so
says 'the library libsluice_answer.so.7, which a library that it uses needs, was not found'
# A symbol that no library has.
expect 2 "$SLUICE" check p.lua --trust --plugin symbol.so
says "cannot load the plugin $TMP/symbol.so: it uses nobody_has_this, which none of the libraries"
# No library at all.
echo 'not a library' >text.so
expect 2 "$SLUICE" check p.lua --trust --plugin text.so
says "cannot load the plugin $TMP/text.so" 'too short'
head -c 700 needy.so >cut.so
expect 2 "$SLUICE" check p.lua --trust --plugin cut.so
says "the plugin $TMP/cut.so"
