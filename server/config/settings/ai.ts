import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, flag } from './setting-types.ts'

/** Settings of calls of models, and of their limits. */
export const aiShape = {
  AI_CONFIG: z.string().optional().describe('YAML or JSON file of AI providers and models; the demo model when absent'),
  AI_MAX_BODY: count(2 * 1024 * 1024, 1024).describe('Largest body of an AI request, in bytes'),
  AI_MAX_BODY_WITH_FILES: count(20 * 1024 * 1024, 1024).describe(
    'Largest body of an AI request that may hold images and documents, in bytes',
  ),
  AI_MAX_FILES: count(20 * 1024 * 1024, 1024).describe(
    'How many bytes the files of an AI request may have together, with attachments or their texts; one that is named twice counts twice',
  ),
  AI_BYTES_PER_PERSON: count(64 * 1024 * 1024, 1024).describe(
    'How many bytes the AI requests of a person that are under way may hold in memory together, with the texts of attachments; a request without a length counts as the largest one, and attached images and documents count as 256 KiB a request at most',
  ),
  AI_BYTES_AT_ONCE: count(512 * 1024 * 1024, 1024).describe(
    'How many bytes the AI requests that one process answers may hold in memory together',
  ),
  AI_CALLS_PER_PERSON: count(24, 1).describe(
    'How many AI calls of a person one process has under way at the same time, answers in rooms and embeddings included; a further one is refused with 429',
  ),
  AI_UNREAD_TIMEOUT: timerDuration
    .prefault('30s')
    .describe(
      'How long a streamed answer waits for a client that takes nothing of it; then it is cut, and billed as far as it came',
    ),
  AI_HEARTBEAT: timerDuration
    .prefault('15s')
    .describe('Interval of the comment lines that keep a stream open while the model is silent'),
  AI_STATUS_CHECK_EVERY: timerDuration
    .prefault('5m')
    .describe('How often providers and tool servers are asked what they offer, by one of the replicas'),
  AI_TOOL_APPROVAL_TIMEOUT: timerDuration
    .prefault('2m')
    .describe('How long a call of a tool waits for the person who must allow it'),
  AI_TOOL_APPROVAL_LIFETIME: timerDuration
    .prefault('8h')
    .describe('How long a person who allows a tool for a whole conversation is not asked again in it'),
  AI_TOOL_QUESTION_LIFETIME: timerDuration
    .prefault('1h')
    .describe(
      'How long a person can allow a call of a tool about which an answer of `/v1/responses` asked, and can ask for its result again',
    ),
  AI_TOOLS_AT_ONCE: count(4, 1, 64).describe('How many tools one answer calls at the same time; further calls wait'),
  AI_NATIVE_TOOL_USES: count(5, 1, 100).describe(
    'How often each tool that a provider runs itself, such as its web search, may run for one request to it, unless it is Google, which takes no bound; limits reserve for that many',
  ),
  AI_TOOL_RESULT_MAX: count(256 * 1024, 1024).describe('Largest result of a tool, in bytes'),
  AI_TOOL_TIMEOUT: timerDuration
    .prefault('30s')
    .describe('How long a call of a tool may take, where its tool server sets no other time'),
  RATE_LIMIT_AI_PER_MINUTE: count(0).describe('AI requests a minute, per token and per user; 0 is no limit'),
  STRICT_PARAMETERS: flag(false).describe(
    'Refuse AI requests of `/v1`, `/api/ai-req` and `/req/streamAI` that have members which are not known, instead of ignoring these and naming them in `x-ignored-parameters`',
  ),
  RETENTION_USAGE_MONTHS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1200)
    .optional()
    .describe(
      'How many whole months calls of models are kept one by one; older ones as sums by day. For ever when absent',
    ),
  LIMITS: z.string().optional().describe('YAML or JSON file of usage limits; those of `svc limits` hold beside them'),
  LIMITS_MAX_OUTPUT_TOKENS: count(4096, 1).describe(
    'Longest answer in tokens under a usage limit in tokens or money, unless the model allows less',
  ),
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
