# sluice new --lang c, every role: make and make test with nothing but what is installed.
. "$SRC/tests/conform/scaffold_kit"
installed
projects c int
notices c annotator my_annotator.c 'config->min_length;' 'config->min_length + 1;'
