import { z } from 'zod'
import { listOfferedAssistants } from '../../entities/assistants/assistant.sql.ts'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { listBoundAssistants, listBoundModels } from '../core/model-binding.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import { listUsableGroups } from '../verbs/viewer.ts'
import { streamPartTypes, textAnswer, toTextAnswer, wholeAnswer } from './answer.ts'
import type { ApprovalMode } from './approvals/approvals.ts'
import { answerApproval, approvalAnswer, ownApprovals } from './approvals/my-approvals.ts'
import type { ChatContext } from './chat-context.ts'
import { countTokens } from './count-tokens.ts'
import { embed } from './embed.ts'
import { type AiRequest, aiRequest, aiStreamRequest, reserveRequest } from './request/request.ts'
import { simpleRequest, toAiRequest, toSimplePath, withAllIssues } from './request/simple-request.ts'
import { ASSISTANT_PREFIX } from './resolve-assistant.ts'
import { reserveCalls, startCall } from './start-call.ts'

/**
 * Asks for approvals only at the end of the answer, because clients of most protocols cannot answer a question during a
 * stream.
 */
const startRequest = (ctx: ChatContext, callerRequest: AiRequest) =>
  startCall(ctx, callerRequest, { approvalMode: callerRequest.mayAsk ? 'deferred' : undefined })

const simpleRequestProcedure = userWith('ai').meta(withBodySize('AI request')).use(withAllIssues).input(simpleRequest)
const requestProcedure = userWith('ai').meta(withBodySize('AI request with files')).input(aiRequest)
const streamProcedure = userWith('ai').meta(withBodySize('AI request with files')).input(aiStreamRequest)

const offeredModels = z.array(
  z.object({
    modelId: z.string(),
    label: z.string(),
    modelType: z.enum(['chat', 'embedding']),
    provider: z.string(),
    created: z.int(),
  }),
)

const reservedAnswers = z.object({
  reservations: z.array(z.string()).describe('One for each model, in their order, for `ai.completeStream`.'),
})

/** Lists models, then assistants, which are asked as models are. */
async function listAskable(ctx: ChatContext): Promise<z.output<typeof offeredModels>> {
  const { sql } = ctx.services
  const { id, groups } = ctx.caller.person
  const usableGroups = listUsableGroups(ctx.caller)
  const [models, assistants] = await Promise.all([
    sql(listOfferedModels, [ctx.usage, usableGroups, listBoundModels(ctx.caller)]),
    sql(listOfferedAssistants, [id, groups, ctx.usage, usableGroups, listBoundAssistants(ctx.caller)]),
  ])
  const askable = assistants.map(({ handle, name, created }) => ({
    modelId: `${ASSISTANT_PREFIX}${handle}`,
    label: name,
    modelType: 'chat' as const,
    provider: 'assistants',
    created,
  }))
  return [...models, ...askable]
}

function toApprovalMode(mayAsk: boolean | 'amid' | undefined): ApprovalMode {
  if (mayAsk === 'amid') return 'inline'
  return mayAsk ? 'deferred' : undefined
}

export const aiRouter = router({
  models: userWith('ai')
    .meta(
      about(
        'List the models that the caller may ask for answers or for embeddings, and the assistants that they may ask.',
        offeredModels,
      ),
    )
    .query(({ ctx }) => listAskable(ctx)),

  ask: simpleRequestProcedure
    .meta(about('Ask a model for its whole answer.', textAnswer))
    .mutation(async ({ ctx, input }) =>
      toTextAnswer(await (await startCall(ctx, toAiRequest(input), { mapIssue: toSimplePath })).answer()),
    ),

  stream: simpleRequestProcedure
    .meta({
      ...about(
        'Ask a model and stream its answer: pieces of text, approval requests for tools, then the tokens that it used.',
      ),
      streams: true,
    })
    .mutation(async ({ ctx, input }) =>
      (await startCall(ctx, toAiRequest(input), { mapIssue: toSimplePath, approvalMode: 'inline' })).stream([
        'delta',
        'approval',
        'usage',
      ]),
    ),

  complete: requestProcedure
    .meta(about('Ask a model with files, tools and parameters for its whole answer.', wholeAnswer))
    .mutation(async ({ ctx, input }) => (await startRequest(ctx, input)).answer()),

  completeStream: streamProcedure
    .meta({
      ...about('Ask a model with files, tools and parameters, and stream its answer in parts of several types.'),
      streams: true,
    })
    .mutation(async ({ ctx, input: { mayAsk, reservation, ...input } }) => {
      const call = await startCall(ctx, input, { approvalMode: toApprovalMode(mayAsk), ticket: reservation })
      return call.stream(input.toolUses ? [...streamPartTypes, 'tool-use', 'tool-result'] : streamPartTypes)
    }),

  reserve: userWith('ai')
    .meta({
      ...withBodySize('AI request with files'),
      ...about(
        'Reserve what two models can take for their answers to one question, for both or for neither, without asking them. A reservation without a call ends within a minute, or with the next one of the caller.',
        reservedAnswers,
      ),
    })
    .input(reserveRequest)
    .mutation(async ({ ctx, input: { models, answerModels, mayAsk, ...input } }) => {
      const requests = models.map((model, at) => ({ ...input, model, answerModel: answerModels[at] ?? undefined }))
      return { reservations: await reserveCalls(ctx, requests, toApprovalMode(mayAsk)) }
    }),

  countTokens,
  embed,

  approve: userWith('ai')
    .meta(about('Approve or refuse a tool call that a stream asks about.'))
    .input(approvalAnswer)
    .mutation(({ ctx, input }) => answerApproval(ctx, ctx.caller.person.id, input)),

  ...ownApprovals,
})
