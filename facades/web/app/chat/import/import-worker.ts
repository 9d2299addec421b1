import { type Finding, readExport } from './export-reader.ts'

/** What the worker is sent: first the file, then an empty message for each conversation that is stored. */
export type Order = { file: File } | 'next'

/** What it sends: what it found, and that it is done. */
export type Report = Finding | { type: 'end' }

/** The next one is read only when the one before is stored, so that few are held at a time. */
let next = Promise.withResolvers<void>()

const PROGRESS_MS = 200
let toldAt = 0

async function tell(finding: Finding): Promise<void> {
  if (finding.type === 'progress') {
    if (Date.now() - toldAt < PROGRESS_MS) return
    toldAt = Date.now()
  }
  postMessage(finding satisfies Report)
  if (finding.type !== 'conversation') return
  await next.promise
  next = Promise.withResolvers()
}

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  if (data === 'next') next.resolve()
  else readExport(data.file, tell).then(() => postMessage({ type: 'end' } satisfies Report), reportError)
})
