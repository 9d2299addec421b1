/** A JSON list or object of about so many bytes, made of the same part again and again. */
const fillBytes = (open: string, part: (index: number) => string, close: string, bytes: number) => {
  const each = part(1_000_000).length + 1
  const count = Math.max(1, Math.floor((bytes - 10) / each))
  return open + Array.from({ length: count }, (_, index) => part(index)).join() + close
}

const buildElements = (bytes: number) => fillBytes('[', () => '{}', ']', bytes)
/** An object of about so many bytes, with as many members as there is room for. */
export const buildMembers = (bytes: number) => fillBytes('{', (index) => `"x${index}":0`, '}', bytes)
const buildText = (bytes: number) => `"${'x'.repeat(bytes - 10)}"`

/** The same value for each of the members, which share the bytes. */
const fillEach = (names: readonly string[], bytes: number, write: (bytes: number) => string) => {
  const share = Math.floor((bytes - 10) / names.length) - 60
  return `{${names.map((name) => `"${name}":${write(share)}`).join()}}`
}

/** The worst that members which a schema knows can hold, as JSON by the kind of excess; they share so many bytes. */
export const buildWorstMembers = (names: readonly string[], bytes: number): Record<string, string> => ({
  'elements of every list': fillEach(names, bytes, buildElements),
  '1,980 elements in every list': fillEach(names, Math.min(bytes, names.length * 6030), buildElements),
  ...Object.fromEntries(
    names.map((name) => [`1,980 elements in ${name}`, fillEach([name], Math.min(bytes, 6030), buildElements)]),
  ),
  'members of every object': fillEach(names, bytes, buildMembers),
  'long texts': fillEach(names, bytes, buildText),
})

/** The worst of so many bytes in which no member has a name that a schema knows. */
export const buildWorstStrangers = (bytes: number): Record<string, string> => ({
  'unknown members': buildMembers(bytes),
  'a few hundred unknown members': buildMembers(Math.min(bytes, 4000)),
  'a long name': `{${buildText(bytes - 10)}:0}`,
  'nested lists': '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'nested objects': `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
})

/** The worst that an input of so many bytes can be. `names` are members that a schema knows. */
export const buildWorstInputs = (names: readonly string[], bytes: number): Record<string, string> => ({
  ...buildWorstMembers(names, bytes),
  ...buildWorstStrangers(bytes),
})
