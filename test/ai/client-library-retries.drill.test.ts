import { test } from 'vitest'
import { type ClientName, catchFailure, clientLibraries, clientNames } from '../kit/ai/client-libraries.ts'
import { canary, refuses } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'

/** Number of requests by each client after passing failures; for each of them the provider is called three times. */
const times: Record<ClientName, number> = {
  'the client of OpenAI': 1,
  'the client of Anthropic': 1,
  LangChain: 7,
  'the AI SDK for OpenAI': 3,
  'the AI SDK for responses': 3,
  'the AI SDK for compatible servers': 3,
  'the AI SDK for Anthropic': 3,
}
const failingCases = clientNames.map((name, at): [ClientName, number] => [name, at % 2 ? 503 : 500])

// LangChain waits for more than a minute in all between its seven requests.
test.concurrent.for(failingCases)(
  '%s retries an answer that fails by %i as often as it always does',
  async ([name, status], { expect }) => {
    // The failures of one person open no circuit.
    await using failingApp = await startWithProvider(refuses(status), { circuit: { failures: 5, openFor: '1h' } })
    const client = clientLibraries[name]({ apiKey: failingApp.token, url: failingApp.svc.url })

    const error = await catchFailure(client.sendQuestion())

    expect(String(error)).not.toContain(canary)
    expect(failingApp.upstream.requests).toHaveLength(3 * times[name])
    const records = await failingApp.takeRecords()
    expect(records.map(({ outcome }) => outcome)).toEqual(Array(times[name]).fill('failed'))
  },
)
