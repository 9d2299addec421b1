import { Readable } from 'node:stream'
import type { Context } from '../../core/context.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import type { FilePart } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { isDocumentUntaken } from './checks.ts'
import { unreadableMessage } from './file-fit.ts'
import type { ReadMessage } from './request.ts'

type Part = ReadMessage['content'][number]
type Reading = Pick<Context, 'services' | 'signal'>

/** The messages with the texts of documents that are part of the request, for a model that reads none, as those of attachments. */
export async function withDocumentTexts(
  ctx: Reading,
  messages: readonly ReadMessage[],
  model: CallableModel,
): Promise<readonly ReadMessage[]> {
  const isWanted = (part: Part): boolean =>
    part.type === 'tool-result'
      ? part.content.some(isWanted)
      : part.type === 'file' && isDocumentUntaken(part.mime, model)
  if (!messages.some(({ content }) => content.some(isWanted))) return messages
  const read: ReadMessage[] = []
  // One after the other: each takes a process of its own.
  for (const [at, message] of messages.entries()) {
    const content = message.content.some(isWanted)
      ? await textsIn(ctx, message.content, { isWanted, path: ['messages', at, 'content'] })
      : message.content
    read.push({ ...message, content } as ReadMessage)
  }
  return read
}

interface Wanted {
  isWanted(part: Part): boolean
  path: Issue['path']
}

async function textsIn(ctx: Reading, parts: readonly Part[], { isWanted, path }: Wanted): Promise<Part[]> {
  const read: Part[] = []
  for (const [index, part] of parts.entries()) {
    const place = [...path, index]
    if (!isWanted(part)) read.push(part)
    else if (part.type === 'tool-result')
      read.push({
        ...part,
        content: (await textsIn(ctx, part.content, { isWanted, path: [...place, 'content'] })) as typeof part.content,
      })
    else read.push(await textOf(ctx, part as FilePart, place))
  }
  return read
}

async function textOf({ services, signal }: Reading, { mime, data, name }: FilePart, path: Issue['path']) {
  const bytes = Buffer.from(data, 'base64')
  const file = { mime, bytes: bytes.length, open: () => Readable.from([bytes], { objectMode: false }) }
  const found = await services.textExtractor.extract(file, signal())
  if ('unreadable' in found)
    throw new Problem('invalid', { issues: [{ path, message: unreadableMessage(found.unreadable) }] })
  const text = Buffer.from(found.text).toString('base64')
  return { type: 'file' as const, mime: 'text/plain', data: text, ...(name !== undefined && { name }) }
}
