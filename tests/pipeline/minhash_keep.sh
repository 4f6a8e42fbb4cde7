# minhash_keep.sh - which document of a cluster stays under each policy, what `within` parts, and what
# verification refuses: known clusters of three, a false chain, and documents that are alike in two crawls.
#
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# 30 texts, each in three versions that differ in a word or two: version 2 is the longest, 3 has the best
# score, 1 the newest date. Every third text has all its versions in one crawl, the others in three.
perl -e '
    my $seed = 7;
    sub word { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; join "", map { chr(97 + (($seed >> (5 * $_)) % 26)) } 0 .. 4 }
    for my $n (0 .. 29) {
        my @words = map { word() } 1 .. 240;
        for my $v (1 .. 3) {
            my @w = @words;
            $w[120] = "changed$v";
            push @w, "tail" x 8 if $v == 2;
            my $crawl = $n % 3 == 0 ? "a" : chr(96 + $v);
            printf "{\"id\":\"%02d-%d\",\"text\":\"%s\",\"crawl\":\"%s\",\"score\":%s,\"date\":%s}\n", $n, $v, join(" ", @w), $crawl,
                $v == 3 ? "0.75" : $v == 2 ? "-1.5" : "null", $v == 1 ? "\"2024-05-31T10:00:00+02:00\"" : $v == 2 ? "\"2024-05-31T07:59:59Z\"" : "null";
        }
    }' >in.jsonl
cat >keep.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, keep = { "string", "first" }, by = { "string", "" }, within = { "string", "" }, partitions = { "int", 3 } }
local docs = s.files { "in.jsonl", split = "64KiB" } | s.read_jsonl { columns = { crawl = "utf8", score = "float64", date = "utf8" } }
local options = { keep = a.keep, partitions = a.partitions, bands = 20, rows = 5 }
if a.by ~= "" then options.by = a.by end
if a.within ~= "" then options.within = a.within end
local unique = docs | s.minhash(options)
return s.pipeline { "keep", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
# stays VERSION ARGUMENT... : of each text this version stays, and the others name it.
stays() {
    version=$1
    shift
    expect 0 "$SLUICE" run keep.lua --quiet --run-dir run out=out "$@"
    lines out/kept | member id >kept
    is "$(wc -l <kept)" 30 "documents that stay ($*)"
    is "$(sed 's/.*-//' kept | sort -u)" "$version" "the version that stays ($*)"
    lines out/lost >lost
    is "$(wc -l <lost)" 60 "documents dropped ($*)"
    member id <lost | sed 's/-.*//' >left
    member dup_of <lost | sed "s/-$version\$//" >right
    cmp -s left right || fail "dup_of does not name the survivor ($*)"
}
stays 1
stays 2 keep=longest
stays 3 keep=best by=score
stays 1 keep=newest by=date
member similarity <lost | awk '$1 < 0.6 || $1 > 1 { exit 1 }' || fail 'a similarity is out of range'

# Ties go to the smallest position: with equal ranks everywhere the first stays, whatever the policy.
sed 's/"score":[^,]*/"score":1/' in.jsonl >equal.jsonl
sed -i.bak 's/"in.jsonl"/"equal.jsonl"/' keep.lua
stays 1 keep=best by=score
mv keep.lua.bak keep.lua

# In three crawls nothing is a duplicate across them: only the texts of one crawl lose versions.
expect 0 "$SLUICE" run keep.lua --quiet --run-dir run out=out within=crawl
is "$(lines out/kept | wc -l)" 70 'documents that stay within their crawl'
is "$(lines out/lost | member crawl | sort -u)" a 'crawls that lose documents'
# Rows without a value are a group of their own.
sed 's/"crawl":"[bc]"/"crawl":null/' in.jsonl >null.jsonl
sed 's/"in.jsonl"/"null.jsonl"/' keep.lua >null.lua
expect 0 "$SLUICE" run null.lua --quiet --run-dir run out=out within=crawl
is "$(lines out/kept | wc -l)" 50 'documents that stay when a crawl is not known'

# What policies need is said.
expect 2 "$SLUICE" run keep.lua --quiet --run-dir run out=out keep=best
says 'no column is given to choose by' 'by'
expect 2 "$SLUICE" run keep.lua --quiet --run-dir run out=out by=score
says 'by goes with keep = best or newest'
expect 2 "$SLUICE" run keep.lua --quiet --run-dir run out=out keep=best by=date
says 'date'
# A date that is none is quarantined, not guessed.
sed '5s/"date":[^}]*/"date":"last year"/' in.jsonl >bad.jsonl
sed -e 's/"in.jsonl"/"bad.jsonl"/' -e 's/"keep", unique/"keep", max_bad = 1, unique/' keep.lua >bad.lua
expect 0 "$SLUICE" run bad.lua --quiet --run-dir bad.run out=bad keep=newest by=date
expect 0 "$SLUICE" why bad.run --quarantine
says bad_date

# A false chain: text i shares half of its words with text i + 1, so that bands of few rows join them all.
# Verified, a document is dropped only when it is alike the one it is said to duplicate.
perl -e '
    my $seed = 3;
    sub word { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; join "", map { chr(97 + (($seed >> (5 * $_)) % 26)) } 0 .. 4 }
    my @stream = map { word() } 1 .. 1200;
    for my $i (0 .. 19) {
        my $text = join " ", @stream[$i * 50 .. $i * 50 + 149];
        print "{\"id\":\"c$i\",\"text\":\"$text\"}\n";
        print "{\"id\":\"d$i\",\"text\":\"$text and more\"}\n";
    }' >chain.jsonl
cat >chain.lua <<'L'
local s = require "sluice"
local a = s.args { verify = { "float", 0 }, out = { "path", "out" } }
local docs = s.files { "chain.jsonl", split = "64KiB" } | s.read_jsonl {}
local unique = docs | s.minhash { verify = a.verify, bands = 60, rows = 2, ngram = 2 }
return s.pipeline { "chain", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
expect 0 "$SLUICE" run chain.lua --quiet out=joined --run-dir joined.run
[ "$(lines joined/kept | wc -l)" -lt 5 ] || fail 'the bands do not join the chain; the test tests nothing'
expect 0 "$SLUICE" run chain.lua --quiet out=verified verify=0.8 --run-dir verified.run
is "$(lines verified/kept | member id | sed 's/[0-9]*//g' | sort -u)" c 'documents that stay when verified'
is "$(lines verified/kept | wc -l)" 20 'how many stay when verified'
lines verified/lost >lost
member id <lost | tr d c >left
member dup_of <lost >right
cmp -s left right || fail 'a verified duplicate does not name its origin'
member similarity <lost | awk '$1 < 0.9 { exit 1 }' || fail 'a verified similarity is not the Jaccard similarity'
is "$(member drop_limit <lost | sort -u)" 0.8 'the limit'
