import { z } from 'zod'
import type { Api } from '../../../routers/index.ts'

/** The member of these bodies that says yes or no. */
export const flag = z
  .union([z.boolean(), z.literal([0, 1, '0', '1'])], { error: 'must be true or false' })
  .transform((given) => given === true || given === 1 || given === '1')

export const whole = z.coerce.number().int().min(0)

const EMPTY = 'Invalid message content: Either text or attachments must be provided in content.'

/** What a message says, as older front ends send it. */
export const messageContent = z
  .object({
    text: z.object({ ciphertext: z.string(), iv: z.string(), tag: z.string() }).nullish(),
    attachments: z.array(z.uuid()).max(100).nullish(),
  })
  .refine(({ text, attachments }) => text || (attachments && attachments.length > 0), { error: EMPTY })

type MessageContent = z.output<typeof messageContent>

/** `iv|tag|ciphertext`. */
export const sealedText = ({ text }: MessageContent): string | null =>
  text ? `${text.iv}|${text.tag}|${text.ciphertext}` : null

/** The ids of attachments that a message names by their uuids; nothing where it names none. */
export async function attachmentIds(api: Api, { attachments }: MessageContent): Promise<string[] | undefined> {
  if (!attachments) return undefined
  return (await api.attachments.find({ uuids: attachments })).map(({ id }) => id)
}

/** `2026-11-22+09:30`, in UTC. */
export const olderTime = (time: string): string => `${time.slice(0, 10)}+${time.slice(11, 16)}`

export const fileAddress = (identifier: string): string => `/proxy/storage/${identifier}`

/** Where the picture of a person is; null where there is none. */
export const pictureAddress = ({ id, avatar }: { id: string; avatar?: string | null | undefined }): string | null =>
  avatar ? `/req/profile/picture/${id}` : null

interface File {
  uuid: string
  name: string
  fileType: string
  mime: string
  identifier: string
}

/** The content of a message as older front ends read it. */
export function olderContent(content: string | null, category: 'private' | 'group', files: readonly File[]) {
  const [iv = '', tag = '', ciphertext = ''] = content?.split('|') ?? []
  return {
    text: { ciphertext, iv, tag },
    attachments: files.map(({ uuid, name, fileType: type, mime, identifier }) => ({
      fileData: { uuid, name, category, type, mime, url: fileAddress(identifier) },
    })),
  }
}

/** A form with a picture, whose file comes as base64. */
export const picture = z.object({ image: z.string({ error: 'must be a file' }) })
