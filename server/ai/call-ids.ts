import { randomInt } from 'node:crypto'
import type { LanguageModelV4ToolCall } from '@ai-sdk/provider'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** Mistral takes no other length. */
const LENGTH = 9

/** Gives each call of an answer an id of its own, where its server gives several one, or none. */
export class CallIds {
  readonly #known = new Set<string>()

  distinct(call: LanguageModelV4ToolCall): LanguageModelV4ToolCall {
    let id = call.toolCallId.trim()
    while (!id || this.#known.has(id)) id = randomId()
    this.#known.add(id)
    return id === call.toolCallId ? call : { ...call, toolCallId: id }
  }
}

const randomId = () => Array.from({ length: LENGTH }, () => letters[randomInt(letters.length)]).join('')
