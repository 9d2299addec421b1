import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test, vi } from 'vitest'
import { answers, buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { SLOW } from '../kit/service-client.ts'
import { startProcess } from '../kit/service-process.ts'

const QUESTION = 'CANARY-OF-A-QUESTION'
const FILE = Buffer.from('CANARY-OF-A-FILE')
const ANSWER = 'CANARY-OF-AN-ANSWER'
const CALLERS = 8

const messages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: `${QUESTION} as a list of parts` },
      {
        type: 'file',
        file: { filename: 'notes.txt', file_data: `data:text/plain;base64,${FILE.toString('base64')}` },
      },
    ],
  },
]

test('no question or answer remains in memory once all calls are over', async () => {
  await using provider = await startProvider(answers(`It is ${ANSWER} .`))
  await using config = await writeConfig(provider.url)
  await using svc = await startJsonApi({ AI_CONFIG: config.file })
  const own = {
    DATABASE_URL: svc.env.DATABASE_URL,
    DATA_DIR: svc.folder,
    PORT: '0',
    NODE_ENV: 'development',
  }
  const snapshots = `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${svc.folder}`
  await using service = startProcess({ ...own, AI_CONFIG: config.file, NODE_OPTIONS: snapshots })
  const url = await service.ready()
  const sendQuestion = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${svc.people.ada.token}`
    const init = { method: 'POST', headers: { authorization, 'content-type': 'application/json', ...headers } }
    const response = await fetch(`${url}${path}`, { ...init, body: JSON.stringify(body) })
    expect([response.status, (await response.text()).includes(ANSWER)]).toEqual([200, true])
  }
  const chatRequest = { model: 'mock-1', max_tokens: 99, messages }
  const messageRequest = { ...chatRequest, messages: [{ role: 'user', content: QUESTION }] }
  const buildAttempts = () => [
    sendQuestion('/v1/chat/completions', chatRequest),
    sendQuestion('/v1/chat/completions', { ...chatRequest, stream: true }),
    sendQuestion('/v1/messages', messageRequest),
    sendQuestion('/api/ai-req', buildQuestion(QUESTION)),
    sendQuestion('/api/ai-req', buildQuestion(QUESTION), { accept: 'text/event-stream' }),
  ]

  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: CALLERS }, buildAttempts).flat())
  await vi.waitFor(async () => {
    const recorded = await svc.rows('select count(*)::int as calls from usage_records')
    expect(recorded).toEqual([{ calls: 3 * CALLERS * 5 }])
  }, SLOW)
  service.kill('SIGUSR2')
  const snapshot = await snapshotIn(svc.folder)

  expect(await foundIn(snapshot, ['fastify', QUESTION, ANSWER, FILE.toString(), FILE.toString('base64')])).toEqual([
    'fastify',
  ])
})

/** Returns the only heap snapshot in a folder once it is complete. */
async function snapshotIn(folder: string): Promise<string> {
  const findSnapshot = async () => (await readdir(folder)).find((name) => name.endsWith('.heapsnapshot'))
  const file = join(folder, await vi.waitUntil(findSnapshot, SLOW))
  await vi.waitFor(async () => expect(await lastLine(file)).toMatch(/"\]\}$/), SLOW)
  return file
}

async function lastLine(file: string): Promise<string> {
  let last = ''
  await eachLine(file, (line) => {
    last = line
  })
  return last
}

async function foundIn(file: string, texts: readonly string[]): Promise<string[]> {
  const seen = new Set<string>()
  await eachLine(file, (line) => {
    for (const text of texts) if (line.includes(text)) seen.add(text)
  })
  return texts.filter((text) => seen.has(text))
}

async function eachLine(file: string, look: (line: string) => void): Promise<void> {
  const lines = createInterface({ input: createReadStream(file) }).on('line', look)
  await once(lines, 'close')
}
