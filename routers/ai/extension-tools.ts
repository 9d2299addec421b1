import type { Context } from '../core/context.ts'
import { unlessEnded, withTimeLimit } from '../core/timeout.ts'
import { toText } from '../ports/ai/tool-calls.ts'
import { ToolFailure } from '../ports/ai/tool-servers.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'

/** Why a function of an extension came to nothing, in our words. */
export class FunctionError extends Error {
  override name = 'FunctionError'
}

/** A function of an extension, which may take as long and tell a model as much as a tool of a server. Throws `FunctionError`. */
export const boundedTool = ({ services: { settings } }: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal, begin) {
    const { timeout, maxResult } = settings.tools
    using limit = withTimeLimit(timeout, signal)
    const work = async () => tool.run(input, limit.signal, begin)
    const told = await unlessEnded(work, limit.signal).catch((error: unknown) => {
      throw limit.signal.aborted && !signal.aborted ? new FunctionError('it did not answer in time') : error
    })
    const isError = told instanceof ToolFailure
    const text = toText(isError ? told.error : told)
    const bytes = Buffer.byteLength(text)
    if (bytes > maxResult) throw new FunctionError(`its result is ${bytes} bytes, of which ${maxResult} are taken`)
    return isError ? new ToolFailure(text) : text
  },
})
