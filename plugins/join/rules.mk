NEEDS  := libxxhash
DEBIAN := libxxhash-dev
