import type { Services } from '../../core/services.ts'
import { isSame, type KeptApproval, keepApproval, keptApprovals } from './kept-approvals.ts'

/** In which conversation somebody is asked. */
export interface ConversationScope extends Pick<KeptApproval, 'credential'> {
  person: number
  /** As the request names it. */
  conversation: string | undefined
}

/** The tools that a person has allowed for a whole conversation. One that describes itself anew, or is called elsewhere, is none. */
export class ConversationApprovals {
  readonly #services: Pick<Services, 'kv' | 'settings'>
  readonly #scope: ConversationScope

  constructor(services: Pick<Services, 'kv' | 'settings'>, scope: ConversationScope) {
    this.#services = services
    this.#scope = scope
  }

  async has({ tool, hash }: Pick<KeptApproval, 'tool' | 'hash'>): Promise<boolean> {
    const { person, credential, conversation } = this.#scope
    if (conversation === undefined) return false
    const kept = await keptApprovals(this.#services, person)
    return kept.some((one) => isSame(one, { credential, conversation, tool, hash }))
  }

  async add({ tool, server, hash }: Pick<KeptApproval, 'tool' | 'server' | 'hash'>): Promise<void> {
    const { person, credential, conversation } = this.#scope
    if (conversation === undefined) return
    await keepApproval(this.#services, person, { credential, conversation, tool, server, hash })
  }
}
