import { afterAll } from 'vitest'
import { startApp, type TestApp } from '../app.ts'
import { answers, buildQuestion, startProvider, writeConfig } from './provider.ts'

interface LimitedOptions {
  model?: object
  provider?: object
  env?: Record<string, string>
}

/** Starts a service with these limits and one model that answers in ten tokens. */
export async function limited(limits: object[], options: LimitedOptions = {}) {
  const world = await startService(options)
  await setLimits(world.svc, limits)
  return world
}

type World = Awaited<ReturnType<typeof limited>>

/**
 * Lends the tests of a file one service for all that have the same settings. Each test begins with its own model and
 * limits, as if nothing had been asked before.
 */
export function shareLimitedService(): typeof limited {
  const services = new Map<string, Promise<World>>()
  afterAll(async () => {
    for (const world of services.values()) await (await world)[Symbol.asyncDispose]()
  })
  return async (limits, { model = {}, provider: more = {}, env = {} } = {}) => {
    const key = JSON.stringify(env)
    const service = services.get(key) ?? startService({ env })
    services.set(key, service)
    const world = await service
    const { svc, provider, config } = world
    const [ownProvider] = config.config.providers
    await config.write({
      ...config.config,
      providers: [{ ...ownProvider, models: [{ ...ownProvider?.models[0], ...model }], ...more }],
    })
    await svc.host.models.sync()
    await setLimits(svc, limits)
    return {
      ...world,
      async [Symbol.asyncDispose]() {
        await svc.services.ai.usageLedger.flush()
        for (const { name } of await svc.rows<{ name: string }>('select name from usage_limits'))
          await svc.host.limits.remove({ name })
        await svc.rows('delete from usage_records')
        provider.behave = answers('Good day.')
        provider.requests.length = 0
      },
    }
  }
}

async function startService({ model = {}, provider: more = {}, env = {} }: LimitedOptions) {
  const provider = await startProvider(answers('Good day.'))
  const config = await writeConfig(provider.url, { model, provider: more })
  const svc = await startApp({ AI_CONFIG: config.file, ...env })
  return {
    svc,
    provider,
    config,
    async [Symbol.asyncDispose]() {
      await svc[Symbol.asyncDispose]()
      await config[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

async function setLimits({ host }: TestApp, limits: object[]): Promise<void> {
  for (const limit of limits)
    await host.limits.set({ ...limit, confirm: true } as Parameters<typeof host.limits.set>[0])
}

export const sendQuestion = (svc: TestApp, token: string, text = 'Hello') =>
  svc.send('POST', '/api/ai-req', { token, body: buildQuestion(text) })

/** Used and held of a limit. */
export const readLimitState = async (svc: TestApp, name: string) => {
  await svc.services.ai.usageLedger.flush()
  const [limitState] = (await svc.host.limits.list()).filter((limit) => limit.name === name)
  return (
    limitState && { cap: limitState.cap, used: limitState.used, held: limitState.held, refused: limitState.refused }
  )
}

export const requestLimit = { name: 'all', for: 'installation', cap: 20, unit: 'requests', per: 'month' }
