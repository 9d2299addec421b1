import { type ModelConfig, modelConfig } from '../../routers/ports/ai/model-config.ts'
import { readConfigFile } from './config-file.ts'

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
