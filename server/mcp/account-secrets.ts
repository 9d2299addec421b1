import { z } from 'zod'
import type { SealedConnection } from '../../entities/catalogue/mcp-connection.sql.ts'
import { clientKinds } from '../../routers/ports/ai/tool-accounts.ts'
import { CONNECTION_CLIENT, CONNECTION_TOKENS, SERVER_CLIENT_SECRET, type Vault } from '../../routers/ports/vault.ts'
import { isSameAddress } from './account-discovery.ts'

/** A token or a secret, which fits into a header. */
export const secretText = z.string().regex(/^[\x20-\x7e]{1,16384}$/)

/** Our registration at an authorization server, with the addresses that it has. */
const accountClient = z.object({
  kind: z.enum(clientKinds),
  clientId: z.string().min(1).max(2048),
  clientSecret: secretText.optional(),
  /** The method of RFC 7591 by which the secret is sent. */
  method: z.string().max(200).optional(),
  /** The address that the tokens are for. */
  resource: z.string(),
  /** The origins that an administrator had entered. */
  trusted: z.array(z.string()),
  metadata: z.looseObject({ issuer: z.string(), authorization_endpoint: z.string(), token_endpoint: z.string() }),
})
export type AccountClient = z.output<typeof accountClient>

export const accountTokens = z.object({ access: secretText, refresh: secretText.optional() })
type OpenTokens = z.output<typeof accountTokens>

/** New tokens of an account. */
export interface FreshTokens extends OpenTokens {
  /** Seconds; null if the server names no time. */
  expiresIn: number | null
}

/** The authorization server will never again accept the tokens. */
export class RefreshRefused extends Error {
  override name = 'RefreshRefused'
}

/** Seals and opens the secrets of accounts. Opening throws if no application key fits. */
export class AccountSecrets {
  readonly #vault: Vault

  constructor(vault: Vault) {
    this.#vault = vault
  }

  sealClient(client: AccountClient): string {
    return this.#vault.seal(JSON.stringify(client), CONNECTION_CLIENT)
  }

  openClient(sealed: string): AccountClient {
    return accountClient.parse(JSON.parse(this.#vault.open(sealed, CONNECTION_CLIENT)))
  }

  /**
   * Opens the client of an account with the secret that an administrator has entered by now, which may have changed.
   * Returns undefined if the account is of another client or authorization server than those entered by now, as the
   * secret of one must not be sent to the other.
   */
  openCurrentClient({ client: sealed, entered }: SealedConnection): AccountClient | undefined {
    const client = this.openClient(sealed)
    if (!entered) return client
    if (entered.issuer !== null && !isSameAddress(entered.issuer, client.metadata.issuer)) return undefined
    if (client.kind !== 'entered') return client
    if (entered.clientId !== client.clientId) return undefined
    const { clientSecret: _, ...publicClient } = client
    if (entered.clientSecret === null) return publicClient
    // A client that had no secret before has no method for it.
    const method = client.method === 'none' ? undefined : client.method
    return { ...client, clientSecret: this.openEntered(entered.clientSecret), method }
  }

  /** Opens the secret of the client that an administrator has entered. */
  openEntered(sealed: string): string {
    return this.#vault.open(sealed, SERVER_CLIENT_SECRET)
  }

  sealTokens({ access, refresh }: OpenTokens): string {
    return this.#vault.seal(JSON.stringify({ access, refresh }), CONNECTION_TOKENS)
  }

  readonly openTokens = (sealed: string): OpenTokens =>
    accountTokens.parse(JSON.parse(this.#vault.open(sealed, CONNECTION_TOKENS)))
}
