# saved_dedup.sh - the steps of near duplicates, of Bloom filters, of equal sentences, of mixtures, joins and statistics go on from their
# saved state wherever their task was given back: the same datasets and records as of a run that nobody disturbed.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=60 dup=10 near=15 short=0 lorem=0 words=200 >made || fail 'no corpus'
printf '{"id":"a","text":"","kind":"plain","rank":1}\n{"id":"b","text":"","kind":"near","rank":2}\n' >table.jsonl
cat >dedup.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files "corpus/*" | s.read_jsonl { columns = { kind = "utf8" } }
local function written(name, kept)
  return kept | s.write_jsonl { a.out .. "/" .. name, compression = "none" },
    kept.dropped | s.write_jsonl { a.out .. "/" .. name .. "_lost", compression = "none" }
end
local mixed = docs | s.mix { by = "kind", weights = { plain = 3, near = 1, duplicate = 1 }, total = 120, max_epochs = 4, partitions = 2 }
local list = { s.named("table", mixed | s.mix_table {} | s.write_jsonl { a.out .. "/table", compression = "none" }),
  docs | s.bloom_index { expected = 20000, false_positives = 1e-6 } | s.write_bloom { a.out .. "/bloom" } }
local function add(...)
  for _, node in ipairs { ... } do list[#list + 1] = node end
end
add(written("paragraphs", docs | s.bloom_paragraphs { expected = 20000 }))
add(written("sentences", docs | s.sentence_dedup { min_words = 1, min_units = 0, partitions = 2 }))
add(written("mixed", mixed))
add(docs | s.statistics { partitions = 2, groups = { "summary", "histogram", "kind" } } | s.write_stats { a.out .. "/statistics" })
return s.pipeline { "dedup", table.unpack(list) }
END
cat >near.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files "corpus/*" | s.read_jsonl {}
local function written(name, options)
  local kept = docs | s.minhash(options)
  return kept | s.write_jsonl { a.out .. "/" .. name, compression = "none" },
    kept.dropped | s.write_jsonl { a.out .. "/" .. name .. "_lost", compression = "none" }
end
local verified, lost = written("verified", { ngram = 3, bands = 20, rows = 5, partitions = 1, verify = 0.5 })
return s.pipeline { "near", verified, lost, written("peer", { ngram = 3, bands = 20, rows = 5, partitions = 1, keep = "peer" }) }
END
cat >join.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local ranks = s.files "table.jsonl" | s.read_jsonl { columns = { kind = "utf8", rank = "int64" } }
local joined = s.files "corpus/*" | s.read_jsonl { columns = { kind = "utf8" } }
  | s.join { with = ranks, on = "kind", columns = "rank", missing = "drop" }
return s.pipeline { "join", joined | s.write_jsonl { a.out .. "/kept" }, joined.dropped | s.write_jsonl { a.out .. "/lost" } }
END
go() {
    "$SLUICE" run "$1.lua" --quiet --run-dir "$TMP/$2.run" "out=$TMP/$2.out" --workers 1 --batch 32KiB
}

SLUICE_SAVE=0
export SLUICE_SAVE
# back SCRIPT N PHASE...: given back at every Nth place until it is done; tasks of these phases went on from a saved state.
back() {
    unset SLUICE_TEST_SAVE
    expect 0 go "$1" "$1.whole"
    SLUICE_TEST_SAVE="$2!"
    export SLUICE_TEST_SAVE
    status=130
    rounds=0
    while [ "$status" = 130 ]; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 400 ] || fail "$1: no end"
        status=0
        go "$1" "$1.back" >out 2>&1 || status=$?
    done
    [ "$status" = 0 ] || { cat out >&2; fail "$1: status $status"; }
    same "$1.whole.out" "$1.back.out" "datasets of $1, given back at every ${2}th place"
    same "$1.whole.run/tasks" "$1.back.run/tasks" "records of $1, given back at every ${2}th place"
    cat "$1.back.run"/attempts/*.jsonl | grep '"from_row"' >went
    echo "$1: $rounds processes, $(wc -l <went) tasks went on"
    shift 2
    for phase in "$@"; do
        grep -q "\"phase\":\"[^\"]*$phase" went || fail "no task of $phase went on from a saved state"
    done
}
back near 1 minhash_edges minhash_components minhash_pick
[ "$(lines near.whole.out/verified_lost | wc -l)" -gt 5 ] || fail 'few near duplicates'
back dedup 3 bloom_paragraphs mix_draw stats_collect
back join 1 join
