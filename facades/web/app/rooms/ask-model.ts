import { api } from '../shared/api/client.ts'
import { readBase64 } from '../shared/read-base64.ts'
import { isKeyRefused } from './message-sender.ts'
import type { RoomFile } from './room.ts'
import { getMediaType, openRoomFile } from './room-files.ts'
import type { RoomMessage } from './room-message.ts'
import type { RoomStore, RoomView } from './room-store.ts'

/** The number of messages that the scope `last` discloses. */
export const LAST_MESSAGES = 20

/** The messages and files that a model will receive. */
export interface DisclosurePreview {
  scope: 'message' | 'thread' | 'last'
  /** The messages before the question. */
  messages: readonly RoomMessage[]
  files: readonly RoomFile[]
  /** An estimate. */
  tokens: number
}

interface DisclosureChoice {
  view: RoomView
  thread: string | null
  scope: DisclosurePreview['scope']
  text: string
  shouldIncludeFiles: boolean
}

/** Selects the messages and files that a question discloses; unreadable ones are left out. */
export function previewDisclosure(choice: DisclosureChoice): DisclosurePreview {
  const { view, thread, scope, text, shouldIncludeFiles } = choice
  const messages = selectMessages(view, thread, scope).filter(
    (each) => each.unreadable === undefined && !each.isDeleted,
  )
  const files = shouldIncludeFiles ? messages.flatMap((each) => each.files) : []
  const characters = [...messages.map((each) => each.text), view.systemPrompt ?? '', text].reduce(
    (sum, { length }) => sum + length,
    0,
  )
  return { scope, messages, files, tokens: Math.ceil(characters / CHARACTERS_PER_TOKEN) }
}

const CHARACTERS_PER_TOKEN = 4

function selectMessages(
  { messages, byId }: RoomView,
  thread: string | null,
  scope: DisclosurePreview['scope'],
): readonly RoomMessage[] {
  if (scope === 'message') return []
  if (scope === 'last') return messages.slice(-LAST_MESSAGES)
  const root = thread === null ? undefined : byId.get(thread)
  return root ? [root, ...findReplies(byId, root.id)] : []
}

export const findReplies = (byId: RoomView['byId'], id: string): RoomMessage[] =>
  [...byId.values()].filter((each) => each.thread === id).toSorted((one, other) => one.subSeq - other.subSeq)

interface ModelQuestion {
  /** The id of the message that asks. */
  id: string
  thread: string | null
  model: string
  disclosure: DisclosurePreview
  shouldIncludeFiles: boolean
}

type RequestMessage = Parameters<typeof api.rooms.ask.mutate>[0]['messages'][number]

/** Requests an answer in the room. The model receives exactly what the preview showed. */
export async function askModel(
  store: RoomStore,
  { id, thread, model, disclosure, shouldIncludeFiles }: ModelQuestion,
): Promise<void> {
  const { view } = store
  const question = view.byId.get(id)
  const { room, systemPrompt = '' } = view
  if (!room || !question) return
  const requestMessages = await Promise.all(
    [...disclosure.messages, question].map((message) =>
      toRequestMessages(message, view, shouldIncludeFiles || message === question),
    ),
  )
  const system: RequestMessage[] =
    systemPrompt === '' ? [] : [{ role: 'system', content: [{ type: 'text', text: systemPrompt }] }]
  const request = {
    id: room.id,
    model,
    thread,
    messages: [...system, ...requestMessages.flat()],
    optionalParameters: true,
    mayAsk: true,
  }
  try {
    await api.rooms.ask.mutate({ ...request, ...(await store.getAiKey()) })
  } catch (error) {
    if (!isKeyRefused(error)) throw error
    await store.refreshKeys()
    await api.rooms.ask.mutate({ ...request, ...(await store.getAiKey()) })
  }
}

async function toRequestMessages(
  message: RoomMessage,
  view: RoomView,
  shouldIncludeFiles: boolean,
): Promise<RequestMessage[]> {
  const { id: source, text, model, authorName } = message
  if (model !== null) return text === '' ? [] : [{ role: 'assistant', source, content: [{ type: 'text', text }] }]
  const files = shouldIncludeFiles ? await Promise.all(message.files.map((file) => toFilePart(file, view))) : []
  const textParts = text === '' ? [] : [{ type: 'text' as const, text: `${authorName}: ${text}` }]
  const content = [...files, ...textParts]
  return content.length === 0 ? [] : [{ role: 'user', source, content }]
}

async function toFilePart(file: RoomFile, { keys }: RoomView) {
  const data = await readBase64(await openRoomFile(file, keys))
  return { type: 'file' as const, mime: getMediaType(file), data, name: file.name }
}
