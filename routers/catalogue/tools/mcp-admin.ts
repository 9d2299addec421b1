import { z } from 'zod'
import { listServerTools } from '../../../entities/catalogue/ai-tool.sql.ts'
import { AiTool } from '../../../entities/catalogue/ai-tool.ts'
import { Problem } from '../../core/problems.ts'
import { host, router } from '../../core/trpc.ts'
import { checkServers, syncToolServers } from './tool-discovery.ts'

/** What the host does with tool servers. */
export const mcpRouter = router({
  /** Writes down what every tool server offers now. */
  sync: host.mutation(({ ctx }) => syncToolServers(ctx)),

  /** Writes down which tool servers answer, and leaves their tools. */
  check: host.mutation(async ({ ctx }) =>
    (await checkServers(ctx)).map(({ server, status, reason }) => ({ server, status, reason })),
  ),

  tools: host.query(({ ctx }) => ctx.services.sql(listServerTools)),

  /** Lets models call a tool as it describes itself now, which must be what was looked at. */
  approve: host
    .input(z.strictObject({ name: z.string().max(120), hash: z.string().max(64) }))
    .mutation(({ ctx, input: { name, hash } }) =>
      ctx.em().transactional(async (em) => {
        const [seen] = (await ctx.services.sql(listServerTools)).filter((tool) => tool.name === name)
        if (!seen) throw new Problem('not_found')
        const tool = await em.findOneOrFail(AiTool, { name })
        if (seen.hash !== hash) throw new Problem('precondition_failed')
        em.assign(tool, { active: true, approved: tool.mcpConfig ?? null })
        return { name }
      }),
    ),
})
