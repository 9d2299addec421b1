import type { Collector } from './collector.ts'
import { Unreadable } from './unreadable.ts'
import { embedding, guardZip } from './zip-guard.ts'

/** Refuses what no parser of documents is given: the container of documents with a password is no archive. */
export async function guardContainer(bytes: Buffer, text: Collector): Promise<void> {
  if (bytes.toString('latin1', 0, 4) === '\xd0\xcf\x11\xe0') throw new Unreadable('encrypted')
  const names = await guardZip(bytes)
  // A drawing is kept beside the picture of it that programs show which know no drawings.
  text.note('pictures', count(names, /(?:^|\/)(?:media|Pictures)\/[^/]+\.(?!svg|wav|mp3|m4a|mp4|mov)\w+$/i))
  // The numbers of a chart are read from the chart, not from its workbook.
  text.note('embedded-files', count(names, embedding, /[^/]$/) - count(names, /\/charts?\/?chart\d*\.xml$/))
}

const count = (names: ReadonlySet<string>, ...patterns: RegExp[]): number =>
  [...names].filter((name) => patterns.every((pattern) => pattern.test(name))).length

/** Throws the reason why a parser failed. */
export function refuseDocument(error: Error & { code?: unknown }): never {
  throw new Unreadable(/PASSWORD/.test(`${error.code}`) ? 'encrypted' : 'damaged', error)
}
