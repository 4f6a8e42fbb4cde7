NEEDS  := nettle libxxhash
DEBIAN := nettle-dev libxxhash-dev
