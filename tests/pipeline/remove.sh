# remove.sh - `remove` takes rows out by their ids in a new snapshot, in which only the files that held one are others; all other rows
# stay in their order, also behind a compaction, and a run of the pipeline does not bring them back. trace finds the sources of what is
# left. A kill at any operation leaves the old snapshot or the new one, and the next call makes the same bytes.
# time limit: 1200
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $f (1 .. 30) { open my $o, ">", sprintf "in/%02d.jsonl", $f or die; print $o "{\"id\":\"$f-$_\",\"text\":\"row $_ of file $f " . "word " x ($f * 7 % 11) . "\",\"meta\":{\"user\":" . ($f * 10 + $_) . "}}\n" for 1 .. 5 }'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, codec = { "string", "zstd" }, join = { "string", "" } }
return s.pipeline { "p", s.files "in/*" | s.read_jsonl {} | s.filter { "f", function(doc) if doc.id == "3-3" then return "small" end end }
  | s.write_jsonl { a.out, shard_size = "300B", compression = a.codec, join = a.join ~= "" and a.join or nil } }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
take() { # NAME LIST
    "$SLUICE" remove "$(place "$1.out")" --ids "$2"
}
# left NAME PATTERN...: the newest snapshot has all rows of `before` but those, in order.
left() {
    _set=$1
    shift
    land "$_set.out"
    lines "$_set.out" >after
    grep -vE "\"id\":\"($(echo "$*" | tr ' ' '|'))\"" before >wanted
    cmp wanted after >&2 || fail "$_set: other rows than all but $*, or in another order"
}

# Two of a file, one of another, all of file 7, one that is nowhere; a part of an id and an id in a text are none.
printf '%s\n' 5-2 5-4 12-1 7-1 7-2 7-3 7-4 7-5 nobody 'row 1' 1 >ids
for codec in none gzip zstd; do
    go $codec codec=$codec --workers 2
    land $codec.out
    lines $codec.out >before
    expect 0 "$SLUICE" remove "$(place $codec.out)" --ids ids --dry-run
    says '8 rows of 149 would be removed'
    land $codec.out
    is "$(newest $codec.out)" 1 'snapshot after a dry run'
    expect 0 "$SLUICE" remove "$(place $codec.out)" --ids ids --json
    is "$(json stdout rows)" 8 'removed rows'
    is "$(json stdout removed.5-2)" 1 'rows of an id'
    is "$(json stdout 'missing.*' | tr '\n' ' ')" '1 nobody row 1 ' 'ids that are nowhere'
    touched=$(json stdout touched)
    left $codec 5-2 5-4 12-1 7-.
    # No other file is another one.
    json $codec.out/snapshots/000001.json 'shards.*.file' | sort >one
    json $codec.out/snapshots/000002.json 'shards.*.file' | sort >two
    is "$(comm -23 one two | wc -l)" "$touched" 'files that were written again'
    is "$(json $codec.out/snapshots/000002.json owner.pipeline)" p owner
    grep -q '"5-2"\|nobody' $codec.out/snapshots/000002.json && fail 'the manifest has an id'
    is "$(json $codec.out/snapshots/000002.json lineage.removals.0.sha256)" "$(sha256sum ids | cut -d ' ' -f 1)" 'hash of the list'
    expect 0 take $codec ids
    says 'no row has one of'
    expect 0 "$SLUICE" verify "$(place $codec.out)" --all
    expect 0 "$SLUICE" verify "$(place $codec.run)"
    # What the pipeline made stands for what is there, so it publishes nothing.
    go $codec codec=$codec
    land $codec.out
    is "$(newest $codec.out)" 2 "snapshots after an unchanged run"
done

# A changed input makes its rows anew; all others that are gone stay so. A file that comes is there.
cp -p in/20.jsonl kept
sed -i 's/row 4/row four/' in/20.jsonl
echo '{"id":"new","text":"new"}' >in/40.jsonl
go none codec=none
land none.out
is "$(newest none.out)" 3 'snapshots after a changed run'
lines none.out | grep -c '"id":"\(5-2\|5-4\|12-1\|7-.\)"' >n || true
is "$(cat n)" 0 'rows that came back'
is "$(lines none.out | grep -c 'row four of file 20\|"id":"new"')" 2 'rows that are new'
go none codec=none
land none.out
is "$(newest none.out)" 3 'snapshots after that run again'
rm in/40.jsonl
mv kept in/20.jsonl
go none codec=none

# Again, of a file that was written again; and by a number inside of an object.
printf '%s\n' 5-1 >further
expect 0 take none further
printf '%s\n' 121 53 >numbers
expect 0 "$SLUICE" remove "$(place none.out)" --ids numbers --column meta.user --json
is "$(json stdout rows)" 1 'rows of numbers' # 12-1 is gone already
left none '5-[1-4]' 12-1 7-.
expect 0 "$SLUICE" trace "$(place none.out)" 0 0 --run "$(place none.run)" --json
is "$(json stdout origin.0.id)" 1-1 'the record of a row of a file that is as it was'
shard=$(shards none.out | xargs grep -l '"5-5"')
expect 0 "$SLUICE" trace "$(place none.out)" "${shard##*/}" "$(($(grep -n '"5-5"' "$shard" | cut -d : -f 1) - 1))" --run "$(place none.run)" --json
is "$(json stdout origin.0.id)" 5-5 'the record of a row behind removed ones'

# Behind a compaction, and before one.
expect 0 "$SLUICE" compact "$(place gzip.out)" --target 2KB
printf '%s\n' 2-2 14-5 >further
expect 0 take gzip further
left gzip '5-[24]' 12-1 7-. 2-2 14-5
go gzip codec=gzip
land gzip.out
is "$(newest gzip.out)" 4 'snapshots after an unchanged run behind a compaction'
expect 0 "$SLUICE" verify "$(place gzip.out)" --all
sed -i 's/row 4/row four/' in/20.jsonl
go gzip codec=gzip
sed -i 's/row 4 of file 20/row four of file 20/' before
left gzip '5-[24]' 12-1 7-. 2-2 14-5
sed -i 's/row four/row 4/' in/20.jsonl before

# Of files that are joined when they are published.
go join codec=none join=1KB
expect 0 take join ids
left join '5-[24]' 12-1 7-.
sed -i 's/row 4/row four/' in/20.jsonl
go join codec=none join=1KB
sed -i 's/row 4 of file 20/row four of file 20/' before
left join '5-[24]' 12-1 7-.
for row in 0 1 5; do
    file=$(shards join.out | sed -n 3p)
    expect 0 "$SLUICE" trace "$(place join.out)" 2 $row --run "$(place join.run)" --json
    is "$(json stdout origin.0.id)" "$(sed -n $((row + 1))p "$file" | member id)" "the record of row $row of a joined file"
done
sed -i 's/row four/row 4/' in/20.jsonl before

# What came in, written once, and what is appended to.
cat >q.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, input = { "string" }, class = { "string", "" }, mode = { "string", "" } }
return s.pipeline { "q", s.files { a.input } | s.read_jsonl {} | s.contract { columns = { text = "utf8" } }
  | s.write_jsonl { a.out, compression = "none", class = a.class ~= "" and { bronze = "an example" } or nil, mode = a.mode ~= "" and a.mode or nil } }
L
more() { # NAME INPUT OPTION...
    _set=$1
    _input=$2
    shift 2
    expect 0 "$SLUICE" run q.lua --quiet --run-dir "$(place "$_set.run")" "out=$(place "$_set.out")" "input=$_input" "$@"
}
echo 1-1 >further
echo 2-2 >two
more raw in/01.jsonl class=bronze
expect 0 take raw further
more raw in/01.jsonl class=bronze
land raw.out
is "$(newest raw.out)" 2 'snapshots of a bronze dataset'
is "$(lines raw.out | member id | tr '\n' ' ')" '1-2 1-3 1-4 1-5 ' 'rows of a bronze dataset'
more log in/01.jsonl mode=append
expect 0 take log further
more log in/02.jsonl mode=append
expect 0 take log two
more log in/02.jsonl mode=append
more log in/03.jsonl mode=append
land log.out
is "$(newest log.out)" 5 'snapshots of a dataset that is appended to'
is "$(lines log.out | member id | tr '\n' ' ')" '1-2 1-3 1-4 1-5 2-1 2-3 2-4 2-5 3-1 3-2 3-3 3-4 3-5 ' 'rows of a dataset that is appended to'
expect 0 "$SLUICE" verify "$(place log.out)" --all

# What is no list of ids, or no field.
: >empty
printf 'a\r\n' >crlf
printf 'a\n\nb\n' >hole
for bad in empty crlf hole; do
    expect 2 take zstd $bad
    says "$bad"
done
expect 2 "$SLUICE" remove "$(place zstd.out)" --ids ids --column nothing
says "has a field 'nothing'" '--column'
expect 2 "$SLUICE" remove "$(place zstd.out)@1" --ids ids
says 'found snapshot 1, expected the newest, which is 2'
expect 2 "$SLUICE" remove "$(place zstd.out)"
says '--ids FILE is missing'

go cut
keep cut.out
kills=${KILLS:-25}
[ -z "${FULL-}" ] || kills=200
killed=0
seed=0
old=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 6)) ] || fail "only $killed of $seed seeds killed it"
    back cut.out
    faults "$seed:8"
    may_be_killed "$seed:${WITHIN:-110}" take cut ids
    faults 0:0
    land cut.out
    case $(newest cut.out) in
    1) old=$((old + 1)) ;;
    2) ;;
    *) fail "seed $seed: snapshot $(newest cut.out)" ;;
    esac
    expect 0 "$SLUICE" verify "$(place cut.out)@1"
    expect 0 take cut ids
    land cut.out
    same zstd.out cut.out "after seed $seed"
done
[ "$old" -gt 0 ] && [ "$old" -lt "$seed" ] || fail "$old of $seed kills left the old snapshot"
echo "$old of $seed kills left the old snapshot"
