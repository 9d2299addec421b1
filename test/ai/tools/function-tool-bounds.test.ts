import { beforeAll, expect, test } from 'vitest'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

let token: string

const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const model = { tools: ['verbose', 'detailed', 'patient', 'listening'] }
  return writeConfig(upstream.url, { model })
})
const svc = shareResource(() =>
  startApp({
    AI_CONFIG: config.file,
    EXTENSIONS: 'test/fixtures/boundless-extension.ts',
    AI_TOOL_TIMEOUT: '2s',
    AI_TOOL_RESULT_MAX: '2048',
  }),
)
beforeAll(async () => {
  token = (await svc.user()).token
})

/** Returns the results that the model gets for its call, whole and streamed. */
async function readResults(name: string, input: string): Promise<string[]> {
  const results: string[] = []
  for (const accept of ['application/json', 'text/event-stream']) {
    upstream.behave = callsTool(name, input, 'Whatever.')
    const response = await svc.send('POST', '/api/ai-req', { token, headers: { accept }, body: buildQuestion() })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Whatever.')])
    results.push(String(upstream.requests.at(-1)?.body.messages.at(-1)?.content))
  }
  return results
}

test.for(['verbose', 'detailed'])('a result of a function that is too large is its failure (%s)', async (name) => {
  for (const text of await readResults(name, '{"bytes":2048}')) expect(Buffer.byteLength(text)).toBe(2048)
  const failure = 'The tool failed: its result is 2050 bytes, of which 2048 are taken.'
  expect(await readResults(name, '{"bytes":2050}')).toEqual([failure, failure])
})

test.for(['patient', 'listening'])('a function that does not answer in time fails alone (%s)', async (name) => {
  const failure = 'The tool failed: it did not answer in time.'
  expect(await readResults(name, '{}')).toEqual([failure, failure])
  const lines = svc.log.filter((line) => line.includes('a tool failed') && line.includes(name))
  expect(lines.map((line) => JSON.parse(line).reason)).toEqual(Array(2).fill('it did not answer in time'))
})
