import { z } from 'zod'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { takes } from '../core/body-size.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { about, router, userWith } from '../core/trpc.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel, ModelCall } from '../ports/ai/models.ts'
import { viewerOf } from '../verbs/viewer.ts'
import { streamParts, textAnswer, toTextAnswer, wholeAnswer } from './answer.ts'
import { answerApproval, approvalAnswer } from './approvals/answer-approval.ts'
import { Approvals, type QuestionPlace } from './approvals/approvals.ts'
import { ownApprovals } from './approvals/own-approvals.ts'
import { type Asking, aiQuotaOnce, prepared } from './asking.ts'
import { countTokens } from './count-tokens.ts'
import { embed } from './embed.ts'
import { withFallbacks } from './fallback.ts'
import type { MeteredCall } from './metered-call.ts'
import { modelCallOf } from './model-call.ts'
import { adaptRequest } from './request/adapt.ts'
import { Attachments } from './request/attached.ts'
import { problemsOf, tooMuchInput } from './request/checks.ts'
import { filesIn } from './request/files-in.ts'
import { InlineDocuments } from './request/inline-documents.ts'
import { inputTokensOf, tokensOfTools } from './request/input-tokens.ts'
import { ofQuestion, question, requestOf, withAllProblems } from './request/question.ts'
import { unaskableReferences } from './request/references.ts'
import { type AiRequest, request, streamRequest } from './request/request.ts'
import { withUniqueCallIds } from './request/unique-calls.ts'
import { unsentParameters } from './request/unsent-parameters.ts'
import { reserveBudget } from './reservation.ts'
import { ownTools, selectedOwnTools } from './tools.ts'

type Told = (issue: Issue) => Issue

interface Asked {
  asked: AiRequest
  model: CallableModel
  attachments: Attachments
  /** Without attachments. */
  inputTokens: number
  /** What is wrong, by the names of the caller's own request. */
  told: Told
}

interface Checking {
  find: FindModel
  told: Told
  room: number | undefined
  questionPlace: QuestionPlace
}

/** A model the caller may use, asked a question it can take. */
async function checked(ctx: Asking, given: AiRequest, { find, told, room, questionPlace }: Checking): Promise<Asked> {
  const { promptFiles: files, settings } = ctx.services
  const model = await find(given.model, ctx.usage, 'chat')
  const asked = model ? adaptRequest(ctx, given, model) : given
  const attachments = new Attachments(
    { files, viewer: viewerOf(ctx), room, maxBytes: settings.maxPromptFiles },
    asked.messages,
  )
  const inputTokens = inputTokensOf(asked)
  const issues = problemsOf(asked, model, inputTokens, ctx.services.textExtractor)
  if (model) issues.push(...(await unsentParameters(ctx, asked, model)), ...(await attachments.find(model)))
  // For a conversation it may be allowed already.
  if (model && !questionPlace && asked.conversation === undefined)
    issues.push(...unaskableReferences(model, asked.modelTools))
  if (!model || issues.length > 0) throw new Problem('invalid', { issues: issues.map(told) })
  return { asked, model, attachments, inputTokens, told }
}

/** The call with what is in the attachments, which `held` counts as long as it lasts. */
async function callOf(
  ctx: Asking,
  { asked, model, attachments, told, ...known }: Asked,
  approvals: Approvals,
  held: DisposableStack,
): Promise<ModelCall> {
  const person = `${ctx.caller.person.id}`
  const hold = (bytes: number) => void held.use(ctx.services.aiBytes.take(person, bytes))
  const read = await attachments.read(hold)
  const said = await new InlineDocuments({ ctx, model, hold }).read(read).catch((error: unknown) => {
    throw error instanceof Problem && error.issues.length > 0 ? retold(error, told) : error
  })
  const offering = { model, asked, approvals }
  const tools = ownTools(ctx, offering)
  const sent =
    attachments.isEmpty && said === read ? known.inputTokens : inputTokensOf({ ...asked, messages: [...said] })
  const inputTokens = sent + tokensOfTools(tools)
  const issues = tooMuchInput(inputTokens, model)
  if (issues.length > 0) throw new Problem('invalid', { issues: issues.map(told) })
  const messages = approvals.allowed.take(said, () => selectedOwnTools(ctx, offering))
  return modelCallOf(ctx, { asked, model, said: messages, tools, inputTokens, files: await filesIn(said) })
}

const retold = (error: Problem, told: Told) =>
  new Problem(error.problem, { issues: error.issues.map(told), cause: error })

interface BeginOptions {
  told?: Told
  /** Where the answer goes to a room, whose limits hold, too, and of which all attachments are. */
  room?: number
  /** Where the person can be asked whether a tool may be called. */
  questionPlace?: QuestionPlace
}

/** Reserves what the call can take, and begins it; a call that a limit bounds is told to answer within it. */
export function begin(
  ctx: Asking,
  given: AiRequest,
  { told = (issue) => issue, room, questionPlace }: BeginOptions = {},
): Promise<MeteredCall> {
  const { conversation } = given
  const asked = { ...given, messages: [...withUniqueCallIds(given.messages)] }
  const consumeQuota = aiQuotaOnce(ctx)
  return prepared(ctx, async (ctx, find) => {
    const approvals = new Approvals(ctx, { person: ctx.caller.person.id, conversation, questionPlace })
    const accepted = await checked(ctx, asked, { find, told, room, questionPlace })
    await consumeQuota()
    using held = new DisposableStack()
    const call = await callOf(ctx, accepted, approvals, held)
    // A room is told which model reads its messages.
    const names = room === undefined ? call.model.fallback : []
    // Last, as nobody would give it back if something failed after it.
    const reservation = await reserveBudget(ctx, call, room)
    return withFallbacks(ctx, { question: { call, asked, approvals }, call, reservation, names, held: held.move() })
  })
}

/** Asks the person only at the end of the answer: clients of most protocols would leave a question in between without an answer. */
const beginRequest = (ctx: Asking, asked: AiRequest) =>
  begin(ctx, asked, { questionPlace: asked.mayAsk ? 'last' : undefined })

const asking = userWith('ai')
  .meta({ ...takes('AI request'), confirmsCaller: true })
  .use(withAllProblems)
  .input(question)
const requesting = userWith('ai')
  .meta({ ...takes('AI request with files'), confirmsCaller: true })
  .input(request)
const requestingStream = userWith('ai')
  .meta({ ...takes('AI request with files'), confirmsCaller: true })
  .input(streamRequest)

const offered = z.array(
  z.object({
    ...{ modelId: z.string(), label: z.string(), modelType: z.enum(['chat', 'embedding']), provider: z.string() },
    created: z.int(),
  }),
)

export const aiRouter = router({
  models: userWith('ai')
    .meta(about('List the models that the caller may ask for answers or for embeddings.', offered))
    .query(({ ctx }) => ctx.services.sql(listOfferedModels, [ctx.usage])),

  ask: asking
    .meta(about('Ask a model for its whole answer.', textAnswer))
    .mutation(async ({ ctx, input }) =>
      toTextAnswer(await (await begin(ctx, requestOf(input), { told: ofQuestion })).answer()),
    ),

  stream: asking
    .meta({
      ...about(
        'Ask a model for its answer as it comes: pieces of text, questions whether a tool may be called, then the tokens it took.',
      ),
      streams: true,
    })
    .mutation(async ({ ctx, input }) =>
      (await begin(ctx, requestOf(input), { told: ofQuestion, questionPlace: 'amid' })).stream([
        'delta',
        'approval',
        'usage',
      ]),
    ),

  complete: requesting
    .meta(about('Ask a model with files, tools and parameters for its whole answer.', wholeAnswer))
    .mutation(async ({ ctx, input }) => (await beginRequest(ctx, input)).answer()),

  completeStream: requestingStream
    .meta({
      ...about('Ask a model with files, tools and parameters for its answer as it comes, in parts of several types.'),
      streams: true,
    })
    .mutation(async ({ ctx, input: { mayAsk, ...input } }) => {
      const questionPlace = mayAsk === 'amid' ? 'amid' : mayAsk ? 'last' : undefined
      const call = await begin(ctx, input, { questionPlace })
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
