import { createHash } from 'node:crypto'
import type { Services } from '../../core/services.ts'

/** In which conversation somebody is asked. */
export interface ConversationScope {
  person: number
  /** The token or the session by which the person asks: what one app was allowed, another one was not. */
  credential: string | undefined
  /** As the request names it. */
  conversation: string | undefined
}

interface KnownTool {
  tool: string
  /** Of what the tool is: its server, and how it describes itself. */
  hash: string
}

/** The tools that a person has allowed for a whole conversation. One that describes itself anew, or is called elsewhere, is none. */
export class ConversationApprovals {
  readonly #services: Pick<Services, 'kv' | 'settings'>
  readonly #scope: ConversationScope

  constructor(services: Pick<Services, 'kv' | 'settings'>, scope: ConversationScope) {
    this.#services = services
    this.#scope = scope
  }

  async has(tool: KnownTool): Promise<boolean> {
    const key = this.#keyOf(tool)
    return key !== undefined && (await this.#services.kv.get(key)) !== undefined
  }

  async add(tool: KnownTool): Promise<void> {
    const key = this.#keyOf(tool)
    if (key !== undefined) await this.#services.kv.set(key, '1', this.#services.settings.tools.approvalLifetime)
  }

  #keyOf({ tool, hash }: KnownTool): string | undefined {
    const { person, credential, conversation } = this.#scope
    if (conversation === undefined) return undefined
    const of = JSON.stringify([credential, conversation, tool, hash])
    return `tool-approval:${person}:in:${createHash('sha256').update(of).digest('hex')}`
  }
}
