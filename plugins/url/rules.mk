NEEDS  := libxxhash
DEBIAN := libxxhash-dev publicsuffix
