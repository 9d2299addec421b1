import { type Finding, readExport } from './export-reader.ts'

/** What the worker is sent: first the file, then an empty message for each conversation that is stored. */
export type ImportRequest = { file: File } | 'next'

/** What it sends: what it found, and that it is done. */
export type ImportReport = Finding | { type: 'end' }

/** The next one is read only when the one before is stored, so that few are held at a time. */
let stored = Promise.withResolvers<void>()

const PROGRESS_MS = 200
let reportedAt = 0

async function report(finding: Finding): Promise<void> {
  if (finding.type === 'progress') {
    if (Date.now() - reportedAt < PROGRESS_MS) return
    reportedAt = Date.now()
  }
  postMessage(finding satisfies ImportReport)
  if (finding.type !== 'conversation') return
  await stored.promise
  stored = Promise.withResolvers()
}

addEventListener('message', ({ data }: MessageEvent<ImportRequest>) => {
  if (data === 'next') stored.resolve()
  else readExport(data.file, report).then(() => postMessage({ type: 'end' } satisfies ImportReport), reportError)
})
