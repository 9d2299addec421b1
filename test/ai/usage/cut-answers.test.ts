import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Billing, NO_TOKENS, PROMPT_TOKENS, type SendQuestion, startBilling } from '../../kit/ai/billing.ts'
import type { Behaviour, ProviderRequest } from '../../kit/ai/provider.ts'
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

const whole = { ...NO_TOKENS, input: 40, output: 9 }
const text = 'One and two and six and ten.'
const streamRequest = { body: {} } as ProviderRequest
/** Returns the body up to `six`, which is five tokens. */
const firstHalf = (body: string) => body.split(' and ten')[0] as string
const tokens = { ...NO_TOKENS, input: PROMPT_TOKENS, output: 5 }

const documentOf = (script: TokenScript) => JSON.stringify(script.whole(text, whole))
const eventOf = (script: TokenScript) => script.word(text, NO_TOKENS, streamRequest)

const cuts: [string, (response: ServerResponse) => unknown][] = [
  ['ends', (response) => response.end()],
  ['closes', (response) => response.destroy()],
  ['is reset', (response) => response.socket?.resetAndDestroy()],
]
const waits = () => {}

/** Sends a body, and cuts the connection when it has arrived. */
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
  'the record of a call of %s has the usage of a cut answer',
  ([, script]) => {
    let sendQuestion: SendQuestion
    beforeAll(async () => {
      sendQuestion = await billing.createSender(script)
    })

    test.for(cuts)(
      `a call of ${script.name} is billed as delivered where its connection %s midway`,
      async ([, cut]) => {
        billing.answerBy(sends(firstHalf(documentOf(script)), inOnePiece, cut))

        expect((await sendQuestion(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
        expect(billing.upstream.requests).toHaveLength(1)
      },
    )

    test.for(cuts.slice(1))(
      `a call of ${script.name} is billed as counted whose connection %s after the answer`,
      async ([, cut]) => {
        billing.answerBy(sends(documentOf(script), inOnePiece, cut))

        expect((await sendQuestion(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...whole })
      },
    )

    test.for(cuts.slice(1))(
      `a call of ${script.name} is not billed where its connection %s after an error`,
      async ([, cut]) => {
        billing.answerBy(sends('{"error": {"message": "no", "code": 503}}', inOnePiece, cut))

        expect((await sendQuestion(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...NO_TOKENS })
      },
    )

    test.for(['total', 'firstByte'] as const)(
      `a call of ${script.name} is billed as delivered when its answer times out (%s)`,
      async (limit) => {
        const sendQuestion = await billing.createSender(script, limit)
        billing.answerBy(sends(firstHalf(documentOf(script)), inOnePiece, waits))

        expect((await sendQuestion(undefined, inOnePiece)).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
      },
    )

    test(`a call of ${script.name} is billed as delivered where its caller leaves midway`, async () => {
      const isSent = Promise.withResolvers<void>()
      billing.answerBy(sends(firstHalf(documentOf(script)), inOnePiece, () => isSent.resolve()))
      const controller = new AbortController()
      const pendingCall = sendQuestion(controller.signal, inOnePiece).catch(() => undefined)
      await isSent.promise

      controller.abort()

      await pendingCall
      expect(await billing.record()).toEqual({ outcome: 'aborted', estimated: true, ...tokens })
    })

    test.for(cuts)(
      `a call of ${script.name} is billed as delivered whose connection %s amid an event`,
      async ([, cut]) => {
        billing.answerBy(sends(firstHalf(eventOf(script)), inPieces, cut))

        expect((await sendQuestion()).status).toBe(500)

        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
        expect(billing.upstream.requests).toHaveLength(1)
      },
    )
  },
)
