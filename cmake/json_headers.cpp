// The library that the precompiled header belongs to has to have a source.
