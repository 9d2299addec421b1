/** Writes the archive of what belongs to a person, piece by piece, as a ZIP; breaks off where the signal ends. */
export type WritePersonArchive = (userId: number, signal: AbortSignal) => AsyncIterable<Uint8Array>
