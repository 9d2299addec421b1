import { buffer } from 'node:stream/consumers'
import { fromBufferPromise } from 'yauzl'
import { z } from 'zod'
import { type Collector, Unreadable } from './collector.ts'
import type { AnswerKind } from './content-kinds.ts'
import { guardZip } from './zip-guard.ts'

/** The text in what a service made of a file; the pictures that may come with it are left out. */
export async function readAnswer(bytes: Buffer, kind: AnswerKind, text: Collector): Promise<void> {
  if (kind === 'markdown-zip') return readMarkdown(bytes, text)
  for (const part of textsIn[kind](parse(bytes))) text.add(part)
}

async function readMarkdown(bytes: Buffer, text: Collector): Promise<void> {
  await guardZip(bytes)
  const zip = await fromBufferPromise(bytes, { lazyEntries: true })
  for await (const entry of zip.eachEntry()) {
    if (!/\.(md|txt)$/i.test(entry.fileName)) continue
    text.add(`${await buffer(await zip.openReadStreamPromise(entry))}\n\n`)
  }
}

const docling = z.object({ markdown: z.string() })
const kreuzberg = z.array(z.object({ content: z.string() })).min(1)

const textsIn = {
  'docling-json': (answer: unknown) => [docling.parse(answer).markdown],
  'kreuzberg-json': (answer: unknown) => kreuzberg.parse(answer).map(({ content }) => `${content}\n\n`),
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    throw new Unreadable('damaged', error)
  }
}
