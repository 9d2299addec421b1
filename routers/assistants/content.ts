import { z } from 'zod'
import type { VersionRow } from '../../entities/assistants/assistant.sql.ts'
import { audiences } from '../../entities/assistants/assistant.ts'
import { groupName, lowerCaseText, MAX_GROUPS } from '../ports/login.ts'
import { ASSISTANT_TEXTS, type Vault } from '../ports/vault.ts'
import { LAST_ROW } from '../resource/ids.ts'

export const MAX_HANDLE = 64
/** In characters; as much as a long handbook page. */
const MAX_PROMPT = 64_000
const MAX_GREETING = 4000
const MAX_DETAILS = 10_000
export const MAX_STARTERS = 12
const MAX_STARTER = 500
const MAX_FALLBACKS = 5
const MAX_TOOLS = 256
const MAX_EDITORS = 100
export const MAX_TAGS = 12
const MAX_TAG = 40
const MAX_REASON = 1000

export const handle = z
  .string()
  .min(2)
  .max(MAX_HANDLE)
  .regex(/^[a-z0-9](?:-?[a-z0-9])*$/, 'must be lower-case letters and digits, with single hyphens between them')
  .describe('The name in requests, after `assistant/`. It never changes.')

const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(max)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

const modelName = line(200).describe('The `modelId` of a chat model.')

export const starter = line(MAX_STARTER)
export const tag = line(MAX_TAG)

const parameters = z
  .strictObject({
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().min(0).max(1).optional(),
    maxTokens: z
      .int()
      .positive()
      .max(10_000_000)
      .optional()
      .describe('The most tokens of an answer; a request may ask for fewer.'),
  })
  .describe('The parameters that no request changes.')

/** The texts and settings of an assistant, which are the content of a version. */
export const assistantContent = z.strictObject({
  name: line(120),
  description: z.string().trim().max(1000).default(''),
  detailDescription: z
    .string()
    .max(MAX_DETAILS)
    .default('')
    .describe('The text for people who want to know more than the description says, in Markdown.'),
  systemPrompt: z
    .string()
    .max(MAX_PROMPT)
    .default('')
    .describe('The instructions of the model, which only editors read. The service stores them encrypted at rest.'),
  greeting: z.string().max(MAX_GREETING).default('').describe('The text that a chat begins with.'),
  starters: z.array(starter).max(MAX_STARTERS).default([]).describe('Questions to begin with.'),
  model: modelName,
  fallback: z
    .array(modelName)
    .max(MAX_FALLBACKS)
    .default([])
    .describe('The models that answer where the model cannot, in order.'),
  parameters: parameters.default({}),
  tools: z
    .array(z.string().min(1).max(200))
    .max(MAX_TOOLS)
    .nullable()
    .default(null)
    .describe('The tools that it may use: `<name>` or `capability:<key>:auto`; null for all tools of the model.'),
  knowledge: z
    .int()
    .min(1)
    .max(LAST_ROW)
    .nullable()
    .default(null)
    .describe('The id of the knowledge that its users ask through it: one of its owner or of an editor.'),
  tags: z
    .array(tag)
    .max(MAX_TAGS)
    .overwrite((tags) => [...new Set(tags)])
    .default([])
    .describe('Words by which people find it.'),
  allowModelSelect: z
    .boolean()
    .default(false)
    .describe('True lets people have another model of theirs answer, by the member `answerModel` of a request.'),
})
export type AssistantContent = z.output<typeof assistantContent>

/** The texts of a version that are sealed together. */
export type AssistantTexts = Pick<AssistantContent, 'detailDescription' | 'systemPrompt' | 'greeting' | 'starters'>

export const sealTexts = (
  vault: Vault,
  { detailDescription, systemPrompt, greeting, starters }: AssistantTexts,
): string => vault.seal(JSON.stringify({ detailDescription, systemPrompt, greeting, starters }), ASSISTANT_TEXTS)

/** Texts that were saved by an earlier version of the service have no detailed description. */
export const openTexts = (vault: Vault, sealed: string): AssistantTexts => ({
  detailDescription: '',
  ...JSON.parse(vault.open(sealed, ASSISTANT_TEXTS)),
})

/** Reads the content of a version as it was saved. */
export function toContent(vault: Vault, row: VersionRow): AssistantContent {
  const { name, description, model, fallback, parameters, tools, knowledge, texts, tags, allowModelSelect } = row
  return {
    name,
    description,
    ...openTexts(vault, texts),
    model,
    fallback,
    parameters,
    tools,
    knowledge,
    tags,
    allowModelSelect,
  }
}

/** The reason of a refusal, which the editors read. */
export const refusalReason = z.string().trim().min(1, 'must not be empty').max(MAX_REASON)

const groups = z
  .array(groupName)
  .max(MAX_GROUPS)
  .overwrite((names) => [...new Set(names)])

const usernames = z
  .array(lowerCaseText().min(1, 'must not be empty').max(120))
  .max(MAX_EDITORS)
  .overwrite((names) => [...new Set(names)])
  .describe('The usernames of people who may change it. The first one inherits it.')

/** The people who may use and who may change an assistant; `groups` belongs to the audience `groups` alone. */
export const sharingMembers = {
  audience: z.enum(audiences),
  groups: groups.default([]),
  editors: usernames.default([]),
  allowRemix: z
    .boolean()
    .default(false)
    .describe('True lets whoever may use it copy it, with its instructions, into an assistant of their own.'),
}

export const refineSharing = (
  { audience, groups }: { audience: string; groups: readonly string[] },
  ctx: z.RefinementCtx,
) => {
  if (audience === 'groups' && groups.length === 0)
    ctx.addIssue({ code: 'custom', path: ['groups'], message: 'must name a group for this audience' })
  if (audience !== 'groups' && groups.length > 0)
    ctx.addIssue({ code: 'custom', path: ['groups'], message: 'belongs to the audience `groups` alone' })
}

export const sharing = z.strictObject(sharingMembers)
export type Sharing = z.output<typeof sharing>

/** An assistant in a file: everything that there is to say about it. */
const assistantEntry = z
  .strictObject({
    handle,
    owner: lowerCaseText()
      .min(1, 'must not be empty')
      .nullable()
      .default(null)
      .describe('The username of the owner; without one it belongs to the installation.'),
    ...sharingMembers,
    audience: sharingMembers.audience.default('private'),
    ...assistantContent.shape,
    publish: z.boolean().default(true).describe('False keeps a changed content for the editors alone.'),
  })
  .superRefine(refineSharing)
export type AssistantEntry = z.output<typeof assistantEntry>

/** A file of assistants. */
export const assistantsFile = z.strictObject({
  assistants: z
    .array(assistantEntry)
    .max(1000)
    .refine((all) => new Set(all.map(({ handle }) => handle)).size === all.length, 'must have different handles'),
})
export type AssistantsFile = z.output<typeof assistantsFile>
