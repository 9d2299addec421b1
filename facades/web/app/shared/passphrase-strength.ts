/** The strength of a passphrase that may be chosen, from weak to strong. */
export type Strength = 'weak' | 'fair' | 'strong'

/** Bits from which a passphrase is called fair, and strong. */
const FAIR = 33
const STRONG = 55
/** The bits of a word, as from a list of some thousand, and of what else its kind has at most. */
const LETTERS = { each: 4.7, most: 13 }
const DIGITS = { each: 3.3, most: 10 }
const SIGNS = { each: 4, most: 8 }

/** Rates a passphrase by its words, numbers and signs: a repeated one counts once, and a long word no more than another. */
export function rateStrength(passphrase: string): Strength {
  const parts = passphrase.normalize('NFKC').match(/\p{L}+|\p{N}+|[^\p{L}\p{N}]+/gu) ?? []
  const differing = new Set(parts.map((part) => part.toLowerCase()))
  const bits = [...differing].reduce((sum, part) => sum + countBits(part), countCapitals(passphrase))
  if (bits < FAIR) return 'weak'
  return bits < STRONG ? 'fair' : 'strong'
}

function countBits(part: string): number {
  const { each, most } = /\p{L}/u.test(part) ? LETTERS : /\p{N}/u.test(part) ? DIGITS : SIGNS
  return Math.min(most, each * new Set(part).size)
}

/** Capitals within words are worth a bit each; those at their beginning are expected. */
const countCapitals = (passphrase: string) => passphrase.match(/(?<=\p{L})\p{Lu}/gu)?.length ?? 0
