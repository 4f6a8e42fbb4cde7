# merge.sh - a change log merged into a snapshot is the table that the changes, applied one by one in their order, leave: in one portion or
# several, shuffled, the last once more, by any number of workers; ties, unknown operations and rows of the snapshot that are
# newer than a change.
# time limit: 600
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# A table of 300 rows, and 900 changes of these and other keys in a shuffled order, their numbers beyond what a double tells apart; what the
# table is after all of them, by a few lines of perl.
perl -e '
    my $seed = 3;
    sub roll { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; ($seed >> 8) % shift }
    my $at = 9007199254740992;
    my (%table, @changes);
    open my $o, ">", "base.jsonl" or die;
    for my $n (1 .. 300) {
        my $ts = $n % 3 == 0 ? "" : "," . "\"ts\":" . ($at + $n);
        print $o "{\"text\":\"old $n\",\"id\":\"k$n\"$ts}\n";
        $table{"k$n"} = "old $n";
    }
    for my $n (1 .. 900) {
        my ($key, $op) = ("k" . (1 + roll(400)), (qw(insert update update delete))[roll(4)]);
        my $text = $op eq "delete" ? "" : "new $n";
        push @changes, "{\"text\":\"$text\",\"id\":\"$key\",\"ts\":" . ($at + 1000 + $n) . ",\"op\":\"$op\"}\n";
        if ($op eq "delete") { delete $table{$key} } else { $table{$key} = $text }
    }
    for my $n (1 .. 20) { # older than the row that is there
        my $key = "k" . ($n * 3 + 1);
        push @changes, "{\"text\":\"late\",\"id\":\"$key\",\"ts\":" . ($at - $n) . ",\"op\":\"" . ($n % 2 ? "update" : "delete") . "\"}\n";
    }
    for (my $i = $#changes; $i > 0; $i--) { my $j = roll($i + 1); @changes[$i, $j] = @changes[$j, $i] }
    open $o, ">", "changes.jsonl" or die;
    print $o @changes;
    for my $part (0 .. 2) { # by their numbers
        open $o, ">", "part$part.jsonl" or die;
        for (@changes) { my ($n) = /"ts":(\d+)/; $n -= $at + 1000; print $o $_ if ($n <= 300 ? 0 : $n <= 600 ? 1 : 2) == $part }
    }
    open $o, ">", "table" or die;
    print $o "$_ $table{$_}\n" for sort keys %table'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { base = { "string", "" }, changes = { "string", "changes.jsonl" }, out = { "string" }, partitions = { "int", 4 } }
local columns = { columns = { ts = "int64" } }
local base = a.base == "" and s.files { "base.jsonl", split = "64KiB" } | s.read_jsonl(columns) or s.dataset(a.base) | s.read_jsonl(columns)
local changes = s.files { a.changes, split = "64KiB" } | s.read_jsonl { columns = { ts = "int64", op = "utf8" } }
local rows = base | s.merge { with = changes, key = { "id" }, order_by = "ts", op = "op", partitions = a.partitions }
return s.pipeline { "p", rows | s.named("rows", s.write_jsonl { a.out, compression = "none" }) }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
table() {
    lines "$1" | perl -ne '/"text":"([^"]*)","id":"([^"]*)"/ or die; die if /"op"/; print "$2 $1\n"' | LC_ALL=C sort
}
expect 0 go whole
land whole.out
table whole.out | cmp - table >&2 || fail 'the merged rows are not the table after the changes'
expect 0 go other --workers 4
expect 0 go one partitions=1
land other.out one.out
same whole.out/data other.out/data 'with other workers'
lines whole.out >left
lines one.out | cmp - left >&2 || fail 'other rows with one partition'
# In portions, in their order, each into the snapshot of the one before; the last once more changes nothing.
expect 0 go parts changes=part0.jsonl
expect 0 go parts "base=$(place parts.out)@1" changes=part1.jsonl
expect 0 go parts "base=$(place parts.out)@2" changes=part2.jsonl
land parts.out
table parts.out | cmp - table >&2 || fail 'other rows in three portions'
expect 0 go parts "base=$(place parts.out)@3" changes=part2.jsonl
land parts.out
table parts.out | cmp - table >&2 || fail 'the last portion once more changes something'
expect 0 "$SLUICE" verify "$(place parts.out)" --all

# Two changes that nobody can order; one that says nothing; a snapshot's row of the same number, which is that change's own.
printf '%s\n' '{"text":"x","id":"k1","ts":5,"op":"update"}' '{"text":"y","id":"k1","ts":5,"op":"delete"}' >tie.jsonl
expect 2 go bad changes=tie.jsonl
says 'have one key and the same place in the order'
printf '%s\n' '{"text":"x","id":"k1","ts":9999999999999999,"op":"upgrade"}' '{"text":"x","id":"k2","ts":9999999999999999}' >unknown.jsonl
expect 4 go bad changes=unknown.jsonl
says unknown_op
sed 's/"p", rows/"p", max_bad = 2, rows/' p.lua >lenient.lua
expect 0 "$SLUICE" run lenient.lua --quiet --run-dir "$(place lenient.run)" "out=$(place lenient.out)" changes=unknown.jsonl
land lenient.out
is "$(lines lenient.out | wc -l)" 300 'rows after changes that say nothing'
printf '%s\n' '{"text":"again","id":"k1","ts":9007199254740993,"op":"update"}' >same.jsonl
expect 0 go same changes=same.jsonl
land same.out
is "$(table same.out | grep '^k1 ')" 'k1 again' 'a change with the number of the row that is there'

# ---- kill -9 anywhere: the snapshot of before, or the merged one; the next run makes the same bytes ----

snapshots() {
    find "$1/snapshots" -name '*.json' | wc -l | tr -d ' '
}
expect 0 go all changes=part0.jsonl
expect 0 go all "base=$(place all.out)@1" changes=part1.jsonl
land all.out
expect 0 go cut changes=part0.jsonl
keep cut.out
land cut.out
before=$(lines cut.out | cksum)
kills=${KILLS:-12}
[ -z "${FULL-}" ] || kills=200
killed=0
seed=0
new=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 8)) ] || fail "only $killed of $seed seeds killed it"
    back cut.out
    forget cut.run
    may_be_killed "$seed:${WITHIN:-160}" go cut "base=$(place cut.out)@1" changes=part1.jsonl --workers $((1 + seed % 3))
    land cut.out
    case $(snapshots cut.out) in
    1) is "$(lines cut.out | cksum)" "$before" "the old snapshot after seed $seed" ;;
    2) new=$((new + 1)) ;;
    *) fail "seed $seed: $(snapshots cut.out) snapshots" ;;
    esac
    expect 0 go cut "base=$(place cut.out)@1" changes=part1.jsonl
    land cut.out
    same all.out/data cut.out/data "files after seed $seed"
    same all.out/snapshots cut.out/snapshots "manifests after seed $seed"
    expect 0 "$SLUICE" verify "$(place cut.out)" --all
done
[ "$new" -lt "$seed" ] || fail 'no kill left the old snapshot'
echo "$killed kills in $seed tries, $new left the merged snapshot"
