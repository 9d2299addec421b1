import { setTimeout as pause } from 'node:timers/promises'
import { buildQuestion } from '../../kit/ai/provider.ts'
import { makeDocx } from '../../kit/sample-files/documents.ts'
import { makePdf } from '../../kit/sample-files/pdf.ts'
import { deflateZeros } from '../../kit/sample-files/zip.ts'
import type { Part } from '../part.ts'
import type { SubjectInput } from '../subject.ts'
import type { World } from '../suite.ts'
import { type Effort, median } from '../worst.ts'

const ROUNDS = 3
const PAUSE_MS = 25

const sentence = 'Nothing of this report keeps anybody waiting. '.repeat(50)
const report = makePdf({ lines: Array.from({ length: 200 }, (_, index) => `Page ${index + 1}. ${sentence}`) })
const zeros = { name: 'word/media/a', content: '', deflated: deflateZeros(2048), claimedSize: 2 ** 31 }

const files: Record<string, Buffer | undefined> = {
  'nothing, for two seconds': undefined,
  'a PDF of 200 pages': report,
  'a document with 2 GiB of zeros': makeDocx(['x'], [zeros]),
  'a PDF that is never read to its end': makePdf({ lines: ['x'], repeated: 5000, drawing: 'q Q '.repeat(500_000) }),
}

/** Uploads one file at a time and asks a model repeatedly until its text is read; measures the effect on the answering process. */
export async function* measureExtraction({ databaseUrl, folder, start }: World): AsyncGenerator<Effort> {
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: `${folder}/data`, PORT: '0', FILE_TEXT_TIMEOUT: '2s' }
  const subject = await start<SubjectInput>('subject.ts', { settings, temporaryDir: folder, isAdministrator: true })
  for (const [what, bytes] of Object.entries(files)) {
    const efforts: Effort[] = []
    // The first one also compiles what it runs.
    for (let round = 0; round <= ROUNDS; round++) efforts.push(await measure(subject, what, bytes))
    yield median(efforts.slice(1))
  }
}

async function measure(subject: Part, what: string, bytes: Buffer | undefined): Promise<Effort> {
  await subject.watch()
  const id = bytes && (await upload(subject, bytes))
  const end = performance.now() + 2000
  let calls = 0
  let status = 200
  while (id ? (await stateOf(subject, id)) === 'pending' : performance.now() < end) {
    const answer = await call(subject, '/api/ai-req', JSON.stringify(buildQuestion('Hello', 'demo')))
    if (!answer.ok) status = answer.status
    calls += 1
    await answer.arrayBuffer()
    await pause(PAUSE_MS)
  }
  return { what: `${what}; AI requests in the meantime`, status, answer: calls, ...(await subject.seen()) }
}

async function upload(subject: Part, bytes: Buffer): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(bytes)]), 'file')
  const answer = await call(subject, '/api/svc/v1/attachments/actions/upload', form)
  return ((await answer.json()) as { data: { id: string } }).data.id
}

async function stateOf(subject: Part, id: string): Promise<string> {
  const answer = await call(subject, `/api/svc/v1/attachments/${id}`)
  return ((await answer.json()) as { data: { attributes: { textState: string } } }).data.attributes.textState
}

function call({ url, details }: Part, path: string, body?: FormData | string): Promise<Response> {
  const authorization = `Bearer ${details['token']}`
  const type = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined
  return fetch(url + path, { headers: { authorization, ...type }, ...(body && { method: 'POST', body }) })
}
