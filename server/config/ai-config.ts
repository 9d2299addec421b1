import { type ModelConfig, type ModelOrigins, modelConfig, type Origin } from '../../routers/ports/ai/model-config.ts'
import { locateInConfigFile, readConfigFile } from './config-file.ts'

/** The configuration in force when AI_CONFIG is not set: the demo model. */
const demo: unknown = {
  providers: [
    {
      id: 'demo',
      name: 'Demo',
      adapter: 'demo',
      models: [{ id: 'demo', label: 'Demo (not an AI)', external: true }],
    },
  ],
  systemModels: { default: 'demo', title_generation: 'demo', prompt_improvement: 'demo', summary: 'demo' },
}

/** Whether the demo adapter may be used, which production refuses. */
interface Allowed {
  demo: boolean
}

/** Reads the file of providers and models, YAML or JSON; throws with line and path of everything that is wrong. */
export async function readModelConfig(
  file: string | undefined,
  env: Record<string, string | undefined>,
  allowed: Allowed,
): Promise<ModelConfig> {
  if (!file) return modelConfig.parse(demo)
  return readConfigFile(file, allowed.demo ? modelConfig : withoutDemo, env)
}

const withoutDemo = modelConfig.superRefine(({ providers }, ctx) => {
  for (const [index, { adapter }] of providers.entries()) {
    if (adapter !== 'demo') continue
    const path = ['providers', index, 'adapter']
    ctx.addIssue({ code: 'custom', path, message: 'production does not serve the demo model' })
  }
})

/** Finds where the file of providers and models says what; undefined where there is no file. */
export async function readModelOrigins(
  file: string | undefined,
  env: Record<string, string | undefined>,
  allowed: Allowed,
): Promise<ModelOrigins | undefined> {
  if (!file) return undefined
  const config = await readModelConfig(file, env, allowed)
  const { value, findLine } = await locateInConfigFile(file)
  const written = value as { providers: { models?: object[] }[]; [family: string]: unknown }
  const locate = (id: string, entry: object, path: readonly PropertyKey[]): Origin => ({
    id,
    line: findLine(path),
    members: Object.keys(entry).map((name) => ({ name, line: findLine([...path, name]) })),
  })
  const taskOf = (family: 'systemModels' | 'systemModelsExternal') =>
    Object.keys(config[family]).map((id) => locate(id, {}, [family, id]))
  return {
    file,
    providers: config.providers.map(({ id }, at) => locate(id, written.providers[at] ?? {}, ['providers', at])),
    models: config.providers.flatMap(({ models }, at) =>
      models.map(({ id }, index) =>
        locate(id, written.providers[at]?.models?.[index] ?? {}, ['providers', at, 'models', index]),
      ),
    ),
    tasks: { main: taskOf('systemModels'), external: taskOf('systemModelsExternal') },
  }
}
