import { codes } from '../../facades/realtime/close-codes.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import type { Connection } from './connection.ts'

const SIGNED_OUT = 'You are signed out.'

/** Whether a session or token still holds; what it signed on the connection ends with it. All channels of a connection ask once. */
export async function holdCredential(
  watch: CredentialWatch,
  connection: Connection,
  credential: string,
): Promise<boolean> {
  if (!connection.isOpen) return false
  const { credentials } = connection
  const watching = credentials.get(credential) ?? watch.watch(credential, () => end(credential, connection))
  credentials.set(credential, watching)
  const stop = await watching.catch((error: unknown) => {
    credentials.delete(credential)
    throw error
  })
  if (!stop) credentials.delete(credential)
  return stop !== undefined && connection.isOpen
}

/** For a connection that is closed. */
export function letGoOfCredentials({ credentials }: Connection): void {
  for (const watching of credentials.values())
    watching.then(
      (stop) => stop?.(),
      () => {},
    )
}

/** Ends what was signed by it, and the connection where nothing else was. */
function end(credential: string, connection: Connection) {
  connection.credentials.delete(credential)
  if (connection.credentials.size === 0) return connection.close(codes.unauthorized, SIGNED_OUT)
  for (const subscription of connection.subscriptions.values())
    if (subscription?.credential === credential) subscription.channel.end(subscription, 401, SIGNED_OUT)
}
