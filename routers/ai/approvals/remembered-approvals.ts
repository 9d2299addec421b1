import { randomUUID } from 'node:crypto'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'

/** How many of one person are kept; the oldest goes first. */
const MAX_KEPT = 100

/** How often it is tried to change what others change at the same time. */
const MAX_TRIES = 10

/** A tool that a person has allowed for a whole conversation. */
interface KeptApproval {
  id: string
  /** The token or the session by which the person asked: what one app was allowed, another one was not. */
  credential: string | undefined
  /** As the request names it. */
  conversation: string
  tool: string
  /** The label of its server. */
  server: string
  /** Of what the tool is: its server, and how it describes itself. */
  hash: string
  /** In milliseconds since 1970. */
  until: number
}

type Store = Pick<Services, 'kv' | 'settings'>

/** Those of a person that hold, the oldest first. */
export const keptApprovals = async ({ kv }: Store, person: number): Promise<KeptApproval[]> =>
  holding(await kv.get(keyOf(person)))

/** Keeps it in place of one of the same. */
export async function keepApproval(store: Store, person: number, approval: Omit<KeptApproval, 'id' | 'until'>) {
  const { approvalLifetime } = store.settings.tools
  const kept: KeptApproval = { id: randomUUID(), ...approval, until: Date.now() + approvalLifetime }
  await change(store, person, (others) =>
    [...others.filter((other) => !isSame(other, approval) && other.id !== kept.id), kept].slice(-MAX_KEPT),
  )
}

/** Whether there was one of this id, which holds no more. */
export async function dropApproval(store: Store, person: number, id: string): Promise<boolean> {
  let isKnown = false
  await change(store, person, (kept) => {
    isKnown ||= kept.some((one) => one.id === id)
    return kept.filter((one) => one.id !== id)
  })
  return isKnown
}

const isSame = (
  one: Omit<KeptApproval, 'id' | 'until' | 'server'>,
  other: Omit<KeptApproval, 'id' | 'until' | 'server'>,
): boolean =>
  one.credential === other.credential &&
  one.conversation === other.conversation &&
  one.tool === other.tool &&
  one.hash === other.hash

/** Changes are made one after the other, on all replicas: one that another was quicker than is made again. */
async function change(
  { kv, settings }: Store,
  person: number,
  next: (kept: readonly KeptApproval[]) => KeptApproval[],
): Promise<void> {
  const key = keyOf(person)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const known = await kv.get(key)
    const wanted = JSON.stringify(next(holding(known)))
    const { approvalLifetime } = settings.tools
    const isChanged = await (known === undefined
      ? kv.setIfAbsent(key, wanted, approvalLifetime)
      : kv.replaceOwn(key, known, wanted, approvalLifetime))
    if (isChanged) return
  }
  throw new Problem('busy')
}

const keyOf = (person: number) => `tool-approvals:${person}`

const holding = (value: string | undefined): KeptApproval[] =>
  value === undefined ? [] : (JSON.parse(value) as KeptApproval[]).filter(({ until }) => until > Date.now())

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
