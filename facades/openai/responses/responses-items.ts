import { z } from 'zod'
import { efforts } from '../../../routers/ports/ai/models.ts'
import { historyEntry, leftOut } from '../../ai/left-out.ts'
import { hint, ignore, translate } from '../../ai/members.ts'
import { textOrList } from '../../ai/request-body.ts'
import { fileMembers } from '../files.ts'
import { approvalItems } from './responses-approvals.ts'
import { isOwnSummary } from './responses-summary.ts'
import { broughtTools } from './responses-tools.ts'

/** Members with which an item came, except for the signature in the id of a call. */
const echoes = {
  id: z.string().nullish(),
  status: z.string().nullish(),
  caller: z.unknown().optional(),
  async: z.unknown().optional(),
  internal_chat_message_metadata_passthrough: z.unknown().optional(),
}

/** Added by OpenAI's client for texts that it parses as JSON; ignored. */
const addedByClient = z.unknown().optional()

const cacheHints = { prompt_cache_breakpoint: ignore('the provider decides what it caches') }

const part = historyEntry(
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('input_text'), text: z.string(), ...cacheHints }),
    z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
    z.strictObject({
      type: z.literal('input_image'),
      image_url: z.string().nullish(),
      file_id: z.string().nullish(),
      detail: ignore('a picture is sent as it is', 'auto'),
      ...cacheHints,
    }),
    z.strictObject({
      type: z.literal('input_file'),
      ...fileMembers,
      detail: ignore('a file is sent as it is', 'auto'),
      ...cacheHints,
    }),
    z.strictObject({
      type: z.literal('output_text'),
      text: z.string(),
      annotations: z.array(z.unknown()).nullish(),
      logprobs: z.array(z.unknown()).nullish(),
      parsed: addedByClient,
    }),
    z
      .looseObject({ type: z.enum(['input_audio', 'input_video']) })
      .refine(() => false, 'is no kind of input that is taken: texts, pictures and files are'),
  ]),
)
export type Part = z.output<typeof part>

const parts = textOrList(part, (text) => ({ type: 'input_text', text }))

const message = z
  .strictObject({
    ...echoes,
    type: z.literal('message'),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: parts,
    phase: z.string().nullish(),
  })
  .refine(({ role, content }) => role !== 'user' || content.length === 0 || content.some(isKnown), {
    path: ['content'],
    error: 'has no part of a kind that is known',
  })

function isKnown({ type }: { type: string }): boolean {
  return type !== 'omitted'
}

/** The name of a tool, and of its namespace. */
const toolNames = { name: z.string(), namespace: z.string().nullish() }

const callResult = { ...echoes, call_id: z.string(), output: parts, name: z.string().nullish() }

/** Calls of tools that the client runs; the first member is what the model has asked for. */
const clientCalls = [
  z.looseObject({ ...echoes, type: z.literal('local_shell_call'), call_id: z.string(), action: z.unknown() }),
  z.looseObject({ ...echoes, type: z.literal('shell_call'), call_id: z.string(), action: z.unknown() }),
  z.looseObject({ ...echoes, type: z.literal('apply_patch_call'), call_id: z.string(), operation: z.unknown() }),
] as const

const clientResults = [
  z.looseObject({ ...echoes, type: z.literal('local_shell_call_output'), id: z.string(), output: z.unknown() }),
  z.looseObject({ ...echoes, type: z.literal('shell_call_output'), call_id: z.string(), output: z.unknown() }),
  z.looseObject({ ...echoes, type: z.literal('apply_patch_call_output'), call_id: z.string(), output: z.unknown() }),
] as const

/** Only clients answer a search for tools; one that the provider ran is left out. */
const toolSearchCall = z
  .looseObject({
    ...echoes,
    type: z.literal('tool_search_call'),
    call_id: z.string().nullish(),
    execution: z.string().nullish(),
    arguments: z.unknown(),
  })
  .refine(isRunByClient, { error: 'is left out', params: { ...leftOut, kind: 'tool_search_call' } })

export function isRunByClient({ execution, call_id: id }: { execution?: unknown; call_id?: unknown }): boolean {
  return execution === 'client' && typeof id === 'string'
}

const compactionTypes = ['compaction', 'compaction_summary', 'context_compaction'] as const

/** A summary that this service wrote. Those of other services are encrypted. */
const compaction = z
  .looseObject({ ...echoes, type: z.enum(compactionTypes), encrypted_content: z.string().nullish() })
  .check(({ value, issues }) => {
    if (!isOwnSummary(value.encrypted_content))
      issues.push({ code: 'custom', input: value, message: 'is left out', params: { ...leftOut, kind: value.type } })
  })

const jsonFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullish(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
])
export const textFormat = translate(jsonFormat.nullish(), 'the provider receives it in its own words')
export type TextFormat = z.output<typeof jsonFormat>

const knownItem = z.discriminatedUnion('type', [
  message,
  z.strictObject({
    ...echoes,
    type: z.literal('reasoning'),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
    content: z.array(z.unknown()).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  z.strictObject({
    ...echoes,
    type: z.literal('function_call'),
    call_id: z.string(),
    ...toolNames,
    arguments: z.string(),
    parsed_arguments: addedByClient,
  }),
  z.strictObject({ ...callResult, type: z.literal('function_call_output'), namespace: z.string().nullish() }),
  z.strictObject({
    ...echoes,
    type: z.literal('custom_tool_call'),
    call_id: z.string(),
    ...toolNames,
    input: z.string(),
  }),
  z.strictObject({ ...callResult, type: z.literal('custom_tool_call_output') }),
  ...clientCalls,
  ...clientResults,
  toolSearchCall,
  translate(
    z.looseObject({
      ...echoes,
      type: z.literal('tool_search_output'),
      call_id: z.string().nullish(),
      execution: z.string().nullish(),
      tools: broughtTools,
    }),
    'its tools are offered as if they stood in `tools`',
  ),
  translate(
    z.looseObject({ ...echoes, type: z.literal('additional_tools'), tools: broughtTools }),
    'its tools are offered as if they stood in `tools`',
  ),
  translate(
    z.looseObject({
      ...echoes,
      type: z.literal('configuration_update'),
      reasoning: z.strictObject({ effort: hint(z.enum(efforts).nullish(), 'replaces `reasoning.effort`') }).nullish(),
      text: z.strictObject({ format: textFormat }).nullish(),
    }),
    'the last one counts',
  ),
  translate(
    z.looseObject({
      ...echoes,
      type: z.literal('agent_message'),
      author: z.string().nullish(),
      recipient: z.string().nullish(),
      content: parts,
    }),
    'a message of the user that names its author',
  ),
  translate(compaction, 'a summary of this service; those of others cannot be read, and are left out'),
  translate(
    z.looseObject({ ...echoes, type: z.literal('compaction_trigger') }),
    'as the last item: the answer is an item `compaction` with a summary',
  ),
  z
    .looseObject({ type: z.literal('item_reference') })
    .refine(() => false, 'refers to a stored item, and nothing is stored: send the item itself, with `store: false`'),
  ...approvalItems,
])

export type Item = z.output<typeof knownItem> | { type: 'omitted' }
export type ItemOf<Type extends Item['type']> = Extract<Item, { type: Type }>

/** A message may omit its type. */
export const item = z
  .preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !('type' in value) ? { type: 'message', ...value } : value,
    historyEntry(knownItem),
  )
  .meta({ shorthand: 'message' })
