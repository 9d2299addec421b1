import { forgetKeys } from '../../browser/keystore.ts'
import { api } from '../shared/api/client.ts'
import { announcePerson } from '../shared/person-change.ts'

/** Signs out, and returns the address to go to. */
export async function signOut(): Promise<string> {
  // Keys unlocked in this browser must not stay unlocked for its next user.
  // A store that cannot even be deleted cannot be opened by that user either.
  await forgetKeys().catch(() => undefined)
  const { redirectUri } = await api.sessions.logout.mutate()
  // The other tabs reload, so that their decrypted texts and keys do not outlast the session.
  announcePerson(null)
  return redirectUri
}
