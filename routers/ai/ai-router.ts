import { z } from 'zod'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel, ModelCall } from '../ports/ai/models.ts'
import { listUsableGroups, toViewer } from '../verbs/viewer.ts'
import { streamParts, textAnswer, toTextAnswer, wholeAnswer } from './answer.ts'
import { Approvals, type QuestionPlace } from './approvals/approvals.ts'
import { answerApproval, approvalAnswer, ownApprovals } from './approvals/my-approvals.ts'
import { aiQuotaOnce, type ChatContext, findUsableModel } from './chat-context.ts'
import { countTokens } from './count-tokens.ts'
import { embed } from './embed.ts'
import { withFallbacks } from './fallback.ts'
import type { MeteredCall } from './metered-call.ts'
import { toModelCall } from './model-call.ts'
import { adaptRequest, unsentParameters } from './request/adapt-request.ts'
import { Attachments } from './request/attachments.ts'
import { InlineDocuments } from './request/inline-documents.ts'
import { countFiles, estimateInputTokens, estimateToolTokens } from './request/input-tokens.ts'
import { untilTextsAreRead } from './request/pending-texts.ts'
import { type AiRequest, request, streamRequest } from './request/request.ts'
import { question, toAiRequest, toQuestionPath, withAllProblems } from './request/simple-request.ts'
import { unaskableReferences } from './request/tool-references.ts'
import { withUniqueCallIds } from './request/unique-call-ids.ts'
import { tooMuchInput, validateRequest } from './request/validate-request.ts'
import { reserveBudget } from './reservation.ts'
import { ownTools, selectedOwnTools } from './service-tools.ts'

type MapIssue = (issue: Issue) => Issue

interface ValidatedRequest {
  asked: AiRequest
  model: CallableModel
  attachments: Attachments
  /** Without attachments. */
  inputTokens: number
  /** What is wrong, by the names of the caller's own request. */
  mapIssue: MapIssue
}

interface Checking {
  find: FindModel
  mapIssue: MapIssue
  room: number | undefined
  questionPlace: QuestionPlace
}

/** A model the caller may use, asked a question it can take. */
async function validateAsked(
  ctx: ChatContext,
  given: AiRequest,
  { find, mapIssue, room, questionPlace }: Checking,
): Promise<ValidatedRequest> {
  const { promptFiles: files, settings } = ctx.services
  const model = await findUsableModel(ctx, given.model, 'chat', find)
  const asked = model ? adaptRequest(ctx, given, model) : given
  const attachments = new Attachments(
    { files, viewer: toViewer(ctx), room, maxBytes: settings.maxPromptFiles },
    asked.messages,
  )
  const inputTokens = estimateInputTokens(asked)
  const issues = validateRequest(asked, model, inputTokens, ctx.services.textExtractor)
  if (model) issues.push(...(await unsentParameters(ctx, asked, model)), ...(await attachments.find(model)))
  // For a conversation it may be allowed already.
  if (model && !questionPlace && asked.conversation === undefined)
    issues.push(...unaskableReferences(model, asked.modelTools))
  if (!model || issues.length > 0) throw new Problem('invalid', { issues: issues.map(mapIssue) })
  return { asked, model, attachments, inputTokens, mapIssue }
}

/** The call with what is in the attachments, which `held` counts as long as it lasts. */
async function buildCall(
  ctx: ChatContext,
  { asked, model, attachments, mapIssue, ...known }: ValidatedRequest,
  approvals: Approvals,
  held: DisposableStack,
): Promise<ModelCall> {
  const person = `${ctx.caller.person.id}`
  const hold = (bytes: number) => void held.use(ctx.services.aiBytes.acquire(person, bytes))
  const read = await attachments.read(hold)
  const said = await new InlineDocuments({ ctx, model, hold }).read(read).catch((error: unknown) => {
    throw error instanceof Problem && error.issues.length > 0 ? mapIssues(error, mapIssue) : error
  })
  const offering = { model, asked, approvals }
  const tools = ownTools(ctx, offering)
  const sent =
    attachments.isEmpty && said === read ? known.inputTokens : estimateInputTokens({ ...asked, messages: [...said] })
  const inputTokens = sent + estimateToolTokens(tools)
  const issues = tooMuchInput(inputTokens, model)
  if (issues.length > 0) throw new Problem('invalid', { issues: issues.map(mapIssue) })
  const messages = approvals.allowed.take(said, () => selectedOwnTools(ctx, offering))
  return toModelCall(ctx, { asked, model, said: messages, tools, inputTokens, files: await countFiles(said) })
}

const mapIssues = (error: Problem, mapIssue: MapIssue) =>
  new Problem(error.problem, { issues: error.issues.map(mapIssue), cause: error })

interface BeginOptions {
  mapIssue?: MapIssue
  /** Where the answer goes to a room, whose limits hold, too, and of which all attachments are. */
  room?: number
  /** Where the person can be asked whether a tool may be called. */
  questionPlace?: QuestionPlace
}

/**
 * Reserves what the call can take, and begins it, once its files are read; a call that a limit bounds is told to answer within
 * it.
 */
export function startCall(
  ctx: ChatContext,
  given: AiRequest,
  { mapIssue = (issue) => issue, room, questionPlace }: BeginOptions = {},
): Promise<MeteredCall> {
  const { conversation } = given
  const asked = { ...given, messages: [...withUniqueCallIds(given.messages)] }
  const consumeQuota = aiQuotaOnce(ctx)
  const attempt = () =>
    ctx.services.callableModels.prepare(async (find) => {
      const approvals = new Approvals(ctx, { person: ctx.caller.person.id, conversation, questionPlace })
      const accepted = await validateAsked(ctx, asked, { find, mapIssue, room, questionPlace })
      await consumeQuota()
      using held = new DisposableStack()
      const call = await buildCall(ctx, accepted, approvals, held)
      // A room is told which model reads its messages.
      const names = room === undefined ? call.model.fallback : []
      // Last, as nobody would give it back if something failed after it.
      const reservation = await reserveBudget(ctx, call, room)
      return withFallbacks(ctx, { question: { call, asked, approvals }, call, reservation, names, held: held.move() })
    })
  return untilTextsAreRead(ctx, { attempt, consumeQuota })
}

/** Asks the person only at the end of the answer: clients of most protocols would leave a question in between without an answer. */
const startRequest = (ctx: ChatContext, asked: AiRequest) =>
  startCall(ctx, asked, { questionPlace: asked.mayAsk ? 'last' : undefined })

const questionProcedure = userWith('ai').meta(withBodySize('AI request')).use(withAllProblems).input(question)
const requestProcedure = userWith('ai').meta(withBodySize('AI request with files')).input(request)
const streamProcedure = userWith('ai').meta(withBodySize('AI request with files')).input(streamRequest)

const offered = z.array(
  z.object({
    ...{ modelId: z.string(), label: z.string(), modelType: z.enum(['chat', 'embedding']), provider: z.string() },
    created: z.int(),
  }),
)

export const aiRouter = router({
  models: userWith('ai')
    .meta(about('List the models that the caller may ask for answers or for embeddings.', offered))
    .query(({ ctx }) => ctx.services.sql(listOfferedModels, [ctx.usage, listUsableGroups(ctx.caller)])),

  ask: questionProcedure
    .meta(about('Ask a model for its whole answer.', textAnswer))
    .mutation(async ({ ctx, input }) =>
      toTextAnswer(await (await startCall(ctx, toAiRequest(input), { mapIssue: toQuestionPath })).answer()),
    ),

  stream: questionProcedure
    .meta({
      ...about(
        'Ask a model for its answer as it comes: pieces of text, questions whether a tool may be called, then the tokens it took.',
      ),
      streams: true,
    })
    .mutation(async ({ ctx, input }) =>
      (await startCall(ctx, toAiRequest(input), { mapIssue: toQuestionPath, questionPlace: 'amid' })).stream([
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
      ...about('Ask a model with files, tools and parameters for its answer as it comes, in parts of several types.'),
      streams: true,
    })
    .mutation(async ({ ctx, input: { mayAsk, ...input } }) => {
      const questionPlace = mayAsk === 'amid' ? 'amid' : mayAsk ? 'last' : undefined
      const call = await startCall(ctx, input, { questionPlace })
      return call.stream(input.toolUses ? [...streamParts, 'tool-use', 'tool-result'] : streamParts)
    }),

  countTokens,
  embed,

  approve: userWith('ai')
    .meta(about('Allow or refuse the call of a tool about which a stream asks.'))
    .input(approvalAnswer)
    .mutation(({ ctx, input }) => answerApproval(ctx, ctx.caller.person.id, input)),

  ...ownApprovals,
})
