import { randomUUID } from 'node:crypto'
import type { Services } from '../../core/services.ts'
import { readList, type StoredList, updateList } from './stored-list.ts'

/** Maximum number of approvals of one person; the oldest is dropped first. */
const MAX_APPROVALS = 100

/** A tool that a person has allowed for a whole conversation. */
interface RememberedApproval {
  id: string
  /** The token or session of the request. An approval for one app does not apply to another. */
  credential: string | undefined
  /** Name of the conversation, as the request gives it. */
  conversation: string
  tool: string
  /** The label of its server. */
  server: string
  /** Hash of the tool's server and definition. */
  hash: string
  /** Expiry in milliseconds since 1970. */
  until: number
}

type Store = Pick<Services, 'stores' | 'settings'>

/** Returns a person's valid approvals, oldest first. */
export const listRememberedApprovals = (store: Store, person: number): Promise<RememberedApproval[]> =>
  readList(getApprovals(store, person))

/** Stores an approval and replaces an equal one. */
export async function rememberApproval(
  store: Store,
  person: number,
  approval: Omit<RememberedApproval, 'id' | 'until'>,
) {
  const { approvalLifetime } = store.settings.tools
  const newApproval: RememberedApproval = { id: randomUUID(), ...approval, until: Date.now() + approvalLifetime }
  await updateList(getApprovals(store, person), (others) =>
    [...others.filter((other) => !isSame(other, approval) && other.id !== newApproval.id), newApproval].slice(
      -MAX_APPROVALS,
    ),
  )
}

/** Deletes an approval. Returns false if there was none with this id. */
export async function forgetApproval(store: Store, person: number, id: string): Promise<boolean> {
  return updateList(getApprovals(store, person), (approvals) => {
    const rest = approvals.filter((one) => one.id !== id)
    return rest.length === approvals.length ? undefined : rest
  })
}

const isSame = (
  one: Omit<RememberedApproval, 'id' | 'until' | 'server'>,
  other: Omit<RememberedApproval, 'id' | 'until' | 'server'>,
): boolean =>
  one.credential === other.credential &&
  one.conversation === other.conversation &&
  one.tool === other.tool &&
  one.hash === other.hash

const getApprovals = ({ settings, stores: { kv } }: Store, person: number): StoredList<RememberedApproval> => ({
  kv,
  key: `tool-approvals:${person}`,
  lifetime: settings.tools.approvalLifetime,
  parse: (stored) => JSON.parse(stored) as RememberedApproval[],
  serialize: (approvals) => JSON.stringify(approvals),
})

/** The conversation and credential to which an approval applies. */
export interface ConversationScope extends Pick<RememberedApproval, 'credential'> {
  person: number
  /** Name of the conversation, as the request gives it. */
  conversation: string | undefined
}

/**
 * Tools that a person has allowed for a whole conversation. An approval is void once the tool's definition or server
 * changes.
 */
export class ConversationApprovals {
  readonly #services: Pick<Services, 'stores' | 'settings'>
  readonly #scope: ConversationScope

  constructor(services: Pick<Services, 'stores' | 'settings'>, scope: ConversationScope) {
    this.#services = services
    this.#scope = scope
  }

  async has({ tool, hash }: Pick<RememberedApproval, 'tool' | 'hash'>): Promise<boolean> {
    const { person, credential, conversation } = this.#scope
    if (conversation === undefined) return false
    const approvals = await listRememberedApprovals(this.#services, person)
    return approvals.some((one) => isSame(one, { credential, conversation, tool, hash }))
  }

  async add({ tool, server, hash }: Pick<RememberedApproval, 'tool' | 'server' | 'hash'>): Promise<void> {
    const { person, credential, conversation } = this.#scope
    if (conversation === undefined) return
    await rememberApproval(this.#services, person, { credential, conversation, tool, server, hash })
  }
}
