/** Removes control, format and tag characters, which a model would read although a person cannot see them. */
export const removeInvisible = (text: string) => text.replace(/[^\P{C}\n\t]|[\u{e0000}-\u{e0fff}]/gu, '').toWellFormed()

export const removeInvisibleDeep = (value: unknown) => mapTexts(value, removeInvisible)

/** Removes tag characters, which only a model reads. Others stay, as results may quote any text. */
export const removeTags = (text: string) => text.replace(/[\u{e0000}-\u{e0fff}]/gu, '')

export const removeTagsDeep = (value: unknown) => mapTexts(value, removeTags)

/** Replaces each text of a value, names of members as well. */
function mapTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [replace(name), mapTexts(member, replace)]))
}
