import type { Direction } from './tokens.ts'

export const isBlank = (text: string): boolean => text.trim() === ''

export const isWhitespace = (character: string): boolean => character === '' || /^\s$/u.test(character)

export const isPunctuation = (character: string): boolean => /^[\p{P}\p{S}]$/u.test(character)

/** Chinese, Japanese and Korean letters, which are written without blanks, and their punctuation. */
export const isCjk = (character: string): boolean =>
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3000-\u303f\uff00-\uffef]$/u.test(
    character,
  )

export const isAsciiPunctuation = (character: string): boolean => /^[!-/:-@[-`{-~]$/.test(character)

/** Returns the character that ends at this index; empty at the beginning. */
export function getCharacterBefore(text: string, index: number): string {
  const low = text[index - 1] ?? ''
  return /[\udc00-\udfff]/.test(low) && index > 1 ? text.slice(index - 2, index) : low
}

/** Returns the character that begins at this index; empty at the end. */
export function getCharacterAt(text: string, index: number): string {
  const code = text.codePointAt(index)
  return code === undefined ? '' : String.fromCodePoint(code)
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** Returns the direction of the first letter. */
export function findDirection(text: string): Direction {
  const letter = /\p{L}/u.exec(text)?.[0]
  return letter !== undefined && RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr'
}

/** The names of XML, and those of signs in addresses, by which the words of a link are compared with its host. */
const knownEntities: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', '\u00a0'],
  ['period', '.'],
  ['sol', '/'],
  ['colon', ':'],
  ['commat', '@'],
])

/** Decodes a character reference without `&` and `;`; returns undefined for any other name. */
export function decodeEntity(reference: string): string | undefined {
  if (!reference.startsWith('#')) return knownEntities.get(reference)
  const isHex = /^#x/i.test(reference)
  const code = Number.parseInt(reference.slice(isHex ? 2 : 1), isHex ? 16 : 10)
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return '\ufffd'
  return String.fromCodePoint(code)
}

/** Removes backslashes before punctuation and decodes references, as in the address of a link. */
export const unescapeAddress = (text: string): string =>
  text
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(/&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,4});/gi, (whole, reference: string) => decodeEntity(reference) ?? whole)
