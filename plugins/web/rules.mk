NEEDS  := libxxhash libpcre2-8 libutf8proc
DEBIAN := libxxhash-dev libpcre2-dev libutf8proc-dev
