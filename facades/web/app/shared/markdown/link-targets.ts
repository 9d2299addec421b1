import { unescapeAddress } from './characters.ts'
import type { WorkBudget } from './work-budget.ts'

/** The address of a link that is written as `(address "title")`, and the index behind it. */
export interface LinkDestination {
  href: string
  end: number
}

/** The most characters of an address, except for pictures within the text. */
const MAX_ADDRESS = 2000

const TITLE = /[ \t\n]+(?:"(?:\\.|[^"\\]){0,1000}"|'(?:\\.|[^'\\]){0,1000}'|\((?:\\.|[^()\\]){0,1000}\))/y
const BLANKS = /[ \t\n]*/y
const PICTURE = /data:image\/[a-z+]+;base64,[\w+/=]*/iy

/** Reads the destination that begins with the parenthesis at this index. */
export function readDestination(text: string, start: number, budget: WorkBudget): LinkDestination | undefined {
  const address = readAddress(text, skip(BLANKS, text, start + 1))
  budget.takeSteps(address.end - start)
  const afterTitle = skip(TITLE, text, address.end)
  const end = skip(BLANKS, text, afterTitle)
  budget.takeSteps(end - address.end)
  return text[end] === ')' ? { href: unescapeAddress(address.text), end: end + 1 } : undefined
}

/** Returns the index behind what a sticky pattern matches here. */
function skip(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index
  return index + (pattern.exec(text)?.[0].length ?? 0)
}

/** Reads an address in angle brackets, a picture within the text, or any other address. */
function readAddress(text: string, start: number): { text: string; end: number } {
  if (text[start] === '<') {
    const end = skip(/<[^<>\n]{0,2000}>/y, text, start)
    return { text: text.slice(start + 1, Math.max(start, end - 1)), end }
  }
  const pictureEnd = skip(PICTURE, text, start)
  const end = pictureEnd > start ? pictureEnd : findAddressEnd(text, start)
  return { text: text.slice(start, end), end }
}

/** Finds the end of an address, in which parentheses come in pairs. */
function findAddressEnd(text: string, start: number): number {
  const last = Math.min(text.length, start + MAX_ADDRESS)
  let open = 0
  let end = start
  for (; end < last && (text[end] as string) > ' '; end++) {
    if (text[end] === '\\') end++
    else if (text[end] === '(') open++
    else if (text[end] === ')' && --open < 0) return end
  }
  return Math.min(end, text.length)
}

/** An address without any marks, and the index behind it. */
export interface BareAddress {
  start: number
  end: number
  href: string
}

// An address ends before blanks, quotes, brackets, full-width punctuation and letters that are written without blanks.
const BARE_ADDRESS =
  /(?<![\p{L}\p{N}_/@.-])(?:https?:\/\/|www\.)[^\s<>"`[\]{}|\u2018-\u201f\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]+/giu

const BARE_MAIL = /(?<![\w.+@/:-])[\w.+-]{1,64}@[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){1,8}(?![\w@-])/gi

/** Lists the addresses of pages and mailboxes in a text, in order. */
export function listBareAddresses(text: string): BareAddress[] {
  const pages = text.matchAll(BARE_ADDRESS).flatMap(({ 0: whole, index }) => {
    const address = trimAddress(whole)
    const isWhole = /^(?:https?:\/\/|www\.)[^/?#]*[\p{L}\p{N}]/iu.test(address)
    const href = /^www\./i.test(address) ? `https://${address}` : address
    return isWhole ? [{ start: index, end: index + address.length, href: href.replace(/^http:/i, 'http:') }] : []
  })
  const mailboxes = text.includes('@')
    ? text.matchAll(BARE_MAIL).map(({ 0: mail, index }) => {
        const address = mail.replace(/[-.]+$/, '')
        return { start: index, end: index + address.length, href: `mailto:${address}` }
      })
    : []
  return [...pages, ...mailboxes].toSorted((one, other) => one.start - other.start)
}

/** Removes the punctuation of the sentence around an address. */
function trimAddress(whole: string): string {
  let unopened = countMatches(whole, /\)/g) - countMatches(whole, /\(/g)
  let end = whole.length
  while (end > 0 && (/[?!.,:;*_~'$\\]/.test(whole[end - 1] ?? '') || (whole[end - 1] === ')' && unopened-- > 0))) end--
  return whole.slice(0, end)
}

const countMatches = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
