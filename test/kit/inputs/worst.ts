/** A JSON list or object of about so many bytes, made of the same part again and again. */
const filled = (open: string, part: (index: number) => string, close: string, bytes: number) => {
  const each = part(1_000_000).length + 1
  const count = Math.max(1, Math.floor((bytes - 10) / each))
  return open + Array.from({ length: count }, (_, index) => part(index)).join() + close
}

const elements = (bytes: number) => filled('[', () => '{}', ']', bytes)
/** An object of about so many bytes, with as many members as there is room for. */
export const members = (bytes: number) => filled('{', (index) => `"x${index}":0`, '}', bytes)
const text = (bytes: number) => `"${'x'.repeat(bytes - 10)}"`

/** The same value for each of the members, which share the bytes. */
const forEach = (names: readonly string[], bytes: number, write: (bytes: number) => string) => {
  const share = Math.floor((bytes - 10) / names.length) - 60
  return `{${names.map((name) => `"${name}":${write(share)}`).join()}}`
}

/** The worst that members which a schema knows can hold, as JSON by the kind of excess; they share so many bytes. */
export const worstMembers = (names: readonly string[], bytes: number): Record<string, string> => ({
  'elements of every list': forEach(names, bytes, elements),
  '1,980 elements in every list': forEach(names, Math.min(bytes, names.length * 6030), elements),
  ...Object.fromEntries(
    names.map((name) => [`1,980 elements in ${name}`, forEach([name], Math.min(bytes, 6030), elements)]),
  ),
  'members of every object': forEach(names, bytes, members),
  'long texts': forEach(names, bytes, text),
})

/** The worst of so many bytes in which no member has a name that a schema knows. */
export const worstStrangers = (bytes: number): Record<string, string> => ({
  'unknown members': members(bytes),
  'a few hundred unknown members': members(Math.min(bytes, 4000)),
  'a long name': `{${text(bytes - 10)}:0}`,
  'nested lists': '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'nested objects': `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
})

/** The worst that an input of so many bytes can be. `names` are members that a schema knows. */
export const worstInputs = (names: readonly string[], bytes: number): Record<string, string> => ({
  ...worstMembers(names, bytes),
  ...worstStrangers(bytes),
})
