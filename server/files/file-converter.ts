import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import mime from 'mime'
import { z } from 'zod'
import type { FileToRead } from '../../routers/ports/files/text-extractor.ts'
import { chooseConverter } from '../config/settings/files.ts'
import type { Env } from '../config/settings.ts'
import { createHttpClient, type HttpClient } from '../net/http-client.ts'
import { leaveBody } from '../net/response-body.ts'
import type { HttpResponse } from '../net/response-handler.ts'
import type { ConverterResponseKind } from './sandbox/content-kinds.ts'

/** An external service that converts files to text. */
export interface Converter {
  /** Returns true if the service takes files of this media type; throws if it cannot be asked. */
  accepts(mime: string, signal?: AbortSignal): Promise<boolean>
  /** Returns the response for a file as a stream; throws if the service responds with an error. */
  convert(file: FileToRead, signal?: AbortSignal): Promise<Readable>
  readonly responseKind: ConverterResponseKind
  close(): Promise<void>
}

const FORMATS_LIFETIME_MS = 24 * 60 * 60 * 1000

/** Creates a client of the configured service; undefined if there is none. */
export function createConverter(env: Env): Converter | undefined {
  const name = chooseConverter(env)
  if (!name) return undefined
  const protocol = protocols[name](env)
  return createClient(protocol, createHttpClient({ ...httpOptions, byteTimeout: protocol.timeout }))
}

const httpOptions = { networkPolicy: 'configured', maxBytes: 64 * 1024 * 1024 } as const

function createClient(protocol: Protocol, client: HttpClient): Converter {
  const formats = cacheForADay((signal) => readFormats(protocol, client, signal))
  return {
    responseKind: protocol.responseKind,
    async accepts(type, signal) {
      const extensions = await formats(signal)
      return [...(mime.getAllExtensions(type) ?? [])].some((extension) => extensions.has(extension))
    },
    async convert(file, signal) {
      const { headers, body } = writeMultipart({ field: protocol.field, file, fields: protocol.fields ?? {} })
      const request = {
        method: 'POST',
        headers: { ...headers, ...buildAuthorization(protocol) },
        body,
        signal: signal ?? null,
      } as const
      return assertOk(await client.send(protocol.url, request))
    },
    close: () => client.close(),
  }
}

const buildAuthorization = ({ key }: Protocol): Record<string, string> =>
  key ? { authorization: `Bearer ${key}` } : {}

function assertOk({ statusCode, body }: HttpResponse): Readable {
  if (statusCode >= 200 && statusCode < 300) return body
  leaveBody(body)
  throw new Error(`the file converter answered ${statusCode}`)
}

async function readFormats(
  protocol: Protocol,
  client: HttpClient,
  callerSignal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { formats, timeout } = protocol
  if (!('listedAt' in formats)) return new Set(formats)
  // The client's own time limit begins anew with each byte.
  const signal = AbortSignal.any([AbortSignal.timeout(timeout), ...(callerSignal ? [callerSignal] : [])])
  const request = { method: 'GET', headers: buildAuthorization(protocol), body: null, signal } as const
  const response = await client.send(formats.listedAt, request)
  const content = formatList.parse(await json(assertOk(response)))
  const all = 'supported_formats' in content ? content.supported_formats : content
  return new Set(
    all.map((format) => (typeof format === 'string' ? format : format.extension).replace(/^\./, '').toLowerCase()),
  )
}

const format = z.union([z.string(), z.object({ extension: z.string() })])
const formatList = z.union([z.array(format), z.object({ supported_formats: z.array(format) })])

type Read<Value> = (signal?: AbortSignal) => Promise<Value>

function cacheForADay<Value>(read: Read<Value>): Read<Value> {
  let cached: { value: Value; until: number } | undefined
  return async (signal) => {
    if (!cached || Date.now() > cached.until)
      cached = { value: await read(signal), until: Date.now() + FORMATS_LIFETIME_MS }
    return cached.value
  }
}

interface FormContent {
  /** Name of the file's field. */
  field: string
  file: FileToRead
  fields: Readonly<Record<string, string>>
}

/** Writes a form that streams the file. The file name is replaced, so that the service learns only the media type. */
function writeMultipart({ field, file, fields }: FormContent): { headers: Record<string, string>; body: Readable } {
  const boundary = `svc-${randomUUID()}`
  const name = `file.${mime.getExtension(file.mime) ?? 'bin'}`
  const writePart = (disposition: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`
  const texts = Object.entries(fields).map(([key, value]) => `${writePart(`name="${key}"`)}${value}\r\n`)
  const head = Buffer.from(
    `${texts.join('')}${writePart(`name="${field}"; filename="${name}"`, `Content-Type: ${file.mime}\r\n`)}`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* streamContent() {
    yield head
    yield* file.open()
    yield tail
  }
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + file.bytes + tail.length),
    },
    body: Readable.from(streamContent(), { objectMode: false }),
  }
}

/** The API of a conversion service. */
interface Protocol {
  url: string
  key?: string | undefined
  /** Milliseconds to wait for a response. */
  timeout: number
  /** Form field of the file, and other fields. */
  field: string
  fields?: Record<string, string>
  responseKind: ConverterResponseKind
  /** Supported file extensions, or the address that lists them. */
  formats: readonly string[] | { listedAt: string }
}

const doclingFormats = [
  'pdf',
  'docx',
  'pptx',
  'xlsx',
  'html',
  'md',
  'adoc',
  'csv',
  'vtt',
  'png',
  'jpg',
  'jpeg',
  'tiff',
  'tif',
  'bmp',
  'webp',
]

/** Page markers let a model say on which page a text is. */
const kreuzbergConfig = {
  use_cache: false,
  ocr: { backend: 'tesseract', language: 'deu+eng' },
  pages: { insert_page_markers: true },
}

const protocols = {
  svc_converter: (env: Env): Protocol => ({
    url: env.SVC_FILE_CONVERTER_API_URL ?? '',
    key: env.SVC_FILE_CONVERTER_API_KEY,
    timeout: env.SVC_FILE_CONVERTER_TIMEOUT,
    field: 'file',
    responseKind: 'markdown-zip',
    formats: { listedAt: new URL('/', env.SVC_FILE_CONVERTER_API_URL).href },
  }),
  gwdg_docling: (env: Env): Protocol => ({
    url: env.GWDG_FILE_CONVERTER_API_URL ?? 'https://chat-ai.academiccloud.de/v1/documents/convert',
    key: env.GWDG_API_KEY,
    timeout: env.GWDG_FILE_CONVERTER_TIMEOUT,
    field: 'document',
    responseKind: 'docling-json',
    formats: doclingFormats,
  }),
  kreuzberg: (env: Env): Protocol => ({
    url: `${env.KREUZBERG_FILE_CONVERTER_API_URL}/extract`,
    timeout: env.KREUZBERG_FILE_CONVERTER_TIMEOUT,
    field: 'files',
    fields: { config: JSON.stringify(kreuzbergConfig) },
    responseKind: 'kreuzberg-json',
    formats: { listedAt: `${env.KREUZBERG_FILE_CONVERTER_API_URL}/formats` },
  }),
}
