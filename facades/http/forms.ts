import multipart, { type Multipart, type MultipartFile, type MultipartValue } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingFile } from '../../routers/core/context.ts'
import { type Issue, Problem } from '../../routers/core/problems.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if the route streams its form itself. */
    readsForm?: boolean
  }
}

/** Parses both kinds of forms as bodies: fields as text, and a file as base64. */
export async function registerForms(app: FastifyInstance): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => dropToken(Object.fromEntries(new URLSearchParams(body))),
  )
  await app.register(multipart)
  app.addHook('preValidation', async (request) => {
    if (request.isMultipart() && !request.routeOptions.config.readsForm) request.body = await readFields(request)
  })
}

/** Drops the CSRF token of earlier front ends; requests are judged by their headers. */
const dropToken = ({ _token, ...fields }: Record<string, unknown>) => fields

/** Limits of a form whose fields are the body; the route limits the file. */
const FIELD_LIMITS = { fields: 20, fieldNameSize: 100, fieldSize: 200_000, files: 1, parts: 21, headerPairs: 20 }

async function readFields(request: FastifyRequest): Promise<Record<string, unknown>> {
  const { bodyLimit } = request.routeOptions
  const fields: Record<string, unknown> = {}
  let length = 0
  try {
    for await (const part of request.parts({ limits: { ...FIELD_LIMITS, fileSize: bodyLimit } })) {
      const value = part.type === 'file' ? (await part.toBuffer()).toString('base64') : readField(part)
      fields[part.fieldname] = value
      length += String(value).length
      // A file has a third more characters in base64.
      if (length > bodyLimit * 1.5) throw new Problem('too_large')
    }
  } catch (error) {
    throw toFormProblem(error, request)
  }
  return dropToken(fields)
}

/** Reads a field; the parser truncates one that is too long instead of refusing it. */
function readField({ value, valueTruncated }: MultipartValue): unknown {
  if (valueTruncated) throw new Problem('too_large')
  return value
}

/** Limits of a form beside its file; the procedure limits the file. */
const UPLOAD_LIMITS = { fields: 10, fieldNameSize: 100, fieldSize: 1000, files: 1, parts: 11, headerPairs: 20 }

interface Upload {
  /** The fields of the form and the file name. */
  input: Record<string, unknown>
  file: IncomingFile | undefined
}

/** Reads a form up to its file, which is its last part and is called `file`. */
export async function readUpload(request: FastifyRequest): Promise<Upload> {
  const input: Record<string, unknown> = {}
  const parts = readParts(request)
  for (let step = await parts.next(); !step.done; step = await parts.next()) {
    const part = step.value
    if (part.type === 'file')
      return { input: { ...input, name: readFileName(part) }, file: readFile(part, parts, request) }
    input[part.fieldname] = readField(part)
  }
  return { input, file: undefined }
}

const readFile = (
  part: MultipartFile,
  parts: AsyncGenerator<Multipart, void>,
  request: FastifyRequest,
): IncomingFile => ({
  content: readContent(part, parts, request),
  announced: Number(request.headers['content-length'] ?? 0),
})

async function* readParts(request: FastifyRequest): AsyncGenerator<Multipart, void> {
  try {
    yield* request.parts({ limits: { ...UPLOAD_LIMITS, fileSize: Number.POSITIVE_INFINITY } })
  } catch (error) {
    throw toFormProblem(error, request)
  }
}

/** Yields the bytes of the file; throws if another part follows. */
async function* readContent({ file }: MultipartFile, parts: AsyncGenerator<Multipart, void>, request: FastifyRequest) {
  try {
    yield* file
  } catch (error) {
    throw toFormProblem(error, request)
  }
  const { done } = await parts.next()
  if (!done) throw new Problem('invalid_document', { issues: [notLastPart] })
}

const notLastPart: Issue = { path: ['file'], message: 'must be the last part of the form' }

function readFileName(part: MultipartFile): string {
  if (part.fieldname === 'file') return part.filename
  throw new Problem('invalid_document', { issues: [{ path: [part.fieldname], message: 'is not known here' }] })
}

/** Converts a form error; an aborted request becomes `client_gone`. */
function toFormProblem(error: unknown, { raw }: FastifyRequest): Problem {
  if (error instanceof Problem) return error
  if ((error as { code?: string }).code === 'FST_REQ_FILE_TOO_LARGE') return new Problem('too_large', { cause: error })
  if (raw.destroyed && !raw.complete) return new Problem('client_gone', { cause: error })
  return new Problem('invalid_document', { detail: 'The body is not a valid form.', cause: error })
}
