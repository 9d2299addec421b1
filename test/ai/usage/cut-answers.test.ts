import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ask, type Billing, nothing, PROMPT_TOKENS, startBilling } from '../../kit/ai/bills.ts'
import type { Asked, Behaviour } from '../../kit/ai/provider.ts'
import { type TokenScript, tokenScripts } from '../../kit/ai/token-scripts.ts'
import { untilRead } from '../../kit/until-read.ts'

let billing: Billing

beforeAll(async () => {
  billing = await startBilling()
})

afterAll(async () => {
  expect(await billing.records()).toEqual([])
  await billing[Symbol.asyncDispose]()
})

const whole = { ...nothing, input: 40, output: 9 }
const text = 'One and two and six and ten.'
const asked = { body: {} } as Asked
/** Up to `six`, which is five tokens. */
const firstHalf = (body: string) => body.split(' and ten')[0] as string
const tokens = { ...nothing, input: PROMPT_TOKENS, output: 5 }

const documentOf = (script: TokenScript) => JSON.stringify(script.whole(text, whole))
const eventOf = (script: TokenScript) => script.word(text, nothing, asked)

const cuts: [string, (response: ServerResponse) => unknown][] = [
  ['ends', (response) => response.end()],
  ['closes', (response) => response.destroy()],
  ['is reset', (response) => response.socket?.resetAndDestroy()],
]
const waits = () => {}

/** Sends this, and cuts the connection when it has arrived. */
const sends =
  (body: string, type: string, cut: (response: ServerResponse) => unknown): Behaviour =>
  async (_, response) => {
    response.writeHead(200, { 'content-type': type }).write(body)
    await untilRead(response)
    cut(response)
  }

const inPieces = 'text/event-stream'
const inOnePiece = 'application/json'

describe.for(tokenScripts.map((script): [string, TokenScript] => [script.name, script]))(
  'the record of a call of %s has what came of an answer that is cut',
  ([, script]) => {
    let ask: Ask
    beforeAll(async () => {
      ask = await billing.asker(script)
    })

    test.for(cuts)(
      `the record of a call of ${script.name} has what came of an answer in one piece whose connection %s in the middle`,
      async ([, cut]) => {
        billing.answerBy(sends(firstHalf(documentOf(script)), inOnePiece, cut))

        expect((await ask(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
        expect(billing.upstream.asked).toHaveLength(1)
      },
    )

    test.for(cuts.slice(1))(
      `the record of a call of ${script.name} has what the provider counted where the connection %s after all of an answer`,
      async ([, cut]) => {
        billing.answerBy(sends(documentOf(script), inOnePiece, cut))

        expect((await ask(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...whole })
      },
    )

    test.for(cuts.slice(1))(
      `the record of a call of ${script.name} has nothing where the connection %s after word of an error`,
      async ([, cut]) => {
        billing.answerBy(sends('{"error": {"message": "no", "code": 503}}', inOnePiece, cut))

        expect((await ask(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...nothing })
      },
    )

    test.for(['total', 'firstByte'] as const)(
      `the record of a call of ${script.name} has what came of an answer in one piece when its time was up (%s)`,
      async (limit) => {
        const ask = await billing.asker(script, limit)
        billing.answerBy(sends(firstHalf(documentOf(script)), inOnePiece, waits))

        expect((await ask(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
      },
    )

    test(`the record of a call of ${script.name} has what came of an answer in one piece when its caller went away`, async () => {
      const isSent = Promise.withResolvers<void>()
      billing.answerBy(sends(firstHalf(documentOf(script)), inOnePiece, () => isSent.resolve()))
      const gone = new AbortController()
      const asking = ask(gone.signal, inOnePiece).catch(() => undefined)
      await isSent.promise

      gone.abort()

      await asking
      expect(await billing.record()).toEqual({ outcome: 'aborted', estimated: true, ...tokens })
    })

    test.for(cuts)(
      `the record of a call of ${script.name} has what came of the first event of a stream whose connection %s within it`,
      async ([, cut]) => {
        billing.answerBy(sends(firstHalf(eventOf(script)), inPieces, cut))

        expect((await ask()).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
        expect(billing.upstream.asked).toHaveLength(1)
      },
    )
  },
)
