import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import type { ISerializer } from '@opentelemetry/otlp-transformer'
import type { Log } from '../../routers/ports/log.ts'
import { createHttpClient } from '../net/http-client.ts'

const CONNECT_MS = 5000
const SEND_MS = 10_000
const MAX_RESPONSE_BYTES = 64 * 1024

interface CollectorOptions {
  /** Address of OTLP over HTTP, without the path of a signal. */
  endpoint: string
  headers: Record<string, string>
}

/** The operator's collector, which is reached by the client of all outbound requests. It drops what the collector does not accept in time. */
export class Collector {
  readonly #options: CollectorOptions
  readonly #client = createHttpClient({
    connectTimeout: CONNECT_MS,
    byteTimeout: SEND_MS,
    maxBytes: MAX_RESPONSE_BYTES,
    networkPolicy: 'configured',
  })
  /** Signals that the collector refuses at present; some collectors accept only traces. */
  readonly #failing = new Set<string>()
  #log: Log | undefined

  constructor(options: CollectorOptions) {
    this.#options = options
  }

  /** Sets the log for warnings when the collector starts to refuse a signal, and when it accepts it again. */
  reportTo(log: Log): void {
    this.#log = log
  }

  /** Creates an exporter for the batches of a signal, such as `traces`. */
  createSender<Item>(signal: string, { serializeRequest }: Pick<ISerializer<Item[], unknown>, 'serializeRequest'>) {
    return {
      export: (items: Item[], done: (result: ExportResult) => void): void => {
        this.#send(signal, serializeRequest(items)).then(
          () => done({ code: ExportResultCode.SUCCESS }),
          (error: Error) => done({ code: ExportResultCode.FAILED, error }),
        )
      },
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async #send(signal: string, bytes: Uint8Array | undefined): Promise<void> {
    if (!bytes) return
    const { endpoint, headers } = this.#options
    try {
      const { statusCode, error } = await this.#client.read(`${endpoint}/v1/${signal}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
        signal: AbortSignal.timeout(SEND_MS),
      })
      if (error) throw error
      if (statusCode >= 300) throw new RefusedBatch(statusCode)
    } catch (error) {
      this.#recordResult(signal, error)
      throw error
    }
    this.#recordResult(signal, undefined)
  }

  #recordResult(signal: string, error: unknown): void {
    const isFailing = error !== undefined
    if (isFailing === this.#failing.has(signal)) return
    if (isFailing) {
      this.#failing.add(signal)
      this.#log?.warn({ signal, error }, 'the collector at OTEL_EXPORTER_OTLP_ENDPOINT does not take what it is sent')
    } else {
      this.#failing.delete(signal)
      this.#log?.info({ signal }, 'the collector at OTEL_EXPORTER_OTLP_ENDPOINT takes what it is sent again')
    }
  }
}

class RefusedBatch extends Error {
  constructor(status: number) {
    super(`it answered with the status ${status}`)
  }
}
