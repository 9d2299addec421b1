import { ToolAccountError } from '../../routers/ports/ai/tool-accounts.ts'
import { isLoopbackHost } from '../../routers/ports/web-address.ts'
import { createHttpClient, type HttpClient, type OutboundRequest } from '../net/http-client.ts'
import { OutboundError, PublicNetwork } from '../net/public-network.ts'
import type { TextResponse } from '../net/response-handler.ts'

/** Time limit of one request, in milliseconds. */
const TIMEOUT_MS = 10_000
/** Largest answer, in bytes. */
const MAX_BYTES = 256 * 1024
const MAX_ADDRESS = 2048

/** The origins that an administrator has entered, which may be private. */
export type TrustedOrigins = readonly string[]

interface AccountRequest extends Partial<OutboundRequest> {
  /** The name of the step for errors. */
  step: string
  trusted: TrustedOrigins
}

/**
 * Requests to the addresses that tool servers name. An address outside of the trusted origins must be encrypted and
 * public; in development it may also be of this machine.
 */
export class AccountNetwork {
  readonly #isDevelopment: boolean
  readonly #public = new PublicNetwork({ ports: [443] })
  readonly #publicClient: HttpClient
  readonly #configuredClient: HttpClient

  constructor(isDevelopment: boolean) {
    this.#isDevelopment = isDevelopment
    const limits = { connectTimeout: 5000, byteTimeout: TIMEOUT_MS, maxBytes: MAX_BYTES }
    this.#publicClient = createHttpClient({ ...limits, networkPolicy: this.#public })
    this.#configuredClient = createHttpClient({ ...limits, networkPolicy: 'configured' })
  }

  /** Returns the address, or throws `ToolAccountError` if neither we nor a browser may go there. */
  check(step: string, address: unknown, trusted: TrustedOrigins): URL {
    const url = typeof address === 'string' && address.length <= MAX_ADDRESS ? URL.parse(address) : null
    if (!url) throw new ToolAccountError(step, 'it is no address')
    const { protocol, username, password, origin } = url
    if (protocol !== 'https:' && protocol !== 'http:')
      throw new ToolAccountError(step, `its address begins with ${protocol.slice(0, 20)} and not with https:`)
    if (username || password) throw new ToolAccountError(step, 'its address has a name or a password in it')
    if (this.#isTrusted(url, trusted)) return url
    if (protocol !== 'https:') throw new ToolAccountError(step, `its address ${origin} is not encrypted`)
    try {
      this.#public.assertAllowed(url)
    } catch (error) {
      throw describeFailure(step, error)
    }
    return url
  }

  /** Sends a request and reads the whole answer. Throws `ToolAccountError`. */
  async read(address: string, { step, trusted, ...request }: AccountRequest): Promise<TextResponse> {
    const url = this.check(step, address, trusted)
    const client = this.#isTrusted(url, trusted) ? this.#configuredClient : this.#publicClient
    const limit = AbortSignal.timeout(TIMEOUT_MS)
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit
    const init = { method: 'GET', headers: { accept: 'application/json' }, body: null, ...request, signal } as const
    try {
      const response = await client.read(url.href, init)
      if (response.error) throw response.error
      return response
    } catch (error) {
      if (request.signal?.aborted) throw error
      throw describeFailure(step, error)
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#publicClient.close(), this.#configuredClient.close()])
  }

  #isTrusted({ origin, hostname }: URL, trusted: TrustedOrigins): boolean {
    return trusted.includes(origin) || (this.#isDevelopment && isLoopbackHost(hostname))
  }
}

/** Describes a failed request without texts of the other side. */
function describeFailure(step: string, error: unknown): ToolAccountError {
  const { name, code } = error as { name?: string; code?: unknown }
  const options = { cause: error }
  if (isRefusedAddress(error)) return new ToolAccountError(step, 'its address is not public', options)
  if (name === 'TimeoutError' || /TIMEOUT/.test(String(code)))
    return new ToolAccountError(step, 'it did not answer in time', options)
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return new ToolAccountError(step, 'its answer is too large', options)
  return new ToolAccountError(step, 'it cannot be reached', options)
}

function isRefusedAddress(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof OutboundError) return true
  return false
}
