import type { EntityManager } from '@mikro-orm/postgresql'
import {
  deleteAssistant,
  findEditors,
  type LockedAssistant,
  removeEditor,
  replaceEditors,
  setAudience,
} from '../../entities/assistants/assistant.sql.ts'
import { proposeVersion } from '../../entities/assistants/assistant-review.sql.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { deleteOrphanedPictures } from '../identity/pictures/pictures.ts'
import { changeAnswering, lockEditable, type PersonContext, recordChange } from './assistant-changes.ts'
import type { Sharing } from './content.ts'
import { mustWaitForAll } from './review.ts'

/** Who has an assistant now. */
export type SharedAssistant = { handle: string } & Sharing & {
    /** Present if it is for all once an administrator has approved it; until then its audience is the one before. */
    isWaiting?: true
  }

/** Decides who may use and who may change an assistant; only its owner does. */
export async function share(
  ctx: PersonContext,
  { handle, ...sharing }: Sharing & { handle: string },
): Promise<SharedAssistant> {
  return changeAnswering(ctx, async (em) =>
    shareLocked(ctx, em, await lockEditable(em, ctx.caller.person.id, handle), sharing),
  )
}

/** The same for a locked assistant. */
export async function shareLocked(
  ctx: PersonContext,
  em: EntityManager,
  assistant: LockedAssistant,
  sharing: Sharing,
): Promise<SharedAssistant> {
  assertOwner(ctx, assistant)
  const { handle, audience, groups, editors, allowRemix } = assistant
  const waits = sharing.audience === 'all' && (await mustWaitForAll(ctx, em, assistant))
  const written = waits ? { ...sharing, audience, groups } : sharing
  await writeSharing(em, assistant.id, { ...written, owner: ctx.caller.person.username })
  if (waits) await runStatement(em, proposeVersion, [assistant.id, assistant.published])
  recordChange(ctx, handle, {
    audience: { before: audience, after: written.audience },
    groups: { before: groups, after: written.groups },
    allowRemix: { before: allowRemix, after: sharing.allowRemix },
    editors: { before: editors.length, after: sharing.editors.length },
    ...(waits && { proposed: assistant.published }),
  })
  return { handle, ...written, ...(waits && { isWaiting: true as const }) }
}

/** Writes who may use and who may change an assistant. Its owner is no editor, so that somebody else inherits it. */
export async function writeSharing(
  em: EntityManager,
  id: number,
  { audience, groups, editors, allowRemix, owner }: Sharing & { owner: string | null },
): Promise<void> {
  const found = new Map((await runStatement(em, findEditors, [editors])).map((row) => [row.username, row.id]))
  const issues = editors.flatMap((name, at): Issue[] => {
    if (name === owner) return [{ path: ['editors', at], message: 'is the owner' }]
    return found.has(name) ? [] : [{ path: ['editors', at], message: 'is nobody who can be an editor' }]
  })
  if (issues.length > 0) throw new Problem('invalid', { issues })
  await runStatement(em, setAudience, [id, audience, groups, allowRemix])
  await runStatement(em, replaceEditors, [id, editors.map((name) => found.get(name))])
}

/** Deletes an assistant with all versions; only its owner does. */
export async function deleteOwn(ctx: PersonContext, handle: string): Promise<{ handle: string }> {
  await deleteLocked(ctx, (em) => lockEditable(em, ctx.caller.person.id, handle))
  return { handle }
}

/** Deletes the assistant that is locked in the transaction of its deletion; only its owner does. */
export async function deleteLocked(
  ctx: PersonContext,
  lock: (em: EntityManager) => Promise<LockedAssistant>,
): Promise<void> {
  const pictures = await changeAnswering(ctx, async (em) => {
    const assistant = await lock(em)
    assertOwner(ctx, assistant)
    const pictures = await runStatement(em, deleteAssistant, [assistant.id])
    recordChange(ctx, assistant.handle, { deleted: true })
    return pictures.map(({ avatar }) => avatar)
  })
  await deleteOrphanedPictures(ctx, pictures)
}

/** Ends the right of an editor; an owner has no such right to give up. */
export async function leave(ctx: PersonContext, handle: string): Promise<{ handle: string }> {
  const { id: person } = ctx.caller.person
  return changeAnswering(ctx, async (em) => {
    const { id, ownerId } = await lockEditable(em, person, handle)
    if (ownerId === person) throw new Problem('conflict', { detail: 'Its owner cannot leave it. Delete it instead.' })
    await runStatement(em, removeEditor, [id, person])
    recordChange(ctx, handle, { left: true })
    return { handle }
  })
}

function assertOwner({ caller }: PersonContext, { ownerId }: LockedAssistant): void {
  if (ownerId !== caller.person.id) throw new Problem('not_permitted', { detail: 'Only its owner decides this.' })
}
