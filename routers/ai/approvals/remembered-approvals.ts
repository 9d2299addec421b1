import { randomUUID } from 'node:crypto'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'

/** Maximum number of approvals of one person; the oldest is dropped first. */
const MAX_APPROVALS = 100

/** Maximum number of attempts if other replicas update the list concurrently. */
const MAX_TRIES = 10

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
export const listRememberedApprovals = async (
  { stores: { kv } }: Store,
  person: number,
): Promise<RememberedApproval[]> => parseUnexpired(await kv.get(buildKey(person)))

/** Stores an approval and replaces an equal one. */
export async function rememberApproval(
  store: Store,
  person: number,
  approval: Omit<RememberedApproval, 'id' | 'until'>,
) {
  const { approvalLifetime } = store.settings.tools
  const newApproval: RememberedApproval = { id: randomUUID(), ...approval, until: Date.now() + approvalLifetime }
  await updateApprovals(store, person, (others) =>
    [...others.filter((other) => !isSame(other, approval) && other.id !== newApproval.id), newApproval].slice(
      -MAX_APPROVALS,
    ),
  )
}

/** Deletes an approval. Returns false if there was none with this id. */
export async function forgetApproval(store: Store, person: number, id: string): Promise<boolean> {
  let isFound = false
  await updateApprovals(store, person, (approvals) => {
    isFound ||= approvals.some((one) => one.id === id)
    return approvals.filter((one) => one.id !== id)
  })
  return isFound
}

const isSame = (
  one: Omit<RememberedApproval, 'id' | 'until' | 'server'>,
  other: Omit<RememberedApproval, 'id' | 'until' | 'server'>,
): boolean =>
  one.credential === other.credential &&
  one.conversation === other.conversation &&
  one.tool === other.tool &&
  one.hash === other.hash

/** Updates the list with compare-and-set, and retries if another replica was faster. */
async function updateApprovals(
  { settings, stores: { kv } }: Store,
  person: number,
  applyChange: (approvals: readonly RememberedApproval[]) => RememberedApproval[],
): Promise<void> {
  const key = buildKey(person)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const stored = await kv.get(key)
    const updated = JSON.stringify(applyChange(parseUnexpired(stored)))
    const { approvalLifetime } = settings.tools
    const isStored = await (stored === undefined
      ? kv.setIfAbsent(key, updated, approvalLifetime)
      : kv.replaceIfUnchanged(key, stored, updated, approvalLifetime))
    if (isStored) return
  }
  throw new Problem('busy')
}

const buildKey = (person: number) => `tool-approvals:${person}`

const parseUnexpired = (value: string | undefined): RememberedApproval[] =>
  value === undefined ? [] : (JSON.parse(value) as RememberedApproval[]).filter(({ until }) => until > Date.now())

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
