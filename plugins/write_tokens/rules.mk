NEEDS  := libzstd libxxhash nettle
DEBIAN := libzstd-dev libxxhash-dev nettle-dev
