import { type ErrorCode, errorKind } from '../../routers/core/problems.ts'
import type { PassingEvent } from '../../routers/ports/change-streams.ts'

/** A row of the change log, as far as clients see it. */
interface Change {
  epoch: string
  seq: number
  kind: string
  subject: string
  at: string
  number: string | null
  status: { model: string; isGenerating: boolean; error: string | null } | null
}

/** The event that older front ends listen for. */
const OLDER_EVENT = 'App\\Events\\RoomMessageEvent'

const olderTypes: Partial<Record<string, string>> = {
  'room-messages.created': 'message',
  'room-messages.updated': 'messageUpdate',
}

/** The frames that tell a channel of a change: what older front ends understand of it, and the change itself. */
export function buildPackets(channel: string, change: Change): string[] {
  const { epoch, seq, kind, subject, at } = change
  const own = packet('change', channel, { epoch, seq, kind, subject, at })
  const older = olderPacket(channel, change)
  return older ? [older, own] : [own]
}

/** The frame of what is told in passing. */
export const passingPacket = (channel: string, { kind, subject, content }: PassingEvent): string =>
  packet('passing', channel, { kind, subject, content })

function olderPacket(channel: string, { seq, kind, number, status }: Change): string | undefined {
  const [, slug] = /^private-Rooms\.(.+)$/.exec(channel) ?? []
  if (!slug) return undefined
  if (status) return packet(OLDER_EVENT, channel, { data: { type: 'status', data: statusData(slug, status) }, seq })
  const type = olderTypes[kind]
  if (!type || number === null) return undefined
  return packet(OLDER_EVENT, channel, { data: { type, data: { slug, message_id: number } }, seq })
}

/** Says that a model is giving an answer, or that its answer has ended. */
const statusData = (slug: string, { model, isGenerating, error }: NonNullable<Change['status']>) => ({
  slug,
  isGenerating,
  model,
  ...(error !== null && { error: errorKind(error as ErrorCode).title }),
})

const packet = (event: string, channel: string, data: object) =>
  JSON.stringify({ event, data: JSON.stringify(data), channel })
