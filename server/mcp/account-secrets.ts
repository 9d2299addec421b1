import { z } from 'zod'
import { clientKinds } from '../../routers/ports/ai/tool-accounts.ts'
import { CONNECTION_CLIENT, CONNECTION_TOKENS, type Vault } from '../../routers/ports/vault.ts'

/** A token or a secret, which fits into a header. */
export const secretText = z.string().regex(/^[\x20-\x7e]{1,16384}$/)

/** Our registration at an authorization server, with the addresses that it has. */
const accountClient = z.object({
  kind: z.enum(clientKinds),
  clientId: z.string().min(1).max(2048),
  clientSecret: secretText.optional(),
  /** How the secret is sent. */
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

  sealTokens({ access, refresh }: OpenTokens): string {
    return this.#vault.seal(JSON.stringify({ access, refresh }), CONNECTION_TOKENS)
  }

  readonly openTokens = (sealed: string): OpenTokens =>
    accountTokens.parse(JSON.parse(this.#vault.open(sealed, CONNECTION_TOKENS)))
}
