import { promisify } from 'node:util'
import { inflate } from 'node:zlib'

/** A page, or how many a part of the tree of pages has. No match is longer than what is looked at twice. */
const marks = /\/Type\s{0,8}\/Page(?![^\s/<>[\](){}%])|\/Count\s{0,8}(\d{1,9})(?!\d|\s{1,4}\d{1,9}\s{1,4}R)/g
const MAX_MARK = 64

/** Objects may be packed: a dictionary that says so, and then a stream. */
const PACKED = '/ObjStm'
const MAX_DICTIONARY = 4096
const MAX_PACKED = 1_000_000
const MAX_UNPACKED = 4_000_000
const MAX_STREAMS = 2000
const MAX_ALL_UNPACKED = 50_000_000

const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)

/**
 * How many pages a PDF has, by its own count and by the pages that are in it; undefined where these cannot be seen, or
 * only with more work than is allowed. Reads it in pieces, of which few are kept.
 */
export async function pagesOf(content: AsyncIterable<Buffer>): Promise<number | undefined> {
  const pages = new PageCount()
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of content) {
    rest = await pages.read(Buffer.concat([rest, piece]))
    if (pages.isHidden) return undefined
  }
  return pages.end(rest)
}

class PageCount {
  isHidden = false
  #found = 0
  #told = 0
  #streams = 0
  #unpacked = 0

  /** Returns what is to be read again, before what comes next. */
  async read(bytes: Buffer): Promise<Buffer> {
    let from = 0
    for (let at = bytes.indexOf(PACKED); at >= 0 && !this.isHidden; at = bytes.indexOf(PACKED, from)) {
      const stream = streamAfter(bytes, at)
      this.#look(bytes.subarray(from, at))
      if (!stream) {
        this.isHidden = bytes.length - at > MAX_DICTIONARY + MAX_PACKED
        return bytes.subarray(at)
      }
      await this.#lookInto(bytes.subarray(stream.begin, stream.end))
      from = stream.end
    }
    const end = Math.max(from, bytes.length - MAX_MARK)
    this.#look(bytes.subarray(from), end - from)
    return bytes.subarray(end)
  }

  end(rest: Buffer): number | undefined {
    this.#look(rest)
    const isSeen = !this.isHidden && !rest.includes(PACKED)
    return (isSeen && Math.max(this.#found, this.#told)) || undefined
  }

  /** Counts what begins before the end, which may be cut there. */
  #look(bytes: Buffer, end = bytes.length): void {
    for (const { index, 1: count } of bytes.toString('latin1').matchAll(marks)) {
      if (index >= end) return
      if (count === undefined) this.#found++
      else this.#told = Math.max(this.#told, Number(count))
    }
  }

  async #lookInto(packed: Buffer): Promise<void> {
    const isAllowed = ++this.#streams <= MAX_STREAMS && this.#unpacked <= MAX_ALL_UNPACKED
    const objects = isAllowed ? await unpack(packed, { maxOutputLength: MAX_UNPACKED }).catch(() => noBytes) : noBytes
    // It begins with the numbers of its objects.
    this.isHidden = !/^\s*\d/.test(objects.toString('latin1', 0, 100))
    this.#unpacked += objects.length
    this.#look(objects)
  }
}

const noBytes = Buffer.alloc(0)

/** Where the stream of a dictionary is; undefined where its end is not there yet. */
function streamAfter(bytes: Buffer, dictionary: number): { begin: number; end: number } | undefined {
  const keyword = bytes.indexOf('stream', dictionary)
  const begin = keyword + (bytes[keyword + 6] === 13 ? 8 : 7)
  const end = keyword < 0 ? -1 : bytes.indexOf('endstream', begin)
  return end < 0 ? undefined : { begin, end }
}
