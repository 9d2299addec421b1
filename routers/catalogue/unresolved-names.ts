import { listToolNames } from '../../entities/catalogue/ai-tool.sql.ts'
import type { Context } from '../core/context.ts'
import { allModelFlags } from './ai-model-flags.ts'
import { allToolCapabilities } from './tools/ai-tool-capabilities.ts'

/** A name in a file that leads to nothing here. */
export interface UnresolvedName {
  /** What names it, such as `the model llama`. */
  by: string
  kind: string
  name: string
}

/** What models of AI_CONFIG name and nothing here has; a tool may come once its server is asked. */
export async function findUnresolvedNames(ctx: Context): Promise<UnresolvedName[]> {
  const { providers } = await ctx.services.modelConfig()
  const known = {
    tool: new Set((await ctx.services.sql(listToolNames)).map(({ name }) => name)),
    flag: new Set(allModelFlags(ctx).map(({ id }) => id)),
    capability: new Set(allToolCapabilities(ctx).map(({ id }) => id)),
  }
  const models = providers.flatMap((provider) => provider.models)
  return models.flatMap(({ id, tools, flags, nativeCapabilities }) =>
    Object.entries({ tool: tools, flag: flags, capability: nativeCapabilities }).flatMap(([kind, names]) =>
      names
        .filter((name) => !known[kind as keyof typeof known].has(name))
        .map((name) => ({ by: `the model ${id}`, kind, name })),
    ),
  )
}
