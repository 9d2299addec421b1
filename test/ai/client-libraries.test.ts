import { beforeEach, expect, test, vi } from 'vitest'
import { type ClientName, catchFailure, clientLibraries, clientNames } from '../kit/ai/client-libraries.ts'
import { answers, canary, neverEnds, refuses, stalls } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { SLOW } from '../kit/service-client.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithProvider(answers('Good day to you.')))
beforeEach(() => app.answerBy(answers('Good day to you.')))

const createLibraryClient = (name: ClientName) => clientLibraries[name]({ apiKey: app.token, url: app.svc.url })

async function read(pieces: AsyncIterable<string>): Promise<string> {
  const texts: string[] = []
  for await (const piece of pieces) texts.push(piece)
  return texts.join('')
}

test.for(clientNames)('%s reads an answer whole and as it comes', async (name) => {
  const client = createLibraryClient(name)

  expect(await client.sendQuestion()).toBe('Good day to you.')
  expect(await read(client.stream())).toBe('Good day to you.')
  expect(await app.takeRecords()).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }])
})

test.for(clientNames)('%s ends the call of the provider without retries where its program aborts', async (name) => {
  const client = createLibraryClient(name)
  for (const [behave, sendQuestion] of [
    [stalls, client.sendQuestion],
    [neverEnds, (signal: AbortSignal) => read(client.stream(signal))],
  ] as const) {
    await app.answerBy(behave)
    const controller = new AbortController()
    const answer = catchFailure(sendQuestion(controller.signal))
    await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(1), SLOW)
    controller.abort()
    await answer
    await vi.waitFor(() => expect(app.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
    await vi.waitFor(async () => expect(await app.takeRecords()).toMatchObject([{ outcome: 'aborted' }]), SLOW)
    expect(app.upstream.requests).toHaveLength(1)
  }
})

test.for(clientNames)('%s repeats no question that its provider refuses for good', async (name) => {
  const client = createLibraryClient(name)
  for (const status of [400, 422]) {
    for (const sendQuestion of [client.sendQuestion, () => read(client.stream())]) {
      await app.answerBy(refuses(status))
      const error = await catchFailure(sendQuestion())

      expect.soft(error?.status ?? error?.statusCode, `${status}`).toBe(400)
      expect.soft(String(error)).not.toContain(canary)
      expect.soft(app.upstream.requests, `${status}`).toHaveLength(1)
      expect.soft(await app.takeRecords(), `${status}`).toMatchObject([{ outcome: 'failed' }])
    }
  }
})
