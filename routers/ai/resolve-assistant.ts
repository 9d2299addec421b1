import { findCallableAssistant } from '../../entities/assistants/assistant.sql.ts'
import { openTexts } from '../assistants/content.ts'
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
export async function resolveAssistant(ctx: ChatContext, request: AiRequest): Promise<AiRequest> {
  const [, handle, version = null] = assistantName.exec(request.model) ?? []
  if (handle === undefined) return request
  const { sql, vault } = ctx.services
  const { id, groups } = ctx.caller.person
  const [found] = await sql(findCallableAssistant, [id, groups, handle, version])
  if (!found) return request
  const { number, model, fallback, parameters, tools, texts } = found
  const { systemPrompt } = openTexts(vault, texts)
  const own: TextPart[] = systemPrompt.trim() === '' ? [] : [{ type: 'text', text: systemPrompt }]
  const system = [...own, ...(request.system ?? [])]
  return {
    ...request,
    model,
    ...(system.length > 0 && { system }),
    assistant: { label: `${handle}@${number}`, fallback, parameters, tools },
  }
}
