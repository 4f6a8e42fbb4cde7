# inspect_luals.sh - the annotations for editors say what there is: stages.lua is what `sluice inspect --luals` writes, and sluice.lua has
# every function of the language, every member of a definition, and every option of the composites.
set -eu
ANNOTATIONS=$SRC/sdk/lua

"$SLUICE" inspect --luals >stages.lua
if cmp -s stages.lua "$ANNOTATIONS/stages.lua"; then
    echo 'stages.lua is what there is'
else
    diff "$ANNOTATIONS/stages.lua" stages.lua | head -n 20 || :
    echo 'sdk/lua/stages.lua is out of date: sluice inspect --luals >sdk/lua/stages.lua'
fi

# Each stage that `inspect` lists has a function, each option a field.
"$SLUICE" inspect --json | perl -ne '
    next unless /^\{"name":"(\w+)"/;
    my $stage = $1;
    my ($options) = /"options":\[(.*?)\],"reasons"/ or die;
    print "s.$stage\n";
    print "$stage $_\n" for $options =~ /\{"name":"(\w+)"/g' | sort >there
perl -ne '
    $stage = $1 if /^---\@class sluice\.options\.(\w+)/;
    print "$stage $1\n" if /^---\@field (\w+)/ && $1 !~ /^(isolate|class)$/ && "$stage $1" !~ /^write_\w+ mode$/;
    print "s.$1\n" if /^function s\.(\w+)/' stages.lua | sort >annotated
diff there annotated && echo "$(grep -c '^s\.' there | sed 's/^[1-9][0-9]*$/some/') stages, all options"

# The functions of the language. Composites are the standard library's.
# (pack is the plugin's stage, and annotated with them.)
sed -n 's/^M\.\([a-z_]*\) = .*/\1/p' "$SRC/scripts/lib/std.lua" "$SRC/scripts/lib/std_shuffle.lua" | grep -v -x -e gate -e contract -e pack >composites
sed -n 's/^function M\.\([a-z_]*\).*/\1/p' "$SRC/scripts/lib/sluice.lua" | sort >there
sed -n 's/^function s\.\([a-z_]*\).*/\1/p' "$ANNOTATIONS/sluice.lua" | grep -v -x -f composites | sort >annotated
diff there annotated && echo 'all functions'

# The options of composites, as a check that fails lists them.
while read -r composite; do
    printf 'local s = require "sluice"\nlocal x = s.%s { nonsense = 1 }\n' "$composite" >x.lua
    "$SLUICE" check x.lua 2>&1 | sed -n 's/.*Valid: //p' | tr -d ' ' | tr ',' '\n' | grep -v '^ithasnooptions$' | sort >there
    sed -n "/^---@class sluice.options.$composite\$/,/^\$/s/^---@field \\([a-z_]*\\).*/\\1/p" "$ANNOTATIONS/sluice.lua" | sort >annotated
    [ -s there ] || [ "$composite" = mix_table ] || echo "no options of $composite"
    diff there annotated && echo "all options of $composite"
done <composites
for name in gate contract; do
    printf 'local s = require "sluice"\nlocal x = s.%s { nonsense = 1 }\n' $name >x.lua
    "$SLUICE" check x.lua 2>&1 | sed -n "s/.*a $name takes //p" | tr -d ' ' | tr ',' '\n' | sort >there
    sed -n "/^---@class sluice.options.$name\$/,/^\$/s/^---@field \\([a-z_]\\{1,\\}\\).*/\\1/p" "$ANNOTATIONS/sluice.lua" | sort >annotated
    diff there annotated && echo "all options of $name"
done

# The members of definitions: known ones are annotated, and annotated ones known.
perl -e '
    my ($code, $annotations) = map { local $/; open my $in, "<", $_ or die; <$in> } @ARGV;
    my ($table) = $code =~ /known\[LUAROLES\].*?= \{(.*?)\n    \};/s or die "no table of members";
    my %class;
    for (split /\n\n/, $annotations) {
        next unless /---\@class sluice\.(\w+)(?:: sluice\.(\w+))?/;
        my ($name, $base) = ($1, $2);
        $class{$name} = [ /^---\@field (\w+)/mg, @{ $class{ $base // "" } // [] } ];
    }
    my %of = (FILTER => "Filter", ANNOTATE => "Annotate", HEURISTIC => "Heuristic", TRANSFORM => "Transform", READER => "Reader", GATE => "Gate",
        WRITER => "Writer");
    my $n = 0;
    while ($table =~ /\[LUAROLE_(\w+)\] = \{(.*?)\}/sg) {
        my ($role, $members) = ($1, $2);
        my $there = join " ", sort $members =~ /"(\w+)"/g;
        my $annotated = join " ", sort @{ $class{"$of{$role}Definition"} };
        $there eq $annotated or print "$role: known: $there\nannotated: $annotated\n";
        $n++;
    }
    print "members of $n roles\n"' "$SRC/core/lua/stage/luastage_define.c" "$ANNOTATIONS/sluice.lua"

# They are Lua.
for file in sluice stages ffi; do
    if command -v luac5.4 >luac; then
        luac5.4 -p "$ANNOTATIONS/$file.lua"
    fi
done

"$SLUICE" inspect --luals pack 2>&1 || echo "status $?"
