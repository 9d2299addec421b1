import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Fault, faults } from '../../kit/ai/faults/faults.ts'
import { type FaultCase, startFaultyService } from '../../kit/ai/faults/faulty-service.ts'
import { type Surface, surfaces } from '../../kit/ai/faults/surfaces.ts'
import { type Protocol, protocols } from '../../kit/ai/protocols.ts'
import { chooseRounds } from '../../kit/rounds.ts'
import { SLOW } from '../../kit/service-client.ts'

type FaultyService = Awaited<ReturnType<typeof startFaultyService>>
type Outcome = Awaited<ReturnType<FaultyService['sendQuestion']>>

/** Number of concurrent calls. */
const AT_ONCE = 24

const hasPlace = (face: Surface, fault: Fault) => face.streams || !fault.afterText

const cases: FaultCase[] = protocols.flatMap((protocol) =>
  faults.flatMap((fault) =>
    surfaces.filter((face) => hasPlace(face, fault)).map((face) => ({ face, protocol, fault })),
  ),
)
const outcomes = new Map<FaultCase, Outcome>()
let app: FaultyService
let records: Awaited<ReturnType<FaultyService['records']>>

beforeAll(async () => {
  app = await startFaultyService()
  const waiting = cases.values()
  const sendWaiting = async () => {
    for (const faultCase of waiting) outcomes.set(faultCase, await app.sendQuestion(faultCase))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendWaiting))
  records = await app.records()
}, 600_000)
afterAll(() => app[Symbol.asyncDispose]())

const namedCases = cases.map((faultCase): [string, string, string, FaultCase] => [
  faultCase.face.name,
  faultCase.protocol.adapter,
  faultCase.fault?.name ?? '',
  faultCase,
])

test.for(namedCases)('%s: a provider of the kind %s failing by %s is reported once', ([, , , faultCase]) => {
  const { face, fault } = faultCase
  const answer = outcomes.get(faultCase) as Outcome
  const isBegun = fault?.afterText === true
  const reading = face.read(answer)

  const kind = fault?.kind ?? (isBegun ? 'broken off' : 'unanswered')
  expect(reading).toEqual({
    status: isBegun ? 200 : (face.status ?? (kind === 'refused' ? face.finalStatus : undefined) ?? 500),
    words: isBegun ? 'Hello there.' : '',
    errors: [face.error(answer, isBegun, kind)],
  })
  for (const secret of app.provider.secrets) expect(answer.text).not.toContain(secret)
  expect(answer.calls).toBe(fault?.calls ?? 0)
  const record = records.get(answer.requestId)
  expect(record).toMatchObject([{ outcome: 'failed' }])
  expect(record?.[0]?.output).toEqual(isBegun ? expect.any(Number) : 0)
})
const [compatible] = protocols as [Protocol]
const byName = (list: readonly Surface[]) => list.map((face): [string, Surface] => [face.name, face])

test.for(byName(surfaces))('%s: a caller who goes away ends the call of the provider', async ([, face]) => {
  const controller = new AbortController()
  const { number, response } = await app.send(
    { face, protocol: compatible, wish: 'no end' },
    { signal: controller.signal },
  )
  const reading = response.then((answer) => answer.text()).catch(() => undefined)
  await vi.waitFor(() => expect(app.provider.findRequests(number)).toHaveLength(1), SLOW)

  controller.abort()

  await reading
  await vi.waitFor(() => expect(app.provider.findRequests(number)[0]?.abortedAt).toBeDefined(), SLOW)
  await vi.waitFor(async () => expect(await app.newest()).toMatchObject({ outcome: 'aborted' }), SLOW)
  expect(app.provider.findRequests(number)).toHaveLength(1)
})

test.for(byName(surfaces))('%s: a caller who goes away ends the call of a tool', async ([, face]) => {
  const events: unknown[] = []
  const hear = (word: unknown) => void events.push(word)
  subscribe('test:listening-tool', hear)
  const controller = new AbortController()
  const { number, response } = await app.send(
    { face, protocol: compatible, wish: 'a tool' },
    { signal: controller.signal },
  )
  const reading = response.then((answer) => answer.text()).catch(() => undefined)
  await vi.waitFor(() => expect(events).toEqual(['begun']), SLOW)

  controller.abort()

  await reading
  await vi.waitFor(() => expect(events).toEqual(['begun', 'ended']), SLOW)
  await vi.waitFor(async () => expect(await app.newest()).toMatchObject({ outcome: 'aborted' }), SLOW)
  expect(app.provider.findRequests(number)).toHaveLength(1)
  unsubscribe('test:listening-tool', hear)
})

test('the streams of two people at once never mix', async () => {
  const { token } = await app.svc.user()
  const people = [{}, { token }]
  const streams = surfaces.filter(({ streams, inSession }) => streams && !inSession)
  const answers = Array.from({ length: chooseRounds(100, 300) }, (_, at) =>
    app.sendQuestion(
      { face: streams[at % streams.length] as Surface, protocol: compatible, wish: 'echo' },
      people[at % people.length],
    ),
  )

  for (const { text, number } of await Promise.all(answers)) {
    expect(text).toContain('Done.')
    expect(new Set(text.match(/"(\d+)\. "/g))).toEqual(new Set([`"${number}. "`]))
  }
})
