import { codes, subscribed, subscribedWith, unsubscribed } from '../../facades/realtime/frames.ts'
import type { RealtimeKeys } from '../../routers/core/settings.ts'
import type { RoomDirectory } from '../../routers/ports/room-directory.ts'
import { admit, type Channel as ChannelName, type Grant, readChannel, readGrant } from '../../routers/rooms/channels.ts'
import type { Channel } from './channel.ts'
import type { Channels } from './channels.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import type { Credentials } from './credentials.ts'
import type { Presence } from './presence.ts'

export interface Subscribing {
  channel: string
  auth: string
  channelData: string
}

interface SubscriberOptions {
  keys: RealtimeKeys
  channels: Channels
  connections: Connections
  credentials: Credentials
  directory: RoomDirectory
  presence: Presence
  maxChannels: number
}

interface Entering {
  connection: Connection
  name: string
  of: ChannelName
  person: number
  info: object
  credential: string
  mayTell: boolean
}

/** Why a subscription is refused. */
class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Subscribes connections to channels, or tells them why not. */
export class Subscriber {
  readonly #options: SubscriberOptions

  constructor(options: SubscriberOptions) {
    this.#options = options
  }

  async subscribe(connection: Connection, given: Subscribing): Promise<void> {
    const name = given.channel
    if (connection.subscriptions.has(name)) return refuse(connection, name, 409, 'You are subscribed already.')
    if (connection.subscriptions.size >= this.#options.maxChannels)
      return refuse(connection, name, 429, 'You are subscribed to too many channels.')
    connection.subscriptions.set(name, undefined)
    try {
      await this.#enter(connection, given)
    } catch (error) {
      if (connection.subscriptions.get(name) === undefined) connection.subscriptions.delete(name)
      if (error instanceof Refused) refuse(connection, name, error.status, error.message)
      else connection.close(codes.overCapacity, 'The service is not available.')
    }
  }

  async #enter(connection: Connection, given: Subscribing): Promise<void> {
    const { keys, connections, credentials } = this.#options
    const channel = readChannel(given.channel)
    const signing = { ...keys, socketId: connection.id, channel: given.channel }
    const grant = channel && readGrant(signing, { auth: given.auth, channel_data: given.channelData })
    if (!channel || !grant) throw new Refused(401, 'The signature is not valid.')
    const person = Number(grant.user_id)
    if (connection.person !== undefined && connection.person !== person)
      throw new Refused(401, 'The connection is another person’s.')
    if (!(await connections.claim(connection, person)))
      return connection.close(codes.tooManyConnections, 'You have too many connections.')
    const credential = nameCredential(grant)
    if (!(await credentials.begin(credential, connection))) throw new Refused(401, 'You are signed out.')
    const mayTell = grant.listens_only !== true
    await this.#admit({
      connection,
      name: given.channel,
      of: channel,
      person,
      info: grant.user_info,
      credential,
      mayTell,
    })
  }

  /** Adds the subscription at a place in the stream where the person is known to be a member. */
  async #admit({ connection, name, of, ...signed }: Entering): Promise<void> {
    const { channels, directory, presence } = this.#options
    const { person, credential } = signed
    const first = await admit(directory, person, of)
    if (!first) throw new Refused(403, 'There is no such channel.')
    const channel = await channels.enter(name, first.stream)
    try {
      const { member } = await this.#admission(channel, person, of)
      // It may have been given up meanwhile, and be there by another request.
      const isAwaited = connection.subscriptions.has(name) && !connection.subscriptions.get(name)
      if (!connection.isOpen || !isAwaited) return
      if (!connection.credentials.includes(credential)) throw new Refused(401, 'You are signed out.')
      const subscription = { connection, channel, ...signed, member }
      connection.subscriptions.set(name, subscription)
      channel.subscriptions.add(subscription)
      const members = channel.isPresence ? presence.enter(subscription) : undefined
      connection.send(members ? subscribedWith(name, members) : subscribed(name, channel.position))
    } finally {
      channels.leave(channel)
    }
  }

  /** What lets the person in, as it is at the place in the stream where the channel is now. */
  async #admission(channel: Channel, person: number, of: ChannelName) {
    for (;;) {
      const since = channel.checkedSince
      const current = await admit(this.#options.directory, person, of, since)
      if (!current) throw new Refused(403, 'There is no such channel.')
      if (channel.checkedSince === since) return current
    }
  }
}

const nameCredential = ({ session, token }: Grant) => (token === undefined ? `session:${session}` : `token:${token}`)

/** Said to the connection, as servers of the protocol do, and to the channel, where the library tells who listens. */
function refuse(connection: Connection, name: string, status: number, message: string): void {
  connection.fail(codes.unauthorized, message)
  connection.send(unsubscribed(name, status, message))
}
