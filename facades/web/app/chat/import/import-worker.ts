import { type Finding, readExport } from './export-reader.ts'

/** A message to the worker: first the file, then `next` for each stored conversation. */
export type ImportRequest = { file: File } | 'next'

/** A message of the worker: a finding, or the end. */
export type ImportReport = Finding | { type: 'end' }

/** Resolves when the last conversation is stored. The next one is read only then, so that few are in memory. */
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
