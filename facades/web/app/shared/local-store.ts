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
