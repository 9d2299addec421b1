import type { Client } from '../json-api/client.ts'

export const WRAPPED = 'bmV4dCBrZXk='
export const PREVIOUS = 'aXY=|dGFn|a2V5'

interface Recipients {
  keyEpoch: number
  version: string
  recipients: { id: string; publicKey: string }[]
  withoutKeys: string[]
}

export const recipientsOf = async (by: Client, room: string) =>
  (await by.get(`/rooms/${room}/actions/key-recipients`)).meta as unknown as Recipients

/** The next key of a room, as the browser of whoever calls would send it. */
export async function nextKey(by: Client, room: string) {
  const { keyEpoch, version, recipients } = await recipientsOf(by, room)
  const keys = recipients.map(({ id }) => ({ user: id, wrappedKey: WRAPPED }))
  return { keyEpoch, recipients: version, keys, previousKey: PREVIOUS as string | undefined }
}

export const postKey = (by: Client, room: string, body: object) => by.post(`/rooms/${room}/actions/rekey`, body)
export const rekey = async (by: Client, room: string) => postKey(by, room, await nextKey(by, room))
