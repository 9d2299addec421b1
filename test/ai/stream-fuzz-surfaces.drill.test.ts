import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { startCompletionAdapters } from '../kit/ai/completion-adapters.ts'
import { completionStreams, type GeneratedStream, type ReadAnswer } from '../kit/ai/stream-grammar.ts'
import {
  procedureSurface,
  type RequestOptions,
  roomSurface,
  type Sender,
  type Surface,
  surfaces,
} from '../kit/ai/surfaces.ts'
import { signIn } from '../kit/browser.ts'
import { shareResource } from '../kit/share-resource.ts'

const RUNS = 100
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

let sender: Sender

const app = shareResource(startCompletionAdapters)
beforeAll(async () => {
  const { token } = await app.svc.user()
  const { browser } = await signIn(app.svc, 'ada')
  sender = { svc: app.svc, token, browser }
})

const names = ['find', 'now']
const tools: NonNullable<RequestOptions['tools']> = names.map((name) => ({ name, schema: { type: 'object' } }))

/** Returns the expected result of an answer on a surface. */
function rightFor({ ends }: Surface, { text, calls, end, tokens: [input, output] }: ReadAnswer) {
  const word = end === 'length' ? ends?.length : calls.length > 0 ? ends?.calls : ends?.stop
  return {
    text,
    calls: calls.map(([name, written]) => ({ name, input: JSON.parse(written) })),
    ...(ends && { end: word }),
    tokens: { input, output },
  }
}

/** Tells if a surface can express an answer. */
const tellable = ({ words }: Surface, { end, calls, text }: ReadAnswer) =>
  end !== 'error' && end !== 'content-filter' && text !== '' && (calls.length === 0 || Boolean(words.tools))

async function holds(face: Surface, { pieces, expected }: GeneratedStream, stream: boolean): Promise<void> {
  app.answerWith(async (response) => {
    for (const piece of pieces) {
      response.write(piece)
      await turn()
    }
    response.end()
  })
  const wish = face.words.tools ? { tools } : {}

  const answer = await face.sendQuestion(sender, { model: 'openai-compatible', text: 'Hello', wish, stream })

  const { tokens, ...right } = rightFor(face, expected)
  expect(answer).toEqual({ ...right, ...(answer.tokens && { tokens }) })
}

const ways = [
  ...[...surfaces, procedureSurface].flatMap((face) => [
    { name: face.name, how: 'streamed', face, stream: true },
    { name: face.name, how: 'whole', face, stream: false },
  ]),
  { name: roomSurface.name, how: 'in a message', face: roomSurface, stream: true },
]

test.for(ways)(
  'a caller of $name gets the same answer $how for any cut bytes',
  { timeout: 700_000 },
  ({ face, stream }) =>
    fc.assert(
      fc.asyncProperty(
        completionStreams.filter(({ expected }) => tellable(face, expected)),
        (streamed) => holds(face, streamed, stream),
      ),
      { numRuns: RUNS / 2, seed: SEED },
    ),
)
