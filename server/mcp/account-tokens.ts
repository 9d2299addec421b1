import { setTimeout as pause } from 'node:timers/promises'
import {
  type ConnectionRow,
  claimRefresh,
  expireConnection,
  findConnection,
  releaseRefresh,
  writeRefreshed,
} from '../../entities/catalogue/mcp-connection.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { SingleFlight } from '../../routers/core/load/single-flight.ts'
import { ToolAccountError } from '../../routers/ports/ai/tool-accounts.ts'
import { AccountNeeded, type ToolServer, ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { leaveBody } from '../net/response-body.ts'
import type { AccountAuthorization } from './account-authorization.ts'
import { type AccountSecrets, RefreshRefused } from './account-secrets.ts'

/** Seconds after which another process may refresh, because the first one has died. */
const CLAIM_SECONDS = 15
/** Milliseconds between two looks at the row that another process refreshes, and how long they go on. */
const POLL_MS = 100
const WAIT_MS = 20_000

interface TokenOptions {
  sql: Sql
  secrets: AccountSecrets
  /** Loads the library of the protocol, which calls with a valid token don't need. */
  authorization: () => Promise<AccountAuthorization>
  baseUrl: string
}

/** The person who asks. Nobody is in the place of a person who is not known. */
interface AccountUse {
  person: number | undefined
  isListing?: true
  signal: AbortSignal
}

/** The row of an account whose tokens have not ended for good. */
type UsableRow = ConnectionRow & { tokens: string }

type Server = Pick<ToolServer, 'id' | 'label' | 'url'>

/** The tokens of people's own accounts at tool servers. Nothing is found without a person, and only that person's. */
export class AccountTokens {
  readonly #options: TokenOptions
  readonly #refreshes = new SingleFlight<string>()

  constructor(options: TokenOptions) {
    this.#options = options
  }

  /**
   * Opens the account of one person for one session. Throws `AccountNeeded` if the person has none. A list of tools is
   * then read without an account, as some servers allow.
   */
  async open(server: Server, { person, isListing, signal }: AccountUse): Promise<AccountSession> {
    const token = await this.#findToken(server, person, signal).catch((error: unknown) => {
      if (isListing && error instanceof AccountNeeded) return undefined
      throw error
    })
    return new AccountSession(server, token, {
      renew: (refused) => this.#refresh(server, person, refused, signal),
      describeMissing: () => this.#createNeed(server, undefined),
    })
  }

  /** Returns what `open` would throw if the person has no account that can be used. */
  async findMissing(server: Server, person: number): Promise<AccountNeeded | undefined> {
    const row = await this.#findRow(server, person).catch((error: unknown) => {
      if (error instanceof AccountNeeded) return error
      throw error
    })
    return row instanceof AccountNeeded ? row : undefined
  }

  async #findToken(server: Server, person: number | undefined, signal: AbortSignal): Promise<string> {
    const row = await this.#findRow(server, person)
    if (row.hasEnded) return this.#refresh(server, person, undefined, signal)
    return this.#options.secrets.openTokens(row.tokens).access
  }

  /** Returns the one account of the person at the server. Throws `AccountNeeded`. */
  async #findRow(server: Server, person: number | undefined): Promise<UsableRow> {
    const [row] = person === undefined ? [] : await this.#options.sql(findConnection, [person, server.id, server.url])
    if (row?.state !== 'active' || row.tokens === null) throw this.#createNeed(server, row)
    return { ...row, tokens: row.tokens }
  }

  /**
   * Returns a new access token. Of all callers at all replicas one asks for it; the token request goes on if they leave,
   * as its answer may replace the refresh token.
   */
  #refresh(
    server: Server,
    person: number | undefined,
    refused: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    return this.#refreshes.run(`${person} ${server.id}`, signal, () => this.#refreshOnce(server, person, refused))
  }

  async #refreshOnce(server: Server, person: number | undefined, refused: string | undefined): Promise<string> {
    const { openTokens } = this.#options.secrets
    const first = await this.#findRow(server, person)
    const isFirstValid = refused === undefined ? !first.hasEnded : openTokens(first.tokens).access !== refused
    if (isFirstValid) return openTokens(first.tokens).access
    const until = Date.now() + WAIT_MS
    for (let row = first; Date.now() < until; row = await this.#findRow(server, person)) {
      // Another process has got these.
      if (row.tokens !== first.tokens) return openTokens(row.tokens).access
      const refreshed = await this.#tryRefresh(server, row)
      if (refreshed !== undefined) return refreshed
      await pause(POLL_MS)
    }
    throw new ToolServerError('its authorization server did not answer in time')
  }

  /** Refreshes the tokens of a row; returns undefined while another process does. */
  async #tryRefresh(server: Server, row: UsableRow): Promise<string | undefined> {
    const { sql, secrets } = this.#options
    const { refresh } = secrets.openTokens(row.tokens)
    if (refresh === undefined) {
      await sql(expireConnection, [row.id, row.tokens])
      throw this.#createNeed(server, { state: 'expired' })
    }
    const [claimed] = await sql(claimRefresh, [row.id, row.tokens, CLAIM_SECONDS])
    return claimed && this.#requestTokens(server, row, refresh)
  }

  async #requestTokens(server: Server, row: UsableRow, refreshToken: string): Promise<string> {
    const { sql, secrets } = this.#options
    try {
      const authorization = await this.#options.authorization()
      const fresh = await authorization.refresh(row, refreshToken)
      const tokens = secrets.sealTokens(fresh)
      const [written] = await sql(writeRefreshed, [row.id, row.tokens, tokens, fresh.expiresIn])
      if (!written) {
        // The person has meanwhile ended or connected it again, and nobody else knows these tokens.
        await authorization.revoke({ ...row, tokens })
        throw this.#createNeed(server, undefined)
      }
      return fresh.access
    } catch (error) {
      if (error instanceof RefreshRefused) {
        await sql(expireConnection, [row.id, row.tokens])
        throw this.#createNeed(server, { state: 'expired' })
      }
      await sql(releaseRefresh, [row.id, row.tokens])
      if (error instanceof ToolAccountError)
        throw new ToolServerError('its authorization server renews no tokens now', { cause: error })
      throw error
    }
  }

  #createNeed({ id, label }: Server, row: Pick<ConnectionRow, 'state'> | undefined): AccountNeeded {
    const address = `${this.#options.baseUrl}/settings/accounts?server=${id}`
    return new AccountNeeded(label, address, row?.state === 'expired')
  }
}

interface SessionActions {
  /** Returns a token in place of one that the server refused. */
  renew(refused: string): Promise<string>
  describeMissing(): AccountNeeded
}

/** The requests of one session with a person's token, which goes to the origin of the server alone. */
export class AccountSession {
  readonly #origin: string
  readonly #actions: SessionActions
  #token: string | undefined
  #isRenewed = false
  /** The reason for which the session cannot go on. */
  need: AccountNeeded | undefined

  constructor({ url }: Server, token: string | undefined, actions: SessionActions) {
    this.#origin = new URL(url).origin
    this.#token = token
    this.#actions = actions
  }

  /** Wraps a `fetch`. A request that the server refuses is sent once more with a new token. */
  authorize(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
    return async (input, init = {}) => {
      if (new URL(String(input)).origin !== this.#origin) return fetch(input, init)
      const send = () => fetch(input, { ...init, headers: this.#addToken(init.headers as Record<string, string>) })
      const sent = this.#token
      const response = await send()
      if (response.status !== 401) return response
      if (sent === undefined) this.need = this.#actions.describeMissing()
      if (sent === undefined || (this.#isRenewed && this.#token === sent)) return response
      this.#isRenewed = true
      this.#token = await this.#actions.renew(sent).catch((error: unknown) => {
        if (error instanceof AccountNeeded) this.need = error
        throw error
      })
      leaveBody(response.body)
      return send()
    }
  }

  #addToken(headers: Record<string, string>): Record<string, string> {
    return this.#token === undefined ? headers : { ...headers, authorization: `Bearer ${this.#token}` }
  }
}
