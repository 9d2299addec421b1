import { randomBytes } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { answersWithBlocks } from '../../kit/ai/anthropic.ts'
import { readLimitState, requestLimit, shareLimitedService } from '../../kit/ai/limited-service.ts'
import type { Behaviour } from '../../kit/ai/provider.ts'
import type { TestApp } from '../../kit/app.ts'
import { PNG, upload } from '../../kit/rooms/attachments.ts'
import { makePackedPdf, makePdf } from '../../kit/sample-files/pdf.ts'
import { SLOW } from '../../kit/service-client.ts'

const limited = shareLimitedService()

const PAGES = 30
/** Tokens that Anthropic counts for the pages; each has at most 3000 of text and 1600 of an image. */
const COUNTED = 70_000
const MOST = PAGES * 4600
const OUTPUT = 100

const tokens = { ...requestLimit, unit: 'tokens' }
const linesOf = (pages: number) => Array<string>(pages).fill('Short.')
const plain = makePdf({ lines: linesOf(PAGES) })
/** Bookmarks of a PDF, the first of which is open and so has the number of those below it. */
const bookmarks = ['Next >> \\( /Kids [ \\\\', ...Array<string>(40).fill('(1) << >> Text')]
/** A PDF that unpacks to more than the service reads. */
const bomb = makePackedPdf({ pages: 100_000 })

const counts = (input_tokens: number): Behaviour =>
  answersWithBlocks([{ type: 'text', text: 'Read.' }], {
    stop_reason: 'end_turn',
    usage: { input_tokens, output_tokens: 3 },
  })

/** Starts a service under a limit whose provider counts as Anthropic does. */
async function startWith(limit: object, counted = COUNTED, model: object = {}) {
  const world = await limited([limit], {
    provider: { adapter: 'anthropic' },
    model: { input: ['text', 'image'], ...model },
    env: { LIMITS_MAX_OUTPUT_TOKENS: `${OUTPUT}` },
  })
  const go = Promise.withResolvers<void>()
  world.provider.behave = async (request, response) => {
    await go.promise
    await counts(counted)(request, response)
  }
  const { token } = await world.svc.user()
  return Object.assign(world, { token, go: go.resolve })
}

type File = { file_id: string } | { filename: string; file_data: string }

const inline = (bytes: Buffer, mime = 'application/pdf'): File => ({
  filename: 'a',
  file_data: `data:${mime};base64,${bytes.toString('base64')}`,
})

async function sendQuestion({ svc, token }: { svc: TestApp; token: string }, file: File) {
  const content = [
    { type: 'text', text: 'Hm?' },
    { type: 'file', file },
  ]
  const body = { model: 'mock-1', messages: [{ role: 'user', content }] }
  const answer = await svc.send('POST', '/v1/chat/completions', { token, body })
  return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code]
}

const heldOf = async (svc: TestApp) => (await readLimitState(svc, 'all'))?.held ?? 0
const leases = ({ rows }: TestApp) => rows<{ until: string }>('select lease_until::text as until from usage_holds')

test('a call with a many-page document reserves what its provider may count', async () => {
  // An estimate of one page for each 50 KB would admit both calls.
  await using world = await startWith({ ...tokens, cap: 2 * COUNTED - 1 })
  const first = sendQuestion(world, inline(plain))
  await vi.waitUntil(() => world.provider.requests.length === 1, SLOW)
  const [before] = await leases(world.svc)

  expect(await sendQuestion(world, inline(plain))).toEqual([429, 'rate_limit_exceeded'])
  // The renewal of the lease does not shrink the reservation before the provider has counted.
  await vi.waitUntil(async () => (await leases(world.svc))[0]?.until !== before?.until, SLOW)
  expect(await sendQuestion(world, inline(plain))).toEqual([429, 'rate_limit_exceeded'])
  world.go()

  expect(await first).toEqual([200, undefined])
  expect(world.provider.requests).toHaveLength(1)
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: COUNTED + 3, held: 0 })
})

test('a document beyond a limit is refused before its provider is asked', async () => {
  await using world = await startWith({ ...tokens, cap: COUNTED })
  expect(await sendQuestion(world, inline(plain))).toEqual([429, 'insufficient_quota'])
  expect(world.provider.requests).toHaveLength(0)
})

test('a limit in money reserves the price of the pages', async () => {
  const money = { ...requestLimit, unit: 'EUR', cap: 0.2 }
  const pricing = { currency: 'EUR', inputPerMillion: 2, outputPerMillion: 10 }
  await using world = await startWith(money, COUNTED, { pricing })
  expect(await sendQuestion(world, inline(plain))).toEqual([429, 'insufficient_quota'])
  await world.svc.host.limits.topUp({ name: 'all', amount: 0.1 })
  world.go()
  expect(await sendQuestion(world, inline(plain))).toEqual([200, undefined])
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 2 * COUNTED + 30, held: 0 })
})

test.for<[string, Buffer, number, boolean?]>([
  ['in plain objects', plain, PAGES],
  ['in packed objects', makePackedPdf({ pages: PAGES }), PAGES],
  [
    'in packed objects of more than a slice',
    makePackedPdf({ pages: 400, note: '<</Kids/Count 900>>'.repeat(50) }),
    400,
  ],
  ['that its tree names twice', makePdf({ lines: linesOf(5), repeated: 2 }), 10],
  ['and not its bookmarks', makePdf({ lines: linesOf(1), bookmarks }), 1],
  ['in more than a piece of it', makePdf({ lines: linesOf(900) }), 900],
  ['that are stored', makePdf({ lines: linesOf(900) }), 900, true],
  ['up to as many as any provider reads', makePdf({ lines: linesOf(5), repeated: 2000 }), 1000],
  ['that are stored in packed objects', makePackedPdf({ pages: PAGES }), PAGES, true],
  ['that cannot be seen', makePackedPdf({ pages: 1, stream: randomBytes(8_600) }), 9],
  ['that are packed beyond measure', bomb, Math.ceil(bomb.length / 1000)],
])('the pages of a document are counted %s', async ([, bytes, pages, isStored]) => {
  await using world = await startWith({ ...tokens, cap: 100_000_000 })
  const { one } = isStored ? await upload(world.svc, world.token, bytes, { name: 'a.pdf' }) : {}
  const pendingCall = sendQuestion(world, one ? { file_id: one.id } : inline(bytes))
  await vi.waitUntil(() => world.provider.requests.length === 1, SLOW)

  const most = pages * 4600
  const held = await heldOf(world.svc)
  world.go()

  expect([held - most > OUTPUT, held - most < OUTPUT + 10]).toEqual([true, true])
  expect((await pendingCall)[0]).toBe(200)
})

test.for<[string, number, object]>([
  ['a provider', 4784, {}],
  ['its model', 48_169, { upstreamId: 'gpt-4o-mini-2024-07-18' }],
])('a call with a picture holds what %s may count for one', async ([, most, model]) => {
  await using world = await startWith({ ...tokens, cap: 2 * most - 1 }, most, model)
  const pendingCall = sendQuestion(world, inline(PNG, 'image/png'))
  await vi.waitUntil(() => world.provider.requests.length === 1, SLOW)

  expect(await sendQuestion(world, inline(PNG, 'image/png'))).toEqual([429, 'rate_limit_exceeded'])
  world.go()

  expect((await pendingCall)[0]).toBe(200)
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: most + 3, held: 0 })
})

test('no more is reserved than a model takes, and high estimates refuse nothing', async () => {
  await using world = await startWith({ ...tokens, cap: 3200 }, 3000, { limits: { maxInputTokens: 3000 } })
  world.go()
  expect(MOST).toBeGreaterThan(3000)
  expect(await sendQuestion(world, inline(plain))).toEqual([200, undefined])
  const [status] = await sendQuestion(world, inline(Buffer.concat([plain, Buffer.alloc(120_000)])))
  expect([status, world.provider.requests.length]).toEqual([400, 1])
})
