# formats.sh - what is read: JSON Lines plain, as gzip of one and of several members, as zstd of one
# and of several frames; JSON arrays; text by file and by separator; parts of paths as columns. The
# same records give the same rows whatever the codec, the members, the frames and the splits.
. "$SRC/tests/lib.sh"

perl "$CORPUS" made files=1 docs=900 codec=none >/dev/null || fail 'no corpus'
base=made/part-00000.jsonl
mkdir plain gz members zst frames mixed crlf
cp $base plain/a.jsonl
gzip -nc $base >gz/a.jsonl.gz
zstd -qc $base >zst/a.jsonl.zst
# Members and frames end in the middle of records, too.
split -b 70001 $base piece.
for piece in piece.*; do
    gzip -nc "$piece" >>members/a.jsonl.gz
    zstd -qc "$piece" >>frames/a.jsonl.zst
done
[ "$(ls piece.* | wc -l)" -gt 5 ] || fail 'too few pieces'
sed 's/$/\r/' $base >crlf/a.jsonl

cat >read.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "in/*" }, out = { "path", "out" }, split = { "size", "64KiB" } }
return s.pipeline { "read", s.files { a.input, split = a.split } | s.read_jsonl {} | s.write_jsonl { a.out, compression = "none" } }
L
for form in plain gz members zst frames crlf; do
    for split in 64KiB 200KiB 1GiB; do
        expect 0 "$SLUICE" run read.lua --quiet --run-dir "$form$split.run" "input=$TMP/$form/*" "out=$form$split" "split=$split" --workers 3
        lines "$form$split" >"$form$split.rows"
        cmp -s "plain64KiB.rows" "$form$split.rows" || fail "$form in splits of $split gives other rows"
    done
done
is "$(wc -l <plain64KiB.rows)" 900 rows
# How much a compressed file holds is only guessed, and some splits may be empty: but it is cut.
[ "$(json members64KiB.run/last.json phases.0.tasks)" -ge "$(json plain64KiB.run/last.json phases.0.tasks)" ] || fail 'a compressed file is not cut'
# What nobody declared goes through to the byte.
sed 's/.*"kind":/"kind":/' $base >left
sed 's/.*"kind":/"kind":/' plain64KiB.rows >right
cmp -s left right || fail 'undeclared members changed'

# One JSON array a file.
mkdir arrays
{ printf '[\n'; sed '$!s/$/ ,/' $base; printf ']\n'; } >arrays/a.json
printf ' [ ] ' >arrays/b.json
cat >array.lua <<'L'
local s = require "sluice"
return s.pipeline { "array", s.files "arrays/*" | s.read_json {} | s.write_jsonl { "array", compression = "none" } }
L
expect 0 "$SLUICE" run array.lua --quiet
lines array >array.rows
cmp -s plain64KiB.rows array.rows || fail 'a JSON array gives other rows than lines'

# Text.
mkdir -p texts/en texts/de
printf 'one\ntwo\n---\nthree\n---\n---\n four \n' >texts/en/a.txt
printf '\357\273\277eins' | gzip -n >texts/de/b.txt.gz
: >texts/de/c.txt
cat >text.lua <<'L'
local s = require "sluice"
local a = s.args { separator = { "string", "" }, strip = { "bool", false } }
return s.pipeline { "text", s.files "texts/{lang}/*" | s.read_text { separator = a.separator, strip = a.strip }
  | s.write_jsonl { "text", compression = "none" } }
L
expect 0 "$SLUICE" run text.lua --quiet
lines text >text.rows
is "$(member text <text.rows | paste -s -d '|')" 'eins|one\ntwo\n---\nthree\n---\n---\n four \n' 'texts of whole files'
is "$(member lang <text.rows | paste -s -d ' ')" 'de en' 'parts of the path'
expect 0 "$SLUICE" run text.lua --quiet 'separator=---' strip=true
is "$(lines text | member text | paste -s -d '|')" 'eins|one\ntwo|three|four' 'texts between separators'
is "$(lines text | member id | sort -u | wc -l)" 4 'distinct ids'
is "$(readlink text/latest)" v000002 'the newest snapshot'
