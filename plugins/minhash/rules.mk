NEEDS  := nettle libxxhash jansson
DEBIAN := nettle-dev libxxhash-dev libjansson-dev
