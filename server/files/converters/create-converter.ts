import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import mime from 'mime'
import { z } from 'zod'
import { chosenConverter } from '../../config/settings/files.ts'
import type { Env } from '../../config/settings.ts'
import { createHttpClient, type HttpClient } from '../../net/http-client.ts'
import type { HttpResponse } from '../../net/response-stream.ts'
import type { Converter } from './converter.ts'
import { multipart } from './multipart.ts'
import { type Protocol, protocols } from './protocols.ts'

const FORMATS_LIFETIME_MS = 24 * 60 * 60 * 1000

/** The service that the settings name; nothing where they name none. */
export function createConverter(env: Env): Converter | undefined {
  const chosen = chosenConverter(env)
  if (!chosen) return undefined
  const protocol = protocols[chosen](env)
  return speak(protocol, createHttpClient({ ...outbound, byteTimeout: protocol.timeout }))
}

const outbound = { networkPolicy: 'configured', maxBytes: 64 * 1024 * 1024 } as const

function speak(protocol: Protocol, client: HttpClient): Converter {
  const formats = keepForADay(() => readFormats(protocol, client))
  return {
    answers: protocol.answers,
    async accepts(type) {
      const taken = await formats()
      return [...(mime.getAllExtensions(type) ?? [])].some((extension) => taken.has(extension))
    },
    async convert(file, signal) {
      const { headers, body } = multipart({ field: protocol.field, file, fields: protocol.fields ?? {} })
      const request = {
        method: 'POST',
        headers: { ...headers, ...authorization(protocol) },
        body,
        signal: signal ?? null,
      } as const
      return okBody(await client.send(protocol.url, request))
    },
    close: () => client.close(),
  }
}

const authorization = ({ key }: Protocol): Record<string, string> => (key ? { authorization: `Bearer ${key}` } : {})

function okBody({ statusCode, body }: HttpResponse): Readable {
  if (statusCode >= 200 && statusCode < 300) return body
  body.destroy()
  throw new Error(`the file converter answered ${statusCode}`)
}

async function readFormats(protocol: Protocol, client: HttpClient): Promise<ReadonlySet<string>> {
  const { formats } = protocol
  if (!('listedAt' in formats)) return new Set(formats)
  const request = { method: 'GET', headers: authorization(protocol), body: null, signal: null } as const
  const answer = listed.parse(await json(okBody(await client.send(formats.listedAt, request))))
  const all = 'supported_formats' in answer ? answer.supported_formats : answer
  return new Set(
    all.map((format) => (typeof format === 'string' ? format : format.extension).replace(/^\./, '').toLowerCase()),
  )
}

const format = z.union([z.string(), z.object({ extension: z.string() })])
const listed = z.union([z.array(format), z.object({ supported_formats: z.array(format) })])

function keepForADay<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let kept: { value: Value; until: number } | undefined
  return async () => {
    if (!kept || Date.now() > kept.until) kept = { value: await read(), until: Date.now() + FORMATS_LIFETIME_MS }
    return kept.value
  }
}
