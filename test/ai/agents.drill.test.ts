import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Agent,
  claudeCode,
  codexCli,
  installAgents,
  langChainSteps,
  openWorkshop,
  runLangChain,
} from '../kit/ai/agents.ts'
import { createPromptCache } from '../kit/ai/prompt-cache.ts'
import { PROVIDER_KEY } from '../kit/ai/protocols.ts'
import { refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { createTaskModel, DONE, SUMMARY } from '../kit/ai/task-model.ts'
import { startApp } from '../kit/app.ts'

const upstreamIds = {
  'openai-compatible': 'up-1',
  openai: 'gpt-5',
  anthropic: 'claude-sonnet-4-6',
  google: 'gemini-2.5-flash',
  mistral: 'mistral-large-latest',
}

/** Starts a service with a model of each kind of provider, all of which behave as the test says. */
async function startService() {
  await using starting = new AsyncDisposableStack()
  const upstream = starting.use(await startProvider(refuses(500)))
  const config = starting.use(await writeConfig(upstream.url))
  const providers = Object.entries(upstreamIds).map(([adapter, upstreamId]) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: [{ id: `svc-${adapter}`, upstreamId, external: true, input: ['text', 'image'] }],
  }))
  await config.write({ providers, systemModels: {} })
  const svc = starting.use(await startApp({ AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const resources = starting.move()
  return { svc, upstream, url: svc.url, token, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

let service: Awaited<ReturnType<typeof startService>>
let agents: Awaited<ReturnType<typeof installAgents>>
beforeAll(async () => {
  service = await startService()
  agents = await installAgents()
}, 300_000)
afterAll(async () => {
  await agents[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

describe.each<[string, Agent]>([
  ['Claude Code', claudeCode],
  ['Codex', codexCli],
])('%s', (_, agent) => {
  test.for(Object.keys(upstreamIds))(
    'reads and edits a file, runs a command and compacts itself with %s',
    async (adapter) => {
      await using at = await openWorkshop()
      const { behave, answers: modelAnswers } = createTaskModel(agent.steps(at.file))
      service.upstream.behave = behave
      const { url, token } = service
      const options = { program: agents.program(agent.program), url, token, model: `svc-${adapter}` }

      const worked = await agent.work(options, at)
      expect(worked.output, modelAnswers.join()).toContain(DONE)
      expect([worked.code, await at.greeting(), await at.readReport()]).toEqual([0, 'Good day\n', 'Good day\n'])

      const shorter = await agent.compact(options, at)
      expect(shorter.code, shorter.output).toBe(0)
      expect(modelAnswers).toContain(SUMMARY)
    },
  )
})

test('the second turn of Claude Code reads all of the first from the cache', async () => {
  await using at = await openWorkshop()
  const { svc, upstream, url, token } = service
  await svc.services.ai.usageLedger.flush()
  await svc.rows('delete from usage_records')
  upstream.behave = createTaskModel(claudeCode.steps(at.file), createPromptCache()).behave

  const options = { program: agents.program('claude'), url, token, model: 'svc-anthropic' }
  const { output } = await claudeCode.work(options, at)

  expect(output).toContain(DONE)
  await svc.services.ai.usageLedger.flush()
  const [first, second] = await svc.rows<{ read: number; written: number }>(
    `select cached_tokens as read, cache_write_tokens as written
       from usage_records where cached_tokens + cache_write_tokens > 0 order by id`,
  )
  expect(first?.written).toBeGreaterThan(1000)
  expect(second?.read).toBe(first?.written)
})

test.for(Object.keys(upstreamIds))(
  'the agent of LangChain completes all rounds of its tools by models of %s',
  async (adapter) => {
    for (const isStreamed of [false, true]) {
      await using at = await openWorkshop()
      service.upstream.behave = createTaskModel(langChainSteps).behave
      const options = { program: agents.langChain, url: service.url, token: service.token, model: `svc-${adapter}` }

      const worked = await runLangChain(options, at, isStreamed)
      expect(worked.output).toContain(DONE)
      expect([worked.code, await at.greeting(), await at.readReport()]).toEqual([0, 'Good day\n', 'Good day\n'])
    }
  },
)
