import { startApp, type TestApp } from '../app.ts'
import { writeConfig } from './provider.ts'

export const buildModel = (id: string, more: object = {}) => ({ id, label: id, external: true, ...more })

export const buildProvider = (id: string, models: object[], more: object = {}) => ({
  id,
  adapter: 'openai-compatible',
  apiUrl: 'http://127.0.0.1:9/v1',
  models,
  ...more,
})

/** Starts a service whose configuration is rewritten with each synchronisation. */
export async function startWithConfig(config: object, settings: Record<string, string> = {}) {
  await using resources = new AsyncDisposableStack()
  const file = resources.use(await writeConfig(''))
  await file.write(config)
  const svc = resources.use(await startApp({ AI_CONFIG: file.file, ...settings }))
  const disposables = resources.move()
  return {
    svc,
    file: file.file,
    write: file.write,
    async sync(changed: object) {
      await file.write(changed)
      return svc.host.models.sync()
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

export const readActive = async (svc: TestApp, table: 'ai_models' | 'ai_providers' = 'ai_models') => {
  const name = table === 'ai_models' ? 'model_id' : 'provider_id'
  const rows = await svc.rows<{ name: string; active: boolean }>(`select ${name} as name, active from ${table}`)
  return Object.fromEntries(rows.map(({ name, active }) => [name, active]))
}
