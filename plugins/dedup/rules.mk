NEEDS   := libxxhash libutf8proc
DEBIAN  := libxxhash-dev libutf8proc-dev
