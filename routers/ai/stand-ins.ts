import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import { costOf } from '../catalogue/pricing.ts'
import type { CallableModel, ModelCall } from '../ports/ai/models.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { Hold } from '../ports/ai/usage-ledger.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { Asking } from './asking.ts'
import { maxOutputOf, tryHold } from './hold.ts'
import { MeteredCall } from './metered-call.ts'
import { mostUsesOf } from './native-uses.ts'
import { problemsOf } from './request/checks.ts'
import { tokensOfTools } from './request/input-tokens.ts'
import { selectedNative } from './request/references.ts'
import type { AiRequest } from './request/request.ts'

/**
 * The call of each model that may answer where the one that was asked cannot: of those that the caller may use, and that
 * take all of the question. `toolsFor` are the tools that a model has of its own.
 */
export async function standInsFor(
  ctx: Asking,
  asked: AiRequest,
  call: ModelCall,
  toolsFor: (model: CallableModel) => readonly FunctionTool[],
): Promise<ModelCall[]> {
  const { fallback } = call.model
  const find = (name: string) => ctx.services.sql(findCallableModel, [name, ctx.usage, 'chat'])
  const known = (await Promise.all(fallback.map(find))).flat()
  const others = known.map((model): ModelCall => {
    const tools = toolsFor(model)
    const inputTokens = call.inputTokens - tokensOfTools(call.tools) + tokensOfTools(tools)
    return { ...call, model, tools, nativeTools: selectedNative(model, asked), inputTokens }
  })
  return others.filter((other) => {
    const { model, messages, inputTokens } = other
    return (
      isPaidAlike(call, other) && problemsOf({ ...asked, messages: [...messages] }, model, inputTokens).length === 0
    )
  })
}

/** Whether both are paid in one currency: a limit in money knows only one, and a known price must not become an unknown one. */
function isPaidAlike(one: ModelCall, other: ModelCall): boolean {
  const [known, stands] = [currencyOf(one), currencyOf(other)]
  return known === stands || (known === 'any' && stands !== undefined) || (stands === 'any' && known !== undefined)
}

/** The currency in which a call is paid: `any` where the model is free, undefined where its price is not wholly known. */
function currencyOf(call: ModelCall): string | undefined {
  const { pricing } = call.model
  if (pricing && 'free' in pricing) return 'any'
  const [input = 0] = pricing?.ranges?.[0]?.range ?? []
  return costOf(pricing, { input, output: 0, cached: 0, reasoning: 0, ...mostUsesOf(call) }).currency ?? undefined
}

interface CallWithin {
  hold: Hold
  call: ModelCall
  approvals: Approvals
  held: Disposable
  /** The same call of other models, in their order. */
  standIns: readonly ModelCall[]
}

/** The call, told to answer within what is held; each of its stand-ins is held for when its turn comes. */
export function callWithin(ctx: Asking, { hold, call, standIns, ...shared }: CallWithin): MeteredCall {
  const bound = hold.held.tokens !== null && {
    maxOutputTokens: maxOutputOf(call, ctx.services.settings.maxOutputTokens),
  }
  const standIn = () =>
    nextOf(ctx, hold, standIns, shared).catch((error: unknown) => {
      ctx.services.log.warn({ requestId: ctx.requestId, error }, 'no model could be asked in place of one that failed')
      return undefined
    })
  return new MeteredCall(ctx, { hold, call: { ...call, ...bound }, standIn, ...shared })
}

/** The first that limits have room for, once what was held before is given back. */
async function nextOf(
  ctx: Asking,
  before: Hold,
  [call, ...standIns]: readonly ModelCall[],
  shared: Pick<CallWithin, 'approvals' | 'held'>,
): Promise<MeteredCall | undefined> {
  if (!call) return undefined
  const hold = await tryHold(ctx, call)
  if (!('id' in hold)) return nextOf(ctx, before, standIns, shared)
  const next = callWithin(ctx, { hold, call, standIns, ...shared })
  try {
    await ctx.services.usageLedger.release(before)
  } catch (error) {
    next.abandon()
    throw error
  }
  ctx.hints.answeredBy = call.model.modelId
  return next
}
