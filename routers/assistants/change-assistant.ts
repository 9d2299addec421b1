import type { EntityManager } from '@mikro-orm/postgresql'
import {
  countOwnAssistants,
  deleteAssistant,
  findEditors,
  findRemixable,
  findVersionOf,
  insertAssistant,
  insertVersion,
  type LockedAssistant,
  lockAssistant,
  publishVersion,
  removeEditor,
  replaceEditors,
  setAudience,
} from '../../entities/assistants/assistant.sql.ts'
import { findNamedKnowledge } from '../../entities/assistants/assistant-knowledge.sql.ts'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { runInTransaction, withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { createTransactionSql, runForOneRow, runStatement } from '../core/run-statement.ts'
import { listUsableGroups } from '../verbs/viewer.ts'
import { type AssistantContent, type Sharing, sealTexts, toContent } from './content.ts'

/** Context of a person who changes assistants. */
export type PersonContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Assistants of one owner, and versions of one assistant. */
const MAX_OWN = 200
const MAX_VERSIONS = 2000

/** A version of an assistant, by its number. */
export interface VersionRef {
  handle: string
  version: number
  /** True if this version answers now. */
  isPublished: boolean
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

const createUnknownVersion = (version: number) =>
  new Problem('not_found', { detail: `The assistant has no version ${version}.` })

/** Locks an assistant of which the person is owner or editor, or any one for the host. */
export async function lockEditable(em: EntityManager, person: number | null, handle: string): Promise<LockedAssistant> {
  const [locked] = await runStatement(em, lockAssistant, [person, handle])
  if (!locked) throw createUnknownAssistant()
  return locked
}

interface NewAssistant {
  handle: string
  content: AssistantContent
  publish: boolean
}

/** Creates a private assistant of the caller, with models that they may use. */
export async function createOwn(ctx: PersonContext, assistant: NewAssistant): Promise<VersionRef> {
  await assertModels(ctx, assistant.content, [])
  await assertKnowledge(ctx, assistant.content, undefined)
  return insertOwn(ctx, assistant, {})
}

/** Copies the published version of an assistant that the caller may use into a private one of theirs. */
export async function remix(
  ctx: PersonContext,
  { handle, newHandle }: { handle: string; newHandle: string },
): Promise<VersionRef> {
  const { sql, vault } = ctx.services
  const { id: person, groups } = ctx.caller.person
  const [found] = await sql(findRemixable, [person, groups, handle])
  if (!found) throw createUnknownAssistant()
  if (!found.mayRemix) throw new Problem('not_permitted', { detail: 'Its owner lets nobody copy it.' })
  // Whoever uses its knowledge uses it through this assistant alone.
  const content = { ...toContent(vault, found), knowledge: null }
  return insertOwn(ctx, { handle: newHandle, content, publish: false }, { remixOf: handle })
}

async function insertOwn(
  ctx: PersonContext,
  { handle, content, publish }: NewAssistant,
  change: object,
): Promise<VersionRef> {
  const { id: person } = ctx.caller.person
  return runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, lockPerson, [person])
    const { count } = await runForOneRow(em, countOwnAssistants, [person])
    if (count >= MAX_OWN) throw new Problem('conflict', { detail: `A person owns at most ${MAX_OWN} assistants.` })
    const id = await insertHandle(em, handle, person)
    await writeVersion(ctx, em, { id, number: 1, author: person, content })
    if (publish) await runStatement(em, publishVersion, [id, 1])
    recordChange(ctx, handle, { ...change, created: true, version: 1, published: publish })
    return { handle, version: 1, isPublished: publish }
  })
}

/** Adds an assistant without a version. A taken handle is refused, whoever has it. */
export async function insertHandle(em: EntityManager, handle: string, owner: number | null): Promise<number> {
  const [created] = await runStatement(em, insertAssistant, [handle, owner])
  if (created) return created.id
  throw new Problem('conflict', { detail: `The handle '${handle}' is taken. Choose another one.` })
}

interface NewVersion {
  id: number
  number: number
  author: number | null
  content: AssistantContent
}

export async function writeVersion(
  { services: { vault } }: Context,
  em: EntityManager,
  { id, number, author, content }: NewVersion,
): Promise<void> {
  if (number > MAX_VERSIONS)
    throw new Problem('conflict', { detail: `An assistant has at most ${MAX_VERSIONS} versions.` })
  const { name, description, model, fallback, parameters, tools, knowledge } = content
  const settings = [name, description, model, fallback, JSON.stringify(parameters), tools]
  await runStatement(em, insertVersion, [id, number, author, ...settings, sealTexts(vault, content), knowledge])
}

/** Saves a content as the newest version; equal content makes no version. */
export async function saveVersion(
  ctx: PersonContext,
  { handle, content, publish, basedOn }: NewAssistant & { basedOn?: number | undefined },
): Promise<VersionRef> {
  const { id: person } = ctx.caller.person
  return changeAnswering(ctx, async (em) => {
    const assistant = await lockEditable(em, person, handle)
    if (basedOn !== undefined && basedOn < assistant.latest)
      throw new Problem('conflict', { detail: `There is a newer version ${assistant.latest} by now.` })
    const before = await readVersionOf(ctx, em, assistant, assistant.latest)
    await assertModels(ctx, content, [before.model, ...before.fallback], em)
    await assertKnowledge(ctx, content, before, em)
    return addVersion(ctx, em, { assistant, before, content, publish, change: {} })
  })
}

/** Makes an earlier version the newest one, by a copy. */
export async function restoreVersion(
  ctx: PersonContext,
  { handle, version, publish }: { handle: string; version: number; publish: boolean },
): Promise<VersionRef> {
  return changeAnswering(ctx, async (em) => {
    const assistant = await lockEditable(em, ctx.caller.person.id, handle)
    const content = await readVersionOf(ctx, em, assistant, version)
    const before = await readVersionOf(ctx, em, assistant, assistant.latest)
    return addVersion(ctx, em, { assistant, before, content, publish, change: { restored: version } })
  })
}

interface AddedVersion {
  assistant: LockedAssistant
  /** The newest version until now. */
  before: AssistantContent
  content: AssistantContent
  publish: boolean
  /** The audit log says this beside the numbers. */
  change: object
}

async function addVersion(
  ctx: PersonContext,
  em: EntityManager,
  { assistant, before, content, publish, change }: AddedVersion,
): Promise<VersionRef> {
  const { id, handle, latest, published } = assistant
  const isSame = isSameContent(before, content)
  const version = isSame ? latest : latest + 1
  if (!isSame) await writeVersion(ctx, em, { id, number: version, author: ctx.caller.person.id, content })
  if (publish) await runStatement(em, publishVersion, [id, version])
  recordChange(ctx, handle, {
    ...change,
    version,
    ...(publish && { published: { before: published, after: version } }),
  })
  return { handle, version, isPublished: publish || published === version }
}

/** Compares by value; the order of members is that of the schema in both. */
export const isSameContent = (one: AssistantContent, other: AssistantContent): boolean =>
  toComparable(one) === toComparable(other)

const toComparable = ({ parameters: { temperature, topP, maxTokens }, ...content }: AssistantContent): string =>
  JSON.stringify([Object.entries(content).toSorted(([a], [b]) => (a < b ? -1 : 1)), temperature, topP, maxTokens])

/** Has a version answer from now on: a newer one, or an earlier one again. */
export async function publish(
  ctx: Context,
  person: number | null,
  { handle, version }: { handle: string; version: number },
): Promise<VersionRef> {
  return changeAnswering(ctx, async (em) => {
    const { id, published } = await lockEditable(em, person, handle)
    const [found] = await runStatement(em, publishVersion, [id, version])
    if (!found) throw createUnknownVersion(version)
    recordChange(ctx, handle, { published: { before: published, after: version } })
    return { handle, version, isPublished: true }
  })
}

export async function readVersionOf(
  { services: { vault } }: Context,
  em: EntityManager,
  { id }: Pick<LockedAssistant, 'id'>,
  version: number,
): Promise<AssistantContent> {
  const [row] = await runStatement(em, findVersionOf, [id, version])
  if (!row) throw createUnknownVersion(version)
  return toContent(vault, row)
}

/** Decides who may use and who may change an assistant; only its owner does. */
export async function share(
  ctx: PersonContext,
  { handle, ...sharing }: Sharing & { handle: string },
): Promise<{ handle: string } & Sharing> {
  const { id: person, username } = ctx.caller.person
  return changeAnswering(ctx, async (em) => {
    const assistant = await lockOwn(em, person, handle)
    await writeSharing(em, assistant.id, { ...sharing, owner: username })
    const { audience, groups, editors, allowRemix } = assistant
    const change = {
      audience: { before: audience, after: sharing.audience },
      groups: { before: groups, after: sharing.groups },
    }
    recordChange(ctx, handle, {
      ...change,
      allowRemix: { before: allowRemix, after: sharing.allowRemix },
      editors: { before: editors.length, after: sharing.editors.length },
    })
    return { handle, ...sharing }
  })
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
  return changeAnswering(ctx, async (em) => {
    const { id } = await lockOwn(em, ctx.caller.person.id, handle)
    await runStatement(em, deleteAssistant, [id])
    recordChange(ctx, handle, { deleted: true })
    return { handle }
  })
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

async function lockOwn(em: EntityManager, person: number, handle: string): Promise<LockedAssistant> {
  const assistant = await lockEditable(em, person, handle)
  if (assistant.ownerId === person) return assistant
  throw new Problem('not_permitted', { detail: 'Only its owner decides this.' })
}

/** Throws if the content names a model that the caller may not use and that was not named before. */
export async function assertModels(
  ctx: Context,
  { model, fallback }: Pick<AssistantContent, 'model' | 'fallback'>,
  known: readonly string[],
  em?: EntityManager,
): Promise<void> {
  const added = [model, ...fallback].filter((name) => !known.includes(name))
  if (added.length === 0) return
  const groups = ctx.origin === 'host' ? null : listUsableGroups(ctx.callerContext.current)
  const sql = em ? createTransactionSql(em) : ctx.services.sql
  const offered = await sql(listOfferedModels, [ctx.usage, groups])
  const usable = new Set(offered.flatMap(({ modelId, modelType }) => (modelType === 'chat' ? modelId : [])))
  const isUnknown = (name: string) => added.includes(name) && !usable.has(name)
  const message = 'is not a model that you may use'
  const issues: Issue[] = [
    ...(isUnknown(model) ? [{ path: ['content', 'model'], message }] : []),
    ...fallback.flatMap((name, at) => (isUnknown(name) ? [{ path: ['content', 'fallback', at], message }] : [])),
  ]
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

/** Throws if the content names knowledge of somebody else that was not named before. The host names any. */
export async function assertKnowledge(
  ctx: Context,
  { knowledge }: Pick<AssistantContent, 'knowledge'>,
  before: Pick<AssistantContent, 'knowledge'> | undefined,
  em?: EntityManager,
): Promise<void> {
  if (knowledge === null || knowledge === before?.knowledge) return
  const { current } = ctx.callerContext
  const person = current.type === 'user' ? current.person.id : 0
  const sql = em ? createTransactionSql(em) : ctx.services.sql
  const [found] = await sql(findNamedKnowledge, [ctx.origin === 'host' ? null : person, knowledge])
  if (!found)
    throw new Problem('invalid', { issues: [{ path: ['content', 'knowledge'], message: 'is no knowledge of yours' }] })
}

/** Records a change in the audit log; texts are never part of it. */
export function recordChange({ auditedCall }: Context, handle: string, change: Record<string, unknown>): void {
  auditedCall?.setSubject(`assistants:${handle}`).recordChange(change)
}
