import { z } from 'zod'
import type { Context } from '../core/context.ts'
import type { BlockContext, ConfigBlock } from '../core/extension.ts'
import { about, anyone, router } from '../core/trpc.ts'
import { attribute, resource } from '../resource/declare.ts'
import type { RecordOf } from '../resource/record.ts'
import { member } from '../verbs/action.ts'
import { virtualReads } from '../verbs/computed.ts'
import { builtInBlocks } from './config-blocks.ts'

const block = z.record(z.string(), z.unknown())

export const configs = resource({
  type: 'configs',
  about:
    'How the service is set up, in blocks; the id is the key of a block. Callers get the blocks that they may see.',
  attributes: {
    values: attribute(block.describe('What the block says.'), { sparse: true }),
    list: attribute(
      z.record(z.string(), z.record(z.string(), block)).describe('Only of `public`: all blocks, by namespace and key.'),
      {
        sparse: true,
      },
    ),
  },
})

type Config = RecordOf<typeof configs>

/** What a block may look at. */
export function blockContext({ callerContext, usage, locale, services: { settings, sql } }: Context): BlockContext {
  return { caller: callerContext.current, usage, locale, settings, sql }
}

/** The blocks that the caller may see, each with its key. */
export async function readBlocks(
  ctx: Context,
  blocks: readonly ConfigBlock[],
): Promise<[string, Record<string, unknown>][]> {
  const given = blockContext(ctx)
  const read = await Promise.all(blocks.map(async ({ key, of }) => [key, await of(given)] as const))
  return read.flatMap(([key, values]) => (values ? [[key, values]] : []))
}

const all = async (ctx: Context): Promise<Config[]> => {
  const blocks = await readBlocks(ctx, [...builtInBlocks, ...ctx.services.extensions.configBlocks])
  return blocks.map(([id, values]) => ({ id, values }))
}

export const configsRouter = router({
  ...virtualReads(configs, all, anyone),

  public: member(configs, 'public', anyone)
    .meta(about('Read all public blocks at once.'))
    .input(z.strictObject({}).prefault({}))
    .query(async ({ ctx }): Promise<Config> => {
      const own = await readBlocks(ctx, builtInBlocks)
      const added = await readBlocks(ctx, ctx.services.extensions.configBlocks)
      // The blocks of the service itself stand under this name, those of extensions under theirs.
      const namespace = `${ctx.services.settings.brand}-core`
      const list = {
        [namespace]: Object.fromEntries(own),
        ...(added.length > 0 && { extensions: Object.fromEntries(added) }),
      }
      return { id: 'public', list }
    }),
})
