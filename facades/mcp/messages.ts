import { z } from 'zod'
import type { Api } from '../../routers/index.ts'
import { MAX_ADDRESS, MAX_NAME } from '../../routers/ports/ai/resource-address.ts'

/** The members of a request that the gateway reads before the library does. */
export interface Message {
  method?: unknown
  params?: unknown
}

/** True if the body is one message. Revisions with batches are answered message by message. */
export const isMessage = (body: unknown): body is Message =>
  typeof body === 'object' && body !== null && !Array.isArray(body)

type Gateway = Api['mcpGateway']
type ToolCall = Parameters<Gateway['callTool']>[0]
type Members = Record<string, unknown>

export type CallParts = Awaited<ReturnType<Gateway['callTool']>>
type StartCall = (gateway: Gateway, address: { server?: number }) => Promise<CallParts>

/** Reads what a tool server will answer; undefined for another message, and for one whose parameters do not fit. */
export function readCall({ method, params }: Message): StartCall | undefined {
  if (!isMessage(params)) return undefined
  const members = params as Members
  if (method === 'tools/call') return readToolCall(members)
  if (method === 'prompts/get') return readPromptCall(members)
  return method === 'resources/read' ? readResourceCall(members) : undefined
}

function readToolCall({ name, arguments: input = {}, _meta, ...more }: Members): StartCall | undefined {
  if (typeof name !== 'string' || !isMessage(input)) return undefined
  const call = {
    name: limitName(name, MAX_NAME),
    arguments: input as Members,
    wantsProgress: isMessage(_meta) && 'progressToken' in _meta,
    ...readAsking(_meta, more),
  }
  return (gateway, address) => gateway.callTool({ ...address, ...call })
}

function readPromptCall({ name, arguments: input = {}, _meta, ...more }: Members): StartCall | undefined {
  if (typeof name !== 'string' || !isMessage(input)) return undefined
  // The procedure refuses arguments that are no texts.
  const call = {
    name: limitName(name, MAX_NAME),
    arguments: input as Record<string, string>,
    ...readAsking(_meta, more),
  }
  return (gateway, address) => gateway.getPrompt({ ...address, ...call })
}

function readResourceCall({ uri, _meta, ...more }: Members): StartCall | undefined {
  if (typeof uri !== 'string') return undefined
  const call = { uri: limitName(uri, MAX_ADDRESS), ...readAsking(_meta, more) }
  return (gateway, address) => gateway.readResource({ ...address, ...call })
}

const readAsking = (meta: unknown, { inputResponses, requestState }: Members) => ({
  canAsk: canAsk(meta),
  ...(typeof requestState === 'string' && { answer: readAnswer(requestState, inputResponses) }),
})

/** Returns an empty name, which is unknown, too, for one that is longer than any. */
const limitName = (name: string, max: number) => (name.length > max ? '' : name)

/** Key of our question among those that a client must answer. */
export const QUESTION = 'approval'

/** Builds the choices of the form. `lifetime` is how long an approval is remembered, in milliseconds. */
export const buildChoices = (lifetime: number) => [
  { const: 'once', title: 'Allow once' },
  { const: 'remember', title: `Allow for ${formatDuration(lifetime)}` },
  { const: 'no', title: 'Do not allow' },
]

/** Returns a time in hours if they are whole, otherwise in minutes. */
function formatDuration(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000))
  const [count, unit] = minutes % 60 === 0 ? [minutes / 60, 'hour'] : [minutes, 'minute']
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

const capabilities = z.object({
  'io.modelcontextprotocol/clientCapabilities': z.object({
    // A client of before the two modes declares none, and shows forms.
    elicitation: z
      .record(z.string(), z.unknown())
      .refine((modes) => 'form' in modes || Object.keys(modes).length === 0),
  }),
})

/** True if the client declares that it shows forms to its person. */
const canAsk = (meta: unknown): boolean => capabilities.safeParse(meta).success

const answerSchema = z.object({
  [QUESTION]: z.object({
    action: z.enum(['accept', 'decline', 'cancel']),
    content: z.object({ choice: z.enum(['once', 'remember', 'no']) }).optional(),
  }),
})

/** Reads the person's answer. One that cannot be read counts as none, so that the person is asked on a page. */
function readAnswer(state: string, responses: unknown): NonNullable<ToolCall['answer']> {
  const { data } = answerSchema.safeParse(responses)
  const { action = 'cancel', content } = data?.[QUESTION] ?? {}
  return { state: state.slice(0, MAX_STATE), action, choice: content?.choice }
}

/** Longer than any state of ours, so that a longer one opens no question. */
const MAX_STATE = 4000
