# recipes.sh - the recipes of papers in scripts/pipelines are checked and run, on a small corpus with lists and models of the test's own: what each rule
# drops is dropped for that reason, and two plain documents stay.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

recipes=$SRC/scripts/pipelines
# The language model of the collection; without it nothing can be said.
if [ -e "${SLUICE_TEST_DATA:-}/lid.176.ftz" ]; then
    model=$SLUICE_TEST_DATA/lid.176.ftz
else
    skip 'no fastText model (lid.176.ftz in the folder of test data)'
fi
"$SLUICE" plugins 2>/dev/null | grep -q '^fasttext ' || skip 'the plugin fasttext is not built'

perl -e '
    my @s = ("The ferry to the island leaves at eight in the morning and comes back before the tide turns.",
             "Those who have a garden know that the beans must be sown after the last frost of the year.",
             "It was said that the clockmaker of the town had never been late to anything in his life.",
             "In the second room there is a painting of the harbour with more than forty boats in it.",
             "When the rain had stopped we walked along the river to see how high the water stood.",
             "A letter of that kind takes three days to arrive, and another three to be answered.",
             "Nobody could tell with certainty who had left the box of tools beside the old gate.");
    my @t = ("Bread of this sort needs a long rest, so the dough is made on the evening before it is baked.",
             "The second step is to fold it over four times, and to leave it alone for half an hour.",
             "With a sharp knife the baker cuts the crust, that it may open in the heat of the oven.",
             "You will hear a hollow sound when you knock on the bottom of a loaf that is done.",
             "Put it on a rack and let it cool, for the crumb goes on to set while it is warm.",
             "Rye flour takes up more water than wheat, and the dough stays softer to the touch.",
             "What is left on the third day makes a good soup with onions and a little cheese.");
    sub row { my ($id, $url, $text) = @_; $text =~ s/\n/\\n/g; $text =~ s/"/\\"/g;
              print qq({"id":"$id","dump":"CC-1","url":"$url","text":"$text"}\n) }
    row("ferry", "https://good.example/a", join " ", @s);
    row("bread", "https://good.example/b", join " ", @t);
    row("listed", "https://www.bad-domain.com/x", join " ", reverse @s);
    row("short", "https://good.example/c", "Home and about");
    row("again", "https://good.example/d", join "\n", ("The same line again and again and again.") x 12);
    row("twin", "https://good.example/e", join " ", @s);
    row("german", "https://good.example/f", join " ", ("Die Faehre zur Insel faehrt um acht Uhr und kommt vor der Flut mit den Leuten zurueck, be to of.",
        "Wer einen Garten hat, der weiss, dass man die Bohnen erst nach dem letzten Frost des Jahres saet.",
        "Man sagt, der Uhrmacher der Stadt sei in seinem ganzen Leben nie zu einem Treffen zu spaet gekommen.",
        "Im zweiten Zimmer haengt ein Bild des Hafens mit mehr als vierzig Booten und einem grauen Himmel.",
        "Als der Regen aufgehoert hatte, gingen wir am Fluss entlang, um zu sehen, wie hoch das Wasser stand."));
    row("shouts", "https://good.example/g", join "\n", (map { uc } @t[0 .. 5]), @s);
' >"$TMP/in.jsonl"
echo 'bad-domain.com' >"$TMP/domains.txt"
echo 'https://nowhere.example/' >"$TMP/urls.txt"
echo 'forbiddenword' >"$TMP/words.txt"
printf 'softword\nsofterword\n' >"$TMP/soft.txt"
echo 'forbiddenpart' >"$TMP/subwords.txt"
printf 'orem ipsum \n\\|\\s*$\n nr\\.$\nxx+x\n(a|b)cd\n' >"$TMP/cursed.txt"

# recipe NAME ARGUMENT... : its decisions in $TMP/NAME.said, "id reason" a line.
recipe() {
    name=$1
    shift
    set -- "input=$TMP/in.jsonl" "out=$TMP/$name" "languages=$model" "$@"
    expect 0 "$SLUICE" check "$recipes/$name.lua" "$@"
    expect 0 "$SLUICE" run "$recipes/$name.lua" --quiet --run-dir "$TMP/$name.run" "$@"
    {
        lines "$TMP/$name/kept" | perl -ne 'print "$1 kept\n" if /"id":"([^"]*)"/'
        lines "$TMP/$name/dropped" | perl -ne 'print "$1 $2\n" if /"id":"([^"]*)".*"drop_reason":"([^"]*)"/'
    } | LC_ALL=C sort >"$TMP/$name.said"
}

# said NAME LINES
said() {
    printf '%s\n' "$2" | LC_ALL=C sort | diff - "$TMP/$1.said" >&2 || fail "$1.lua decides otherwise"
}

set -- "domains=$TMP/domains.txt" "strict=$TMP/subwords.txt" "hard=$TMP/words.txt" "soft=$TMP/soft.txt"
lists="urls=$TMP/urls.txt words=$TMP/words.txt soft_words=$TMP/soft.txt subwords=$TMP/subwords.txt"
# shellcheck disable=SC2086
recipe fineweb "domains=$TMP/domains.txt" $lists
recipe refinedweb "$@"
recipe dclm "$@" "quality=$model" label=en threshold=0.5 expected=1000
recipe dolma_cc "toxic=$model" "nsfw=$model" toxic_label=ja nsfw_label=zh
# shellcheck disable=SC2086
recipe olmo3_web "refinedweb_domains=$TMP/domains.txt" "fineweb_domains=$TMP/domains.txt" "strict=$TMP/subwords.txt" "hard=$TMP/words.txt" \
    "soft=$TMP/soft.txt" "cursed=$TMP/cursed.txt" $lists
said fineweb 'again dup_line_frac
bread kept
ferry kept
german language
listed domain
short top_2_gram
shouts kept
twin minhash_duplicate'
said refinedweb 'again dup_line
bread kept
ferry kept
german language
listed domain
short page_length_word
shouts word_removal_ratio
twin minhash_duplicate'
said dclm 'again dup_line
bread kept
ferry kept
german language
listed domain
short page_length_word
shouts word_removal_ratio
twin paragraphs_empty'
said dolma_cc 'again excluded
bread kept
ferry kept
german language
listed kept
short excluded
shouts kept
twin exact_duplicate'
said olmo3_web 'again dup_line
bread kept
ferry kept
german language
listed domain
short page_length_char
shouts word_removal_ratio
twin exact_duplicate'
