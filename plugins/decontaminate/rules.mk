NEEDS   := jansson libxxhash libutf8proc
DEBIAN  := libjansson-dev libxxhash-dev libutf8proc-dev
