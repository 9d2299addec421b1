import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { type Issue, Problem } from '../../routers/core/problems.ts'

/** What a form has beside its file is short; how large the file may be, its procedure says. */
const limits = { fields: 10, fieldNameSize: 100, fieldSize: 1000, files: 1, parts: 11, headerPairs: 20 }

interface Upload {
  /** The fields of the form, and the name of the file. */
  input: Record<string, unknown>
  content: AsyncIterable<Uint8Array> | undefined
}

/** Reads a form up to its file, which is called `file` and is its last part. */
export async function readUpload(request: FastifyRequest): Promise<Upload> {
  const input: Record<string, unknown> = {}
  const parts = readParts(request)
  for (let step = await parts.next(); !step.done; step = await parts.next()) {
    const part = step.value
    if (part.type === 'file')
      return { input: { ...input, name: readFileName(part) }, content: readContent(part, parts, request) }
    input[part.fieldname] = part.value
  }
  return { input, content: undefined }
}

async function* readParts(request: FastifyRequest): AsyncGenerator<Multipart, void> {
  try {
    yield* request.parts({ limits: { ...limits, fileSize: Number.POSITIVE_INFINITY } })
  } catch (error) {
    throw brokenForm(error, request)
  }
}

/** The bytes of the file, behind which the form must end. */
async function* readContent({ file }: MultipartFile, parts: AsyncGenerator<Multipart, void>, request: FastifyRequest) {
  try {
    yield* file
  } catch (error) {
    throw brokenForm(error, request)
  }
  const { done } = await parts.next()
  if (!done) throw new Problem('invalid_document', { issues: [behindFile] })
}

const behindFile: Issue = { path: ['file'], message: 'must be the last part of the form' }

function readFileName(part: MultipartFile): string {
  if (part.fieldname === 'file') return part.filename
  throw new Problem('invalid_document', { issues: [{ path: [part.fieldname], message: 'is not known here' }] })
}

/** What is wrong with a form, or that its sender went away. */
function brokenForm(error: unknown, { raw }: FastifyRequest): Problem {
  if (error instanceof Problem) return error
  if (raw.destroyed && !raw.complete) return new Problem('client_gone', { cause: error })
  return new Problem('invalid_document', { detail: 'The body is not a valid form.', cause: error })
}
