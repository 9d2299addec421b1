const segmenter = new Intl.Segmenter()

/** Returns the first letters of a name's first and last words; empty for a name without letters or digits. */
export function getInitials(name: string): string {
  const words = name.split(/[^\p{L}\p{M}\p{N}.'’]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word))
  // Titles such as «Dr.» name nobody.
  const names = words.filter((word) => !word.endsWith('.'))
  const [first, ...others] = names.length > 0 ? names : words
  return [first, others.at(-1)].map(getFirstLetter).join('').toLocaleUpperCase()
}

/** Returns the first character that people see, with its accents. */
function getFirstLetter(word = ''): string {
  const [character] = segmenter.segment(word.replace(/^[.'’]+/, ''))
  return character?.segment ?? ''
}
