import type { EntityManager } from '@mikro-orm/postgresql'
import {
  type AssistantSummary,
  type LockedAssistant,
  lockAssistant,
  setOwner,
  summarizeAssistants,
} from '../../entities/assistants/assistant.sql.ts'
import { User } from '../../entities/identity/user.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { readVersionOf, recordOutdated, type StoredVersion } from './assistant-changes.ts'
import { assertKnowledge, assertModels, insertHandle, isSameContent, writeVersion } from './change-assistant.ts'
import type { AssistantContent, AssistantEntry, AssistantsFile } from './content.ts'
import { publishNow } from './review.ts'
import { writeSharing } from './share-assistant.ts'

/** The outcome of an entry of the file. */
export interface AppliedAssistant {
  handle: string
  outcome: 'created' | 'changed' | 'unchanged'
  /** The newest version. */
  version: number
  published: number | null
}

export interface AssistantPage {
  assistants: AssistantSummary[]
  total: number
}

export async function readSummaries(ctx: Context, page: { limit: number; offset: number }): Promise<AssistantPage> {
  const rows = await ctx.services.sql(summarizeAssistants, [page.limit, page.offset])
  return { assistants: rows.map(({ assistant }) => assistant), total: rows[0]?.total ?? 0 }
}

/**
 * Brings the assistants of a file into line with it: all or none. Equal content makes no version, so a file can be applied
 * repeatedly.
 */
export async function applyAssistants(ctx: Context, { assistants }: AssistantsFile): Promise<AppliedAssistant[]> {
  return withChangeLog(ctx, async (em, changes) => {
    const applied: AppliedAssistant[] = []
    // In the order of their handles, so that two commands cannot wait for each other.
    const entries = assistants.toSorted((a, b) => (a.handle < b.handle ? -1 : 1))
    for (const entry of entries)
      applied.push(await applyEntry(ctx, em, entry).catch((error: unknown) => throwOf(error, entry.handle)))
    const changed = applied.filter(({ outcome }) => outcome !== 'unchanged')
    if (changed.length > 0) recordOutdated(changes)
    ctx.auditedCall?.recordChange({ assistants: changed.map(({ handle, version }) => `${handle}@${version}`) })
    return applied
  })
}

/** Rethrows invalid members of an entry as sentences that name it. */
function throwOf(error: unknown, handle: string): never {
  if (!(error instanceof Problem) || error.issues.length === 0) throw error
  const sentences = error.issues.map(({ path, message }: Issue) => {
    const member = path.filter((step) => step !== 'content').join('.')
    return `The assistant '${handle}': ${member} ${message}.`
  })
  throw new Problem(error.problem, { detail: sentences.join('\n'), cause: error })
}

async function applyEntry(ctx: Context, em: EntityManager, entry: AssistantEntry): Promise<AppliedAssistant> {
  const { handle, owner, audience, groups, editors, allowRemix, publish, ...content } = entry
  const sharing = { audience, groups, editors, allowRemix }
  const existing = await findExisting(ctx, em, handle)
  const ownerId = await findOwner(em, owner)
  await assertModels(ctx, content, listModels(existing), em)
  await assertKnowledge(ctx, content, existing?.newest.content, em)
  const id = existing?.row.id ?? (await insertHandle(ctx, em, handle, ownerId))
  const version = await applyContent(ctx, em, { id, existing, content })
  const isPublished = publish && version !== existing?.row.published
  if (isPublished) await publishNow(ctx, em, { id }, version)
  const isShared = existing ? isSameSharing(existing.row, { owner, ...sharing }) : false
  if (!isShared) {
    await runStatement(em, setOwner, [id, ownerId])
    await writeSharing(em, id, { ...sharing, owner })
  }
  const published = isPublished ? version : (existing?.row.published ?? null)
  if (!existing) return { handle, outcome: 'created', version, published }
  const isUnchanged = version === existing.row.latest && isShared && !isPublished
  return { handle, outcome: isUnchanged ? 'unchanged' : 'changed', version, published }
}

interface ExistingAssistant {
  row: LockedAssistant
  /** Its newest version. */
  newest: StoredVersion
}

const listModels = (existing: ExistingAssistant | undefined): string[] =>
  existing ? [existing.newest.content.model, ...existing.newest.content.fallback] : []

interface AppliedContent {
  id: number
  existing: ExistingAssistant | undefined
  content: AssistantContent
}

/** Adds a version, unless the newest one is the same, and returns its number. */
async function applyContent(
  ctx: Context,
  em: EntityManager,
  { id, existing, content }: AppliedContent,
): Promise<number> {
  const latest = existing?.row.latest ?? 0
  if (existing && isSameContent(existing.newest.content, content)) return latest
  const avatar = existing?.newest.avatar ?? null
  await writeVersion(ctx, em, { id, number: latest + 1, author: null, content, avatar })
  return latest + 1
}

async function findExisting(ctx: Context, em: EntityManager, handle: string): Promise<ExistingAssistant | undefined> {
  const [row] = await runStatement(em, lockAssistant, [null, handle])
  return row && { row, newest: await readVersionOf(ctx, em, row, row.latest) }
}

type SharedRow = Pick<LockedAssistant, 'owner' | 'audience' | 'groups' | 'editors' | 'allowRemix'>

const isSameSharing = (one: SharedRow, other: SharedRow) => toComparable(one) === toComparable(other)

const toComparable = ({ owner, audience, groups, editors, allowRemix }: SharedRow) =>
  JSON.stringify([owner, audience, allowRemix, [...groups].sort(), [...editors].sort()])

async function findOwner(em: EntityManager, username: string | null): Promise<number | null> {
  if (username === null) return null
  const owner = await em.findOne(User, { username }, { fields: ['id'] })
  if (owner) return owner.id
  throw new Problem('invalid', { issues: [{ path: ['owner'], message: 'is the username of nobody' }] })
}
