import type { ToolUseCost } from '../../../entities/ai/tool-use.sql.ts'
import { type ToolOutcomeWord, type ToolSurface, uncountedOutcomes } from '../../../entities/ai/tool-use.ts'
import type { ChatContext } from '../chat-context.ts'
import { toUsageContext } from '../reservation.ts'
import type { CallableTool } from './callable-tools.ts'

/** The place where a tool is called. */
export interface CallSite {
  surface: ToolSurface
  /** The room, if a model calls it there. */
  roomId?: number | undefined
}

/** The record of one call, which is written after the call and has nothing of what was said in it. */
export class ToolUseRecord {
  readonly #ctx: ChatContext
  readonly #tool: CallableTool
  readonly #site: CallSite
  readonly #startedAt = performance.now()

  constructor(ctx: ChatContext, tool: CallableTool, site: CallSite) {
    this.#ctx = ctx
    this.#tool = tool
    this.#site = site
  }

  end(outcome: ToolOutcomeWord, bytes = 0): void {
    const { person, token } = this.#ctx.caller
    this.#ctx.services.ai.toolUses.record({
      userId: person.id,
      tokenId: token?.id ?? null,
      ...getServer(this.#tool),
      tool: this.#tool.name,
      surface: this.#site.surface,
      outcome,
      durationMs: Math.round(performance.now() - this.#startedAt),
      bytes,
      cost: uncountedOutcomes.some((one) => one === outcome) ? null : this.#computeCost(),
    })
  }

  /** Each call that was made costs the same, whatever came of it. */
  #computeCost(): ToolUseCost | null {
    const { cost } = this.#tool
    const { caller, requestId } = this.#ctx
    const { roomId } = this.#site
    return (
      cost && {
        ...cost,
        context: toUsageContext(caller, roomId),
        roomId: roomId ?? null,
        appId: caller.token?.appId ?? null,
        requestId,
      }
    )
  }
}

const getServer = ({ target }: CallableTool) =>
  'server' in target
    ? { server: target.server.server.label, serverId: target.server.server.id }
    : { server: null, serverId: null }
