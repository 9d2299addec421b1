import type { Message } from '../ports/ai/messages.ts'
import type { AskedFiles, CallableModel, ModelCall } from '../ports/ai/models.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { Asking } from './asking.ts'
import { callSignal } from './call-signal.ts'
import type { AiRequest } from './request/request.ts'
import { selectedNative } from './request/tool-references.ts'

interface CallParts {
  asked: AiRequest
  model: CallableModel
  /** What is said, with what is in the attachments. */
  said: readonly Message[]
  /** Run by the service. */
  tools: readonly FunctionTool[]
  /** Of all of it. */
  inputTokens: number
  files: AskedFiles
}

/** The call of a model by which it is asked. */
export function modelCallOf(ctx: Asking, { asked, model, said, tools, inputTokens, files }: CallParts): ModelCall {
  const { system, tools: callerTools, toolChoice, parameters, format } = asked
  const instructions: Message[] = system ? [{ role: 'system', content: system }] : []
  const { atOnce: toolsAtOnce, nativeUses: nativeToolUses } = ctx.services.settings.tools
  return {
    ...{ model, messages: [...instructions, ...said], inputTokens, files, tools, toolsAtOnce, callerTools },
    ...{ nativeTools: selectedNative(model, asked), nativeToolUses },
    ...{ toolChoice, parameters, format, userId: ctx.caller.person.id, signal: callSignal(ctx) },
  }
}
