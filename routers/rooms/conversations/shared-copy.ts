import {
  findReadableCopy,
  type LinkReader,
  type StoredCopy,
  toReaderValues,
} from '../../../entities/rooms/shared-link.sql.ts'
import type { Context } from '../../core/context.ts'
import { FileContent } from '../../core/file-content.ts'
import { toClientNetwork } from '../../core/load/client-network.ts'
import { consumeRateLimit } from '../../core/load/rate-limit.ts'
import { createUnknownLinkProblem, linkId } from './shared-links.ts'

/** Looks that find nothing, per minute, of a person or of the guests of a network address. */
const MISSES_PER_MINUTE = 60
/** Copies that a person, or the guests of a network address, may read per minute. */
const [READS_PER_PERSON, READS_PER_NETWORK] = [120, 1200]

/**
 * Finds the copy that the caller may read. Whoever may not is told the same as for a link that never was, and looks that
 * find nothing are limited.
 */
async function findCopy(ctx: Context, id: string): Promise<StoredCopy> {
  const { sql, settings } = ctx.services
  const { readers, openGroups, groups } = settings.sharedLinks
  const { current } = ctx.callerContext
  const isReader = current.type === 'user' && (!current.token || current.token.abilities.includes('read'))
  const reader: LinkReader = {
    person: isReader ? current.person.id : null,
    groups: isReader ? current.person.groups : [],
    isOpen: readers === 'everybody',
    openGroups: openGroups.length > 0 ? openGroups : null,
    sharingGroups: groups.length > 0 ? groups : null,
  }
  const isWellFormed = linkId.safeParse(id).success
  const [found] = readers !== 'off' && isWellFormed ? await sql(findReadableCopy, toReaderValues(id, reader)) : []
  if (found) return found
  await consumeRateLimit(ctx, [`shared-link-miss:${nameReader(ctx)}`], MISSES_PER_MINUTE)
  throw createUnknownLinkProblem()
}

/** Names whoever is counted: people by themselves, as many may come from one network. */
function nameReader({ callerContext: { current }, address = '' }: Context): string {
  return current.type === 'user' ? `person:${current.person.id}` : `network:${toClientNetwork(address)}`
}

/** Resolves if the caller may read what the link leads to. */
export async function assertMayRead(ctx: Context, id: string): Promise<void> {
  await findCopy(ctx, id)
}

/** Opens the sealed copy of a link. */
export async function openCopy(ctx: Context, id: string): Promise<FileContent> {
  const copy = await findCopy(ctx, id)
  const limit = ctx.callerContext.current.type === 'user' ? READS_PER_PERSON : READS_PER_NETWORK
  await consumeRateLimit(ctx, [`shared-link:${nameReader(ctx)}`], limit)
  const facts = { name: 'shared', mime: 'application/octet-stream', bytes: copy.bytes, tag: copy.name }
  return new FileContent(facts, (range) => ctx.services.files.sharedCopies.read(copy, range))
}
