import { codes, writePresence, writeSubscribed, writeSubscriptionError } from '../../facades/realtime/frames.ts'
import type { RealtimeKeys } from '../../routers/core/settings.ts'
import type { RoomDirectory } from '../../routers/ports/room-directory.ts'
import {
  type Channel as ChannelName,
  findChannelAccess,
  type Grant,
  readChannel,
  readGrant,
} from '../../routers/rooms/channels.ts'
import type { Channel } from './channel.ts'
import type { Channels } from './channels.ts'
import type { Connection } from './connection.ts'
import type { ConnectionCredentials } from './connection-credentials.ts'
import type { Connections } from './connections.ts'
import type { Presence } from './presence.ts'

export interface SubscribeRequest {
  channel: string
  auth: string
  channelData: string
}

interface SubscriberOptions {
  keys: RealtimeKeys
  channels: Channels
  connections: Connections
  credentials: ConnectionCredentials
  directory: RoomDirectory
  presence: Presence
  maxChannels: number
}

interface Admission {
  connection: Connection
  name: string
  of: ChannelName
  person: number
  info: object
  credential: string
  canPublish: boolean
}

/** The reason why a subscription is refused. */
class SubscriptionRefused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Subscribes connections to channels, or sends them the reason of a refusal. */
export class Subscriber {
  readonly #options: SubscriberOptions

  constructor(options: SubscriberOptions) {
    this.#options = options
  }

  async subscribe(connection: Connection, request: SubscribeRequest): Promise<void> {
    const name = request.channel
    if (connection.subscriptions.has(name)) return sendRefusal(connection, name, 409, 'You are subscribed already.')
    if (connection.subscriptions.size >= this.#options.maxChannels)
      return sendRefusal(connection, name, 429, 'You are subscribed to too many channels.')
    connection.subscriptions.set(name, undefined)
    try {
      await this.#enter(connection, request)
    } catch (error) {
      if (connection.subscriptions.get(name) === undefined) connection.subscriptions.delete(name)
      if (error instanceof SubscriptionRefused) sendRefusal(connection, name, error.status, error.message)
      else connection.close(codes.overCapacity, 'The service is not available.')
    }
  }

  async #enter(connection: Connection, request: SubscribeRequest): Promise<void> {
    const { keys, connections, credentials } = this.#options
    const channel = readChannel(request.channel)
    const signing = { ...keys, socketId: connection.id, channel: request.channel }
    const grant = channel && readGrant(signing, { auth: request.auth, channel_data: request.channelData })
    if (!channel || !grant) throw new SubscriptionRefused(401, 'The signature is not valid.')
    const person = Number(grant.user_id)
    if (connection.person !== undefined && connection.person !== person)
      throw new SubscriptionRefused(401, 'The connection belongs to another person.')
    if (!(await connections.claim(connection, person)))
      return connection.close(codes.tooManyConnections, 'You have too many connections.')
    const credential = toCredential(grant)
    if (!(await credentials.attach(credential, connection))) throw new SubscriptionRefused(401, 'You are signed out.')
    const canPublish = grant.listens_only !== true
    await this.#admit({
      connection,
      name: request.channel,
      of: channel,
      person,
      info: grant.user_info,
      credential,
      canPublish,
    })
  }

  /** Adds the subscription at a position of the stream at which the person is a member. */
  async #admit({ connection, name, of, ...signed }: Admission): Promise<void> {
    const { channels, directory, presence } = this.#options
    const { person, credential } = signed
    const first = await findChannelAccess(directory, person, of)
    if (!first) throw new SubscriptionRefused(403, 'There is no such channel.')
    const channel = await channels.enter(name, first.stream)
    try {
      const { member } = await this.#checkAdmission(channel, person, of)
      // The client may have unsubscribed meanwhile, or even subscribed again.
      const isPending = connection.subscriptions.has(name) && !connection.subscriptions.get(name)
      if (!connection.isOpen || !isPending) return
      if (!connection.credentials.includes(credential)) throw new SubscriptionRefused(401, 'You are signed out.')
      const subscription = { connection, channel, ...signed, member }
      connection.subscriptions.set(name, subscription)
      channel.subscriptions.add(subscription)
      const members = channel.isPresence ? presence.enter(subscription) : undefined
      connection.send(members ? writePresence(name, members) : writeSubscribed(name, channel.position))
    } finally {
      channels.leave(channel)
    }
  }

  /** Checks the membership at the current position of the channel, again if members were removed during the check. */
  async #checkAdmission(channel: Channel, person: number, of: ChannelName) {
    for (;;) {
      const since = channel.checkedSince
      const current = await findChannelAccess(this.#options.directory, person, of, since)
      if (!current) throw new SubscriptionRefused(403, 'There is no such channel.')
      if (channel.checkedSince === since) return current
    }
  }
}

const toCredential = ({ session, token }: Grant) => (token === undefined ? `session:${session}` : `token:${token}`)

/** Sends a refusal twice: as an error of the connection, as other servers do, and for the channel, where client libraries report it. */
function sendRefusal(connection: Connection, name: string, status: number, message: string): void {
  connection.fail(codes.unauthorized, message)
  connection.send(writeSubscriptionError(name, status, message))
}
