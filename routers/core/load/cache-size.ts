/**
 * The size of an LRU cache of at most so many entries, which takes room as it fills: `max` would take the room for all of them
 * at once, at every start.
 */
export const maxEntries = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 })
