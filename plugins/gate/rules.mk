NEEDS  := jansson
DEBIAN := libjansson-dev
