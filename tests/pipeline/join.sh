# join.sh - s.join puts the columns of a table's row to the rows that name it: values of every type, nulls, keys of two columns, other names;
# a row without one gets nulls, is dropped or ends the run; a key twice, a null key, another type and a name that is taken are refused with
# their place; the same bytes for any number of workers.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl -e 'for my $k (1 .. 4000) {
    my $domain = $k % 7 == 0 ? "null" : "\"x" . ($k % 50) . ".org\"";
    print qq({"id":"d$k","text":"text $k","domain":$domain,"year":) . (2000 + $k % 3) . "}\n";
}' >docs.jsonl
perl -e 'for my $k (0 .. 39) {
    for my $year (2000, 2001) {
        my $tags = $k % 5 ? qq(["a","b$k"]) : "null";
        print qq({"id":"t$k-$year","text":"site $k","domain":"x$k.org","year":$year,"rank":) . ($k * 10 + $year % 10) . qq(,"share":$k.5,"open":) .
            ($k % 2 ? "true" : "false") . qq(,"tags":$tags}\n);
    }
}' >table.jsonl
cat >join.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, table = { "glob", "table.jsonl" }, missing = { "string", "null" }, on = { "list", { "domain", "year" } },
  table_on = { "list", "" }, columns = { "list", "" }, prefix = { "string", "site_" }, year = { "string", "int64" } }
local docs = s.files { "docs.jsonl", split = "64KiB" } | s.read_jsonl { columns = { domain = "utf8", year = "int64" } }
local sites = s.files { a.table } | s.read_jsonl { columns = { domain = "utf8", year = a.year, rank = "int64", share = "float64", open = "bool", tags = "json" } }
local joined = docs | s.join { with = sites, on = a.on, table_on = a.table_on, columns = a.columns, prefix = a.prefix, missing = a.missing }
return s.pipeline { "join", joined | s.write_jsonl { a.out .. "/kept", compression = "none" },
  joined.dropped | s.write_jsonl { a.out .. "/dropped", compression = "none" } }
L

expect 0 "$SLUICE" run join.lua --quiet --workers 1
cat out/kept/latest/* >kept
is "$(wc -l <kept)" 4000 'rows'
is "$(sed -n 1p kept)" '{"text":"text 1","id":"d1","domain":"x1.org","year":2001,"site_text":"site 1","site_id":"t1-2001","site_open":true,"site_rank":11,"site_share":1.5,"site_tags":["a","b1"]}' 'a row that is there'
is "$(sed -n 55p kept)" '{"text":"text 55","id":"d55","domain":"x5.org","year":2001,"site_text":"site 5","site_id":"t5-2001","site_open":true,"site_rank":51,"site_share":5.5}' 'a null of the table'
is "$(sed -n 2p kept)" '{"text":"text 2","id":"d2","domain":"x2.org","year":2002}' 'a key whose second part is another'
is "$(sed -n 7p kept)" '{"text":"text 7","id":"d7","year":2001}' 'a null key'
is "$(grep -c site_id kept)" "$(perl -ne '$n++ if /x(\d+)\.org","year":200[01]/ && $1 < 40; END { print $n }' docs.jsonl)" 'rows that have one'

# However it is scheduled.
expect 0 "$SLUICE" run join.lua --quiet --workers 4 --run-dir run4 out=out4
cat out4/kept/latest/* | cmp - kept || fail 'four workers, other bytes'

# The table's order is nothing to the rows.
sort -r table.jsonl >reversed.jsonl
expect 0 "$SLUICE" run join.lua --quiet --run-dir reversed out=reversed_out table=reversed.jsonl
cat reversed_out/kept/latest/* | cmp - kept || fail 'another order of the table, other bytes'

# Dropped with a reason, and accounted for.
expect 0 "$SLUICE" run join.lua --quiet --run-dir drop out=drop_out missing=drop columns=rank
is "$(cat drop_out/kept/latest/* | wc -l)" "$(grep -c site_id kept)" 'rows that stay'
is "$(cat drop_out/dropped/latest/* | wc -l)" $((4000 - $(grep -c site_id kept))) 'rows that are dropped'
is "$(cat drop_out/dropped/latest/* | grep -c '"drop_reason":"not_in_table"')" "$(cat drop_out/dropped/latest/* | wc -l)" 'their reason'
is "$(cat drop_out/kept/latest/* | sed -n 1p)" '{"text":"text 1","id":"d1","domain":"x1.org","year":2001,"site_rank":11}' 'the columns that were named'
expect 4 "$SLUICE" run join.lua --quiet --run-dir fail out=fail_out missing=fail
says "the table has no row of this key: 'x2.org'" 'missing = "drop"'

# One column, called otherwise.
sed -n 's/"domain"/"host"/; /2000/p' table.jsonl >hosts.jsonl
sed 's/columns = { domain = "utf8", year = a.year/columns = { host = "utf8", year = a.year/' join.lua >hosts.lua
expect 0 "$SLUICE" run hosts.lua --quiet --run-dir hosts out=hosts_out table=hosts.jsonl on=domain table_on=host columns=rank
is "$(cat hosts_out/kept/latest/* | sed -n 2p)" '{"text":"text 2","id":"d2","domain":"x2.org","year":2002,"site_rank":20}' 'another name'

# What can't be meant.
expect 4 "$SLUICE" run join.lua --quiet --run-dir twice out=no on=domain
says "the table has more than one row of a key: 'x0.org'" 's.exact'
sed 's/"domain":"x3.org"/"domain":null/' table.jsonl >nulls.jsonl
expect 4 "$SLUICE" run join.lua --quiet --run-dir null out=no table=nulls.jsonl
says 'the table has a row whose key is null'
expect 2 "$SLUICE" check join.lua year=float64
says "'year' has the type int64" 'float64'
expect 2 "$SLUICE" check join.lua on=domian
says "did you mean 'domain'?"
expect 2 "$SLUICE" check join.lua prefix=
says "the rows have a column 'text' already" 'give a prefix'
expect 2 "$SLUICE" check join.lua table_on=a,b,c
says 'as many columns as `on` has'
sed 's/with = sites/with = "sites"/' join.lua >text.lua
expect 2 "$SLUICE" check text.lua
says 'expected a stream of rows'
expect 0 "$SLUICE" inspect join
says 'join_table'
