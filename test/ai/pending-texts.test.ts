import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { type Pair, startPair } from '../kit/realtime/replicas.ts'
import { upload } from '../kit/rooms/attachments.ts'
import { startConverter } from '../kit/sample-files/converter.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'

const resources = new AsyncDisposableStack()
const converted = Promise.withResolvers<void>()
let pair: Pair
let upstream: Awaited<ReturnType<typeof startProvider>>

beforeAll(async () => {
  upstream = resources.use(await startProvider(answers('It says much.')))
  const config = resources.use(await writeConfig(upstream.url))
  const converter = await startConverter({
    answer: JSON.stringify([{ content: 'The key is under the mat.' }]),
    formats: [{ extension: 'pdf', mime_type: 'application/pdf' }],
    until: converted.promise,
  })
  resources.use(converter)
  pair = resources.use(
    await startPair({
      AI_CONFIG: config.file,
      RATE_LIMIT_AI_PER_MINUTE: '100',
      FILE_CONVERTER: 'kreuzberg',
      KREUZBERG_FILE_CONVERTER_API_URL: converter.url,
    }),
  )
})
afterAll(async () => {
  converted.resolve()
  await resources.disposeAsync()
})

test('a question waits on each replica until its file is read', async () => {
  const { svc, urls } = pair
  const { token } = svc.people.ada
  const { one } = await upload(svc, token, makePdf({ lines: ['scanned'] }), {
    name: 'scan.pdf',
    type: 'application/pdf',
  })
  const content = [
    { type: 'text', text: 'What does it say?' },
    { type: 'file', file: { file_id: one.id } },
  ]
  const body = JSON.stringify({ model: 'mock-1', messages: [{ role: 'user', content }] })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const questions = urls.map((url) => fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }))
  // A question that found the file unread counts for the rate limit.
  const { settings } = svc.services
  const { limiter } = svc.services.limits
  const limit = settings.aiRequestsPerMinute
  const peekLimit = () => limiter.consume(`ai:user:${svc.people.ada.id}`, limit, 60, 0)
  await expect.poll(peekLimit).toMatchObject({ remaining: limit - urls.length })
  expect(upstream.requests).toEqual([])

  converted.resolve()

  expect((await Promise.all(questions)).map(({ status }) => status)).toEqual(urls.map(() => 200))
  expect(upstream.requests).toHaveLength(urls.length)
  for (const { body } of upstream.requests) expect(JSON.stringify(body)).toContain('The key is under the mat.')
})
