import type { RequestedLimit } from '../../../entities/ai/usage-reservation.sql.ts'
import { formatAmount } from '../../ports/ai/amounts.ts'
import type { ToolCallClaim } from '../../ports/ai/tool-limits.ts'
import { hasRoom, type QuotaExceeded, type SubjectId } from '../../ports/ai/usage-ledger.ts'
import type { ChatContext } from '../chat-context.ts'
import { listCallerSubjects } from '../reservation.ts'
import type { CallableTool } from './callable-tools.ts'

/**
 * Counts a call of a tool on all limits of such calls that apply. If one has no room, nothing is counted, and the reason
 * is returned: which limit, what it counts, and until when.
 */
export const countCall = async (ctx: ChatContext, tool: CallableTool): Promise<string | undefined> =>
  describeExceeded(ctx, await ctx.services.ai.toolLimits.count(toClaim(ctx, tool)))

/** Returns the same reason if a limit has no room for a call now, and does not count the call. */
export const checkLimits = async (ctx: ChatContext, tool: CallableTool): Promise<string | undefined> =>
  describeExceeded(ctx, await ctx.services.ai.toolLimits.check(toClaim(ctx, tool)))

function describeExceeded({ services }: ChatContext, exceeded: QuotaExceeded | undefined): string | undefined {
  if (!exceeded) return undefined
  const full = exceeded.limits.filter((limit) => limit.mode === 'enforce' && !hasRoom(limit))
  const [longest] = full.toSorted((one, other) => other.resetsAt - one.resetsAt)
  if (!longest) return 'A limit has no room for this call.'
  services.process.metrics.countRefusal(longest.name)
  return describeFullLimit(longest)
}

const toClaim = (ctx: ChatContext, tool: CallableTool): ToolCallClaim => ({ subjects: listToolSubjects(ctx, tool) })

/** Subjects whose limits count a call. Functions of extensions have no tool server. */
function listToolSubjects({ caller }: ChatContext, { name, target }: CallableTool): SubjectId[] {
  return [
    ...listCallerSubjects(caller),
    ...('server' in target ? [['tool-server', `${target.server.server.id}`] as const] : []),
    ['tool', name],
  ]
}

function describeFullLimit(limit: RequestedLimit): string {
  const { name, cap, nextCap, used, period, resetsAt } = limit
  const subject = `The limit '${name}' of calls of tools`
  if (nextCap === 0) return `${subject} lets no call through: it is ${formatAmount(nextCap, limit)} a ${period}.`
  return `${subject} has no room for another one: ${used} used of ${formatAmount(cap, limit)} a ${period}. It frees at ${new Date(resetsAt).toISOString()}.`
}
