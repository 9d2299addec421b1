import { z } from 'zod'
import { Assistant } from '../../entities/assistants/assistant.ts'
import {
  isFavoriteOfViewer,
  isPublishedVersion,
  releaseStage as releaseStageSql,
  type ShownContent,
  shownContent,
} from '../../entities/assistants/assistant-members.sql.ts'
import {
  editableAssistants,
  ownAssistants,
  visibleAssistants,
  visibleVersions,
} from '../../entities/assistants/assistant-scope.ts'
import { type AssistantParameters, AssistantVersion } from '../../entities/assistants/assistant-version.ts'
import type { Vault } from '../ports/vault.ts'
import {
  attribute,
  defineResource,
  type FoundRow,
  filter,
  many,
  one,
  sortedTimestamps,
  time,
} from '../resource/declare.ts'
import type { RecordOf, RecordRef } from '../resource/record.ts'
import { assistantContent, handle, openTexts, sharingMembers, starter, tag } from './content.ts'
import { readAssistantId, starterIds, toStarters } from './starters.ts'

const { name, description, detailDescription, systemPrompt, greeting, model, allowModelSelect } = withoutDefaults(
  assistantContent.shape,
)
const { temperature, topP, maxTokens } = withoutDefaults(assistantContent.shape.parameters.unwrap().shape)

/** Returns schemas of values that are always there. */
function withoutDefaults<S extends Record<string, z.ZodType>>(shape: S) {
  const unwrap = (schema: z.ZodType) =>
    schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, unwrap(schema)])) as {
    [K in keyof S]: S[K] extends z.ZodDefault<infer T> | z.ZodOptional<infer T> ? T : S[K]
  }
}

const stages = ['draft', 'private', 'organizational'] as const
export type ReleaseStage = (typeof stages)[number]

const NO_FEDERATION = 'must not be `federated`: this service shares assistants with no other one'

/** A stage as callers name it; the one that this service does not have is refused in words. */
export const releaseStage = z
  .enum(stages, { error: ({ input }) => (input === 'federated' ? NO_FEDERATION : undefined) })
  .describe(
    '`draft` before a version was published, `private` for its owner and editors, and `organizational` for groups or all.',
  )

const stageList = z
  .string()
  .max(100)
  .transform((text) => text.split(','))
  .pipe(z.array(releaseStage).max(10))
  .describe('Stages, separated by commas.')

const fixed = ' A request cannot change it. Null leaves it to the request and the model.'

/** Members that an assistant and each of its versions have. */
const nameText = name.describe('The name that people see.')
const descriptionText = description.describe('Its purpose in a few words.')
const modelText = model.describe('The `modelId` of the chat model that answers.')
const canSelectModel = allowModelSelect.describe('True if people may have another model of theirs answer.')
const temperatureValue = temperature.nullable().describe(`The temperature.${fixed}`)
const topPValue = topP.nullable().describe(`The share of probability that tokens are chosen from.${fixed}`)
const maxTokensValue = maxTokens
  .nullable()
  .describe('The most tokens of an answer; a request may ask for fewer. Null leaves it to the request and the model.')

export const assistants = defineResource({
  type: 'assistants',
  about:
    'Assistants that the caller may use or change. Callers who may change one see its newest version, others the published one.',
  entity: Assistant,
  scope: visibleAssistants,
  mayUpdate: editableAssistants,
  mayDelete: ownAssistants,
  source: {
    sql: shownContent,
    complete: (content, vault) => readContent(content as ShownContent, vault),
  },
  attributes: {
    name: attribute(nameText, { fromSource: true, write: true }),
    handle: attribute(handle, { write: 'create', sort: true }),
    systemPrompt: attribute(
      systemPrompt.describe('The instructions of the model. Only callers who may change the assistant get them.'),
      { fromSource: true, sparse: true, write: true, default: '' },
    ),
    greeting: attribute(greeting.describe('The text that a chat begins with.'), {
      fromSource: true,
      write: true,
      default: '',
    }),
    description: attribute(descriptionText, { fromSource: true, write: true, default: '' }),
    detailDescription: attribute(
      detailDescription.describe('The text for people who want to know more, in Markdown.'),
      {
        fromSource: true,
        write: true,
        default: '',
      },
    ),
    allowRemix: attribute(
      sharingMembers.allowRemix
        .unwrap()
        .describe('True if whoever may use it may copy it, with its instructions. Only its owner changes this.'),
      { write: true, default: false },
    ),
    allowModelSelect: attribute(canSelectModel, { fromSource: true, write: true, default: false }),
    releaseStage: attribute(releaseStage, { sql: releaseStageSql }),
    model: attribute(modelText, { fromSource: true, write: true }),
    maxTokens: attribute(maxTokensValue, { fromSource: true, write: true, default: null }),
    temp: attribute(temperatureValue, { fromSource: true, write: true, default: null }),
    topP: attribute(topPValue, { fromSource: true, write: true, default: null }),
    isFavorite: attribute(z.boolean().describe('True if the caller keeps it at hand.'), { sql: isFavoriteOfViewer }),
    ...sortedTimestamps,
  },
  relations: {
    creator: one('users', { property: 'owner' }),
    assistantVersions: many('assistant-versions', { property: 'versions' }),
    assistantUserPrompts: many('assistant-user-prompts', { derive: listPrompts }),
    assistantTags: many('assistant-tags', {
      derive: listTags,
      ids: tag,
      write: true,
      default: [],
      about: 'The words by which people find it. Their ids are the words, which need no creation.',
    }),
  },
  filters: {
    handle: filter(z.string().max(100).describe('The handle of one assistant.'), (row, _, value) => {
      return `${row}.handle = ${value('text')}`
    }),
    releaseStage: filter(stageList, (row, sql, value) => `${releaseStageSql(row, sql)} = any(${value('text[]')})`),
  },
  page: { size: 25, max: 100 },
})

/** A record of an assistant with what its derived relations need. */
interface ReadAssistant extends RecordRef {
  tags: readonly string[]
  starters: readonly string[]
}

function readContent({ mayEdit, texts, parameters, ...content }: ShownContent, vault: Vault) {
  const { systemPrompt, ...readable } = openTexts(vault, texts)
  return { ...content, ...toParameters(parameters), ...readable, ...(mayEdit && { systemPrompt }) }
}

const toParameters = ({ temperature, topP, maxTokens }: AssistantParameters) => ({
  temp: temperature ?? null,
  topP: topP ?? null,
  maxTokens: maxTokens ?? null,
})

/** Lists the starters of an assistant; whoever changes one requires the version of the assistant. */
export function listPrompts(record: RecordRef, vault: Vault): (RecordOf<typeof assistantUserPrompts> & FoundRow)[] {
  const { id, rowVersion, starters } = record as ReadAssistant
  return toStarters(vault, id, starters).map((starter) => ({
    ...starter,
    ...(rowVersion !== undefined && { rowVersion }),
    relations: { assistant: { id } },
  }))
}

export function listTags(record: RecordRef): TagRecord[] {
  return (record as ReadAssistant).tags.map(toTagRecord)
}

/** SQL of a parameter that a version fixes. */
const parameter = (name: keyof AssistantParameters, type: string) => (row: string) =>
  `(${row}.parameters->>'${name}')::${type}`

export const assistantVersions = defineResource({
  type: 'assistant-versions',
  about: 'Versions of assistants: all of those that the caller may change, and the published ones of others.',
  entity: AssistantVersion,
  scope: visibleVersions,
  attributes: {
    version: attribute(z.int().describe('The number of the version, which counts from 1 for each assistant.'), {
      property: 'number',
    }),
    isPublished: attribute(z.boolean().describe('True if this version answers.'), { sql: isPublishedVersion }),
    publishedAt: attribute(time.nullable().describe('The first time that it was published.')),
    approvedAt: attribute(time.nullable().describe('The first time that an administrator approved it for all.')),
    name: attribute(nameText),
    description: attribute(descriptionText),
    allowModelSelect: attribute(canSelectModel),
    model: attribute(modelText),
    maxTokens: attribute(maxTokensValue, { sql: parameter('maxTokens', 'int') }),
    temp: attribute(temperatureValue, { sql: parameter('temperature', 'float8') }),
    topP: attribute(topPValue, { sql: parameter('topP', 'float8') }),
    createdAt: sortedTimestamps.createdAt,
  },
  relations: { assistant: one('assistants', { alwaysVisible: true }) },
  page: { size: 50, max: 200 },
})

export const assistantUserPrompts = defineResource({
  type: 'assistant-user-prompts',
  about: 'Questions to begin a chat with an assistant with. They are read by the assistant.',
  ids: { schema: starterIds, toKey: readAssistantId, sql: (row) => `${row}.id::text` },
  attributes: { text: attribute(starter.describe('The question.'), { write: 'create' }) },
  relations: {
    assistant: one('assistants', { write: 'create', about: 'The assistant, which the caller may change.' }),
  },
  includes: [],
})

export const assistantTags = defineResource({
  type: 'assistant-tags',
  about:
    'Words by which people find assistants. The id of a tag is its text; a tag is there as long as an assistant has it.',
  attributes: { text: attribute(tag.describe('The word.')) },
  page: { size: 200, max: 1000 },
})

type TagRecord = RecordOf<typeof assistantTags> & FoundRow

export const toTagRecord = (text: string): TagRecord => ({ id: text, text, relations: {} })
