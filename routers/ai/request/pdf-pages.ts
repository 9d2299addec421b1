import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'

/** Marks a compressed object stream; its dictionary comes before the stream. */
const OBJECT_STREAM = '/ObjStm'
const MAX_DICTIONARY = 4096
const MAX_STREAM_BYTES = 1_000_000
const MAX_INFLATED_BYTES = 4_000_000
const MAX_STREAMS = 2000
const MAX_TOTAL_INFLATED = 50_000_000
/** Number of decompressed bytes that are scanned at once. */
const SLICE = 65_536

const inflateAsync = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)

/**
 * Counts the pages of a PDF: the larger of its own page count and the number of page objects. Returns undefined if
 * pages cannot be found, or only with too much work. Reads in chunks and keeps only a few.
 */
export async function countPdfPages(content: AsyncIterable<Buffer>): Promise<number | undefined> {
  const pages = new PageCounter()
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of content) {
    rest = await pages.read(Buffer.concat([rest, piece]))
    if (pages.isUncountable) return undefined
  }
  return pages.end(rest)
}

class PageCounter {
  isUncountable = false
  readonly #tree = new PageTree()
  #streams = 0
  #inflatedBytes = 0

  /** Scans the bytes and returns those that must be scanned again together with the next chunk. */
  async read(bytes: Buffer): Promise<Buffer> {
    let from = 0
    for (
      let at = bytes.indexOf(OBJECT_STREAM);
      at >= 0 && !this.isUncountable;
      at = bytes.indexOf(OBJECT_STREAM, from)
    ) {
      const stream = findStream(bytes, at)
      this.#tree.scan(bytes.subarray(from, at))
      if (!stream) {
        this.isUncountable = bytes.length - at > MAX_DICTIONARY + MAX_STREAM_BYTES
        return bytes.subarray(at)
      }
      await this.#readObjectStream(bytes.subarray(stream.begin, stream.end))
      from = stream.end
    }
    const end = Math.max(from, bytes.length - LOOKAHEAD)
    return bytes.subarray(from + this.#tree.scan(bytes.subarray(from), end - from))
  }

  end(rest: Buffer): number | undefined {
    this.#tree.scan(rest)
    const isSeen = !this.isUncountable && !rest.includes(OBJECT_STREAM)
    return (isSeen && this.#tree.pages) || undefined
  }

  async #readObjectStream(deflated: Buffer): Promise<void> {
    const isAllowed = ++this.#streams <= MAX_STREAMS && this.#inflatedBytes <= MAX_TOTAL_INFLATED
    const objects = isAllowed
      ? await inflateAsync(deflated, { maxOutputLength: MAX_INFLATED_BYTES }).catch(() => noBytes)
      : noBytes
    // An object stream begins with the numbers of its objects.
    this.isUncountable = !/^\s*\d/.test(objects.toString('latin1', 0, 100))
    this.#inflatedBytes += objects.length
    await this.#scanInSlices(objects)
  }

  /** Scans in slices and lets other requests run in between. */
  async #scanInSlices(objects: Buffer): Promise<void> {
    for (let from = 0; from < objects.length; await setImmediate()) {
      const slice = objects.subarray(from, from + SLICE + LOOKAHEAD)
      from += this.#tree.scan(slice, Math.min(SLICE, slice.length))
    }
  }
}

const noBytes = Buffer.alloc(0)

/** Finds the stream after a dictionary. Returns undefined if its end has not been read yet. */
function findStream(bytes: Buffer, dictionary: number): { begin: number; end: number } | undefined {
  const keyword = bytes.indexOf('stream', dictionary)
  const begin = keyword + (bytes[keyword + 6] === 13 ? 8 : 7)
  const end = keyword < 0 ? -1 : bytes.indexOf('endstream', begin)
  return end < 0 ? undefined : { begin, end }
}

const pageMarks = /\/(?:Type\s{0,8}\/Page|Kids)(?![^\s/<>[\](){}%])|\/Count\s{0,8}\d{1,9}(?!\d|\s{1,4}\d{1,9}\s{1,4}R)/g

/** Bytes that are scanned twice. No mark and no string is longer. */
const LOOKAHEAD = 1024

/** Bytes of streams may look like dictionaries that never end. */
const MAX_DEPTH = 64
const [BEGINS, ENDS] = [...Buffer.from('<>')]

/** A dictionary with kids is a node of the page tree. Bookmarks have counts as well, but no kids. */
interface Dictionary {
  hasKids: boolean
  count: number
}

/** Counts the page objects of a PDF and keeps its own page count. */
class PageTree {
  #pageCount = 0
  #declaredCount = 0
  readonly #open: Dictionary[] = []

  get pages(): number {
    return Math.max(this.#pageCount, this.#declaredCount)
  }

  /** Scans what begins before `end`, even if it continues behind it. Returns the position of the next scan. */
  scan(bytes: Buffer, end = bytes.length): number {
    let at = 0
    for (const { index, 0: mark } of bytes.toString('latin1').matchAll(pageMarks)) {
      if (index >= end) break
      at = this.#readBrackets(bytes, at, index)
      if (mark.startsWith('/Type')) this.#pageCount++
      else if (at === index) this.#readCount(mark)
      at = Math.max(at, index + mark.length)
    }
    return Math.max(end, this.#readBrackets(bytes, at, end))
  }

  /** Returns the next position, which is behind `end` if a string continues there. */
  #readBrackets(bytes: Buffer, from: number, end: number): number {
    let at = from
    while (at < end) {
      const byte = bytes[at]
      if ((byte === BEGINS || byte === ENDS) && bytes[at + 1] === byte) {
        this.#trackNesting(byte === BEGINS)
        at += 2
      } else at = skipText(bytes, at)
    }
    return at
  }

  #trackNesting(isBegin: boolean): void {
    if (!isBegin) this.#open.pop()
    else {
      if (this.#open.length === MAX_DEPTH) this.#open.length = 0
      this.#open.push({ hasKids: false, count: 0 })
    }
  }

  #readCount(mark: string): void {
    const dictionary = this.#open.at(-1)
    if (!dictionary) return
    if (mark === '/Kids') dictionary.hasKids = true
    else dictionary.count = Math.max(dictionary.count, Number(mark.slice('/Count'.length)))
    if (dictionary.hasKids) this.#declaredCount = Math.max(this.#declaredCount, dictionary.count)
  }
}

const MAX_TEXT = 1000
const [OPENS, CLOSES, BACKSLASH, E, N] = [...Buffer.from('()\\en')]

/**
 * Returns the position behind a string that begins here, or the next byte. A string that contains the end of an object
 * is not one: it began inside a stream. Escaped brackets begin no string, so that no bytes are searched twice.
 */
function skipText(bytes: Buffer, from: number): number {
  if (bytes[from] === BACKSLASH) return from + (isBracket(bytes[from + 1]) ? 2 : 1)
  return bytes[from] === OPENS ? findTextEnd(bytes, from) : from + 1
}

const isBracket = (byte: number | undefined) => byte === OPENS || byte === CLOSES

function findTextEnd(bytes: Buffer, from: number): number {
  const limit = Math.min(bytes.length, from + MAX_TEXT)
  for (let at = from + 1; at < limit; at++) {
    const byte = bytes[at]
    if (byte === CLOSES) return at + 1
    if (byte === OPENS || (byte === E && isObjectEnd(bytes, at))) break
    if (byte === BACKSLASH && bytes[at + 1] !== E) at++
  }
  return from + 1
}

const isObjectEnd = (bytes: Buffer, at: number) =>
  bytes[at + 1] === N && /^end(?:stream|obj)/.test(bytes.toString('latin1', at, at + 'endstream'.length))
