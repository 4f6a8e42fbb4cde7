NEEDS   := jansson libxxhash libpcre2-8 libutf8proc
DEBIAN  := libjansson-dev libxxhash-dev libpcre2-dev libutf8proc-dev
DEFINES := -Iplugins/tokenize
# The tokenizer of the taggers that count tokens: its objects, compiled once, not libsluice-tokenizer.so. What a task's key knows of a
# plugin is the plugin's own file; code in a library beside it could change the output under an old key, and dolma.so would not load
# where it is copied to alone.
SOURCES += $(filter-out plugins/tokenize/tokenize.c plugins/tokenize/tokenize_rows.c plugins/tokenize/tokenizer_library.c plugins/tokenize/loss_spans.c,\
             $(wildcard plugins/tokenize/*.c plugins/tokenize/*/*.c))
