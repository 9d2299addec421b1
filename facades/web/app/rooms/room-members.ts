import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { asPage, type Disclosure, getRelatedId, MAX_SINGLE_READS, type Member } from './room.ts'

const PAGE_SIZE = 500

/** Who is in a room or invited to it; always another map once somebody has changed. */
export class RoomMembers {
  readonly #ownId: string
  #byId: ReadonlyMap<string, Member> = new Map()

  /** Takes the id of the person who looks at the room. */
  constructor(ownId: string) {
    this.#ownId = ownId
  }

  get byId(): ReadonlyMap<string, Member> {
    return this.#byId
  }

  /** The membership of the person. */
  get ownMember(): Member | undefined {
    return this.#byId.values().find((member) => getRelatedId(member, 'user') === this.#ownId)
  }

  async readAll(room: string): Promise<void> {
    const members = new Map<string, Member>()
    for (let number = 1; ; number++) {
      const { items, total } = await asPage<Member>(
        api.rooms.related.query({
          id: room,
          relation: 'members',
          include: ['user'],
          page: { size: PAGE_SIZE, number },
        }),
      )
      for (const member of items) members.set(member.id, member)
      if (number * PAGE_SIZE >= total) break
    }
    this.#byId = members
  }

  /** Reads members that have changed; of many at once all. */
  async readChanged(room: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    if (ids.length > MAX_SINGLE_READS) return this.readAll(room)
    const read = await Promise.all(ids.map(readMember))
    const members = new Map(this.#byId)
    for (const [at, member] of read.entries()) {
      const id = ids[at] ?? ''
      if (member && member.state !== 'removed') members.set(id, member)
      else members.delete(id)
    }
    this.#byId = members
  }
}

/** Nothing where there is no such member any more. */
async function readMember(id: string): Promise<Member | undefined> {
  try {
    return await api.roomMembers.get.query({ id })
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) return undefined
    throw error
  }
}

/** The name of a member; who was erased has none. */
export const getMemberName = ({ displayName, username }: Member): string =>
  displayName ?? username ?? t('app.rooms.somebody')

/** Who asked for an answer. */
export function getAskerName({ user }: Pick<Disclosure, 'user'>, members: ReadonlyMap<string, Member>): string {
  const member = [...members.values()].find((each) => user !== null && getRelatedId(each, 'user') === user)
  return member ? getMemberName(member) : t('app.rooms.somebody')
}

/** People who are members, by name. */
export const listPeople = (members: ReadonlyMap<string, Member>): Member[] =>
  [...members.values()]
    .filter(({ state, role }) => state === 'member' && role !== 'assistant')
    .toSorted((one, other) => getMemberName(one).localeCompare(getMemberName(other)))

export const listInvitations = (members: ReadonlyMap<string, Member>): Member[] =>
  [...members.values()].filter(({ state }) => state === 'invited')
