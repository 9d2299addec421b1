import { startApp, type TestApp } from '../app.ts'
import { answers, configFor, question, startProvider } from './provider.ts'

interface LimitedOptions {
  model?: object
  provider?: object
  env?: Record<string, string>
}

/** A service with one model that answers in ten tokens, and these limits. */
export async function limited(limits: object[], { model = {}, provider: more = {}, env = {} }: LimitedOptions = {}) {
  const provider = await startProvider(answers('Good day.'))
  const config = await configFor(provider.url, { model, provider: more })
  const svc = await startApp({ AI_CONFIG: config.file, ...env })
  for (const limit of limits) await svc.host.limits.set(limit as Parameters<typeof svc.host.limits.set>[0])
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

export const ask = (svc: TestApp, token: string, text = 'Hello') =>
  svc.send('POST', '/api/ai-req', { token, body: question(text) })

/** Used and held of a limit, over all its counters. */
export const stateOf = async (svc: TestApp, name: string) => {
  await svc.services.usageLedger.flush()
  const [found] = (await svc.host.limits.list()).filter((limit) => limit.name === name)
  return found && { cap: found.cap, used: found.used, held: found.held, refused: found.refused }
}

export const requests = { name: 'all', for: 'installation', cap: 20, unit: 'requests', per: 'month' }
