# csv.sh - read_csv: the same rows and bytes on any number of workers, compressed or not, and in a child process; types declared and found
# out; line ends within quotes; what breaks the rules is quarantined with its byte, or made good; files that differ; nothing is silently less.
# time limit: 600
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/read_csv.so" ] || skip "the plugin read_csv is not built: $(grep read_csv "$BUILD/plugins/skipped.txt")"

cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "in/*" }, out = { "path", "out" }, isolate = { "bool", false }, columns = { "string", "" }, text = { "string", "text" },
  missing = { "string", "refuse" }, header = { "bool", true }, names = { "string", "" }, mode = { "string", "strict" }, delimiter = { "string", "auto" },
  quote = { "string", "\"" }, null = { "string", "" }, max_record = { "string", "16MiB" }, sample = { "int", 1000 } }
local function list(text) local out = {} for word in text:gmatch "[^;]+" do out[#out + 1] = word end return #out > 0 and out or nil end
local columns
for name, type in a.columns:gmatch "(%w+[_%w]*)=([^;]+)" do
  columns = columns or {}
  columns[name] = type
end
return s.pipeline { "p", max_bad = "100%", s.files { a.from, split = "64KiB" } |
  s.read_csv { text = a.text, columns = columns, missing = a.missing, isolate = a.isolate or nil, header = a.header, names = list(a.names),
    mode = a.mode, delimiter = a.delimiter, quote = a.quote, null = list(a.null), max_record = a.max_record, sample = a.sample } |
  s.write_jsonl { a.out, compression = "none" } }
L
run() { # STATUS ARGUMENT...
    _wanted_status=$1
    shift
    rm -rf out last
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir last "$@"
}
rows() { # NUMBER QUARANTINED WHAT
    is "$(lines out | wc -l)" "$1" "rows: $3"
    is "$(json last/last.json quarantined)" "$2" "quarantined: $3"
}
reasons() { # REASON...: each is told of
    expect 0 "$SLUICE" why last --quarantine
    says "$@"
}

# ---- the same rows and bytes ----
mkdir in
perl -e 'binmode STDOUT; print "id,text,n,score,good\r\n";
    for (1 .. 40000) { printf "%d,\"line %d\r\nof \"\"%s\"\", and \xc3\xa9t\xc3\xa9\",%s,%d.5,%s\r\n", $_, $_, "x" x ($_ % 97), $_ % 7 ? $_ : "", $_, $_ % 2 ? "true" : "false" }' >in/a.csv
run 0 --workers 1 --run-dir first out=one
lines one >all
is "$(wc -l <all)" 40000 'rows'
sed -n 2p all >row
printf '%s\n' '{"text":"line 2\r\nof \"xx\", and été","id":"2","n":2,"score":2.5,"good":false}' >expected
sed -n 7p all | grep -q '"id":"7","score":7.5,"good":true}' || fail 'a null is a value'
cmp -s row expected || { cat row >&2; fail 'the second row is another one'; }
[ "$(find first/tasks -type f | wc -l)" -gt 2 ] || fail 'one file became few tasks'
for workers in 2 5; do
    run 0 --workers $workers --batch $((workers * 7))KiB
    same one/latest out/latest "datasets of 1 and $workers workers"
    same first/tasks last/tasks "records of 1 and $workers workers"
done
run 0 isolate=true
lines out | cmp - all || fail 'other rows from a child process'
run 0 mode=tolerant
lines out | cmp - all || fail 'other rows in the tolerant mode'
gzip -c in/a.csv >a.csv.gz
zstd -q in/a.csv -o a.csv.zst
{ printf '\357\273\277'; cat in/a.csv; } >bom.csv
tr ',' '\t' <in/a.csv >a.tsv
for other in a.csv.gz a.csv.zst bom.csv; do
    run 0 from=$other
    lines out | cmp - all || fail "other rows of $other"
done
head -c 200000 a.csv.gz >cut.csv.gz
run 4 from=cut.csv.gz
says 'cut.csv.gz' 'cut'
run 0 from=a.tsv 'columns=n=int64'
rows 40000 0 'a file with tabs'

# ---- types ----
printf 'text,zip,int,real,big,word,flag\na,007,1,1.5,18446744073709551616,x,true\nb,123,-5,2,1,y,False\nc,+1,0,1e3,2,,\n' >t.csv
run 0 from=t.csv
lines out >got
cat >expected <<'J'
{"text":"a","id":"t.csv:32","zip":"007","int":1,"real":1.5,"big":"18446744073709551616","word":"x","flag":true}
{"text":"b","id":"t.csv:72","zip":"123","int":-5,"real":2.0,"big":"1","word":"y","flag":false}
J
sed -n '1,2p' got | sed 's/"id":"[^"]*:/"id":"t.csv:/' | cmp - expected || { cat got >&2; fail 'types that are found out'; }
run 0 from=t.csv 'columns=real=utf8;int=float64'
lines out | sed -n 1p | grep -q '"int":1.0,"real":"1.5"' || fail 'types that are declared'
# Types hold for all rows behind the sample.
perl -e 'print "text,n\n"; print "a,$_\n" for 1 .. 2000; print "b,x\n"' >late.csv
run 0 from=late.csv
rows 2000 1 'a value of another type behind the sample'
reasons wrong_type "column 'n': found 'x', expected int64" 'the record at byte'
run 0 from=late.csv sample=3000
rows 2001 0 'the whole file is the sample'
run 2 from=t.csv 'columns=int=json'
says "found the type 'json'"
printf 'text,n\na,NULL\nb,"NULL"\nc,\n' >null.csv
run 0 from=null.csv null=NULL
lines out | tr -d '\n' | grep -q '"n":"NULL".*"n":""' || { lines out >&2; fail 'texts that are null'; }

# ---- what breaks the rules ----
printf 'text,n\nfine,1\nfew\nmany,1,2\nquo"te,2\n"be"hind,3\nnul\0,4\ncr\r,5\nbad\377,6\n\nlast,7' >bad.csv
run 0 from=bad.csv
rows 2 8 'the strict mode'
reasons wrong_fields bad_quote nul_byte bare_cr invalid_utf8 'the record at byte 14: found 1 fields, expected 2'
run 0 from=bad.csv mode=tolerant
rows 7 2 'the tolerant mode'
lines out >got
grep -q '"text":"quo\\"te"' got && grep -q '"text":"behind"' got && grep -q '{"text":"few","id":"[^"]*"}' got || { cat got >&2; fail 'made good'; }
gzip -c bad.csv >bad.csv.gz
run 0 from=bad.csv.gz
rows 2 8 'the strict mode, compressed'
reasons 'byte 14 of the decoded text'
# A quote that is never closed: an error with the byte, or the line alone.
{ printf 'text,n\na,1\n"open,2\n'; perl -e 'print "row $_,$_\n" for 1 .. 50000'; } >open.csv
run 4 from=open.csv
says 'open.csv' 'the record at byte 11' 'not closed' 'tolerant'
run 0 from=open.csv mode=tolerant
rows 50001 1 'a quote that is not closed'
reasons unclosed_quote 'the record at byte 11'
run 0 from=open.csv mode=tolerant --workers 2
lines out >one.rows
run 0 from=open.csv mode=tolerant --workers 5 --batch 9KiB
lines out | cmp - one.rows || fail 'other rows behind a quote that is not closed'
# Every line opens one: not a search to the end for each.
perl -e 'print "text\n"; print "\"x\n" x 100000, "y" x 30000, "\n"' >opens.csv
run 0 from=opens.csv mode=tolerant max_record=16KiB
{ printf 'text,n\nlong '; perl -e 'print "x" x 3000000'; printf ',1\nshort,2\n'; } >long.csv
run 4 from=long.csv max_record=1MiB
says 'the record at byte 7' 'max_record'
run 0 from=long.csv max_record=1MiB mode=tolerant
rows 1 1 'a record that is too long'
reasons record_too_long
run 0 from=long.csv
rows 2 0 'a long record'

# ---- heads ----
printf 'a,1\nb,2\n' >no.csv
run 0 from=no.csv header=false 'names=text;n'
lines out | sed -n 1p | grep -q '^{"text":"a",.*"n":1}$' || fail 'names that are given'
run 0 from=no.csv header=false text=column1
lines out | sed -n 2p | grep -q '^{"text":"b",.*"column2":2}$' || fail 'names that are made'
run 2 from=no.csv names=text
says 'header = false'
printf 'text;n\na;1\n' >semicolon.csv
run 0 from=semicolon.csv 'delimiter=;'
rows 1 0 'another delimiter'
run 2 from=semicolon.csv 'columns=n=int64'
says "no 'n'"
printf "text,n\n'a,b',1\n" >single.csv
run 0 from=single.csv "quote='"
lines out | grep -q '"text":"a,b"' || fail 'another quote'
printf 'text,text\na,b\n' >twice.csv
run 4 from=twice.csv
says '2 columns of the name'
printf '\377\376t\0e\0' >wide.csv
run 4 from=wide.csv
says 'wide.csv' 'UTF-16'
printf 'text\n' >head.csv
run 0 from=head.csv

# ---- files that differ ----
mkdir two
printf 'text,n\na,1\n' >two/1.csv
printf 'n,text\n2,b\n' >two/2.csv
run 0 'from=two/*'
rows 2 0 'another order of columns'
printf 'text\nc\n' >two/3.csv
run 4 'from=two/*'
says '3.csv' "no 'n'" 'missing = "null"'
run 0 'from=two/*' missing=null
rows 3 0 'a file that lacks a column'
printf 'text,n,more\nd,3,x\n' >two/3.csv
run 4 'from=two/*'
says '3.csv' "a column 'more', which the first file lacks"
