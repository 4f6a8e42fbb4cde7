# sluice contract infer: what it writes of JSON Lines, of a dataset and of Parquet, that it is the same for any workers, and that the rows keep it.
perl -e 'for (1 .. 3000) { my $lang = $_ % 2 ? "en" : "de"; print qq({"id":"r$_","text":"answer ) . "y" x ($_ % 200) . qq(","lang":"$lang","score":) . ($_ % 7) / 2 . qq(,"n":) . ($_ - 1500) . ($_ == 9 ? "" : qq(,"seen":true)) . ($_ % 3 ? "" : qq(,"tags":["a"])) . qq(}\n) }' >docs.jsonl
"$SLUICE" contract infer docs.jsonl --quiet
echo "status $?"
"$SLUICE" contract infer docs.jsonl --quiet -o contract.json 2>hint
cat hint
"$SLUICE" contract infer docs.jsonl --quiet --workers 1 2>/dev/null | cmp - contract.json
cat >check.lua <<'L'
local s = require "sluice"
local docs = s.files { "docs.jsonl", split = "64KiB" }
  | s.read_jsonl { columns = { lang = "utf8", n = "int64", score = "float64", seen = "bool", tags = "json" } } | s.contract "contract.json"
return s.pipeline { "check", max_bad = 0, docs | s.write_jsonl { "out/checked" } }
L
"$SLUICE" run check.lua --quiet
echo "status $?"
"$SLUICE" contract infer out/checked --quiet 2>/dev/null | cmp - contract.json
"$SLUICE" contract infer out/checked@1 --json | perl -ne 'print /"score":\[0.0,3.0\]/ && /"event":"contract"/ ? "json\n" : $_'
ls -A .sluice
# What can't be.
"$SLUICE" contract infer out/nothing
echo "status $?"
"$SLUICE" contract infer docs.txt
echo "status $?"
"$SLUICE" contract infer docs.jsonl --reader read_text
echo "status $?"
"$SLUICE" contract show docs.jsonl
echo "status $?"
