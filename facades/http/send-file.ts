import { Readable } from 'node:stream'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FileContent } from '../../routers/core/file-content.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { ByteRange } from '../../routers/ports/files/file-store.ts'
import { matchesIfMatch, matchesIfNoneMatch } from './conditional.ts'

/** The policy lets a browser save the file and run nothing in it. */
const POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

/** Sends a file or the requested range; returns the body for the framework. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: FileContent): Readable | undefined {
  const { name, mime, bytes, tag } = file.facts
  const etag = `"${tag}"`
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
  reply.headers({ etag, 'cache-control': 'private, no-cache', 'content-security-policy': POLICY })
  if (ifMatch !== undefined && !matchesIfMatch(ifMatch, etag)) throw new Problem('precondition_failed')
  if (matchesIfNoneMatch(ifNoneMatch, etag)) return void reply.code(304)
  const range = parseRange(request, reply, { bytes, etag })
  reply.headers({
    'accept-ranges': 'bytes',
    'content-disposition': contentDisposition(name),
    'content-length': range ? range.end - range.start + 1 : bytes,
    'content-type': mime,
    ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${bytes}` }),
  })
  reply.code(range ? 206 : 200)
  // The framework keeps the content length without sending the stream.
  return request.method === 'HEAD' ? Readable.from([]) : file.read(range)
}

/** Parses a single range; returns undefined for the whole file, which is also the response to several ranges. */
function parseRange(
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
  { bytes, etag }: { bytes: number; etag: string },
): ByteRange | undefined {
  const { range = '', 'if-range': ifRange } = headers
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(range) ?? []
  // A range requires an equal entity tag; a date never proves that.
  const isStale = ifRange !== undefined && String(ifRange).trim() !== etag
  const isBackwards = first !== '' && last !== '' && Number(last) < Number(first)
  if (method !== 'GET' || isStale || isBackwards || first + last === '') return undefined
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (start <= end) return { start, end }
  reply.header('content-range', `bytes */${bytes}`)
  throw new Problem('range_not_satisfiable')
}
