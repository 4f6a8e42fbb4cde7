NEEDS  := libzstd zlib
DEBIAN := libzstd-dev zlib1g-dev
