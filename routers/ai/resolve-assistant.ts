import { openTexts } from '../assistants/content.ts'
import { canNameAssistant } from '../core/model-binding.ts'
import { Problem } from '../core/problems.ts'
import type { CallableAssistant, FindAssistant } from '../ports/ai/callable-assistants.ts'
import type { TextPart } from '../ports/ai/messages.ts'
import type { ChatContext } from './chat-context.ts'
import type { AiRequest } from './request/request.ts'

/** The beginning of the name of an assistant in requests. */
export const ASSISTANT_PREFIX = 'assistant/'

/** `assistant/<handle>`, or `assistant/<handle>@<version>`. */
const assistantName = /^assistant\/([a-z0-9-]{1,64})(?:@([1-9]\d{0,8}))?$/

/**
 * Turns a request for an assistant into one for its model, with its instructions before those of the caller. A request
 * for an assistant that the caller may not use stays as it is, and so names a model that nobody has.
 */
export async function resolveAssistant(
  ctx: ChatContext,
  request: AiRequest,
  find: FindAssistant = ctx.services.ai.callableAssistants.find,
): Promise<AiRequest> {
  const [, handle, version] = assistantName.exec(request.model) ?? []
  if (handle === undefined) return assertNoChoice(request)
  const found = await find(handle, version === undefined ? null : Number(version))
  if (!found || !canNameAssistant(ctx.caller, found.id) || !mayUse(ctx, found)) return request
  const { number, parameters, tools, texts, catalogue, knowledge } = found
  const { systemPrompt } = openTexts(ctx.services.vault, texts)
  const own: TextPart[] = systemPrompt.trim() === '' ? [] : [{ type: 'text', text: systemPrompt }]
  const system = [...own, ...(request.system ?? [])]
  const { model, fallback } = chooseModels(request, found)
  return {
    ...request,
    model,
    ...(system.length > 0 && { system }),
    assistant: {
      label: `${handle}@${number}`,
      handle,
      number,
      hasKnowledge: knowledge !== null,
      instructions: own.length,
      catalogue,
      fallback,
      parameters,
      tools,
    },
  }
}

/** Returns the models of the assistant, or the one that the person has chosen, for which no other one answers. */
function chooseModels({ answerModel }: AiRequest, assistant: CallableAssistant) {
  if (answerModel === undefined) return assistant
  if (assistant.allowModelSelect) return { model: answerModel, fallback: [] }
  throw createChoiceProblem('is not chosen for this assistant, which has a model of its own')
}

function assertNoChoice(request: AiRequest): AiRequest {
  if (request.answerModel === undefined) return request
  throw createChoiceProblem('belongs to an assistant')
}

const createChoiceProblem = (message: string) =>
  new Problem('invalid', { issues: [{ path: ['answerModel'], message }] })

/**
 * Its editors use each version, and its audience what was published, or approved for all where that is needed. The groups
 * are the person's, also for administrators.
 */
function mayUse({ caller: { person }, services: { settings } }: ChatContext, assistant: CallableAssistant): boolean {
  const { isReleased, isApproved, audience, groups, editorIds } = assistant
  if (editorIds.includes(person.id)) return true
  if (!isReleased) return false
  if (audience === 'all') return isApproved || !settings.reviewsAssistants
  return audience === 'groups' && groups.some((group) => person.groups.includes(group))
}
