import { afterAll, beforeAll, expect, test } from 'vitest'
import { answersFromCache } from '../kit/ai/prompt-cache.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'

interface Block {
  text: string
  cache_control?: object
}
interface Body {
  cache_control?: object
  system: Block[]
  messages: { role: string; content: Block[] }[]
}

describeWith('chromium')('a chat with a model of Anthropic', () => {
  const resources = new AsyncDisposableStack()
  let app: Awaited<ReturnType<typeof startWithProvider>>
  let chat: Awaited<ReturnType<typeof openChat>>

  beforeAll(async () => {
    const model = { pricing: { currency: 'EUR', inputPerMillion: 10, cachedInputPerMillion: 1, outputPerMillion: 0 } }
    app = resources.use(
      await startWithProvider(answersFromCache(), {
        adapter: 'anthropic',
        models: [{ id: 'mock-1', label: 'First', ...model }],
      }),
    )
    chat = resources.use(await openChat(app.svc, 'ada'))
  })
  afterAll(() => resources.disposeAsync())

  /** Asks, and waits for the answer. */
  const ask = async (question: string) => {
    await chat.sendQuestion(question)
    await chat.messages().filter({ hasText: question }).waitFor()
    await chat.answered()
    await chat.messages().last().getByText('Good day to you.').waitFor()
  }
  const bodies = () => app.upstream.requests.map(({ body }) => body as unknown as Body)
  const writeText = ({ text }: Block) => text

  test("asks for the provider's cache, and sends a prompt that only grows", async () => {
    const { page } = chat
    await page.goto('/chat')
    await ask(`First ${'chess '.repeat(1000)}`.trim())
    await page.getByRole('button', { name: 'Chat settings' }).click()
    await page.getByLabel('Instructions').fill('You help with chess.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    for (const question of ['Second?', 'Third?']) await ask(question)

    const [, second, third] = bodies()
    expect(second?.system).toEqual([
      { type: 'text', text: 'You help with chess.', cache_control: { type: 'ephemeral' } },
    ])
    expect(second?.cache_control).toEqual({ type: 'ephemeral' })
    expect(third?.system).toEqual(second?.system)
    expect(third?.messages.slice(0, second?.messages.length)).toEqual(second?.messages)
    expect(third?.messages.at(-1)?.content.map(writeText)).toEqual(['Third?'])
  })

  test('is billed at the prices of the cache, and shows what came from it', async () => {
    const { page } = chat
    await app.answerBy(answersFromCache())
    await page.goto('/chat')
    for (const question of [`Fourth ${'chess '.repeat(1000)}`.trim(), 'Fifth?']) await ask(question)
    const readRecords = async () => {
      await app.svc.services.ai.usageLedger.flush()
      return app.svc.rows<{ input: number; cached: number; cost: number }>(
        'select input_tokens as input, cached_tokens as cached, cost_micros::int as cost from usage_records order by id',
      )
    }
    await expect.poll(readRecords).toHaveLength(2)
    const [, last] = await readRecords()
    expect(last?.cached).toBeGreaterThan(1000)
    expect(last?.cost).toBe(((last?.input ?? 0) - (last?.cached ?? 0)) * 10 + (last?.cached ?? 0))

    await chat.messages().last().getByRole('button', { name: 'More' }).click()
    await page.getByText(/[\d,]+ tokens came from the provider's cache/).waitFor()
  })
})
