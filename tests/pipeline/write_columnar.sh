# write_columnar.sh - write_parquet, write_arrow, write_csv: what was read from Parquet and written is the same again, with its types; the
# same bytes for any number of workers and batches and from a child process; row groups, shards, orders and options that can't be; datasets
# of such files are read and verified; tokens. What other programs read of them: tests/parity/columnar.sh.
# time limit: 600
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

DATA=$SRC/tests/data/parquet
perl "$CORPUS" corpus files=2 docs=400 >made || fail 'no corpus'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "" }, to = { "string", "parquet" }, out = { "path", "out" }, isolate = { "bool", false }, columns = { "string", "" },
  bloom = { "string", "" }, sorted = { "string", "" }, group = { "size", "64MiB" }, shard = { "size", "256MiB" }, page = { "size", "1MiB" },
  compression = { "string", "" }, level = { "int", 0 }, dictionary = { "bool", true }, dataset = { "string", "" }, delimiter = { "string", "," },
  null = { "string", "" }, header = { "bool", true }, line_ends = { "string", "lf" }, layout = { "string", "file" }, limit = { "int", 1000000 } }
local function list(text)
  local out = {}
  for word in text:gmatch "[^,]+" do out[#out + 1] = word end
  return #out > 0 and out or nil
end
local files = a.dataset ~= "" and s.dataset(a.dataset) or s.files { a.from, split = "64KiB" }
local docs = a.from:find "jsonl" and files | s.read_jsonl { columns = { kind = "string", lang = "string", url = "string" }, missing = "allow" } or files | s.read_parquet {}
local compression = a.compression ~= "" and a.compression or nil
local isolate = a.isolate or nil
local writers = {
  jsonl = function() return s.write_jsonl { a.out, compression = "none", columns = list(a.columns) } end,
  parquet = function()
    return s.write_parquet { a.out, columns = list(a.columns), bloom = list(a.bloom), sorted_by = list(a.sorted), row_group = a.group, shard_size = a.shard,
      page = a.page, compression = compression, level = a.level, dictionary = a.dictionary, isolate = isolate }
  end,
  arrow = function()
    return s.write_arrow { a.out, columns = list(a.columns), shard_size = a.shard, batch = a.page, compression = compression, level = a.level,
      layout = a.layout, isolate = isolate }
  end,
  csv = function()
    return s.write_csv { a.out, columns = list(a.columns), shard_size = a.shard, compression = compression, delimiter = a.delimiter, null = a.null,
      header = a.header, line_ends = a.line_ends, isolate = isolate }
  end,
}
return s.pipeline { "p", docs | writers[a.to]() }
L
run() { # STATUS ARGUMENT...
    _wanted_status=$1
    shift
    rm -rf last
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir last "$@"
}
plain='id,text,n_words,score,big,good,lang,day,at,price,tags'

# ---- there and back ----
run 0 "from=$DATA/docs.parquet" to=jsonl out=direct "columns=$plain"
run 0 "from=$DATA/docs.parquet" out=copy bloom=id,n_words
run 0 dataset=copy to=jsonl out=back "columns=$plain"
lines direct >left
lines back >right
cmp -s left right || fail 'other rows behind write_parquet'
# With its types: a date that is asked for as a number is the days of a Parquet date.
cat >typed.lua <<'L'
local s = require "sluice"
return s.pipeline { "typed", s.dataset "copy" | s.read_parquet { columns = { day = "int64", at = "int64", messages = "json" } } |
  s.write_jsonl { "typed", compression = "none" } }
L
expect 0 "$SLUICE" run typed.lua --quiet --run-dir typed.run
lines typed | sed -n 2p >row
grep -q '"at":999996,"day":0,"messages":\[{"role":"user"' row || { cat row >&2; fail 'dates, times or nested columns of a copy'; }
expect 0 "$SLUICE" verify copy
# A copy of a copy is the same file.
run 0 dataset=copy out=again bloom=id,n_words
cmp "$(echo copy/latest/*)" "$(echo again/latest/*)" || fail 'the copy of a copy is another file'
for codec in snappy gzip brotli lz4 none; do
    run 0 "from=$DATA/docs.parquet" "out=$codec" "compression=$codec" dictionary=false
    run 0 "dataset=$codec" to=jsonl "out=$codec.back" "columns=$plain"
    lines "$codec.back" | cmp - left || fail "other rows behind $codec"
done

# ---- the same bytes ----
for to in parquet arrow csv; do
    small="from=corpus/*.jsonl* to=$to group=50KB page=9KB"
    # shellcheck disable=SC2086
    run 0 --workers 1 $small shard=40KB "out=$to.1"
    [ "$(ls "$to.1/latest" | wc -l)" -gt 4 ] || fail "$to: shard_size ended no file"
    for workers in 2 5; do
        # shellcheck disable=SC2086
        run 0 --workers $workers --batch $((workers * 7))KiB $small shard=40KB "out=$to.$workers"
        same "$to.1/latest" "$to.$workers/latest" "$to: datasets of 1 and $workers workers"
    done
    # shellcheck disable=SC2086
    run 0 --workers 2 $small shard=40KB isolate=true "out=$to.child"
    same "$to.1/latest" "$to.child/latest" "$to: datasets from here and from a child process"
done
run 0 'from=corpus/*.jsonl*' to=jsonl out=rows columns=id,text,kind
run 0 dataset=parquet.5 to=jsonl out=rows.back columns=id,text,kind
lines rows | sort >left
lines rows.back | sort | cmp - left || fail 'other rows from many shards and row groups'
expect 0 "$SLUICE" verify parquet.5

# ---- what can't be ----
run 2 'from=corpus/*.jsonl*' bloom=idd
says bloom "'idd'" 'text, id'
run 2 "from=$DATA/docs.parquet" bloom=messages
says bloom "'messages'" 'numbers or texts'
run 2 "from=$DATA/docs.parquet" sorted=tags
says sorted_by "'tags'"
run 2 "from=$DATA/docs.parquet" columns=txt
says 'txt' "did you mean 'text'"
run 2 "from=$DATA/docs.parquet" columns=_row
says 'hidden or derived'
run 2 "from=$DATA/docs.parquet" compression=snappy level=3
says level 'no levels'
run 2 "from=$DATA/docs.parquet" compression=gzip level=12
says level 'at most 9'
run 2 "from=$DATA/docs.parquet" to=arrow compression=lz4 level=3
says level zstd
run 2 "from=$DATA/docs.parquet" to=csv delimiter=--
says delimiter 'one character'
run 2 "from=$DATA/docs.parquet" to=csv null=a,b
says null 'delimiters'
# An order that is claimed is looked at.
run 4 "from=$DATA/docs.parquet" sorted=text
says 'not sorted by' 'sorted_by'
run 0 "from=$DATA/docs.parquet" sorted=day,at out=sorted

# ---- CSV ----
cat >odd.jsonl <<'J'
{"id":"1","text":"a,b","lang":"say \"x\""}
{"id":"2","text":"line\nend","lang":""}
{"id":"3","text":" spaced","url":"NULL"}
J
run 0 from=odd.jsonl to=csv out=odd columns=id,text,lang,url
cat >expected <<'C'
id,text,lang,url
1,"a,b","say ""x""",
2,"line
end","",
3," spaced",,NULL
C
cmp expected "$(echo odd/latest/*)" || fail 'a CSV file'
run 0 from=odd.jsonl to=csv out=odd2 columns=id,lang,url null=NULL 'delimiter=;' header=false line_ends=crlf
printf '1;"say ""x""";NULL\r\n2;;NULL\r\n3;NULL;"NULL"\r\n' | cmp - "$(echo odd2/latest/*)" || fail 'a CSV file with other options'
run 0 "from=$DATA/docs.parquet" to=csv out=nested columns=id,tags,messages
sed -n 3p "$(echo nested/latest/*)" >row
printf 'doc-1,"[""a""]","[{""role"":""user"",""content"":""say 1""}]"\n' | cmp - row || { cat row >&2; fail 'nested columns in CSV'; }

# ---- tokens: what pack gives, by one name for trainers, two bytes a token where the vocabulary allows it ----
cat >gold.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" } }
local rows = s.files { "corpus/*.jsonl*", split = "64KiB" } | s.read_jsonl {} | s.tokenize { a.tokenizer, eos = "default" }
  | s.pack { sequence_length = 256, cu_seqlens = true, position_ids = true } | s.rename_columns { names = { tokens = "input_ids" } }
return s.pipeline { "gold", rows | s.write_jsonl { "packed", compression = "none" }, rows | s.write_parquet { "gold", row_group = "20KB" } }
L
cat >gold_back.lua <<'L'
local s = require "sluice"
local names = { "input_ids", "segments", "padding", "cu_seqlens", "position_ids" }
return s.pipeline { "back", s.dataset "gold" | s.read_parquet {
  columns = { input_ids = "list<uint16>", segments = "list<int32>", padding = "int32", cu_seqlens = "list<int32>", position_ids = "list<int32>" } } |
  s.write_jsonl { "gold.back", compression = "none", columns = names } }
L
expect 0 "$SLUICE" run gold.lua --quiet --run-dir gold.run "tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json"
expect 0 "$SLUICE" run gold_back.lua --quiet --run-dir gold_back.run
tokens() {
    lines "$1" | perl -ne 'my $row = $_;
        print join(" ", map { $row =~ /"$_":(\[[^]]*\]|\d+)/ or die; $1 } qw(input_ids segments padding cu_seqlens position_ids)), "\n"' | sort
}
tokens packed >left
tokens gold.back >right
[ "$(wc -l <left)" -gt 20 ] || fail 'too few rows of tokens'
cmp left right || fail 'other tokens behind write_parquet'
grep -aq '"vocab_size":"' "$(ls gold/latest/*.parquet | head -n 1)" || fail 'the files do not tell the vocabulary'

# ---- the hub's layout ----
cat >hub.lua <<'L'
local s = require "sluice"
return s.pipeline { "hub", s.files { "corpus/*.jsonl*", split = "64KiB" } | s.read_jsonl {} | s.write_parquet { "hub", layout = "hf", split = "test" } }
L
expect 0 "$SLUICE" run hub.lua --quiet --run-dir hub.run
n=$(ls hub/latest/data | wc -l)
[ "$n" -gt 2 ] || fail 'too few files'
k=0
while [ "$k" -lt "$n" ]; do
    [ -f "$(printf 'hub/latest/data/test-%05u-of-%05u.parquet' "$k" "$n")" ] || fail "no file $k of $n"
    k=$((k + 1))
done
grep -q '^    path: data/test-\*.parquet$' hub/latest/README.md || fail 'the card'
expect 0 "$SLUICE" verify hub
# The card is no input of who reads the dataset.
run 0 dataset=hub to=jsonl out=hub.back columns=id,text
is "$(lines hub.back | wc -l)" 800 'rows of the layout hf'
sed 's/"test"/"a b"/' hub.lua >wrong.lua
expect 2 "$SLUICE" run wrong.lua --quiet --run-dir wrong.run
says split "'a b'"

# ---- memory ----
run 0 --memory 256MiB "from=$DATA/docs.parquet" out=little
