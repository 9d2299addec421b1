import type { EntityManager } from '@mikro-orm/postgresql'
import {
  countOwnAssistants,
  findRemixable,
  insertAssistant,
  insertVersion,
  type LockedAssistant,
  publishVersion,
  setAudience,
} from '../../entities/assistants/assistant.sql.ts'
import { findNamedKnowledge } from '../../entities/assistants/assistant-knowledge.sql.ts'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { listBoundModels } from '../core/model-binding.ts'
import { createQuotaProblem, type Issue, Problem } from '../core/problems.ts'
import { createTransactionSql, runForOneRow, runStatement } from '../core/run-statement.ts'
import { listUsableGroups } from '../verbs/viewer.ts'
import {
  assertNewest,
  changeAnswering,
  createUnknownAssistant,
  lockEditable,
  type PersonContext,
  readVersionOf,
  recordChange,
  type StoredVersion,
  type VersionRef,
} from './assistant-changes.ts'
import { type AssistantContent, sealTexts, toContent } from './content.ts'
import { release } from './review.ts'

/** Assistants of one owner, and versions of one assistant. */
export const MAX_OWN = 200
const MAX_VERSIONS = 2000

interface NewAssistant {
  handle: string
  content: AssistantContent
  publish: boolean
  /** True lets whoever may use it later copy it. */
  allowRemix?: boolean
}

/** Creates a private assistant of the caller, with models that they may use. */
export async function createOwn(ctx: PersonContext, assistant: NewAssistant): Promise<VersionRef> {
  await assertModels(ctx, assistant.content, [])
  await assertKnowledge(ctx, assistant.content, undefined)
  return insertOwn(ctx, { ...assistant, avatar: null }, {})
}

/** Copies an assistant that the caller may use, or a draft that they may change, into a private one of theirs. */
export async function remix(
  ctx: PersonContext,
  { handle, newHandle }: { handle: string; newHandle: string },
): Promise<VersionRef> {
  const { sql, vault } = ctx.services
  const { id: person, groups } = ctx.caller.person
  const [found] = await sql(findRemixable, [person, groups, handle])
  if (!found) throw createUnknownAssistant()
  if (!found.mayRemix) throw new Problem('not_permitted', { detail: 'Its owner lets nobody copy it.' })
  const content = toContent(vault, found)
  // Whoever uses knowledge of others uses it through this assistant alone.
  if (!found.ownsKnowledge) content.knowledge = null
  const copy = { handle: newHandle, content, avatar: found.avatar, publish: false }
  return insertOwn(ctx, copy, { remixOf: handle })
}

async function insertOwn(
  ctx: PersonContext,
  { handle, content, avatar, publish, allowRemix = false }: NewAssistant & Pick<StoredVersion, 'avatar'>,
  change: object,
): Promise<VersionRef> {
  const { id: person } = ctx.caller.person
  return withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, lockPerson, [person])
    const { count } = await runForOneRow(em, countOwnAssistants, [person])
    if (count >= MAX_OWN) throw createQuotaProblem(`A person owns at most ${MAX_OWN} assistants.`)
    const id = await insertHandle(ctx, em, handle, person)
    await writeVersion(ctx, em, { id, number: 1, author: person, content, avatar })
    // A private assistant needs no approval.
    if (publish) await runStatement(em, publishVersion, [id, 1, false])
    if (allowRemix) await runStatement(em, setAudience, [id, 'private', [], true])
    recordChange(ctx, handle, { ...change, created: true, version: 1, published: publish })
    // Nobody else sees it yet.
    changes.add([`user:${person}`], 'created', 'assistants', '*')
    return { handle, version: 1, isPublished: publish }
  })
}

/**
 * Adds an assistant without a version. A handle that an assistant, a person or the model in rooms has is refused in the same
 * words, which do not tell who has it.
 */
export async function insertHandle(
  { services: { settings } }: Context,
  em: EntityManager,
  handle: string,
  owner: number | null,
): Promise<number> {
  const isOfModel = [settings.aiHandle.replace(/^@/, '').toLowerCase(), settings.brand].includes(handle)
  const [created] = isOfModel ? [] : await runStatement(em, insertAssistant, [handle, owner])
  if (created) return created.id
  throw new Problem('conflict', { detail: `The handle '${handle}' is taken. Choose another one.` })
}

interface NewVersion extends StoredVersion {
  id: number
  number: number
  author: number | null
}

export async function writeVersion(
  { services: { vault } }: Context,
  em: EntityManager,
  { id, number, author, content, avatar }: NewVersion,
): Promise<void> {
  if (number > MAX_VERSIONS) throw createQuotaProblem(`An assistant has at most ${MAX_VERSIONS} versions.`)
  const { name, description, model, fallback, parameters, tools, knowledge, tags, allowModelSelect } = content
  const settings = [name, description, model, fallback, JSON.stringify(parameters), tools]
  const texts = sealTexts(vault, content)
  const values = [id, number, author, ...settings, texts, tags, allowModelSelect, avatar, knowledge]
  await runStatement(em, insertVersion, values)
}

/** Saves a content as the newest version; equal content makes no version. The picture stays. */
export async function saveVersion(
  ctx: PersonContext,
  { handle, content, publish, basedOn }: NewAssistant & { basedOn?: number | undefined },
): Promise<VersionRef> {
  const { id: person } = ctx.caller.person
  return changeAnswering(ctx, async (em) => {
    const assistant = await lockEditable(em, person, handle)
    assertNewest(assistant, basedOn)
    return changeContent(ctx, em, { assistant, change: () => content, publish })
  })
}

interface ChangedContent {
  assistant: LockedAssistant
  /** Returns the new content for that of the newest version. */
  change(before: AssistantContent): AssistantContent
  publish: boolean
}

/** Saves a change of the newest version as the next one; without a difference it makes none. */
export async function changeContent(
  ctx: PersonContext,
  em: EntityManager,
  { assistant, change, publish }: ChangedContent,
): Promise<VersionRef> {
  const before = await readVersionOf(ctx, em, assistant, assistant.latest)
  const content = change(before.content)
  await assertModels(ctx, content, [before.content.model, ...before.content.fallback], em)
  await assertKnowledge(ctx, content, before.content, em)
  return addVersion(ctx, em, { assistant, before, after: { ...before, content }, publish, change: {} })
}

/** Makes an earlier version the newest one, by a copy. */
export async function restoreVersion(
  ctx: PersonContext,
  { handle, version, publish }: { handle: string; version: number; publish: boolean },
): Promise<VersionRef> {
  return changeAnswering(ctx, async (em) => {
    const assistant = await lockEditable(em, ctx.caller.person.id, handle)
    const after = await readVersionOf(ctx, em, assistant, version)
    const before = await readVersionOf(ctx, em, assistant, assistant.latest)
    return addVersion(ctx, em, { assistant, before, after, publish, change: { restored: version } })
  })
}

interface AddedVersion {
  assistant: LockedAssistant
  /** The newest version until now. */
  before: StoredVersion
  after: StoredVersion
  publish: boolean
  /** The audit log says this beside the numbers. */
  change: object
}

/** Adds a version, unless it is the same as the newest one. */
export async function addVersion(
  ctx: PersonContext,
  em: EntityManager,
  { assistant, before, after, publish, change }: AddedVersion,
): Promise<VersionRef> {
  const { id, handle, latest, published } = assistant
  const isSame = isSameContent(before.content, after.content) && before.avatar === after.avatar
  const version = isSame ? latest : latest + 1
  if (!isSame) await writeVersion(ctx, em, { id, number: version, author: ctx.caller.person.id, ...after })
  if (publish) return release(ctx, em, { assistant, version, change })
  recordChange(ctx, handle, { ...change, version })
  return { handle, version, isPublished: published === version }
}

/** Compares by value; the order of members is that of the schema in both. */
export const isSameContent = (one: AssistantContent, other: AssistantContent): boolean =>
  toComparable(one) === toComparable(other)

const toComparable = ({ parameters: { temperature, topP, maxTokens }, ...content }: AssistantContent): string =>
  JSON.stringify([Object.entries(content).toSorted(([a], [b]) => (a < b ? -1 : 1)), temperature, topP, maxTokens])

/** Throws if the content names a model that the caller may not use, or not with this token, and that was not named before. */
export async function assertModels(
  ctx: Context,
  { model, fallback }: Pick<AssistantContent, 'model' | 'fallback'>,
  known: readonly string[],
  em?: EntityManager,
): Promise<void> {
  const added = [model, ...fallback].filter((name) => !known.includes(name))
  if (added.length === 0) return
  const { current } = ctx.callerContext
  const groups = ctx.origin === 'host' ? null : listUsableGroups(current)
  const sql = em ? createTransactionSql(em) : ctx.services.sql
  const offered = await sql(listOfferedModels, [ctx.usage, groups, listBoundModels(current)])
  const usable = new Set(offered.flatMap(({ modelId, modelType }) => (modelType === 'chat' ? modelId : [])))
  const isUnknown = (name: string) => added.includes(name) && !usable.has(name)
  const message =
    ctx.origin === 'host' && usable.size === 0
      ? 'is unknown, because there are no chat models yet: `svc models sync` reads them from the providers'
      : 'is not a model that you may use'
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
