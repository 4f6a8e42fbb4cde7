# guides.sh - runs every example of the guides in sdk/guides against an installed tree, each guide in a folder of its own, and compares what it
# shows with what comes, as readme.sh does.
# GUIDES_UPDATE=1 tests/run guides writes examples that differ anew (then look at the changes).
. "$SRC/tests/conform/scaffold_kit"

if grep -q -e -fsanitize= "$BUILD/flags"; then skip 'plugins of other people are built without sanitizers'; fi
for tool in make gcc pkg-config; do command -v "$tool" >/dev/null || skip "no $tool"; done
unset MAKEFLAGS MAKELEVEL MFLAGS XDG_DATA_HOME
installed
COLUMNS=100
PYTHONPATH=$SRC/sdk/python PYTHONDONTWRITEBYTECODE=1 # for python.md
export COLUMNS PYTHONPATH PYTHONDONTWRITEBYTECODE
status=0
for page in "$SRC"/sdk/guides/*.md; do
    name=$(basename "$page" .md)
    case $name in README | tour) continue ;; esac # readme.sh runs the tour
    # One page shows that a file can't be written; landlock_create_ruleset(2) tells whether the kernel can promise that.
    if [ "$name" = containment ] && ! perl -e 'exit(syscall(444, 0, 0, 1) > 0 ? 0 : 1)'; then
        echo "$name: this kernel has no Landlock"
        continue
    fi
    mkdir -p "$TMP/$name/guide"
    (
        cd "$TMP/$name"
        HOME=$TMP/$name
        export HOME
        perl "$SRC/tests/cli/readme.pl" "$page" --in guide ${GUIDES_UPDATE:+--update}
    ) >"$name.log" 2>&1 || status=1
    # Two at once would be faster, but the other tests are the second one.
    sed "s/^\([0-9]* examples\)/$name: \1/" "$name.log"
done
# The index names every guide, and no other.
ls "$SRC/sdk/guides" | grep -v '^README.md$' >there
sed -n 's/^- \[.*\](\([a-z-]*\.md\)).*/\1/p' "$SRC/sdk/guides/README.md" | sort | diff - there || status=1
# Links lead to files.
(cd "$SRC/sdk/guides" && perl -ne 'print "$ARGV: $1\n" if /\]\((?!http|#)([^)#]+)/ && !-e $1' ./*.md) >dead
if [ -s dead ]; then cat dead; status=1; fi
exit $status
