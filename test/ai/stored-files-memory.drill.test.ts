import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { PNG, upload } from '../kit/rooms/attachments.ts'
import { startProcess } from '../kit/service-process.ts'

const MB = 1_000_000
const CALLS = 8

/** Returns the peak memory of a process in megabytes since the last call, by Linux's count. */
async function takePeak(pid: number | undefined): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  await writeFile(`/proc/${pid}/clear_refs`, '5')
  return (Number(kilobytes) * 1024) / MB
}

test('eight calls at once with ten files of nine megabytes each take little memory', async () => {
  await using upstream = await startProvider(answers('Good.'))
  let received = 0
  upstream.read = async (request) => {
    for await (const part of request) received += part.length
    return '{}'
  }
  await using config = await writeConfig(upstream.url, { model: { input: ['text', 'image'] } })
  const settings = {
    AI_CONFIG: config.file,
    APP_KEY: randomBytes(32).toString('base64'),
    AI_MAX_FILES: `${100 * MB}`,
    AI_BYTES_PER_PERSON: `${100 * MB}`,
  }
  await using svc = await startJsonApi(settings)
  const { DATABASE_URL } = svc.env
  const own = { ...settings, DATABASE_URL, DATA_DIR: svc.folder, PORT: '0', NODE_ENV: 'development' }
  await using service = startProcess(own)
  const url = await service.ready()
  const { token } = svc.people.ada
  const content: object[] = []
  for (let at = 0; at < 10; at++) {
    const { one } = await upload(svc, token, Buffer.concat([PNG, randomBytes(9 * MB)]), { name: `${at}.png` })
    content.push({ type: 'file', file: { file_id: one.id } })
  }
  const sendQuestion = async (parts: readonly object[]) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'mock-1', messages: [{ role: 'user', content: parts }] })
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    await response.text()
    return response.status
  }
  const sendAtOnce = (parts: readonly object[]) => Promise.all(Array.from({ length: CALLS }, () => sendQuestion(parts)))
  await sendAtOnce([{ type: 'text', text: 'Are you there?' }])
  await takePeak(service.child.pid)
  const before = await takePeak(service.child.pid)

  expect(await sendAtOnce(content)).toEqual(Array(CALLS).fill(200))

  const growth = (await takePeak(service.child.pid)) - before
  expect(received / MB).toBeGreaterThan(CALLS * 120)
  // The growth is garbage of single pieces; whole files would be at least a thousand megabytes.
  expect(growth).toBeLessThan(400)
})
