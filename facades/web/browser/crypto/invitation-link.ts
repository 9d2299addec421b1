import { fromBase64, Malformed, toBase64, toHex, utf8 } from './encoding.ts'
import { makeInvitationHash, type SealedRoomKey } from './rooms.ts'
import { readSealed } from './seal.ts'

/** What makes a link: its secret stays in the fragment, and the service is given a hash of the proof that follows from it. */
export interface InvitationSecret {
  secret: string
  proofHash: string
}

export async function makeInvitationSecret(): Promise<InvitationSecret> {
  const secret = makeInvitationHash()
  const hash = toBase64(await sha256(await invitationProof(secret)))
  return { secret, proofHash: hash.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') }
}

/** Shows the service that somebody has the link; the secret cannot be computed from it. */
export const invitationProof = async (secret: string) => toHex(await sha256(`invitation_proof ${secret}`))

const sha256 = async (text: string) => new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)))

/** Browsers send the part behind `#` to no server. */
export const invitationFragment = (id: string, secret: string) => `#${id}.${secret}`

export function readInvitationFragment(fragment: string): { id: string; secret: string } {
  const [, id, secret] = /^#(invitation-[1-9]\d{0,9})\.([0-9a-f]{32})$/.exec(fragment) ?? []
  if (!id || !secret) throw new Malformed('This is not the link of an invitation.')
  return { id, secret }
}

/** The room key of an invitation in one text: one part where it is wrapped with a public key, else `iv|tag|ciphertext`. */
export const writeSealedRoomKey = ({ encryptedRoomKey, iv, tag }: SealedRoomKey) =>
  iv === '0' ? encryptedRoomKey : [iv, tag, encryptedRoomKey].join('|')

export function readSealedRoomKey(text: string): SealedRoomKey {
  if (!text.includes('|')) {
    fromBase64(text)
    return { encryptedRoomKey: text, iv: '0', tag: '0' }
  }
  const { ciphertext, iv, tag } = readSealed(text)
  return { encryptedRoomKey: ciphertext, iv, tag }
}
