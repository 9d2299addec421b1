import type { ProviderReason } from '../../../routers/ports/ai/models.ts'
import { delayIn, reasonOf } from './reason.ts'

/**
 * A status of the provider's that is no answer, without its message, which may quote the conversation. An SDK has errors
 * with a status for what it cannot read, too, which say nothing of the provider's health.
 */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  /** In seconds, or a date. */
  readonly retryAfter: string | undefined
  /** Whether the question is refused for what is in it. */
  readonly isOfContent: boolean
  readonly reason: ProviderReason | undefined

  constructor(status: number, retryAfter?: string, body = '') {
    super(`status ${status}`)
    this.status = status
    this.retryAfter = retryAfter ?? delayIn(body)
    this.isOfContent = status === 400 && contentCode.test(body)
    this.reason = this.isOfContent ? undefined : reasonOf(status, body)
  }
}

/** Azure's word for it, which gateways in front of other providers have taken over. */
const contentCode = /"code"\s*:\s*"content_(?:filter|policy_violation)"/
