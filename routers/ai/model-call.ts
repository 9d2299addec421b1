import { type Context, findCredential } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { Message } from '../ports/ai/messages.ts'
import type { CallableModel, FileEstimate, ModelCall } from '../ports/ai/models.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { ChatContext } from './chat-context.ts'
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
  files: FileEstimate
}

/** The call of a model by which it is asked. */
export function toModelCall(ctx: ChatContext, { asked, model, said, tools, inputTokens, files }: CallParts): ModelCall {
  const { system, tools: callerTools, toolChoice, parameters, format } = asked
  const instructions: Message[] = system ? [{ role: 'system', content: system }] : []
  const { atOnce: toolsAtOnce, nativeUses: nativeToolUses } = ctx.services.settings.tools
  return {
    ...{ model, messages: [...instructions, ...said], inputTokens, files, tools, toolsAtOnce, callerTools },
    ...{ nativeTools: selectedNative(model, asked), nativeToolUses },
    ...{ toolChoice, parameters, format, userId: ctx.caller.person.id, signal: callSignal(ctx) },
  }
}

/** Ends when the caller goes away, or within a second when the token or the session ends by which they call. */
export function callSignal(ctx: Context): AbortSignal {
  const { services } = ctx
  const signal = ctx.signal()
  const credential = findCredential(ctx)
  if (credential === undefined || signal.aborted) return signal
  const call = new AbortController()
  const ended = () => call.abort(new Problem(credential.startsWith('token:') ? 'invalid_token' : 'signed_out'))
  const stop = services.credentials.watchVerified(credential, ended)
  const gone = () => {
    stop()
    call.abort(signal.reason)
  }
  signal.addEventListener('abort', gone, { once: true })
  return call.signal
}
