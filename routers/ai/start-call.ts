import type { AnswerKnowledge } from '../assistants/knowledge/answer-knowledge.ts'
import type { KnowledgeDisclosure } from '../assistants/knowledge/disclosure.ts'
import { type Issue, Problem } from '../core/problems.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'
import type { ModelCall } from '../ports/ai/models.ts'
import { toViewer } from '../verbs/viewer.ts'
import { type ApprovalMode, Approvals } from './approvals/approvals.ts'
import { boundCall } from './call-bounds.ts'
import { beginAiCall, type ChatContext, findUsableModel } from './chat-context.ts'
import { type OriginalCall, withFallbacks } from './fallback.ts'
import type { MeteredCall } from './metered-call.ts'
import { toModelCall } from './model-call.ts'
import { type CallLookup, prepareCall } from './prepare-call.ts'
import { adaptRequest, findUnsentParameters } from './request/adapt-request.ts'
import { addKnowledge, openAssistantKnowledge } from './request/assistant-knowledge.ts'
import { Attachments } from './request/attachments.ts'
import { InlineDocuments } from './request/inline-documents.ts'
import { countFiles, estimateInputTokens, estimateToolTokens } from './request/input-tokens.ts'
import type { AiRequest } from './request/request.ts'
import { findUnaskableReferences, selectModelTools } from './request/tool-references.ts'
import { withUniqueCallIds } from './request/unique-call-ids.ts'
import { findExcessInput, validateRequest } from './request/validate-request.ts'
import { reserveBudget, reserveTogether } from './reservation.ts'
import { ASSISTANT_PREFIX, resolveAssistant } from './resolve-assistant.ts'
import { listSelectedServiceTools, listServiceTools } from './service-tools.ts'
import { type FoundModel, findRequestedModel, isOpenToToken, listFallbacks, noteAnsweringModel } from './successor.ts'

type MapIssue = (issue: Issue) => Issue

interface StartOptions {
  mapIssue?: MapIssue
  /** Room that receives the answer. Its limits apply as well, and attachments must belong to it. */
  roomId?: number
  /** Present in a room. */
  disclosure?: KnowledgeDisclosure
  approvalMode?: ApprovalMode
  /** The ticket of what the caller has reserved for this call. */
  ticket?: string | undefined
}

/**
 * Reserves the budget of a call and starts it once its files are read. If a limit applies, the provider is told a
 * maximum answer length that fits into the reservation.
 */
export async function startCall(
  ctx: ChatContext,
  callerRequest: AiRequest,
  { ticket, ...options }: StartOptions = {},
): Promise<MeteredCall> {
  using underWay = new DisposableStack()
  underWay.use(beginAiCall(ctx))
  return await prepareCall(ctx, async (lookup) => {
    using memory = new DisposableStack()
    const { found, ...original } = await prepareOriginal(ctx, callerRequest, { ...options, lookup, memory })
    const { call, bounds, request } = original
    const fallbackNames = options.roomId === undefined ? listFallbacks(request, found) : []
    // Reserve last: nothing releases the reservation if a later step fails.
    const reservation = await reserveBudget(ctx, { call, bounds }, { roomId: options.roomId, ticket })
    noteAnsweringModel(ctx, request, found)
    memory.use(underWay.move())
    return withFallbacks(ctx, { original, call, bounds, reservation, fallbackNames, memory: memory.move() })
  })
}

/**
 * Reserves the budgets of calls that the caller will make at once, for all of them or for none, and returns their
 * tickets. Calls no model.
 */
export async function reserveCalls(
  ctx: ChatContext,
  requests: readonly AiRequest[],
  approvalMode: ApprovalMode,
): Promise<string[]> {
  using _underWay = beginAiCall(ctx)
  return await prepareCall(ctx, async (lookup) => {
    using memory = new DisposableStack()
    const calls: OriginalCall[] = []
    for (const request of requests) calls.push(await prepareOriginal(ctx, request, { approvalMode, lookup, memory }))
    return reserveTogether(ctx, calls)
  })
}

interface OriginalOptions extends Omit<StartOptions, 'ticket'> {
  lookup: CallLookup
  memory: DisposableStack
}

/** Builds the call of the requested model with the most that it can take. */
async function prepareOriginal(
  ctx: ChatContext,
  callerRequest: AiRequest,
  { lookup, mapIssue = (issue) => issue, roomId, disclosure, approvalMode, memory }: OriginalOptions,
): Promise<OriginalCall & { found: FoundModel }> {
  const { conversation } = callerRequest
  const unresolved = { ...callerRequest, messages: [...withUniqueCallIds(callerRequest.messages)] }
  const request = await resolveAssistant(ctx, unresolved, lookup.findAssistant)
  const approvals = new Approvals(ctx, { person: ctx.caller.person.id, conversation, approvalMode, roomId })
  const options = { find: lookup.find, mapIssue, roomId, disclosure, approvalMode }
  const prepared = await prepareRequest(ctx, request, options)
  await lookup.countRequest()
  const call = await buildCall(ctx, prepared, approvals, memory)
  return {
    call,
    bounds: boundCall(call, ctx.services.settings.maxOutputTokens),
    request,
    approvals,
    knowledge: prepared.knowledge,
    found: prepared.found,
  }
}

interface PreparedRequest {
  request: AiRequest
  found: FoundModel
  attachments: Attachments
  /** The knowledge of the assistant, if it has any. */
  knowledge: AnswerKnowledge | undefined
  /** Estimate for the request without its attachments. */
  inputTokens: number
  /** Translates the path of an issue into the caller's own request format. */
  mapIssue: MapIssue
}

interface PrepareOptions {
  find: FindModel
  mapIssue: MapIssue
  roomId: number | undefined
  disclosure: KnowledgeDisclosure | undefined
  approvalMode: ApprovalMode
}

/** Finds the model, adapts the request to it and validates it. Throws `invalid` with all issues. */
async function prepareRequest(
  ctx: ChatContext,
  callerRequest: AiRequest,
  { find, mapIssue, roomId, disclosure, approvalMode }: PrepareOptions,
): Promise<PreparedRequest> {
  const { settings } = ctx.services
  const { promptFiles: files } = ctx.services.ai
  // People in a room are told which model reads their messages, so no other model may replace it.
  const found = await (roomId === undefined
    ? findRequestedModel(ctx, callerRequest, find)
    : findRoomModel(ctx, callerRequest, find))
  const model = found?.model
  const adapted = model ? adaptRequest(ctx, callerRequest, model) : callerRequest
  const knowledge = model && (await openAssistantKnowledge(ctx, adapted, model, disclosure))
  const request = knowledge ? addKnowledge(adapted, knowledge) : adapted
  const unsent = model ? await findUnsentParameters(ctx, request, model) : []
  const attachments = new Attachments(
    { files, viewer: toViewer(ctx), room: roomId, maxBytes: settings.maxPromptFiles },
    request.messages,
  )
  const inputTokens = estimateInputTokens(request)
  const issues = validateRequest(request, model, inputTokens, ctx.services.files.textExtractor)
  // A request with a conversation may use tools that the person allowed earlier for that conversation.
  if (model && !approvalMode && request.conversation === undefined)
    issues.push(...findUnaskableReferences(model, callerRequest.modelTools))
  if (model) issues.push(...unsent, ...(await attachments.find(model)))
  if (!found || issues.length > 0) throw new Problem('invalid', { issues: issues.map(mapIssue) })
  return { request, found, attachments, knowledge, inputTokens, mapIssue }
}

async function findRoomModel(ctx: ChatContext, request: AiRequest, find: FindModel) {
  const { model: name } = request
  const model = isOpenToToken(ctx, request) ? await findUsableModel(ctx, name, 'chat', find) : undefined
  if (!model && name.startsWith(ASSISTANT_PREFIX))
    throw new Problem('not_permitted', { detail: 'You may not ask this assistant, or there is none of this handle.' })
  return model && { name, model }
}

/**
 * Builds the call of the model with the contents of the attachments. `memory` accounts for the bytes while the call
 * runs.
 */
async function buildCall(
  ctx: ChatContext,
  { request, found: { model }, attachments, knowledge, mapIssue, ...estimated }: PreparedRequest,
  approvals: Approvals,
  memory: DisposableStack,
): Promise<ModelCall> {
  const person = `${ctx.caller.person.id}`
  const reserveBytes = (bytes: number) => void memory.use(ctx.services.limits.aiBytes.acquire(person, bytes))
  const withTexts = await attachments.read(reserveBytes)
  const messagesWithTexts = await new InlineDocuments({ ctx, model, reserveBytes })
    .read(withTexts)
    .catch((error: unknown) => {
      throw error instanceof Problem && error.issues.length > 0 ? mapIssues(error, mapIssue) : error
    })
  const selected = selectModelTools(model, request)
  const toolOptions = { model, request, selected, approvals, knowledge }
  const tools = listServiceTools(ctx, toolOptions)
  const ownTokens =
    messagesWithTexts === request.messages
      ? estimated.inputTokens
      : estimateInputTokens({ ...request, messages: [...messagesWithTexts] })
  const inputTokens = ownTokens + estimateToolTokens(tools) + (knowledge?.search?.maxTokens ?? 0)
  const files = await countFiles(messagesWithTexts)
  // The request alone was checked before.
  const issues = inputTokens === estimated.inputTokens ? [] : findExcessInput(inputTokens, model)
  if (issues.length > 0) throw new Problem('invalid', { issues: issues.map(mapIssue) })
  const messages = approvals.approvedCalls.insertResults(messagesWithTexts, () =>
    listSelectedServiceTools(ctx, toolOptions),
  )
  const { nativeTools } = selected
  return toModelCall(ctx, { request, model, messages, tools, nativeTools, inputTokens, files })
}

const mapIssues = (error: Problem, mapIssue: MapIssue) =>
  new Problem(error.problem, { issues: error.issues.map(mapIssue), cause: error })
