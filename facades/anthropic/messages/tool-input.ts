/** What a model wrote as arguments, which clients expect as an object; an empty one where it wrote none. */
export function parsedObject(json: string): object {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}
