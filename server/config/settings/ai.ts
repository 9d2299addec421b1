import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, flag, optionalMonths } from './setting-types.ts'

/** Settings of calls of models, and of their limits. */
export const aiShape = {
  AI_CONFIG: z
    .string()
    .optional()
    .describe('Names the YAML or JSON file of AI providers and models. If absent, development serves a demo model.')
    .meta({ priority: 'must' }),
  AI_CHAT_TITLES: flag(true)
    .describe(
      'Lets the front end ask a model for the title of a chat after its first answer: the model of the task `title_generation`, or else that of the chat. People can switch it off for themselves.',
    )
    .meta({ priority: 'may' }),
  ASSISTANTS_REVIEW: flag(false)
    .describe(
      'Has an administrator approve each version of an assistant before all may use it: on the page of assistants, or by `svc assistants approve`. Until then the version before it answers. Assistants for groups need no approval, and neither do later changes of the files in the knowledge of an assistant.',
    )
    .meta({ priority: 'may' }),
  AI_MAX_BODY: count(2 * 1024 * 1024, 1024)
    .describe('Limits the body of an AI request without files, in bytes.')
    .meta({ priority: 'tuning' }),
  AI_MAX_BODY_WITH_FILES: count(20 * 1024 * 1024, 1024)
    .describe('Limits the body of an AI request that may contain images and documents, in bytes.')
    .meta({ priority: 'tuning' }),
  AI_MAX_FILES: count(20 * 1024 * 1024, 1024)
    .describe(
      'Limits the files of one AI request together, in bytes. Attachments and their texts count; a file that is named twice counts twice.',
    )
    .meta({ priority: 'tuning' }),
  AI_BYTES_PER_PERSON: count(64 * 1024 * 1024, 1024)
    .describe(
      'Limits the memory that the running AI requests of one person may take together, in bytes. Texts of attachments count. A request without a length counts as the largest one; attached images and documents count at most 256 KiB a request.',
    )
    .meta({ priority: 'tuning' }),
  AI_BYTES_AT_ONCE: count(512 * 1024 * 1024, 1024)
    .describe('Limits the memory that all AI requests of one process may take together, in bytes.')
    .meta({ priority: 'tuning' }),
  AI_CALLS_PER_PERSON: count(24, 1)
    .describe(
      'Limits the AI calls that one person may have running at once in one process. Answers in rooms and embeddings count. A further call is refused with 429.',
    )
    .meta({ priority: 'tuning' }),
  AI_UNREAD_TIMEOUT: timerDuration
    .prefault('30s')
    .describe(
      'Sets the time that a streamed answer waits for a client that does not read it. Then the service ends the answer and bills what it has produced.',
    )
    .meta({ priority: 'tuning' }),
  AI_HEARTBEAT: timerDuration
    .prefault('15s')
    .describe('Sets the interval of the comment lines that keep a stream open while the model is silent.')
    .meta({ priority: 'tuning' }),
  AI_STATUS_CHECK_EVERY: timerDuration
    .prefault('5m')
    .describe(
      'Sets the interval at which one of the replicas asks providers and tool servers for their models and tools.',
    )
    .meta({ priority: 'tuning' }),
  AI_TOOL_APPROVAL_TIMEOUT: timerDuration
    .prefault('2m')
    .describe('Sets the time that a tool call waits for the approval of the person.')
    .meta({ priority: 'tuning' }),
  AI_TOOL_APPROVAL_LIFETIME: timerDuration
    .prefault('8h')
    .describe(
      'Sets the time for which the approval of a tool in a whole conversation, or for a program at `/mcp`, is valid.',
    )
    .meta({ priority: 'tuning' }),
  AI_TOOL_QUESTION_LIFETIME: timerDuration
    .prefault('1h')
    .describe(
      'Sets the time for which a person can approve a tool call of `/v1/responses` or `/mcp`, and can ask for the result of the former again.',
    )
    .meta({ priority: 'tuning' }),
  AI_TOOLS_AT_ONCE: count(4, 1, 64)
    .describe('Limits the tool calls that one answer runs at the same time. Further calls wait.')
    .meta({ priority: 'tuning' }),
  AI_NATIVE_TOOL_USES: count(5, 1, 100)
    .describe(
      'Limits the uses of each tool that the provider runs itself, such as its web search, in one request. Usage limits reserve this number. Google accepts no such limit.',
    )
    .meta({ priority: 'tuning' }),
  AI_TOOL_RESULT_MAX: count(256 * 1024, 1024)
    .describe('Limits the result of a tool call, in bytes.')
    .meta({ priority: 'tuning' }),
  AI_TOOL_TIMEOUT: timerDuration
    .prefault('30s')
    .describe('Sets the time limit of a tool call if its tool server has no other.')
    .meta({ priority: 'tuning' }),
  MCP_CALLS_AT_ONCE: count(4, 1, 1000)
    .describe(
      'Limits the calls of tools at `/mcp` that one person may have running at once, on all replicas together. A further call is refused with 429.',
    )
    .meta({ priority: 'tuning' }),
  MCP_CALLS_PER_MINUTE: count(120, 1)
    .describe('Limits the calls of tools at `/mcp` of one person in a minute, on all replicas together.')
    .meta({ priority: 'tuning' }),
  RATE_LIMIT_AI_PER_MINUTE: count(0)
    .describe('Limits the AI requests per minute, per token and per user. 0 means no limit.')
    .meta({ priority: 'may' }),
  STRICT_PARAMETERS: flag(false)
    .describe(
      'Refuses AI requests of `/v1`, `/api/ai-req` and `/req/streamAI` with unknown members. If off, the service ignores such members and names them in `x-ignored-parameters`.',
    )
    .meta({ priority: 'may' }),
  RETENTION_USAGE_MONTHS: optionalMonths
    .describe(
      'Sets the number of whole months for which single calls of models are kept. Older calls become sums by day. If absent, all are kept.',
    )
    .meta({ priority: 'may' }),
  LIMITS: z
    .string()
    .optional()
    .describe('Names the YAML or JSON file of usage limits. Limits made with `svc limits` apply in addition.')
    .meta({ priority: 'may' }),
  LIMITS_MAX_OUTPUT_TOKENS: count(4096, 1)
    .describe('Limits answers under a usage limit in tokens or money, in tokens, unless the model allows less.')
    .meta({ priority: 'tuning' }),
}

const requireAtLeast = (name: keyof typeof aiShape, other: keyof typeof aiShape) =>
  z.refine<Record<string, unknown>>((env) => !(Number(env[name]) < Number(env[other])), {
    path: [name],
    message: `must be at least ${other}`,
  })

/** A body of the largest size must fit at least once. */
export const aiRules = [
  requireAtLeast('AI_BYTES_PER_PERSON', 'AI_MAX_BODY'),
  requireAtLeast('AI_BYTES_PER_PERSON', 'AI_MAX_BODY_WITH_FILES'),
  requireAtLeast('AI_BYTES_PER_PERSON', 'AI_MAX_FILES'),
  requireAtLeast('AI_BYTES_AT_ONCE', 'AI_BYTES_PER_PERSON'),
]
