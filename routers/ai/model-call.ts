import { type Context, findCredential } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { Message } from '../ports/ai/messages.ts'
import type { CallableModel, FileEstimate, ModelCall } from '../ports/ai/models.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { ChatContext } from './chat-context.ts'
import type { AiRequest } from './request/request.ts'

interface CallInput {
  request: AiRequest
  model: CallableModel
  /** Messages with the contents of attachments. */
  messages: readonly Message[]
  /** Tools that the service runs. */
  tools: readonly FunctionTool[]
  nativeTools: ModelCall['nativeTools']
  /** Estimate for the whole input. */
  inputTokens: number
  files: FileEstimate
}

/** Builds the call for the gateway. */
export function toModelCall(
  ctx: ChatContext,
  { request, model, messages, tools, nativeTools, inputTokens, files }: CallInput,
): ModelCall {
  const { system, tools: callerTools, toolChoice, parameters, format } = request
  const instructions: Message[] = system ? [{ role: 'system', content: system }] : []
  const { atOnce: toolsAtOnce, nativeUses: nativeToolUses } = ctx.services.settings.tools
  return {
    model,
    assistant: request.assistant,
    messages: [...instructions, ...messages],
    inputTokens,
    files,
    tools,
    toolsAtOnce,
    callerTools,
    nativeTools,
    nativeToolUses,
    toolChoice,
    parameters,
    format,
    userId: ctx.caller.person.id,
    signal: createCallSignal(ctx),
  }
}

/**
 * Returns a signal that aborts when the caller disconnects, or within a second after their token or session has ended.
 */
export function createCallSignal(ctx: Context): AbortSignal {
  const { services } = ctx
  const signal = ctx.signal()
  const credential = findCredential(ctx)
  if (credential === undefined || signal.aborted) return signal
  const call = new AbortController()
  const onCredentialEnd = () =>
    call.abort(new Problem(credential.startsWith('token:') ? 'invalid_token' : 'signed_out'))
  const stopFollowing = services.changes.credentials.watchVerified(credential, onCredentialEnd)
  const onCallerGone = () => {
    stopFollowing()
    call.abort(signal.reason)
  }
  signal.addEventListener('abort', onCallerGone, { once: true })
  return call.signal
}
