export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object, or an empty one where there is none: a check on a member then simply does not find it. */
export const object = (value: unknown): JsonObject => (isObject(value) ? value : {})
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value : [])
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const objects = (value: unknown): JsonObject[] => list(value).filter(isObject)
export const texts = (value: unknown): string[] => list(value).filter((item) => typeof item === 'string')

export const isUri = (value: unknown): boolean => URL.canParse(text(value))

/** A value in a few words, for a line of the report. */
export function short(value: unknown): string {
  const written = JSON.stringify(value) ?? String(value)
  return written.length > 120 ? `${written.slice(0, 117)}...` : written
}
