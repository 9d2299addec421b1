import type { Readable } from 'node:stream'
import { S3Client } from '@aws-sdk/client-s3'
import type { Dispatcher } from 'undici'
import { createHttpClient, type HttpClient } from '../../net/http-client.ts'

export interface S3Access {
  /** Where an S3-compatible service is; that of Amazon where absent. */
  endpoint?: string | undefined
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** In milliseconds: to connect, and to wait for each further byte. */
  connectTimeout?: number
  byteTimeout?: number
}

/** More than the largest file. */
const MAX_RESPONSE = 2 * 1024 ** 3

/** Asks through the one client for outbound requests. Closing it ends all connections. */
export function createS3Client({ endpoint, region, connectTimeout = 5000, byteTimeout = 30_000, ...keys }: S3Access) {
  const http = createHttpClient({ networkPolicy: 'configured', connectTimeout, byteTimeout, maxBytes: MAX_RESPONSE })
  const s3 = new S3Client({
    region,
    credentials: keys,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // Services other than Amazon's may not know the newer checksums; the chunks of files have their own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Our client for outbound requests does not wait for an answer in between.
    expectContinueHeader: false,
    // It would write to the console; what fails is told by errors.
    logger: silent,
    requestHandler: { handle: (request: OutgoingRequest, options?: SendOptions) => send(http, request, options) },
  })
  return { s3, close: () => http.close() }
}

const nothing = () => {}
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** As much of a request as is sent, and of its options as is heeded. */
interface OutgoingRequest {
  method: string
  protocol: string
  hostname: string
  port?: number
  path: string
  query: Record<string, string | string[] | null>
  headers: Record<string, string>
  body?: Readable
}

interface SendOptions {
  abortSignal?: AbortSignal
}

async function send(http: HttpClient, request: OutgoingRequest, { abortSignal }: SendOptions = {}) {
  const { method, headers, body = null } = request
  const response = await http.send(addressOf(request), {
    method: method as Dispatcher.HttpMethod,
    headers,
    body,
    signal: abortSignal ?? null,
  })
  return { response }
}

function addressOf({ protocol, hostname, port, path, query }: OutgoingRequest): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) for (const each of [value ?? ''].flat()) search.append(name, each)
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}?${search}`
}
