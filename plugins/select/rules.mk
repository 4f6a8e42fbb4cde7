NEEDS  := libpcre2-8 libxxhash
DEBIAN := libpcre2-dev libxxhash-dev
