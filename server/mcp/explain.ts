import { MCPClientError } from '@ai-sdk/mcp'
import { ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { findPhase } from '../net/exchange.ts'

/** A server's own words are left out: they may quote the question, or be meant for a model. */
export function explain(error: unknown, signal: AbortSignal): never {
  if (signal.aborted || error instanceof ToolServerError) throw error
  throw new ToolServerError(explainError(error), { cause: error })
}

function explainError(error: unknown): string {
  const { name, code, statusCode } = (error ?? {}) as { name?: string; code?: unknown; statusCode?: number }
  if (name === 'TimeoutError' || /TIMEOUT/.test(String(code))) return 'it did not answer in time'
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return 'its answer is too large'
  if (statusCode) return `it answered with the status ${statusCode}`
  if (MCPClientError.isInstance(error) && error.code !== undefined) return `it refused with the code ${error.code}`
  if (findPhase(error)) return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed'
  return 'it does not speak the protocol as it should'
}
