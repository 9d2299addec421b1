/** Returns the items in their order, each once. */
export const removeDuplicates = <T>(items: readonly T[]): T[] => [...new Set(items)]
