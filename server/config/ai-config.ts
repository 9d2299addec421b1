import { type ModelConfig, modelConfig } from '../../routers/ports/model-config.ts'
import { readConfigFile } from './config-file.ts'

/** What serves without any configuration. */
const demo: unknown = {
  providers: [
    {
      id: 'demo',
      name: 'Demo',
      adapter: 'demo',
      models: [{ id: 'demo', label: 'Demo (not an AI)', external: true, settings: { toolCalling: false } }],
    },
  ],
  systemModels: { default: 'demo', title_generation: 'demo', prompt_improvement: 'demo', summary: 'demo' },
}

/** Production serves no answers that only look like those of an AI. */
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
