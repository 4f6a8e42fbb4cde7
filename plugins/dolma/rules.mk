NEEDS  := jansson libxxhash libpcre2-8 libutf8proc
DEBIAN := libjansson-dev libxxhash-dev libpcre2-dev libutf8proc-dev
