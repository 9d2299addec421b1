import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { inShape } from './errors.ts'

/** A form with a picture. */
export const picture = z.object({ image: z.string({ error: 'must be a file' }) })

/** The fields of a form, its file as base64; or a body of JSON. */
export const formIn = async <S extends z.ZodType>(
  schema: S,
  request: FastifyRequest,
  maxBytes: number,
): Promise<z.output<S>> => inShape(schema, request.isMultipart() ? await fieldsOf(request, maxBytes) : request.body)

async function fieldsOf(request: FastifyRequest, fileSize: number): Promise<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  const limits = { fields: 10, fieldNameSize: 100, fieldSize: 200_000, files: 1, parts: 11, headerPairs: 20, fileSize }
  try {
    for await (const part of request.parts({ limits }))
      fields[part.fieldname] = part.type === 'file' ? (await part.toBuffer()).toString('base64') : part.value
  } catch (error) {
    const isTooLarge = (error as { code?: string }).code === 'FST_REQ_FILE_TOO_LARGE'
    throw new Problem(isTooLarge ? 'too_large' : 'invalid_document', { cause: error })
  }
  return fields
}
