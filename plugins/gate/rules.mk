NEEDS   := jansson libpcre2-8
DEBIAN  := libjansson-dev libpcre2-dev
# Values of columns are read as cast_columns does it.
DEFINES := -Iplugins/columns -Iplugins/stats
SOURCES += plugins/columns/cast_value.c plugins/stats/number.c
