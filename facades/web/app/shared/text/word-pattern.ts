/** Marks that a search ignores: combining accents, and the vowel points of Hebrew and Arabic. */
const MARKS = '[\\u0300-\\u036f\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u064b-\\u065f\\u0670]'
const ALL_MARKS = new RegExp(MARKS, 'g')

/** Returns a text in lower case without accents, composed or decomposed as it may be. */
export const foldText = (text: string): string =>
  text.normalize('NFD').replace(ALL_MARKS, '').normalize('NFC').toLowerCase().replaceAll('ß', 'ss')

/** The last code point that is composed of others in a language of today. */
const LAST_COMPOSED = 0x1fff

/** The composed characters of a letter, such as `é` of `e`. */
let variants: Map<string, string> | undefined

function findVariants(letter: string): string {
  variants ??= collectVariants()
  return variants.get(letter) ?? ''
}

function collectVariants(): Map<string, string> {
  const found = new Map<string, string>()
  for (let code = 0x80; code <= LAST_COMPOSED; code++) {
    const character = String.fromCodePoint(code)
    const letter = foldText(character)
    if (letter.length === 1 && letter !== character) found.set(letter, (found.get(letter) ?? '') + character)
  }
  return found
}

/**
 * Returns a pattern that finds words in a text as it was written: composed or decomposed, in any case, with and without
 * accents, and whatever space is between them. Undefined if there are no words.
 */
export function buildWordPattern(words: string): RegExp | undefined {
  const folded = foldText(words).trim()
  if (folded === '') return undefined
  const parts = folded.split(/\s+/).map((word) => word.replace(/ss|./gu, toPattern))
  return new RegExp(parts.join('\\s+'), 'iu')
}

/** The characters that have a meaning in a pattern. */
const SYNTAX = /[$()*+./?[\\\]^{|}-]/

function toPattern(letter: string): string {
  if (letter === 'ss') return `(?:${toPattern('s')}${toPattern('s')}|ß)`
  const decomposed = letter.normalize('NFD')
  const composed = `[${letter.replace(SYNTAX, '\\$&')}${findVariants(letter)}]`
  return `(?:${decomposed === letter ? composed : `${composed}|${decomposed}`})${MARKS}*`
}
