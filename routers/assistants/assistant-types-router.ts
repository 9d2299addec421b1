import { randomInt } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { setFavorite } from '../../entities/assistants/assistant.sql.ts'
import { findAssistantId, findTag, listTagPage } from '../../entities/assistants/assistant-members.sql.ts'
import { Problem } from '../core/problems.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf, RecordRef } from '../resource/record.ts'
import { rowAction, rowActionEnd } from '../verbs/action.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { createNotFoundProblem } from '../verbs/lock-row.ts'
import {
  buildPageInput,
  defineReads,
  getNamedRow,
  getRow,
  noMembers,
  type Page,
  reader,
  toWindow,
} from '../verbs/read.ts'
import { buildCreateInput, buildUpdateInput, ifVersion } from '../verbs/write-inputs.ts'
import { changeAnswering, createUnknownAssistant, type PersonContext, type VersionRef } from './assistant-changes.ts'
import { assistants, assistantTags, assistantVersions, listTags, releaseStage, toTagRecord } from './assistant-types.ts'
import { createOwn, remix } from './change-assistant.ts'
import { lockById, saveContent, withOwnPaths } from './change-by-id.ts'
import { type AssistantContent, assistantContent, handle, MAX_HANDLE, MAX_TAGS, tag } from './content.ts'
import { releaseTo } from './release-stage.ts'
import { deleteLocked, shareLocked } from './share-assistant.ts'
import { startersRouter } from './starters-router.ts'

type AssistantRecord = RecordOf<typeof assistants>
type TagRecord = RecordOf<typeof assistantTags>

/** The answer of an action: the assistant as it is then. */
interface ActionAnswer {
  data: AssistantRecord
  meta?: { isWaiting: true }
}

const writer = () => userWith('write')
const isOne = { id: resourceId }

/** Assistants as a type of JSON:API, with the names of HAWKI. */
const assistantsTypeRouter = router({
  ...defineReads(assistants),

  create: writer()
    .meta({ ...exposeAs(assistants, 'create'), ...withBodySize('long text') })
    .input(buildCreateInput(assistants))
    .mutation(async ({ ctx, input }): Promise<AssistantRecord> => {
      const { handle, allowRemix, ...members } = input as unknown as ContentMembers & OwnMembers
      const content = applyMembers(assistantContent.parse({ name: members.name, model: members.model }), members)
      return getNamed(ctx, await withOwnPaths(createOwn(ctx, { handle, content, publish: false, allowRemix })))
    }),

  update: writer()
    .meta({ ...exposeAs(assistants, 'update'), ...withBodySize('long text') })
    .use(dropUnchanged(assistants))
    .input(buildUpdateInput(assistants))
    .mutation(async ({ ctx, input: { id, ifVersion, ...input } }): Promise<AssistantRecord> => {
      const { allowRemix, ...members } = input as ContentMembers & Partial<OwnMembers>
      const change = async (em: EntityManager) => {
        const assistant = await lockById(ctx, em, { id, ifVersion })
        if (Object.keys(members).length > 0)
          await saveContent(ctx, em, assistant, (content) => applyMembers(content, members))
        if (allowRemix !== undefined) await shareLocked(ctx, em, assistant, { ...assistant, allowRemix })
      }
      await changeAnswering(ctx, change)
      return getRow(ctx, assistants, id)
    }),

  delete: writer()
    .meta(exposeAs(assistants, 'delete'))
    .input(z.strictObject({ ...isOne, ifVersion }))
    .mutation(async ({ ctx, input }): Promise<{ id: string }> => {
      await deleteLocked(ctx, (em) => lockById(ctx, em, input, 'delete'))
      return { id: input.id }
    }),

  addTags: tagChange('add'),
  replaceTags: tagChange('replace'),
  removeTags: tagChange('remove'),

  favorite: rowAction(assistants, 'favorite', writer().meta(about('Keep an assistant at hand.')))
    .input(z.strictObject(isOne))
    .mutation(({ ctx, input }): Promise<ActionAnswer> => markFavorite(ctx, input.id, true)),

  unfavorite: rowActionEnd(assistants, 'favorite', writer().meta(about('Keep an assistant at hand no longer.')))
    .input(z.strictObject(isOne))
    .mutation(({ ctx, input }): Promise<ActionAnswer> => markFavorite(ctx, input.id, false)),

  remix: writer()
    .meta({
      ...exposeAs(assistants, { action: 'remix', ofOne: true, creates: true }),
      ...about(
        'Copy what is published of an assistant into a draft of the caller, if its owner allows it. Whoever may change a draft copies its newest version.',
      ),
    })
    .input(
      z.strictObject({
        ...isOne,
        handle: handle.optional().describe('The handle of the copy. If absent, it is made of that of the assistant.'),
      }),
    )
    .mutation(async ({ ctx, input: { id, handle: chosen } }): Promise<ActionAnswer> => {
      const { handle } = await getRow(ctx, assistants, id)
      return { data: await getNamed(ctx, await remix(ctx, { handle, newHandle: chosen ?? buildHandle(handle) })) }
    }),

  release: rowAction(
    assistants,
    'release',
    writer().meta(
      about('Have the newest version of an assistant answer for its owner and editors, or for the organization.'),
    ),
  )
    .input(z.strictObject({ ...isOne, releaseStage }))
    .mutation(async ({ ctx, input: { id, releaseStage } }): Promise<ActionAnswer> => {
      const isWaiting = await changeAnswering(ctx, async (em) =>
        releaseTo(ctx, em, await lockById(ctx, em, { id }), releaseStage),
      )
      const data = await getRow(ctx, assistants, id)
      return isWaiting ? { data, meta: { isWaiting } } : { data }
    }),
})

/** Tags as a type of JSON:API. */
const assistantTagsRouter = router({
  list: reader
    .meta(exposeAs(assistantTags, 'list'))
    .input(z.strictObject({ filter: noMembers, page: buildPageInput(assistantTags) }).prefault({}))
    .query(async ({ ctx: { caller, services }, input }): Promise<Page<TagRecord>> => {
      const { id, groups } = caller.person
      const page = toWindow(assistantTags, input.page)
      const values = [id, groups, page.size, (page.number - 1) * page.size]
      const [{ tags, total } = { tags: [], total: 0 }] = await services.sql(listTagPage, values)
      return { items: tags.map(toTagRecord), total, page }
    }),

  get: reader
    .meta(exposeAs(assistantTags, 'get'))
    .input(z.strictObject({ id: z.string().max(200) }))
    .query(async ({ ctx: { caller, services }, input: { id } }): Promise<TagRecord> => {
      const [found] = await services.sql(findTag, [caller.person.id, caller.person.groups, id])
      if (!found) throw createNotFoundProblem(assistantTags, id)
      return toTagRecord(found.tag)
    }),
})

/** The procedures of the types of assistants, which JSON:API has beside those of the contract if a setting says so. */
export const assistantTypesRouter = router({
  assistantTypes: assistantsTypeRouter,
  assistantVersions: router(defineReads(assistantVersions)),
  assistantUserPrompts: startersRouter,
  assistantTags: assistantTagsRouter,
})

/** Members of an assistant that belong to its content. */
interface ContentMembers extends Partial<Omit<AssistantContent, 'parameters'>> {
  temp?: number | null
  topP?: number | null
  maxTokens?: number | null
  assistantTags?: string[]
}

/** Members that belong to the assistant itself. */
interface OwnMembers {
  handle: string
  allowRemix: boolean
}

/** Returns a content with other members; null takes a parameter away. */
function applyMembers(content: AssistantContent, change: ContentMembers): AssistantContent {
  const { temp, topP, maxTokens, assistantTags, ...members } = change
  const parameters = { temperature: temp, topP, maxTokens }
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value ?? undefined]],
  )
  if (assistantTags) assertTagCount(assistantTags, 'assistantTags')
  return {
    ...content,
    ...members,
    ...(assistantTags && { tags: assistantTags }),
    parameters: { ...content.parameters, ...Object.fromEntries(given) },
  }
}

async function getNamed(ctx: PersonContext, { handle }: Pick<VersionRef, 'handle'>): Promise<AssistantRecord> {
  const [found] = await ctx.services.sql(findAssistantId, [handle])
  return getNamedRow(ctx, assistants, found, { unknown: createUnknownAssistant().message })
}

const RANDOM_LETTERS = 6

/** Makes a handle of another one that hardly anything has. */
function buildHandle(handle: string): string {
  const [beginning] = /^(?:-?[a-z0-9]+)*/.exec(handle.slice(0, MAX_HANDLE - RANDOM_LETTERS - 1)) ?? ['copy']
  const random = Array.from({ length: RANDOM_LETTERS }, () => randomInt(36).toString(36)).join('')
  return `${beginning}-${random}`
}

async function markFavorite(ctx: PersonContext, id: string, isFavorite: boolean): Promise<ActionAnswer> {
  const { handle } = await getRow(ctx, assistants, id)
  const { id: person, groups } = ctx.caller.person
  await ctx.services.sql(setFavorite, [person, groups, handle, isFavorite])
  return { data: await getRow(ctx, assistants, id) }
}

type TagChange = 'add' | 'replace' | 'remove'

/** Defines a change of the tags of an assistant, which are linked by their texts. */
function tagChange(change: TagChange) {
  return writer()
    .meta(exposeAs(assistants, { relationship: 'assistantTags', change }))
    .input(z.strictObject({ ...isOne, ids: z.array(tag).max(200), ifVersion }))
    .mutation(async ({ ctx, input: { id, ids, ifVersion } }): Promise<RecordRef[]> => {
      await changeAnswering(ctx, async (em) => {
        const assistant = await lockById(ctx, em, { id, ifVersion })
        await saveContent(ctx, em, assistant, (content) => ({
          ...content,
          tags: changeTags(content.tags, ids, change),
        }))
      })
      return [...listTags(await getRow(ctx, assistants, id))]
    })
}

function changeTags(before: readonly string[], ids: readonly string[], change: TagChange): string[] {
  if (change === 'remove') return before.filter((text) => !ids.includes(text))
  const tags = [...new Set(change === 'add' ? [...before, ...ids] : ids)]
  assertTagCount(tags, 'ids')
  return tags
}

function assertTagCount({ length }: readonly string[], member: string): void {
  if (length > MAX_TAGS)
    throw new Problem('invalid', { issues: [{ path: [member], message: `must have at most ${MAX_TAGS} tags in all` }] })
}
