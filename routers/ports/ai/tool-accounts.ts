import type { AccountServerRow, SealedConnection } from '../../../entities/catalogue/mcp-connection.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'

export type AccountServer = DeepReadonly<AccountServerRow>

/** An authorization server knows this service in one of these ways. */
export const clientKinds = ['entered', 'document', 'registered'] as const
export type ClientKind = (typeof clientKinds)[number]

/** The authorization server of a tool server. */
export interface AccountDiscovery {
  issuer: string
  /** The scopes that a person is asked for. */
  scopes: readonly string[]
  client: ClientKind
}

/** The request of a person who is at the authorization server. It contains secrets, and is stored sealed. */
export interface PendingAccount {
  state: string
  verifier: string
  url: string
  issuer: string
  scopes: readonly string[]
  /** Sealed: our registration, and the addresses of the authorization server. */
  client: string
}

/** An account as it is stored; client and tokens are sealed. */
export interface ConnectedAccount {
  url: string
  issuer: string
  client: string
  tokens: string
  scopes: readonly string[]
  /** Seconds until the access token ends; null if the server names no time. */
  expiresIn: number | null
  /** The name of the account at the server, if it tells one. */
  account: string | null
}

/** `unsupported`: the server has no address for it, so its tokens live on to their own end. */
export type Revocation = 'revoked' | 'unsupported' | 'failed'

/** The accounts of people at tool servers, by OAuth. Whatever servers report is bounded and checked. */
export interface ToolAccounts {
  /** Finds the authorization server, and how this service is known there. Registers nothing. Throws `ToolAccountError`. */
  discover(server: AccountServer, signal: AbortSignal): Promise<AccountDiscovery>
  /**
   * Returns the address at which the person agrees. `earlier` is the sealed client of an earlier connection. Throws
   * `ToolAccountError`.
   */
  begin(
    server: AccountServer,
    earlier: string | undefined,
    signal: AbortSignal,
  ): Promise<{ url: string; pending: PendingAccount }>
  /** Exchanges the code in the query of the return address. Throws `ToolAccountError`. */
  finish(query: string, pending: PendingAccount): Promise<ConnectedAccount>
  /** Ends the tokens at their server. Never throws. */
  revoke(connection: SealedConnection): Promise<Revocation>
  /** The document that describes this service to authorization servers; undefined if they cannot read it. */
  clientDocument: object | undefined
}

/** An account that cannot be connected. The message names the step and the reason, in our words. */
export class ToolAccountError extends Error {
  override name = 'ToolAccountError'
  /** True if the person declined. */
  readonly isDeclined: boolean

  constructor(
    step: string,
    reason: string,
    { isDeclined = false, ...options }: ErrorOptions & { isDeclined?: boolean } = {},
  ) {
    super(`${step}: ${reason}`, options)
    this.isDeclined = isDeclined
  }
}
