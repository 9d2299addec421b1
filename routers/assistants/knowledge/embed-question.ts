import { type ActiveIndex, findPayer } from '../../../entities/assistants/knowledge-vectors.sql.ts'
import type { Caller } from '../../core/caller.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { createTimeLimit, runUntilAborted } from '../../core/timeout.ts'
import type { KnowledgeDisclosure } from './disclosure.ts'

/** True if the installation has an embedding model, which may read questions, and for which files wait. */
export const isEmbedding = ({ services }: Pick<Context, 'services'>): boolean =>
  services.settings.knowledge.embedding !== undefined

/** Milliseconds after which a search goes by words alone. */
const MAX_WAIT_MS = 5000
/** Milliseconds for which searches go by words at once after one has waited in vain. */
const PAUSE_MS = 15_000

interface EmbeddedQuestion {
  question: string
  /** Present in a room. Without it, or after it has failed, people would not know of the embedding. */
  disclosure: KnowledgeDisclosure | undefined
  /** The caller if absent. */
  payer: Caller | undefined
}

/**
 * Embeds a question at the cost of who asks. Returns undefined if the search is to go by words alone: without a set model, without the
 * right to ask models, or if the model does not answer in time, did not shortly before, or has no vector of the right length, or if the
 * room could not be told.
 */
export async function embedQuestion(
  ctx: Context,
  { model, dimensions, length }: ActiveIndex,
  { question, disclosure, payer: caller = ctx.callerContext.current }: EmbeddedQuestion,
): Promise<number[] | undefined> {
  const { embedderPauses } = ctx.services.limits
  // Without a length there are no vectors yet.
  if (!isEmbedding(ctx) || length === null || !mayAsk(caller) || embedderPauses.has(model)) return undefined
  const gone = ctx.signal()
  try {
    // A room that is slow to tell says nothing of the model.
    await disclosure?.beforeEmbedding(question, model)
    using limit = createTimeLimit(MAX_WAIT_MS, gone)
    const { signal } = limit
    const call = { caller, roomId: disclosure?.room, requestId: ctx.requestId, model, texts: [question], signal }
    const embed = () => ctx.services.ai.embed({ ...call, dimensions: dimensions ?? undefined })
    const { vectors } = await runUntilAborted(embed, signal)
    return checkVector(ctx, { model, length, vector: vectors[0] })
  } catch (error) {
    if (gone.aborted) throw new Problem('client_gone', { cause: error })
    reportFailure(ctx, model, readProblem(error))
    return undefined
  }
}

/** Returns the vector if it can be compared with those of its index. */
function checkVector(
  { services, requestId }: Context,
  { model, length, vector }: { model: string; length: number; vector: number[] | undefined },
): number[] | undefined {
  if (vector?.length === length && vector.every(Number.isFinite)) return vector
  services.log.warn({ requestId, model, length: vector?.length }, 'an embedding has another length than its index')
  return undefined
}

const readProblem = (error: unknown): string => (error instanceof Problem ? error.problem : (error as Error).name)

function reportFailure({ services, requestId }: Context, model: string, problem: string): void {
  if (keepsWaiting.includes(problem)) services.limits.embedderPauses.begin(model, PAUSE_MS)
  services.log.warn({ requestId, model, problem }, 'a search goes by words alone, as its question was not embedded')
}

/** Failures that come late, and that the next question would meet, too. A refusal at once may be due to the question. */
const keepsWaiting = ['TimeoutError', 'provider_rate_limited']

/** A token that may not ask models must not cause costs. */
const mayAsk = (caller: Caller): caller is Extract<Caller, { type: 'user' }> =>
  caller.type === 'user' && (caller.token === undefined || caller.token.abilities.includes('ai'))

/** Loads somebody as the caller who pays for an index; undefined if they are gone. */
export async function loadPayer(
  { services }: Context,
  userId: number,
): Promise<Extract<Caller, { type: 'user' }> | undefined> {
  const [person] = await services.sql(findPayer, [userId])
  return person && { type: 'user', person }
}
