# unions.sh - two sources united: all rows of the first, then all of the second, through the stages
# behind; duplicates are found across them; rows dropped before the union stay with their branch.
. "$SRC/tests/lib.sh"

perl "$CORPUS" first files=3 docs=120 seed=1 short=0 dup=0 near=0 >/dev/null || fail 'no corpus'
perl "$CORPUS" second files=2 docs=120 seed=2 short=0 dup=0 near=0 >/dev/null || fail 'no corpus'
# The second source has some documents of the first one.
sed -n '1~10p' first/part-00000.jsonl | sed 's|"id":"s1|"id":"copy|' >second/copies.jsonl
copies=$(wc -l <second/copies.jsonl)
printf '{"id":"tiny","text":"too short"}\n' >second/tiny.jsonl

cat >union.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local one = s.files { "first/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8" } }
local two = s.files { "second/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8" } } 
  | s.filter { "size", function(doc) if #doc.text < 20 then return "tiny" end end }
local all = s.union(one, two)
local unique = all | s.exact { partitions = 4 }
return s.pipeline { "union",
  s.named("all", all | s.write_jsonl { a.out .. "/all", compression = "none" }),
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept", compression = "none" }),
  s.named("lost", unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" }),
  s.named("short", two.dropped | s.write_jsonl { a.out .. "/short", compression = "none" }),
}
L
expect 0 "$SLUICE" run union.lua --quiet --workers 3 --run-dir run out=out
lines out/all | member id >ids
{
    for file in first/* second/*; do
        case $file in
        *.gz) gzip -dc "$file" ;;
        *.zst) zstd -qdc "$file" ;;
        *) cat "$file" ;;
        esac
    done
} | member id | grep -v '^tiny$' >expected
diff -q ids expected >/dev/null || fail 'rows of the union are not those of its sources in order'
is "$(lines out/lost | wc -l)" "$copies" 'duplicates across the sources'
is "$(lines out/lost | member id | grep -cv '^copy/')" 0 'the first source keeps its documents'
is "$(lines out/lost | member dup_of | grep -cv '^s1/0/')" 0 'what they duplicate'
is $(($(lines out/kept | wc -l) + copies)) "$(wc -l <expected)" 'kept + dropped'
is "$(lines out/short | member id)" tiny 'dropped before the union'
is "$(lines out/short | member drop_reason)" tiny 'its reason'
for workers in 1 4; do
    expect 0 "$SLUICE" run union.lua --quiet --workers $workers --batch 64KiB --run-dir run$workers out=out$workers
    same out out$workers "datasets of $workers workers"
    same run/tasks run$workers/tasks "task records of $workers workers"
done

# A column that one source lacks is never left out in silence: it is refused by name, or null when asked for, whichever source comes first
# and through forks, shuffles and exchanges.
mkdir apart
printf '{"id":"a1","text":"the first text","lang":"en"}\n{"id":"a2","text":"another text","lang":null}\n' >apart/with.jsonl
printf '{"id":"b1","text":"a text without","score":0.5}\n' >apart/without.jsonl
for order in 'with, without' 'without, with'; do
    for union in "s.union($order)" "s.union { $order }" "s.union($order) | s.exact {}"; do
        cat >apart.lua <<L
local s = require "sluice"
local with = s.files "apart/with.jsonl" | s.read_jsonl { columns = { lang = "utf8" } }
local without = s.files "apart/without.jsonl" | s.read_jsonl {}
return s.pipeline { "apart", $union | s.write_jsonl { "apart.out", compression = "none" } }
L
        expect 2 "$SLUICE" check apart.lua
        says 'apart.lua:4' "without 'lang'" 'missing = "null"'
    done
    cat >apart.lua <<L
local s = require "sluice"
local with = s.files "apart/with.jsonl" | s.read_jsonl { columns = { lang = "utf8" } }
local without = s.files "apart/without.jsonl" | s.read_jsonl { columns = { score = "float64" } }
local all = s.union($order, { missing = "null" }) | s.exact {}
  | s.filter { "asks", function(doc) if doc.lang == nil and doc.score == nil and doc.id ~= "a2" then return "neither" end end }
return s.pipeline { "apart", all | s.write_jsonl { "apart.out", compression = "none" } }
L
    rm -rf apart.out apart.run
    expect 0 "$SLUICE" run apart.lua --quiet --run-dir apart.run
    is "$(lines apart.out | wc -l)" 3 'rows of both sources'
    lines apart.out | grep -q '"id":"a1".*"lang":"en"\|"lang":"en".*"id":"a1"' || fail "the column lang is gone: $(lines apart.out)"
    lines apart.out | grep -q '"score":0.5' || fail 'the column score is gone'
done
# Types that differ are refused, also where nulls are asked for; a misspelt option, too.
cat >apart.lua <<'L'
local s = require "sluice"
local a = s.args { missing = { "string", "null" }, type = { "string", "utf8" } }
local with = s.files "apart/with.jsonl" | s.read_jsonl { columns = { lang = "utf8" } }
local other = s.files "apart/without.jsonl" | s.read_jsonl { columns = { lang = a.type } }
return s.pipeline { "apart", s.union(with, other, { missing = a.missing }) | s.write_jsonl { "apart.out" } }
L
expect 0 "$SLUICE" check apart.lua
expect 2 "$SLUICE" check apart.lua type=int64
says "in the column 'lang'" 'as one type in both'
expect 2 "$SLUICE" check apart.lua missing=drop
says 's.union: missing' 'expected "null"'
sed -i 's/missing = a/mising = a/' apart.lua
expect 2 "$SLUICE" check apart.lua
says "s.union: unknown option 'mising'"
