import type { EntityManager } from '@mikro-orm/postgresql'
import { findVersionOf, type LockedAssistant, lockAssistant } from '../../entities/assistants/assistant.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { type AssistantContent, toContent } from './content.ts'

/** Context of a person who changes assistants. */
export type PersonContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** A version of an assistant, by its number. */
export interface VersionRef {
  handle: string
  version: number
  /** True if this version answers now. */
  isPublished: boolean
  /** Present if this version answers all people once an administrator has approved it. */
  isWaiting?: true
}

/**
 * Runs a transaction after which another version may answer, or other people: replicas that have cached the assistant for
 * calls read it anew.
 */
export const changeAnswering = <T>(ctx: Context, work: (em: EntityManager) => Promise<T>): Promise<T> =>
  withChangeLog(
    ctx,
    async (em, changes) => {
      const result = await work(em)
      recordOutdated(changes)
      return result
    },
    'all',
  )

/** Everybody is told that assistants have changed, and nobody which: some have no right to know of it. */
export const recordOutdated = (changes: ChangeRecorder): void => changes.add(['all'], 'updated', 'assistants', '*')

/** Is the same for an assistant that the caller may not see and for one that never was. */
export const createUnknownAssistant = () => new Problem('not_found', { detail: 'There is no such assistant.' })

/** Says that an assistant which the caller may change has no such version. */
export const createUnknownVersion = (version: number) =>
  new Problem('not_found', { detail: `The assistant has no version ${version}.` })

/** Locks an assistant of which the person is owner or editor, or any one for the host. */
export async function lockEditable(em: EntityManager, person: number | null, handle: string): Promise<LockedAssistant> {
  const [locked] = await runStatement(em, lockAssistant, [person, handle])
  if (!locked) throw createUnknownAssistant()
  return locked
}

/** Throws if an assistant has a newer version than the one from which a change was made. */
export function assertNewest({ latest }: LockedAssistant, basedOn: number | undefined): void {
  if (basedOn !== undefined && basedOn < latest)
    throw new Problem('conflict', { detail: `There is a newer version ${latest} by now.` })
}

/** A version as it was saved. */
export interface StoredVersion {
  content: AssistantContent
  /** The storage key of the picture. */
  avatar: string | null
}

export async function readVersionOf(
  { services: { vault } }: Context,
  em: EntityManager,
  { id }: Pick<LockedAssistant, 'id'>,
  version: number,
): Promise<StoredVersion> {
  const [row] = await runStatement(em, findVersionOf, [id, version])
  if (!row) throw createUnknownVersion(version)
  return { content: toContent(vault, row), avatar: row.avatar }
}

/** Records a change in the audit log; texts are never part of it. */
export function recordChange({ auditedCall }: Context, handle: string, change: Record<string, unknown>): void {
  auditedCall?.setSubject(`assistants:${handle}`).recordChange(change)
}
