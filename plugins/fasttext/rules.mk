NEEDS  := fasttext
DEBIAN := libfasttext-dev
