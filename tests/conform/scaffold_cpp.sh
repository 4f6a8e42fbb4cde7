# sluice new --lang cpp, every role: make and make test with nothing but what is installed.
# time limit: 400
. "$SRC/tests/conform/scaffold_kit"
installed
projects cpp class
notices cpp transform my_transform.cc 'number++;' 'number += 2;'
