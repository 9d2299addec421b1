import type { Client } from '../../../facades/client/index.ts'
import type { KeychainEntry, StoredRoomKey } from '../../../facades/web/browser/crypto.ts'

/** A message as it is stored: encrypted. */
export interface Message {
  number: string
  content: string | null
  keyEpoch: number
  editedAt: string | null
}

export interface Changes {
  changes: { kind: string; subject: string }[]
  position: string
}

/** Calls that a member makes who was invited by a link, over either protocol. */
export interface Surface {
  storeKeys(publicKey: string, set: KeychainEntry[]): Promise<unknown>
  /** The name of the room to which a link leads. */
  preview(invitation: string, proof: string): Promise<string>
  accept(invitation: string, proof: string): Promise<{ wrappedKey: string; keyEpoch: number }>
  write(room: string, content: string, keyEpoch: number): Promise<string>
  edit(message: string, content: string): Promise<unknown>
  messages(room: string): Promise<Message[]>
  message(id: string): Promise<Message>
  markRead(room: string, upTo: string): Promise<unknown>
  description(room: string): Promise<string | null>
  changes(room: string, after?: string): Promise<Changes>
  storedKeys(room: string): Promise<StoredRoomKey[]>
}

/** Implements the surface over the typed client. */
export const overClient = (client: Client): Surface => ({
  storeKeys: (publicKey, set) => client.userKeychainValues.batchUpdate.mutate({ publicKey, set }),
  preview: async (id, proof) => (await client.roomMembers.preview.mutate({ id, proof })).meta.roomName,
  accept: async (id, proof) => (await client.roomMembers.accept.mutate({ id, proof })).meta,
  write: async (room, content, keyEpoch) => (await client.roomMessages.create.mutate({ room, content, keyEpoch })).id,
  edit: (id, content) => client.roomMessages.update.mutate({ id, content }),
  messages: async () => (await client.roomMessages.list.query({ sort: ['number'] })).items,
  message: (id) => client.roomMessages.get.query({ id }),
  markRead: (id, upTo) => client.rooms.markRead.mutate({ id, upTo }),
  description: async (id) => (await client.rooms.get.query({ id })).roomDescription,
  changes: async (id, after) =>
    (await client.rooms.changesSince.query(after === undefined ? { id } : { id, page: { after } })).meta,
  storedKeys: async (id) => (await client.roomKeys.list.query({ id })).meta.keys,
})
