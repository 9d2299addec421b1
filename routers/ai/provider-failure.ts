import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { CallableModel } from '../ports/ai/models.ts'

/** What the provider said goes to the log by its kind only: it may quote the question. */
export function providerFailure(
  { services: { log }, requestId }: Pick<Context, 'services' | 'requestId'>,
  { providerId, modelId }: CallableModel,
  error: unknown,
): Problem {
  const { name, message, statusCode, code } = describe(error)
  const details = { requestId, provider: providerId, model: modelId, error: name, statusCode, code }
  log.warn(details, `the AI provider failed: ${message}`)
  return new Problem('provider_failed', { cause: error })
}

/** A provider's own words are left out; only our own and the network's errors have a message worth keeping. */
function describe(error: unknown) {
  const { name, status: statusCode, code } = error as { name: string; status?: number; code?: unknown }
  const word = typeof code === 'string' && /^[A-Z_0-9]+$/.test(code) ? code : undefined
  const message = statusCode ? `it answered with the status ${statusCode}` : (word ?? name)
  return { name, message, statusCode, code: word }
}
