import type { RequestMessage } from './request.ts'

/** Gives each tool call a unique id. Models repeat ids, and providers could not match the results then. */
export function withUniqueCallIds(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  const ids = messages.flatMap(({ role, content }) => (role === 'assistant' ? content.flatMap(listCallId) : []))
  if (new Set(ids).size === ids.length) return messages
  const renamer = new CallIdRenamer(ids)
  return messages.map((message) => renamer.apply(message))
}

const listCallId = (part: RequestMessage['content'][number]) => (part.type === 'tool-call' ? [part.id] : [])

/** Renames repeated call ids. Results match the calls of their id in order. */
class CallIdRenamer {
  readonly #usedIds: Set<string>
  readonly #seenIds = new Set<string>()
  /** New ids of calls without a result yet, by old id. */
  readonly #pendingIds = new Map<string, string[]>()

  constructor(ids: readonly string[]) {
    this.#usedIds = new Set(ids)
  }

  apply(message: RequestMessage): RequestMessage {
    const { role, content } = message
    if (role === 'assistant')
      return { role, content: content.map((part) => (part.type === 'tool-call' ? this.#renameCall(part) : part)) }
    return role === 'tool' ? { role, content: content.map((part) => this.#renameResult(part)) } : message
  }

  #renameCall<Call extends { id: string }>(call: Call): Call {
    const { id } = call
    const uniqueId = this.#seenIds.has(id) ? this.#createId(id) : id
    this.#seenIds.add(id)
    this.#pendingIds.set(id, [...(this.#pendingIds.get(id) ?? []), uniqueId])
    return { ...call, id: uniqueId }
  }

  #renameResult<Result extends { id: string; type: string }>(result: Result): Result {
    const [id = result.id, ...rest] = this.#pendingIds.get(result.id) ?? []
    // The person's approval of a call comes before its result.
    if (result.type === 'tool-result') this.#pendingIds.set(result.id, rest)
    return { ...result, id }
  }

  #createId(id: string): string {
    let at = 2
    while (this.#usedIds.has(`${id}-${at}`)) at++
    this.#usedIds.add(`${id}-${at}`)
    return `${id}-${at}`
  }
}
