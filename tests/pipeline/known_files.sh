# What is known of programs, plugins and models is kept for all runs of a user: a new run directory reads none of them
# again. Only a file that is the same by size and times is believed, and losing all of it costs time alone.
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
XDG_CACHE_HOME=$TMP/known
export XDG_CACHE_HOME
mkdir in
echo '{"id":"1","text":"the document has some rude words"}' >in/a.jsonl
echo polite >bad.txt
cat >p.lua <<'L'
local s = require "sluice"
return s.pipeline { "p", s.files "in/*.jsonl" | s.read_jsonl {} | s.c4_badwords { en = "bad.txt" }
  | s.write_jsonl { "out" } }
L
known=known/sluice/files
hash_of() { sha256sum "$1" | cut -d ' ' -f 1; }
model_of() { sed -n 's/.*"sha256": "\([0-9a-f]*\)".*/\1/p' "$1/used.json" | grep -c "$(hash_of bad.txt)" || true; }
sleep 3 # what was written just now is believed by its execution only

expect 0 "$SLUICE" run p.lua --run-dir a.run --quiet
for name in libsluice-core.so read_jsonl.so bad.txt; do
    grep -q " hashes $(hash_of "$(grep -o "[^ ]*/$name\$" $known)"),.*/$name\$" $known || fail "$name is not known"
done
cp $known before
expect 0 "$SLUICE" run p.lua --run-dir b.run --quiet
cmp $known before || fail 'a second run directory read files again'
cmp a.run/used.json b.run/used.json || fail 'what is known of files differs from what they are'
is "$(model_of b.run)" 1 'the hash of the model'

# Another file of the same size and modification time.
echo rudely >other
mv other bad.new
truncate -s 7 bad.new
touch -r bad.txt bad.new
mv bad.new bad.txt
expect 0 "$SLUICE" run p.lua --run-dir c.run --quiet
is "$(model_of c.run)" 1 'the hash of a model that was replaced'

# ---- the lock file never believes it ----
expect 0 "$SLUICE" lock p.lua
expect 0 "$SLUICE" run p.lua --run-dir d.run --quiet --locked
echo polish >bad.txt
expect 2 "$SLUICE" run p.lua --run-dir d.run --quiet --locked
says 'bad.txt'

# ---- damaged, in the way, gone, grown: it costs time ----
printf 'x' | dd of=$known bs=1 seek=10 conv=notrunc 2>/dev/null
expect 0 "$SLUICE" run p.lua --run-dir e.run --quiet
truncate -s 2M $known
expect 0 "$SLUICE" run p.lua --run-dir f.run --quiet
[ "$(stat -c %s $known)" -lt 100000 ] || fail 'the list of known files grows without end'
rm -rf known
: >known
expect 0 "$SLUICE" run p.lua --run-dir g.run --quiet
unset XDG_CACHE_HOME
HOME= expect 0 "$SLUICE" run p.lua --run-dir h.run --quiet
is "$(model_of h.run)" 1 'the hash of a model without a cache'
