import type { EntityManager } from '@mikro-orm/postgresql'
import {
  findVersionOf,
  type LockedAssistant,
  publishVersion,
  setAudience,
} from '../../entities/assistants/assistant.sql.ts'
import {
  findApproval,
  findWaitingAssistant,
  listWaitingAssistants,
  proposeVersion,
  refuseVersion,
  type WaitingAssistant,
} from '../../entities/assistants/assistant-review.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import {
  changeAnswering,
  createUnknownAssistant,
  createUnknownVersion,
  lockEditable,
  recordChange,
  type VersionRef,
} from './assistant-changes.ts'
import { type AssistantContent, toContent } from './content.ts'

/** A person's changes of assistants for all wait for an administrator; those of the host do not. */
const isReviewed = ({ origin, services: { settings } }: Context) => settings.reviewsAssistants && origin !== 'host'

const isApproved = async (em: EntityManager, id: number, version: number): Promise<boolean> => {
  const [found] = await runStatement(em, findApproval, [id, version])
  if (!found) throw createUnknownVersion(version)
  return found.isApproved
}

/** True if an assistant has a published version that nobody has approved, and so cannot be shared with all at once. */
export async function mustWaitForAll(
  ctx: Context,
  em: EntityManager,
  { id, audience, published }: LockedAssistant,
): Promise<boolean> {
  if (!isReviewed(ctx) || audience === 'all' || published === null) return false
  return !(await isApproved(em, id, published))
}

interface ReleasedVersion {
  assistant: LockedAssistant
  version: number
  /** The audit log says this beside the numbers. */
  change?: object
}

/** Has a version answer from now on, or wait for approval if it is for all and needs one. */
export async function release(
  ctx: Context,
  em: EntityManager,
  { assistant, version, change = {} }: ReleasedVersion,
): Promise<VersionRef> {
  const { id, handle, audience, published } = assistant
  if (isReviewed(ctx) && audience === 'all' && !(await isApproved(em, id, version))) {
    await runStatement(em, proposeVersion, [id, version])
    recordChange(ctx, handle, { ...change, version, proposed: version })
    return { handle, version, isPublished: published === version, isWaiting: true }
  }
  await publishNow(ctx, em, assistant, version)
  recordChange(ctx, handle, { ...change, version, published: { before: published, after: version } })
  return { handle, version, isPublished: true }
}

/** Has a version answer from now on. What the host publishes is approved. */
export async function publishNow(
  { origin }: Context,
  em: EntityManager,
  { id }: Pick<LockedAssistant, 'id'>,
  version: number,
): Promise<void> {
  const [found] = await runStatement(em, publishVersion, [id, version, origin === 'host'])
  if (!found) throw createUnknownVersion(version)
}

/** Has a version answer from now on: a newer one, or an earlier one again. */
export async function publish(
  ctx: Context,
  person: number | null,
  { handle, version }: { handle: string; version: number },
): Promise<VersionRef> {
  return changeAnswering(ctx, async (em) =>
    release(ctx, em, { assistant: await lockEditable(em, person, handle), version }),
  )
}

export interface WaitingPage {
  assistants: WaitingAssistant[]
  total: number
}

export async function readWaiting(ctx: Context, page: { limit: number; offset: number }): Promise<WaitingPage> {
  const rows = await ctx.services.sql(listWaitingAssistants, [page.limit, page.offset])
  return { assistants: rows.map(({ assistant }) => assistant), total: rows[0]?.total ?? 0 }
}

/** A content with the identifier of its picture below `/proxy/storage/`. */
type ReviewedContent = AssistantContent & { avatar: string | null }

/** What an administrator compares: the version that waits, and the one that answers until then. */
export interface AssistantReview extends WaitingAssistant {
  content: ReviewedContent
  /** True if the files that it searches are others by now than when the version was saved. */
  hasChangedFiles: boolean
  /** Null if no version answers yet. */
  publishedContent: ReviewedContent | null
}

export async function readReview({ services }: Context, handle: string): Promise<AssistantReview> {
  const { sql, vault } = services
  const [found] = await sql(findWaitingAssistant, [handle])
  if (!found) throw createUnknownAssistant()
  const { id, ...waiting } = found
  const read = async (version: number | null) => {
    const [row] = version === null ? [] : await sql(findVersionOf, [id, version])
    return row ? { ...toContent(vault, row), avatar: row.picture } : null
  }
  const [content, publishedContent] = await Promise.all([read(found.version), read(found.published)])
  // It was deleted in between.
  if (!content) throw createUnknownAssistant()
  return { ...waiting, content, publishedContent }
}

interface ReviewedVersion {
  handle: string
  /** What the administrator has read: another version may wait by now. */
  version: number
}

/** Approves a version: the assistant is for all, and this version answers. */
export const approve = (ctx: Context, { handle, version }: ReviewedVersion): Promise<VersionRef> =>
  changeAnswering(ctx, async (em) => {
    const { id, audience, published, allowRemix } = await lockWaiting(em, { handle, version })
    await runStatement(em, publishVersion, [id, version, true])
    await runStatement(em, setAudience, [id, 'all', [], allowRemix])
    recordChange(ctx, handle, {
      audience: { before: audience, after: 'all' },
      published: { before: published, after: version },
    })
    return { handle, version, isPublished: true }
  })

/** Refuses a version with a reason for its editors; everything else stays as it is. */
export const refuse = (
  ctx: Context,
  { reason, ...reviewed }: ReviewedVersion & { reason: string },
): Promise<VersionRef> =>
  changeAnswering(ctx, async (em) => {
    const { id, published } = await lockWaiting(em, reviewed)
    await runStatement(em, refuseVersion, [id, reason])
    recordChange(ctx, reviewed.handle, { refused: reviewed.version })
    return { ...reviewed, isPublished: published === reviewed.version }
  })

async function lockWaiting(em: EntityManager, { handle, version }: ReviewedVersion): Promise<LockedAssistant> {
  const assistant = await lockEditable(em, null, handle)
  if (assistant.proposed === version) return assistant
  const { proposed } = assistant
  const detail = proposed === null ? 'No version waits for approval.' : `Version ${proposed} waits for approval now.`
  throw new Problem('conflict', { detail })
}
