NEEDS   := jansson libxxhash libpcre2-8 libutf8proc
DEBIAN  := libjansson-dev libxxhash-dev libpcre2-dev libutf8proc-dev
DEFINES := -Iplugins/tokenize
# The tokenizer of the taggers that count tokens.
SOURCES += $(filter-out plugins/tokenize/tokenize.c plugins/tokenize/tokenizer_library.c plugins/tokenize/loss_spans.c,\
             $(wildcard plugins/tokenize/*.c plugins/tokenize/*/*.c))
