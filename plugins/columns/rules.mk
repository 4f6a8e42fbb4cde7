NEEDS  := jansson
DEBIAN := libjansson-dev
# Whole rows are handed on as the plugin shuffle does it, and numbers written as stats does.
DEFINES := -Iplugins/shuffle -Iplugins/stats
SOURCES += plugins/shuffle/shuffle.c plugins/shuffle/shuffle_columns.c plugins/stats/number.c
