# library_versions.sh - an upgrade of a library that a stage is linked to changes the keys of that stage's tasks, and of no others. Versions
# come from the libraries that are loaded: here copies of the installed ones that tell another version, or have another build id.
. "$SRC/tests/lib.sh"

if grep -q -e -fsanitize= "$BUILD/flags"; then skip 'libraries without sanitizers are not loaded by a program with them'; fi
"$SLUICE" inspect gopher_quality >/dev/null 2>&1 || skip 'no plugin quality'

# found NAME: the file that the core loads under that name.
found() {
    ldd "$BUILD/libsluice-core.so" "$BUILD"/plugins/*.so | sed -n "s/^.*$1[.0-9]* => \\([^ ]*\\) .*/\\1/p" | head -n 1
}

utf8proc=$(found libutf8proc.so)
[ -n "$utf8proc" ] || skip 'utf8proc is linked statically'
version=$("$SLUICE" inspect gopher_quality --json | sed -n 's/.*"libraries":"[^"]*utf8proc \([0-9.]*\).*/\1/p')
[ -n "$version" ] || fail "inspect does not show utf8proc's version"
grep -qF "$version" "$utf8proc" || fail "utf8proc does not have the version $version that inspect shows"
mkdir new same
cp "$utf8proc" "same/$(basename "$utf8proc")"
perl -pe 's/\Q'"$version"'\E\0/substr("'"$version"'", 0, -1) . "9\0"/e' "$utf8proc" >"new/$(basename "$utf8proc")"
cmp -s "$utf8proc" "new/$(basename "$utf8proc")" && fail 'the copy of utf8proc is no other'
is "$(LD_LIBRARY_PATH=$TMP/new "$SLUICE" inspect gopher_quality --json | sed -n 's/.*"libraries":"[^"]*utf8proc \([0-9.]*\).*/\1/p')" \
    "${version%?}9" 'the version that the other library tells'

cat >uses.lua <<'END'
local s = require "sluice"
return s.pipeline { "uses", s.files "in.txt" | s.read_text {} | s.gopher_quality { min_doc_words = 1 } | s.write_jsonl { "uses" } }
END
cat >row.lua <<'END'
local s = require "sluice"
local row = s.filter { "row", function(doc) if doc.text:contains "lorem" then return "lorem" end end }
return s.pipeline { "row", s.files "in.txt" | s.read_text {} | row | s.write_jsonl { "row" } }
END
cat >without.lua <<'END'
local s = require "sluice"
return s.pipeline { "without", s.files "in.txt" | s.read_text {} | s.write_jsonl { "without" } }
END
echo 'the first and the second of all of them' >in.txt

for script in uses row without; do
    expect 0 "$SLUICE" run $script.lua --run-dir $script.run
    # The same library at another place: nothing is done again.
    expect 0 env LD_LIBRARY_PATH="$TMP/same" "$SLUICE" run $script.lua --run-dir $script.run
    is "$(reran $script.run | sum)" 0 "$script: tasks run again with the same library"
    expect 0 env LD_LIBRARY_PATH="$TMP/new" "$SLUICE" run $script.lua --run-dir $script.run
    case $script in without) wanted=0 ;; *) wanted=1 ;; esac
    is "$(reran $script.run | sum)" $wanted "$script: tasks run again with another utf8proc"
done

# A library without a function that tells its version: the build id of the file that is loaded.
simdjson=$(found libsimdjson.so)
if [ -n "$simdjson" ] && "$SLUICE" inspect read_jsonl >/dev/null 2>&1; then
    id=$("$SLUICE" inspect read_jsonl --json | sed -n 's/.*"libraries":"[^"]*simdjson [0-9.]*+\([0-9a-f]*\).*/\1/p')
    [ ${#id} = 12 ] || fail "inspect shows no build id of simdjson"
    perl -0pe 'my $id = pack "H*", "'"$id"'"; s/\Q$id\E/"\0" x length $id/e' "$simdjson" >"new/$(basename "$simdjson")"
    echo '{"text": "one"}' >in.jsonl
    cat >json.lua <<'END'
local s = require "sluice"
return s.pipeline { "json", s.files "in.jsonl" | s.read_jsonl {} | s.write_jsonl { "json" } }
END
    expect 0 "$SLUICE" run json.lua --run-dir json.run
    expect 0 "$SLUICE" run json.lua --run-dir json.run
    is "$(reran json.run | sum)" 0 'json: tasks run again with the same library'
    expect 0 env LD_LIBRARY_PATH="$TMP/new" "$SLUICE" run json.lua --run-dir json.run
    is "$(reran json.run | sum)" 1 'json: tasks run again with another build of simdjson'
fi

# A plugin that is tried in a process of its own, and not loaded here, tells the same.
cp "$BUILD/plugins/quality.so" outside.so
expect 0 "$SLUICE" plugins --plugin outside.so --json
grep 'outside.so.*"isolated":true' stdout | grep -qF "utf8proc $version" || fail 'the libraries of a plugin outside the install tree are not shown'
