# grown.sh - plugins and hosts of different minors: a header is made in which every struct that may grow has grown and the minor is one more. The
# plugin of ABI 1.0 runs in a host built with it; a plugin built with it runs in today's host, or is refused with both versions named.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

for tool in gcc pkg-config; do command -v "$tool" >/dev/null || skip "no $tool"; done

# ---- the grown header -----------------------------------------------------------------------------

minor=$(sed -n 's/.*SLUICE_ABI_MINOR \([0-9]*\)u.*/\1/p' "$SRC/sdk/sluice.h")
next=$((minor + 1))
mkdir header
NEXT=$next perl -ne 'BEGIN { %never = map { $_ => 1 } qw(ArrowSchema ArrowArray sluice_range sluice_list sluice_map sluice_extent) }
    $struct = $1 if /^struct (\w+) \{/;
    if (/^\};/ && defined $struct) {
        if (!$never{$struct}) { print "    uint64_t grown_1;\n    const char *grown_2;\n"; $n++ }
        $struct = undef;
    }
    s/SLUICE_ABI_MINOR \d+u/SLUICE_ABI_MINOR $ENV{NEXT}u/;
    print;
    END { die "$n structs have grown\n" if $n != 18 }' "$SRC/sdk/sluice.h" >header/sluice.h || fail 'the header can not be grown'
cp "$SRC/sdk/sluice_arrays.h" header/
cat >newer.c <<'END'
#include "sluice.h"
_Static_assert(sizeof(struct sluice_verdict) > 40 && sizeof(struct sluice_error) > 1024 && sizeof(struct sluice_option) > 72 &&
               sizeof(struct sluice_stage) > 256 && sizeof(struct sluice_plugin) > 64 && sizeof(struct sluice_host_api) > 88 &&
               sizeof(struct sluice_plan) > 80 && sizeof(struct sluice_emit) > 64 && SLUICE_ABI_MINOR == NEXT, "it has grown");
#include "tests/abi/kinds.h"
END
plugin() { # INCLUDES SOURCE NAME DEFINES
    # shellcheck disable=SC2086
    gcc -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -fvisibility=hidden $1 -I"$SRC" $4 "$2" -o "$3" || fail "$3 can not be compiled"
}
plugin "-I$TMP/header -I$SRC/sdk" newer.c newer.so "-DNEXT=$next"
plugin "-I$TMP/header -I$SRC/sdk" newer.c newest.so "-DNEXT=$next -DNEEDED=$next"
plugin "-I$SRC/sdk" "$SRC/tests/abi/kinds_1_0.c" old.so ''

# ---- newer plugins in today's host ----------------------------------------------------------------

expect 0 env KINDS_PLUGIN="$TMP/newer.so" "$BUILD/tests/unit/test_abi"
says '[  PASSED  ]'
echo 'four words are here' >in.txt
cat >p.lua <<'END'
local s = require "sluice"
return s.pipeline { "p", s.files "in.txt" | s.read_text {} | s.k_judge {} | s.k_bytes {} | s.write_jsonl { "out", compression = "none" } }
END
expect 0 "$SLUICE" run p.lua --quiet --trust --plugin newer.so
is "$(lines out | wc -l)" 0 'rows: the text is longer than 10 bytes'
expect 0 "$SLUICE" why p --reason twin
says 'twin, duplicate of four (similarity 0.5)'
expect 2 "$SLUICE" check p.lua --trust --plugin newest.so
says "newest.so needs plugin ABI 1.$next, this program has 1.$minor" 'install a newer Sluice or an older plugin'

# ---- a host that has grown ------------------------------------------------------------------------

# The layers up to the one that drives stages, straight from the sources; two halves at a time.
includes="-I$TMP/header -I$SRC/sdk -I$SRC/core -I$SRC"
flags="-std=c11 -D_GNU_SOURCE -O0 -w -pthread $includes $(pkg-config --cflags jansson libxxhash libzstd nettle cmocka)"
mkdir plugin rest
# shellcheck disable=SC2086
(cd plugin && gcc $flags -c "$SRC"/core/plugin/*.c) &
# shellcheck disable=SC2086
(cd rest && gcc $flags -c "$SRC"/core/base/*.c "$SRC"/core/data/*.c "$SRC/tests/unit/test_abi.c") || fail 'the grown host can not be built'
wait $! || fail 'the grown host can not be built'
# shellcheck disable=SC2046
gcc -pthread plugin/*.o rest/*.o $(pkg-config --libs jansson libxxhash libzstd nettle libelf cmocka) -ldl -lm -o grown || fail 'the grown host can not be linked'
for name in old newer newest; do
    expect 0 env KINDS_PLUGIN="$TMP/$name.so" ./grown
    says '[  PASSED  ]'
done
