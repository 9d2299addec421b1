/**
 * Options for an LRU cache of at most so many entries that grows as it fills; `max` would allocate all entries at
 * startup.
 */
export const maxEntries = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 })
