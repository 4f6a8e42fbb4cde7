NEEDS   := fasttext
DEBIAN  := libfasttext-dev
DEFINES := -Iplugins/dolma
# Attributes in Dolma's form are made as the plugin dolma makes them.
SOURCES += plugins/dolma/dolma_column.c plugins/dolma/dolma_doc.c plugins/dolma/dolma_names.c plugins/dolma/dolma_out.c
