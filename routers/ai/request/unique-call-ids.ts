import type { AskedMessage } from './request.ts'

/** The messages with a different id for each call: models repeat ids, and no provider can tell their results apart then. */
export function withUniqueCallIds(messages: readonly AskedMessage[]): readonly AskedMessage[] {
  const ids = messages.flatMap(({ role, content }) => (role === 'assistant' ? content.flatMap(callIdOf) : []))
  if (new Set(ids).size === ids.length) return messages
  const renaming = new Renaming(ids)
  return messages.map((message) => renaming.apply(message))
}

const callIdOf = (part: AskedMessage['content'][number]) => (part.type === 'tool-call' ? [part.id] : [])

/** Results answer the calls of their id in the order of these. */
class Renaming {
  readonly #taken: Set<string>
  readonly #seen = new Set<string>()
  /** The new ids of calls that have no result yet, by the old ones. */
  readonly #open = new Map<string, string[]>()

  constructor(ids: readonly string[]) {
    this.#taken = new Set(ids)
  }

  apply(message: AskedMessage): AskedMessage {
    const { role, content } = message
    if (role === 'assistant')
      return { role, content: content.map((part) => (part.type === 'tool-call' ? this.#call(part) : part)) }
    return role === 'tool' ? { role, content: content.map((part) => this.#result(part)) } : message
  }

  #call<Call extends { id: string }>(call: Call): Call {
    const { id } = call
    const own = this.#seen.has(id) ? this.#unused(id) : id
    this.#seen.add(id)
    this.#open.set(id, [...(this.#open.get(id) ?? []), own])
    return { ...call, id: own }
  }

  #result<Result extends { id: string; type: string }>(result: Result): Result {
    const [id = result.id, ...rest] = this.#open.get(result.id) ?? []
    // What the person says of a call goes before its result.
    if (result.type === 'tool-result') this.#open.set(result.id, rest)
    return { ...result, id }
  }

  #unused(id: string): string {
    let at = 2
    while (this.#taken.has(`${id}-${at}`)) at++
    this.#taken.add(`${id}-${at}`)
    return `${id}-${at}`
  }
}
