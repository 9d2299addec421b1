import { expect, test } from 'vitest'
import { type Schema, splitTokens } from '../kit/ai/dialects/dialect.ts'
import { models, startScriptedService } from '../kit/ai/scripted-model.ts'
import { type ReceivedAnswer, type RequestOptions, surfaces } from '../kit/ai/surfaces.ts'
import { book, clock, matchesSchema, weather } from '../kit/ai/tool-schemas.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(startScriptedService)

const tools = [clock, weather]

/** A request with parameters, built from the plain answer to the same question, and its expected result. */
interface Case {
  name: string
  text?: string
  wish(plain: ReceivedAnswer): RequestOptions
  heard(plain: ReceivedAnswer): object
  /** Models or kinds of providers that do not support a parameter, which must be refused. */
  refused?: Partial<Record<string, keyof RequestOptions>>
}

const calls = (...called: typeof tools) => ({
  text: '',
  end: 'calls',
  calls: called.map(({ name, schema }) => ({ name, input: expect.toSatisfy((input) => matchesSchema(schema, input)) })),
})
const isCall = (call: { name: string; input: unknown }) =>
  tools.some(({ name, schema }) => name === call.name && matchesSchema(schema, call.input))
const says = (text: unknown, end = 'stop') => ({ text, calls: [], end })
const saysJson = (schema: Schema) => says(expect.toSatisfy((text) => matchesSchema(schema, JSON.parse(text))))

const wordsOf = ({ text }: ReceivedAnswer) => splitTokens(text)
const word = (plain: ReceivedAnswer, at: number) => wordsOf(plain)[at]?.trim() ?? ''
const free: Case['refused'] = { 'free claude': 'choice' }
const aboutTheClock = 'What does the clock say?'

const cases: Case[] = [
  { name: 'nothing more', wish: () => ({}), heard: () => says(expect.stringMatching(/^(\w+ ){11}\w+$/)) },
  { name: 'one tool', wish: () => ({ tools, choice: { name: 'clock' } }), heard: () => calls(clock), refused: free },
  { name: 'any tool', wish: () => ({ tools, choice: 'required' }), heard: () => calls(clock, weather), refused: free },
  {
    name: 'one tool at a time',
    wish: () => ({ tools, choice: 'required', parallelTools: false }),
    heard: () => ({ ...calls(weather), calls: [expect.toSatisfy(isCall)] }),
    refused: free,
  },
  {
    name: 'a tool if it likes',
    text: aboutTheClock,
    wish: () => ({ tools, choice: 'auto' }),
    heard: () => calls(clock),
  },
  {
    name: 'no tool',
    text: aboutTheClock,
    wish: () => ({ tools, choice: 'none' }),
    heard: ({ text }) => says(text),
  },
  {
    name: 'JSON',
    wish: () => ({ json: true }),
    heard: () => saysJson({ type: 'object' }),
  },
  { name: 'JSON of a schema', wish: () => ({ schema: book }), heard: () => saysJson(book) },
  {
    name: 'a tool and JSON',
    wish: () => ({ tools, choice: { name: 'clock' }, schema: book }),
    heard: () => calls(clock),
    refused: free,
  },
  {
    name: 'an end before a text',
    wish: (plain) => ({ stop: ['never', word(plain, 4), word(plain, 2)] }),
    heard: (plain) => says(plain.text.slice(0, Math.min(...[2, 4].map((at) => plain.text.indexOf(word(plain, at)))))),
  },
  {
    name: 'a short answer',
    wish: () => ({ maxTokens: 4 }),
    heard: (plain) => says(wordsOf(plain).slice(0, 4).join(''), 'length'),
  },
  {
    name: 'what a seed makes of it',
    wish: () => ({ seed: 7 }),
    heard: ({ text }) => says(expect.toSatisfy((other) => other !== text)),
    refused: { anthropic: 'seed' },
  },
]

const every = surfaces.flatMap((face) =>
  Object.entries(models).flatMap(([adapter, known]) =>
    Object.keys(known).flatMap((model) => [false, true].map((stream) => ({ face, adapter, model, stream }))),
  ),
)
type Way = (typeof every)[number]
const nameOf = ({ face, model, stream }: Way) => `${face.name}${stream ? ' as a stream' : ''}, ${model}`

const hasWords = ({ face: { words } }: Way, wish: RequestOptions) => Object.keys(wish).every((name) => name in words)

/** Asks, and expects the model's counts in the record and on the surface. */
async function sendQuestion({ face, model, stream }: Way, text: string, wish: RequestOptions): Promise<ReceivedAnswer> {
  const { tokens, ...heard } = await face.sendQuestion(app.sender, { model, text, wish, stream })
  const { answers: receivedAnswers, records } = await app.take()
  expect(receivedAnswers).toHaveLength(1)
  const { input, output } = receivedAnswers[0]?.tokens ?? {}
  expect(records).toEqual([{ outcome: 'completed', estimated: false, input, output }])
  if (tokens) expect(tokens).toEqual({ input, output })
  return heard
}

const plainAnswers = new Map<string, ReceivedAnswer>()

/** Asks without parameters; the answer is cached, as the same question has the same answer. */
async function sendPlain(way: Way, text: string): Promise<ReceivedAnswer> {
  const key = `${nameOf(way)}: ${text}`
  const known = plainAnswers.get(key) ?? (await sendQuestion(way, text, {}))
  plainAnswers.set(key, known)
  return known
}

const casesByWay = every.flatMap((way) =>
  cases
    .filter(({ wish }) => hasWords(way, wish({ text: '', calls: [] })))
    .map((one): [string, string, Way, Case] => [nameOf(way), one.name, way, one]),
)

test.for(casesByWay)('%s: a model that is asked for %s obeys, and is billed as counted', async ([, , way, one]) => {
  const { text = 'What do you say?' } = one
  const plain = await sendPlain(way, text)
  const wish = one.wish(plain)
  const unsupportedMember = one.refused?.[way.model] ?? one.refused?.[way.adapter]
  if (unsupportedMember) {
    const name = way.face.words[unsupportedMember]
    await expect(sendQuestion(way, text, wish)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`${name}`),
    })
    expect(await app.take()).toEqual({ answers: [], records: [] })
    return
  }

  const { end, ...heard } = await sendQuestion(way, text, wish)

  const { end: wanted, ...expected } = one.heard(plain) as ReceivedAnswer & { end: 'stop' }
  // Only Anthropic's models report that they ended before a stop sequence.
  const isTold = wish.stop && way.adapter === 'anthropic' && way.face.name === 'message'
  expect({ ...heard, end }).toEqual({ ...expected, end: isTold ? 'stop_sequence' : way.face.ends?.[wanted] })
})

const seededWays = every.filter((way) => hasWords(way, { seed: 1 }) && way.adapter !== 'anthropic')

test.for(seededWays.map((way): [string, Way] => [nameOf(way), way]))(
  '%s: a model repeats itself by the same seed, and differs by another',
  async ([, way]) => {
    const one = await sendQuestion(way, 'What do you say?', { seed: 7 })

    expect(await sendQuestion(way, 'And what else?', { seed: 7 })).toEqual(one)
    expect(await sendQuestion(way, 'What do you say?', { seed: 8 })).not.toEqual(one)
  },
)
