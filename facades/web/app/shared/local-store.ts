/**
 * Reads a value that was stored as JSON in this browser. Content that is damaged, or of another form, is deleted and
 * counts as none.
 */
export function readStored<T>(storageKey: string, isValid: (value: unknown) => value is T): T | undefined {
  const text = localStorage.getItem(storageKey)
  if (text === null) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (isValid(value)) return value
  } catch {
    // Text that is no JSON is deleted as well.
  }
  localStorage.removeItem(storageKey)
  return undefined
}

/** Stores a value as JSON in this browser, or in this tab. Returns false if the storage has no room for it. */
export function writeStored(storageKey: string, value: unknown, storage = localStorage): boolean {
  try {
    storage.setItem(storageKey, JSON.stringify(value))
    return true
  } catch {
    return false
  }
}

/** Removes all that is stored of a person in this browser; the keys of the storage are `svc:<kind>:<owner>…`. */
export function removeStored(owner: string): void {
  for (const storageKey of Object.keys(localStorage)) {
    const [brand, , person] = storageKey.split(':')
    if (brand === 'svc' && person === owner) localStorage.removeItem(storageKey)
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses a JSON object; returns undefined for any other text. */
export function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
