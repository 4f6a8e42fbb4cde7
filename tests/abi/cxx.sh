# cxx.sh - C++ stages over sluice.hpp: each role in a pipeline, options of each type, and exceptions that end as errors and never leave the plugin.
. "$SRC/tests/lib.sh"

plugin=$BUILD/tests/abi/cxx_roles.so
run() {
    "$SLUICE" run "$@" --quiet --trust --plugin "$plugin"
}

# ---- a reader, filters, annotators, an ordered transform, a gate, a writer -----------------------

printf 'a\tlong enough\nb\tno\nc\tTwin\nd\tBroken\ne\tOdd one\nno tab here\nf\t12 monkeys\nbad \377\tx\ng\tline one\n' >in.tsv
cat >roles.lua <<'END'
local s = require "sluice"
local docs = s.files "in.tsv" | s.cxx_tsv {}
local good = docs | s.cxx_judge { 4, words = { "a", "b" } } | s.cxx_number {} | s.cxx_reverse { as = "back" } | s.cxx_lengths {} | s.cxx_batch {}
return s.pipeline { "roles", max_bad = "90%",
  s.named("kept", good | s.cxx_most { bytes = 1000, of = docs } | s.write_jsonl { "kept", compression = "none" }),
  s.named("dropped", good.dropped | s.write_jsonl { "dropped", compression = "none" }),
  s.named("texts", good | s.cxx_lines {} | s.cxx_lines_out { "texts", shard_size = 20 }),
}
END
expect 0 run roles.lua
lines kept >found
cat >expected <<'END'
{"text":"long enough","id":"a","number":null,"back":"hguone gnol","lengths":[4,6],"empty":false,"size":11.0}
{"text":"12 monkeys","id":"f","number":12,"back":"syeknom 21","lengths":[2,7],"empty":false,"size":10.0}
{"text":"line one","id":"g","number":null,"back":"eno enil","lengths":[4,3],"empty":false,"size":8.0}
END
sed 's/,"number":null//' expected >without_nulls
cmp -s found expected || diff without_nulls found >&2 || fail 'the annotators give something else'
lines dropped | grep -o '"drop_[a-z]*":[^,}]*\|"dup_of":[^,}]*\|"similarity":[^,}]*' | tr '\n' ' ' >found
is "$(cat found)" '"drop_stage":"cxx_judge" "drop_reason":"short" "drop_value":2.0 "drop_limit":4.0 "drop_stage":"cxx_judge" "drop_reason":"twin" "drop_value":0.75 "drop_limit":0.0 "dup_of":"the-original-Twin" "similarity":0.75 "drop_stage":"cxx_judge" "drop_reason":"odd" "drop_value":1.0 "drop_limit":0.0 ' 'the verdicts'
lines texts | tr '\n' '|' >found
is "$(cat found)" 'long enough|12 monkeys|line one|long enough|' 'the lines, and the longest'
is "$(find texts/latest/ -name '*.txt' | wc -l)" 2 'files of 20 bytes'
expect 0 "$SLUICE" why roles --quarantine
says 'no_tab' 'the line at 45 has no tab' 'invalid_utf8' 'begins with B'
expect 0 "$SLUICE" trace kept 0 1
says 'in.tsv  bytes 57 to 69'

# The gate halts, with its own words and the count of a node.
sed 's/bytes = 1000/bytes = 10/' roles.lua >halt.lua
expect 3 run halt.lua
says '29 bytes in 3 rows (of 7), expected at most 10'

# Records that are cut by the reader itself, over any chunks.
perl -e 'print join(";", map { "record $_ " . "x" x ($_ % 50) } 1 .. 5000)' >in.txt
cat >semicolons.lua <<'END'
local s = require "sluice"
return s.pipeline { "semicolons", s.files "in.txt" | s.cxx_semicolons {} | s.cxx_lines_out { "pieces", compression = "gzip" } }
END
expect 0 run semicolons.lua
lines pieces >found
tr ';' '\n' <in.txt >expected && echo >>expected
cmp found expected || fail 'the records differ'

# ---- options -------------------------------------------------------------------------------------

bad_option() {
    cat >option.lua <<END
local s = require "sluice"
return s.pipeline { "option", s.files "in.tsv" | s.cxx_tsv {} | s.cxx_judge { $1 } | s.write_jsonl { "out" } }
END
    expect "${3:-2}" "$SLUICE" check option.lua --trust --plugin "$plugin"
    says "$2"
}
bad_option 'least = 101' '[0, 100]'
bad_option 'mode = "loose"' 'strict, lenient'
bad_option 'shar = 0.5' "did you mean 'share'"
bad_option 'words = { "forbidden" }' 'found the word forbidden; take another'
bad_option 'share = 0.25, words = { "a", "b" }' "the options don't have their defaults" 1

# ---- exceptions ----------------------------------------------------------------------------------

printf '{"id":"1","text":"fine"}\n{"id":"2","text":"THROW here"}\n{"id":"3","text":"fine too"}\n' >in.jsonl
throws() { # WHAT WHERE STATUS MESSAGE
    cat >throw.lua <<END
local s = require "sluice"
return s.pipeline { "throw", max_bad = "90%", s.files "in.jsonl" | s.read_jsonl {} | s.cxx_throw { what = "$1", where = "$2" } |
  s.write_jsonl { "out", compression = "none" } }
END
    rm -rf out .sluice
    expect "$3" run throw.lua
    [ -z "$4" ] || says "$4"
}
throws nothing row 0 ''
is "$(lines out | wc -l)" 3 'rows'
throws data row 0 ''
is "$(lines out | member id | tr '\n' ' ')" '1 3 ' 'the row that failed alone is quarantined'
throws logic row 1 'a defect that says so'
throws memory row 5 'out of memory'
throws number row 1 'an exception that is no std::exception'
throws config row 2 'expected something else'
throws logic open 1 'a defect that says so'
throws config open 2 'expected something else'
throws number prepare 1 'an exception that is no std::exception'
throws nothing prepare 2 "it needs the column 'missing'"
[ ! -e out ] || fail 'a run that failed published something'
