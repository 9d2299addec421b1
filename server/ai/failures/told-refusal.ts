import { APICallError, TypeValidationError } from '@ai-sdk/provider'
import type { ProviderReason } from '../../../routers/ports/ai/models.ts'
import { reasonOf } from './reason.ts'

/**
 * A provider's word in an answer that it gives none, whole or before any of a stream: nothing is paid. It says little of the
 * server, since a question can bring it about. The provider's message is left out, as it may quote the conversation.
 */
export class ToldRefusal extends Error {
  override name = 'ToldRefusal'
  /** As if it were told in place of the answer; undefined where the provider has no number for it. */
  readonly status: number | undefined
  /** Whether the question is refused for what is in it. */
  readonly isOfContent: boolean
  readonly reason: ProviderReason | undefined

  constructor(told: Told) {
    const { statusCode, code } = told
    super('the provider refused in its answer')
    this.isOfContent = contentCodes.has(code)
    const status = this.isOfContent ? 400 : Number(statusCode ?? code)
    this.status = Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
    this.reason = this.isOfContent ? undefined : reasonOf(this.status, textOf(told))
  }
}

const contentCodes = new Set<unknown>(['content_filter', 'content_policy_violation'])

interface Told {
  statusCode?: unknown
  code?: unknown
  message?: unknown
}

/** All that is told, which is looked through for known words alone. */
const textOf = (told: Told): string => JSON.stringify({ ...told, message: told.message, cause: undefined })

/** The refusal that an error in a stream tells; undefined where the stream cannot be read. */
export function refusalIn(error: unknown): ToldRefusal | undefined {
  const told = TypeValidationError.isInstance(error) ? errorIn(error.value) : error
  const isTold = typeof told === 'object' && told !== null && (!(told instanceof Error) || isThrown(told))
  return isTold ? new ToldRefusal(told) : undefined
}

interface Answered {
  error?: unknown
  /** `error` where the answer or the event itself is one. */
  object?: unknown
}

/** The members in which providers answer, and those in which they say what it takes. */
const answers = ['choices', 'content', 'output', 'candidates', 'data', 'embeddings', 'embedding']
const bills = ['usage', 'usageMetadata']

/** The refusal that a whole answer is; undefined where it says anything, or has a bill. */
export function refusalOfWhole(whole: unknown): ToldRefusal | undefined {
  const told = errorIn(whole)
  return told && ![whole].flat().some(isMore) ? new ToldRefusal(told) : undefined
}

const isMore = (answered: unknown) =>
  [...answers, ...bills].some((name) => isFilled((answered as Record<string, unknown> | null)?.[name]))

const isFilled = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/** The error that an answer or an event is, or that a list in its place has: Google writes its errors in one. */
export function errorIn(answered: unknown): object | undefined {
  if (!Array.isArray(answered)) return errorOf(answered as Answered | null)
  return answered.map(errorOf).find((error) => error !== undefined)
}

/** Servers tell an error as an object, as a text, or as the answer or the event itself. */
function errorOf(answered: Answered | null | undefined): object | undefined {
  const { error = answered?.object === 'error' ? answered : undefined } = answered ?? {}
  return typeof error === 'string' && error ? { message: error } : ((error || undefined) as object | undefined)
}

/** Whether the SDK threw a refusal that came in a stream: its errors about what it cannot read have no such status. */
export const isThrown = (error: unknown): error is APICallError =>
  APICallError.isInstance(error) && (error.statusCode ?? 0) >= 400
