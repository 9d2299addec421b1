import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { resourceId } from '../../resource/ids.ts'

/** What others in a presence channel see of somebody. */
const userInfo = z.strictObject({ name: z.string(), username: z.string() })

const grant = z.strictObject({
  user_id: resourceId,
  user_info: userInfo,
  /** By what the person called: the subscription ends with it. */
  session: z.string().max(64).optional(),
  token: z.int().optional(),
  /** Whether it is a token that may not write: its bearer listens, and tells others nothing. */
  listens_only: z.literal(true).optional(),
})

/** For whom a subscription was signed. */
export type Grant = z.output<typeof grant>

export interface SignedGrant {
  /** `{key}:{hex}`. */
  auth: string
  /** The grant as JSON, which the client hands on as it is. */
  channel_data: string
}

interface Signing {
  key: string
  secret: string
  /** What is signed: the connection and the channel. */
  socketId: string
  channel: string
}

export function signGrant(signing: Signing, given: Grant): SignedGrant {
  const channelData = JSON.stringify(given)
  return { auth: `${signing.key}:${sign(signing, channelData)}`, channel_data: channelData }
}

/** The grant, where it was signed for this connection and channel. Takes as long for a wrong signature as for the right one. */
export function readGrant(signing: Signing, { auth, channel_data: channelData }: SignedGrant): Grant | undefined {
  const [given, expected] = [auth, `${signing.key}:${sign(signing, channelData)}`].map((it) => Buffer.from(it))
  if (!given || !expected || given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  return grant.safeParse(JSON.parse(channelData)).data
}

const sign = ({ secret, socketId, channel }: Signing, channelData: string) =>
  createHmac('sha256', secret).update(`${socketId}:${channel}:${channelData}`).digest('hex')
