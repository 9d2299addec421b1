import type { RequestedLimit } from '../../../entities/ai/usage-reservation.sql.ts'
import { formatAmount, formatCap } from '../../ports/ai/amounts.ts'
import type { ToolCallClaim } from '../../ports/ai/tool-limits.ts'
import { hasRoom, type QuotaExceeded, type SubjectId } from '../../ports/ai/usage-ledger.ts'
import type { ChatContext } from '../chat-context.ts'
import { listCallerSubjects } from '../reservation.ts'
import type { CallableTool } from './callable-tools.ts'

interface LimitedCall {
  tool: CallableTool
  /** The room in which a model calls it, if any. */
  roomId?: number | undefined
}

/**
 * Counts a call of a tool on all limits of such calls that apply, and its cost on those in money. If one has no room, nothing is counted, and the reason
 * is returned: which limit, what it counts, and until when.
 */
export const countCall = async (ctx: ChatContext, call: LimitedCall): Promise<string | undefined> =>
  describeExceeded(ctx, await ctx.services.ai.toolLimits.count(toClaim(ctx, call)))

/** Returns the same reason if a limit has no room for a call now, and does not count the call. */
export const checkLimits = async (ctx: ChatContext, call: LimitedCall): Promise<string | undefined> =>
  describeExceeded(ctx, await ctx.services.ai.toolLimits.check(toClaim(ctx, call)))

function describeExceeded({ services }: ChatContext, exceeded: QuotaExceeded | undefined): string | undefined {
  if (!exceeded) return undefined
  const full = exceeded.limits.filter((limit) => limit.mode === 'enforce' && !hasRoom(limit))
  const [longest] = full.toSorted((one, other) => other.resetsAt - one.resetsAt)
  if (!longest) return 'A limit has no room for this call.'
  services.process.metrics.countRefusal(longest.name)
  return describeFullLimit(longest)
}

const toClaim = (ctx: ChatContext, { tool, roomId }: LimitedCall): ToolCallClaim => ({
  subjects: [...listCallerSubjects(ctx.caller, roomId), ...listToolSubjects(tool)],
  cost: tool.cost,
})

/** Subjects of the tool whose limits count a call. Functions of extensions have no tool server. */
function listToolSubjects({ name, target }: CallableTool): SubjectId[] {
  return [...('server' in target ? [['tool-server', `${target.server.server.id}`] as const] : []), ['tool', name]]
}

function describeFullLimit(limit: RequestedLimit): string {
  const { name, unit, cap, nextCap, used, held, amount, resetsAt } = limit
  const subject = unit === 'money' ? `The limit '${name}'` : `The limit '${name}' of calls of tools`
  if (amount === null) return `${subject} is in money, and what this tool costs in ${limit.currency} is not known.`
  if (nextCap === 0) return `${subject} lets no call through: it is ${formatCap(nextCap, limit)}.`
  const frees = `It frees at ${new Date(resetsAt).toISOString()}.`
  if (unit !== 'money')
    return `${subject} has no room for another one: ${used} used of ${formatCap(cap, limit)}. ${frees}`
  const usage = `${formatAmount(used, limit)} used and ${formatAmount(held, limit)} held by calls under way, of ${formatCap(cap, limit)}`
  return `${subject} has no room for ${formatAmount(amount, limit)} more: ${usage}. ${frees}`
}
