import { buffer } from 'node:stream/consumers'
// Reads archives of strangers: it checks each size, and reads a part without the rest.
import { fromBufferPromise } from 'yauzl'
import { z } from 'zod'
import type { ConverterResponseKind } from './content-kinds.ts'
import { addMarkdown } from './markdown.ts'
import { type TextCollector, UnreadableError } from './text-collector.ts'
import { inspectZip } from './zip-guard.ts'

/** Reads the text of a converter's response, without pictures. */
export async function readConverterResponse(
  bytes: Buffer,
  kind: ConverterResponseKind,
  text: TextCollector,
): Promise<void> {
  if (kind === 'markdown-zip') return readMarkdown(bytes, text)
  for (const part of textReaders[kind](parseJson(bytes))) addMarkdown(part, text)
}

async function readMarkdown(bytes: Buffer, text: TextCollector): Promise<void> {
  await inspectZip(bytes)
  const zip = await fromBufferPromise(bytes, { lazyEntries: true })
  for await (const entry of zip.eachEntry()) {
    if (!/\.(md|txt)$/i.test(entry.fileName)) continue
    addMarkdown(`${await buffer(await zip.openReadStreamPromise(entry))}\n\n`, text)
  }
}

const docling = z.object({ markdown: z.string() })
const kreuzberg = z.array(z.object({ content: z.string() })).min(1)

const textReaders = {
  'docling-json': (answer: unknown) => [docling.parse(answer).markdown],
  'kreuzberg-json': (answer: unknown) => kreuzberg.parse(answer).map(({ content }) => `${content}\n\n`),
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    throw new UnreadableError('damaged', error)
  }
}
