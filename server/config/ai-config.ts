import { type ModelConfig, type ModelOrigins, modelConfig, type Origin } from '../../routers/ports/ai/model-config.ts'
import { locateInConfigFile, readConfigFile } from './config-file.ts'

/** The configuration if AI_CONFIG is not set: the demo model. */
const demoConfig: unknown = {
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

interface ModelConfigOptions {
  /** True if the demo adapter is allowed, which production refuses. */
  demo: boolean
}

/** Reads the file of providers and models, YAML or JSON; throws with line and path of everything that is wrong. */
export async function readModelConfig(
  file: string | undefined,
  env: Record<string, string | undefined>,
  options: ModelConfigOptions,
): Promise<ModelConfig> {
  if (!file) return modelConfig.parse(demoConfig)
  return readConfigFile(file, options.demo ? modelConfig : productionModelConfig, env)
}

const productionModelConfig = modelConfig.superRefine(({ providers }, ctx) => {
  for (const [index, { adapter }] of providers.entries()) {
    if (adapter !== 'demo') continue
    const path = ['providers', index, 'adapter']
    ctx.addIssue({ code: 'custom', path, message: 'production does not serve the demo model' })
  }
})

/** Finds the lines of the entries in the file of providers and models; undefined if there is no file. */
export async function readModelOrigins(
  file: string | undefined,
  env: Record<string, string | undefined>,
  options: ModelConfigOptions,
): Promise<ModelOrigins | undefined> {
  if (!file) return undefined
  const config = await readModelConfig(file, env, options)
  const { value, findLine } = await locateInConfigFile(file)
  const written = value as { providers: { models?: object[] }[]; [family: string]: unknown }
  const locate = (id: string, entry: object, path: readonly PropertyKey[]): Origin => ({
    id,
    line: findLine(path),
    members: Object.keys(entry).map((name) => ({ name, line: findLine([...path, name]) })),
  })
  const locateTasks = (family: 'systemModels' | 'systemModelsExternal') =>
    Object.keys(config[family]).map((id) => locate(id, {}, [family, id]))
  return {
    file,
    providers: config.providers.map(({ id }, at) => locate(id, written.providers[at] ?? {}, ['providers', at])),
    models: config.providers.flatMap(({ models }, at) =>
      models.map(({ id }, index) =>
        locate(id, written.providers[at]?.models?.[index] ?? {}, ['providers', at, 'models', index]),
      ),
    ),
    tasks: { main: locateTasks('systemModels'), external: locateTasks('systemModelsExternal') },
  }
}
