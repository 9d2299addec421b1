import { tryParseJson } from '../../routers/ports/json.ts'

/** The only protocol revision without sessions, which is tried first if nothing is known of a server. */
export const STATELESS = '2026-07-28'

export const DISCOVER = 'server/discover'

/** Milliseconds for which an answer is taken for later calls. */
const LIFETIME_MS = 60_000

/** Keeps the answers of servers without sessions to `server/discover`, so that not each call has to ask. */
export class Discovery {
  #result: object | undefined
  #until = 0

  /** Answers from memory, or sends the request and remembers an answer for later ones. */
  async answer(id: unknown, send: () => Promise<Response>): Promise<Response> {
    if (this.#result && Date.now() < this.#until) return Response.json({ jsonrpc: '2.0', id, result: this.#result })
    const response = await send()
    if (!response.ok || !response.headers.get('content-type')?.startsWith('application/json')) return response
    const text = await response.text()
    this.#remember(text)
    return new Response(text, { status: response.status, headers: response.headers })
  }

  /** Has the next call ask the server. */
  forget(): void {
    this.#result = undefined
  }

  #remember(text: string): void {
    this.#result = readResult(text)
    this.#until = Date.now() + LIFETIME_MS
  }
}

/** Returns undefined for an error, and for a server that does not speak the revision. */
function readResult(text: string): object | undefined {
  const { result } = (tryParseJson(text) ?? {}) as { result?: { supportedVersions?: unknown } | null }
  const versions = result?.supportedVersions
  return result && Array.isArray(versions) && versions.includes(STATELESS) ? result : undefined
}
