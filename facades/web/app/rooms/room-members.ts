import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { t } from '../shared/text/labels.ts'
import { asPage, type Disclosure, MAX_SINGLE_READS, type Member } from './room.ts'

const PAGE_SIZE = 500

/** The members and invitations of a room. The map is a new object after each change. */
export class RoomMembers {
  readonly #ownId: string
  #byId: ReadonlyMap<string, Member> = new Map()

  constructor(ownId: string) {
    this.#ownId = ownId
  }

  get byId(): ReadonlyMap<string, Member> {
    return this.#byId
  }

  /** The membership of the person who is signed in. */
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

  /** Reads members that have changed, or all members if many have. */
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

/** Returns undefined if the membership does not exist any more. */
async function readMember(id: string): Promise<Member | undefined> {
  try {
    return await api.roomMembers.get.query({ id, include: ['user'] })
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) return undefined
    throw error
  }
}

/** Returns the name of a member; erased people have none. */
export const getMemberName = ({ displayName, username }: Member): string =>
  displayName ?? username ?? t('app.rooms.somebody')

/** Returns the picture of a member. */
export const getPicture = (member: Member | undefined): string | null =>
  (member?.relations?.['user'] as { avatar?: string | null } | undefined)?.avatar ?? null

/** Returns the name of the person who requested an answer. */
export function getAskerName({ user }: Pick<Disclosure, 'user'>, members: ReadonlyMap<string, Member>): string {
  const member = [...members.values()].find((each) => user !== null && getRelatedId(each, 'user') === user)
  return member ? getMemberName(member) : t('app.rooms.somebody')
}

/** Lists the people who are members, sorted by name. */
export const listPeople = (members: ReadonlyMap<string, Member>): Member[] =>
  [...members.values()]
    .filter(({ state, role }) => state === 'member' && role !== 'assistant')
    .toSorted((one, other) => getMemberName(one).localeCompare(getMemberName(other)))

export const listInvitations = (members: ReadonlyMap<string, Member>): Member[] =>
  [...members.values()].filter(({ state }) => state === 'invited')
