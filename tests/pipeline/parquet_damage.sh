# parquet_damage.sh - damaged Parquet files are refused, or rows of them quarantined; the host never crashes, and where a page is damaged
# nobody gets other rows for it: files that are cut anywhere, with flipped bits, with ends that lie, and others' collection of bad files.
# DAMAGE_FILES=N: so many of each kind (default 40). The numbers behind the names make them again.
# time limit: 1200
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

good=$SRC/tests/data/parquet/docs.parquet
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "x.parquet" }, isolate = { "bool", false }, all = { "bool", false } }
local columns = { n_words = "int32", score = "float64", good = "bool", lang = "utf8", at = "utf8", price = "utf8", tags = "list<utf8?>", messages = "json" }
return s.pipeline { "p", max_bad = "100%", s.files { a.from } |
  s.read_parquet { missing = a.all and "refuse" or "allow", columns = not a.all and columns or nil, isolate = a.isolate or nil } |
  s.write_jsonl { "out", compression = "none", columns = a.all and { "id" } or nil } }
L
# attempt WHAT ARGUMENT...: the run ends in order; its status is in $status
attempt() {
    _what=$1
    shift
    rm -rf out last
    status=0
    "$SLUICE" run p.lua --quiet --trust --run-dir last "$@" >stdout 2>stderr || status=$?
    case $status in
    0) ;;
    2 | 4 | 5)
        grep -q 'parquet' stderr || { cat stderr >&2; fail "$_what: the message does not name the file"; }
        grep -q 'defect' stderr && { cat stderr >&2; fail "$_what: a defect of the plugin"; }
        ;;
    *)
        tail -n 5 stderr >&2
        cp x.parquet "${KEEP:-/dev/null}" 2>/dev/null
        fail "$_what: exit status $status"
        ;;
    esac
}
cat >damage.pl <<'P'
my ($from, $kind, $seed) = @ARGV;
open my $in, '<:raw', $from or die; my $all = do { local $/; <$in> };
srand $seed;
my $size = length $all;
my $footer = $size - 8 - unpack 'V', substr $all, -8, 4;
if ($kind eq 'cut') { $all = substr $all, 0, int rand $size }
elsif ($kind eq 'page') { vec($all, 8 * 4 + int(rand 8 * ($footer - 4)), 1) ^= 1 for 0 .. rand 3 }
elsif ($kind eq 'footer') { vec($all, 8 * $footer + int(rand 8 * ($size - 8 - $footer)), 1) ^= 1 for 0 .. rand 3 }
elsif ($kind eq 'lie') { substr($all, -8, 4) = pack 'V', int rand 2 ** (8 + rand 25) }
elsif ($kind eq 'noise') { substr($all, $footer + int(rand($size - 8 - $footer)), 1) = chr int rand 256 for 0 .. 8 }
elsif ($kind eq 'insert') { substr($all, int(rand $size), 0) = 'x' x (1 + int rand 100) }
open my $out, '>:raw', 'x.parquet'; print $out $all;
P

cp "$good" x.parquet
attempt whole
[ "$status" = 0 ] || { cat stderr >&2; fail 'the whole file is refused'; }
lines out >whole

n=${DAMAGE_FILES:-40}
refused=0
read=0
for kind in cut page footer lie noise insert; do
    seed=0
    while [ $seed -lt "$n" ]; do
        seed=$((seed + 1))
        perl damage.pl "$good" $kind $seed || fail 'no damaged file'
        attempt "$kind $seed" isolate="$([ $((seed % 4)) = 0 ] && echo true || echo false)"
        if [ "$status" = 0 ]; then
            read=$((read + 1))
            case $kind in
            page | cut | lie | insert)
                lines out | cmp -s - whole || fail "$kind $seed: other rows, and nobody is told"
                ;;
            esac
        else
            refused=$((refused + 1))
        fi
    done
done
echo "$refused refused, $read read"
[ "$refused" -gt "$read" ] || fail 'most damaged files were read'

# ---- bad files of others ----
if [ -f "${SLUICE_TEST_DATA:-}/parquet.tar.zst" ]; then
    mkdir others
    tar --zstd -xf "$SLUICE_TEST_DATA/parquet.tar.zst" -C others || fail 'the archive does not unpack'
    find others -path '*bad_data*' -name '*.parquet' >list
    find others -name '*.encrypted' >>list
    find others -name '*INVALID*.parquet' >>list
    [ "$(wc -l <list)" -ge 15 ] || fail 'no collection of bad files'
    while read -r file; do
        for isolate in false true; do
            attempt "$file" "from=$file" isolate=$isolate all=true
            case $file in
            *INVALID*) ;; # what is invalid there is inside of a binary column
            *) [ $status != 0 ] || [ "$(json last/last.json quarantined)" -gt 0 ] || echo "read: $file" ;;
            esac
        done
    done <list
fi
