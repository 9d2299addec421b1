import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accept, invite, makeRoom, type Role, type RoomsApp, startRooms } from '../kit/rooms/rooms.ts'

const names = ['ada', 'bob', 'cyd', 'dan'] as const
type Name = (typeof names)[number]

const name = fc.constantFrom(...names)
const role = fc.constantFrom<Role[]>('admin', 'admin', 'editor', 'viewer')

interface Action {
  kind: 'invite' | 'accept' | 'withdraw' | 'name' | 'remove'
  by: Name
  who: Name
  role: Role
}

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('invite', 'invite', 'accept', 'accept', 'withdraw', 'name', 'name', 'remove'),
  by: name,
  who: name,
  role,
})

/** A member who loses the administrator role can no longer withdraw their invitations, even after a new appointment. */
const demotion: Action[] = [
  { kind: 'invite', by: 'ada', who: 'bob', role: 'admin' },
  { kind: 'accept', by: 'bob', who: 'bob', role: 'viewer' },
  { kind: 'invite', by: 'bob', who: 'cyd', role: 'admin' },
  { kind: 'invite', by: 'ada', who: 'dan', role: 'viewer' },
  { kind: 'name', by: 'ada', who: 'bob', role: 'editor' },
  { kind: 'name', by: 'ada', who: 'bob', role: 'admin' },
  { kind: 'accept', by: 'cyd', who: 'cyd', role: 'viewer' },
  { kind: 'accept', by: 'dan', who: 'dan', role: 'viewer' },
]

/** A model of one room by the rules. */
class RoomModel {
  readonly members = new Map<Name, Role>([['ada', 'admin']])
  readonly removed = new Set<Name>()
  readonly invitations = new Map<Name, { role: Role; by: Name }>()

  /** Applies an action and returns the expected status. */
  apply(action: Action): number {
    return this[action.kind](action)
  }

  invite({ by, who, role }: Action): number {
    if (!this.members.has(by)) return 404
    if (this.members.get(by) !== 'admin') return 403
    if (this.members.has(who)) return 409
    this.invitations.set(who, { role, by })
    return 201
  }

  accept({ who }: Action): number {
    const invitation = this.invitations.get(who)
    if (!invitation) return 404
    this.invitations.delete(who)
    this.removed.delete(who)
    this.members.set(who, invitation.role)
    return 200
  }

  /** The invited person may do it, too, which declines the invitation. */
  withdraw({ by, who }: Action): number {
    if (!this.invitations.has(who) || (by !== who && this.members.get(by) !== 'admin')) return 404
    this.invitations.delete(who)
    return 200
  }

  name({ by, who, role }: Action): number {
    const refused = this.#refusal(by, who)
    if (refused) return refused
    if (this.members.get(by) !== 'admin') return 403
    if (role !== 'admin' && this.#isLastAdmin(who)) return 409
    if (role !== 'admin' && this.members.get(who) !== role) this.#withdrawBy(who)
    this.members.set(who, role)
    return 200
  }

  remove({ by, who }: Action): number {
    const refused = this.#refusal(by, who)
    if (refused) return refused
    if (by !== who && this.members.get(by) !== 'admin') return 403
    if (this.#isLastAdmin(who) && this.members.size > 1) return 409
    this.members.delete(who)
    this.removed.add(who)
    this.#withdrawBy(who)
    // A room without people is deleted with its contents.
    if (this.members.size === 0) for (const all of [this.removed, this.invitations]) all.clear()
    return 200
  }

  #refusal(by: Name, who: Name): number | undefined {
    if (!this.members.has(by) || !(this.members.has(who) || this.removed.has(who))) return 404
    return this.removed.has(who) ? 403 : undefined
  }

  #isLastAdmin(who: Name): boolean {
    const admins = [...this.members].filter(([, role]) => role === 'admin')
    return admins.length === 1 && admins[0]?.[0] === who
  }

  #withdrawBy(who: Name): void {
    for (const [invited, { by }] of this.invitations) if (by === who) this.invitations.delete(invited)
  }

  rows(): string[] {
    return [
      ...[...this.members].map(([name, role]) => `${name} member ${role}`),
      ...[...this.removed].map((name) => `${name} removed`),
      ...[...this.invitations].map(([name, { role }]) => `${name} invited ${role}`),
    ].sort()
  }
}

/** The room of the service. */
class RoomInService {
  readonly #svc: RoomsApp
  readonly #room: string
  /** The last known ids, so that deleted rows are requested, too. */
  readonly #ids = new Map<string, string>()

  constructor(svc: RoomsApp, room: string) {
    this.#svc = svc
    this.#room = room
  }

  async apply({ kind, by, who, role }: Action): Promise<number> {
    const [client, svc] = [this.#svc[by], this.#svc]
    const member = this.#ids.get(`${who} member`) ?? '999999'
    const invitation = `invitation-${this.#ids.get(`${who} invited`) ?? '999999'}`
    const request = {
      invite: () => invite(client, this.#room, svc.people[who].id, role),
      accept: () => accept(svc[who], invitation),
      withdraw: () => client.delete(`/room-members/${invitation}`),
      name: () => client.update('room-members', member, { role }),
      remove: () => client.delete(`/room-members/${member}`),
    }
    return (await request[kind]()).status
  }

  async rows(): Promise<string[]> {
    const rows = await this.#svc.rows<{ id: string; username: string; role: string; state: string }>(
      `select m.id::text, u.username, m.role, m.state from room_members m join users u on u.id = m.user_id
        where room_id = $1 and m.role <> 'assistant'`,
      [this.#room],
    )
    for (const { id, username, state } of rows) {
      const key = `${username} ${state === 'invited' ? state : 'member'}`
      // A returning person has their former membership.
      if (state !== 'invited') expect(this.#ids.get(key) ?? id).toBe(id)
      this.#ids.set(key, id)
    }
    return rows
      .map(({ username, role, state }) => `${username} ${state}${state === 'removed' ? '' : ` ${role}`}`)
      .sort()
  }

  /** The room as each person sees it: its existence and their role. */
  async seenBy(): Promise<Record<Name, unknown>> {
    const seen = names.map(async (name) => {
      const { status, one } = await this.#svc[name].get(`/rooms/${this.#room}`)
      return [name, status === 200 ? one.attributes['role'] : status]
    })
    return Object.fromEntries(await Promise.all(seen))
  }
}

test('memberships and invitations go by the rules, whoever does what in whatever order', {
  timeout: 600_000,
}, async () => {
  await using svc = await startRooms({ ROOMS_PER_PERSON: '1000' })
  const property = fc.asyncProperty(
    fc.array(action, { minLength: 20, maxLength: 50, size: 'max' }),
    async (actions) => {
      const [model, real] = [new RoomModel(), new RoomInService(svc, await makeRoom(svc.ada))]
      // The ids of the first members are known from here on.
      expect(await real.rows()).toEqual(model.rows())
      for (const action of actions) {
        expect([action, await real.apply(action)]).toEqual([action, model.apply(action)])
        expect(await real.rows()).toEqual(model.rows())
      }
      const expected = names.map((name) => [name, model.members.get(name) ?? 404])
      expect(await real.seenBy()).toEqual(Object.fromEntries(expected))
    },
  )

  await fc.assert(property, {
    numRuns: 12,
    examples: [[demotion]],
    endOnFailure: true,
  })
})
