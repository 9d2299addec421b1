import { createHash } from 'node:crypto'
import type { Context, IncomingFile } from './context.ts'
import { Problem } from './problems.ts'
import type { FileRules } from './settings.ts'
import { createTimeLimit } from './timeout.ts'

/** Reads an uploaded file until the time is up or the client disconnects. */
export async function* withUploadTimeout({ signal, services }: Context, content: AsyncIterable<Uint8Array>) {
  const gone = signal()
  using limit = createTimeLimit(services.settings.attachments.uploadTimeout, gone)
  try {
    yield* abortableIterable(content, limit.signal)
  } catch (error) {
    throw limit.signal.aborted ? new Problem(gone.aborted ? 'client_gone' : 'upload_timeout', { cause: error }) : error
  }
}

export const createTooLargeProblem = ({ maxFileSize }: FileRules) =>
  new Problem('too_large', { detail: `A file has at most ${maxFileSize} bytes.` })

interface HashedFile {
  /** The file; reading it computes the hash. */
  file: IncomingFile | undefined
  /** Drains unread bytes and resolves with the hash. */
  readHash(): Promise<string>
}

/** Hashes a file while it is read. */
export function hashFile(ctx: Context, file: IncomingFile | undefined): HashedFile {
  const hash = createHash('sha256')
  let isRead = file === undefined
  async function* hashBytes(content: AsyncIterable<Uint8Array>) {
    for await (const part of content) {
      hash.update(part)
      yield part
    }
    isRead = true
  }
  const hashed = file && { ...file, content: hashBytes(file.content) }
  return {
    file: hashed,
    async readHash() {
      if (hashed && !isRead) await drainFile(ctx, hashed.content)
      return hash.digest('base64url')
    },
  }
}

/** Reads a file that is not stored, with the same size limit as one that is. */
async function drainFile(ctx: Context, content: AsyncIterable<Uint8Array>): Promise<void> {
  const { callerContext, services } = ctx
  const rules = services.settings.public.files
  const { current } = callerContext
  using _slot = services.limits.uploads.acquire(current.type === 'user' ? `${current.person.id}` : '')
  let bytes = 0
  for await (const part of withUploadTimeout(ctx, content)) {
    bytes += part.length
    if (bytes > rules.maxFileSize) throw createTooLargeProblem(rules)
  }
}

/** Yields the items until the signal aborts; then throws its reason, even if the source never yields again. */
async function* abortableIterable<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]()
  let fail: (reason: unknown) => void = () => {}
  const abort = () => fail(signal.reason)
  // `Promise.race` with one promise for all items would keep every item until that promise settles.
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      fail = reject
      if (signal.aborted) abort()
      iterator.next().then(resolve, reject)
    })
  signal.addEventListener('abort', abort, { once: true })
  try {
    for (let step = await next(); !step.done; step = await next()) yield step.value
  } finally {
    signal.removeEventListener('abort', abort)
    // Do not await: it may never settle.
    iterator.return?.().catch(() => {})
  }
}
