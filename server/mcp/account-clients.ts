import type { EnteredClient } from '../../entities/catalogue/mcp-connection.sql.ts'
import { SERVER_CLIENT_SECRET, type Vault } from '../../routers/ports/vault.ts'
import { isSameAddress } from './account-discovery.ts'
import type { AccountClient } from './account-secrets.ts'

/**
 * Returns the client of an account with the secret that an administrator has entered by now, which may have changed.
 * Returns undefined if the account is of another client or authorization server than those entered by now, as the
 * secret of one must not be sent to the other.
 */
export function findCurrentClient(
  client: AccountClient,
  entered: EnteredClient | undefined,
  vault: Vault,
): AccountClient | undefined {
  if (!entered) return client
  if (entered.issuer !== null && !isSameAddress(entered.issuer, client.metadata.issuer)) return undefined
  if (client.kind !== 'entered') return client
  if (entered.clientId !== client.clientId) return undefined
  const { clientSecret: _, ...publicClient } = client
  if (entered.clientSecret === null) return publicClient
  const clientSecret = vault.open(entered.clientSecret, SERVER_CLIENT_SECRET)
  // A client that had no secret before has no method for it.
  return { ...client, clientSecret, method: client.method === 'none' ? undefined : client.method }
}
