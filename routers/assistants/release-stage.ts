import type { EntityManager } from '@mikro-orm/postgresql'
import type { LockedAssistant } from '../../entities/assistants/assistant.sql.ts'
import { Problem } from '../core/problems.ts'
import type { PersonContext } from './assistant-changes.ts'
import type { ReleaseStage } from './assistant-types.ts'
import { release } from './review.ts'
import { shareLocked } from './share-assistant.ts'

/**
 * Has the newest version answer, for the people of a stage; returns true if it waits for approval. An assistant that is for groups
 * stays so, as it is organizational already.
 */
export async function releaseTo(
  ctx: PersonContext,
  em: EntityManager,
  assistant: LockedAssistant,
  stage: ReleaseStage,
): Promise<boolean> {
  const { audience, published, latest: version } = assistant
  if (stage === 'draft') {
    if (published === null) return false
    const detail = 'A version was published, so it is no draft any more. As `private` it is for its owner and editors.'
    throw new Problem('conflict', { detail })
  }
  if (stage === 'private') {
    const shared = audience === 'private' ? assistant : await shareAs(ctx, em, assistant, 'private')
    await release(ctx, em, { assistant: shared, version })
    return false
  }
  const { isWaiting = false } = await release(ctx, em, { assistant, version })
  if (audience !== 'private') return isWaiting
  const shared = await shareAs(ctx, em, { ...assistant, published: version }, 'all')
  return shared.audience !== 'all'
}

/** Shares a locked assistant with another audience, and returns it as it is then. */
async function shareAs(
  ctx: PersonContext,
  em: EntityManager,
  assistant: LockedAssistant,
  audience: 'private' | 'all',
): Promise<LockedAssistant> {
  const { editors, allowRemix } = assistant
  return { ...assistant, ...(await shareLocked(ctx, em, assistant, { audience, groups: [], editors, allowRemix })) }
}
