import { expect, test } from 'vitest'
import { buildModel, buildProvider, startWithConfig } from '../kit/ai/model-config.ts'
import { protocols } from '../kit/ai/protocols.ts'
import { beginStream, stalls, startProvider } from '../kit/ai/provider.ts'
import { shareResource } from '../kit/share-resource.ts'
import { untilRead } from '../kit/until-read.ts'

const app = shareResource(startProtocols)

/** Starts a service with a model behind each adapter. */
async function startProtocols() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(stalls))
  const providers = protocols.map(({ adapter }) =>
    buildProvider(adapter, [buildModel(adapter)], { adapter, apiUrl: upstream.url, apiKey: 'provider-key' }),
  )
  const { svc } = resources.use(await startWithConfig({ providers, systemModels: { default: 'openai' } }))
  const { token } = await svc.user()
  const disposables = resources.move()
  return { svc, upstream, token, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

/** The stream of each adapter with and without its final event, which some do not have. */
const streams = protocols.flatMap(({ adapter, events }) => {
  const text = events.join('')
  const cut = text.replace(/data: \[DONE\]\n\n|event: message_stop\n.*\n\n/, '')
  const whole = { adapter, text, last: 'with' }
  return cut === text ? [whole] : [whole, { adapter, text: cut, last: 'without' }]
})

/** Answers with a stream whose connection stays open or breaks after it. */
function answerWith(text: string, breaks: boolean): void {
  app.upstream.behave = async (_, response) => {
    beginStream(response)
    response.write(text)
    // The stream is read before the connection breaks.
    await untilRead(response)
    if (breaks) response.destroy()
  }
}

const sendQuestion = (model: string, stream: boolean) => {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], stream }
  return app.svc.send('POST', '/v1/chat/completions', { token: app.token, body })
}

test.for(streams)(
  'a stream of $adapter $last a last word ends on open or broken connections',
  async ({ adapter, text }) => {
    for (const breaks of [false, true]) {
      answerWith(text, breaks)
      const received = await (await sendQuestion(adapter, true)).text()

      expect(received).toContain('"finish_reason":"stop"')
      expect(received.trimEnd().endsWith('data: [DONE]')).toBe(true)
    }
  },
)

test.for(streams)('a stream of $adapter $last a last word ends as a whole answer', async ({ adapter, text }) => {
  for (const breaks of [false, true]) {
    answerWith(text, breaks)
    const answer = await sendQuestion(adapter, false)

    expect([answer.status, await answer.json()]).toMatchObject([200, { choices: [{ finish_reason: 'stop' }] }])
  }
})
