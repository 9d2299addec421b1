import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads its form itself, as a stream. */
    readsForm?: boolean
  }
}

/** Reads forms, in both ways that browsers send them, as bodies: their fields as text, and a file as base64. */
export async function readForms(app: FastifyInstance): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => withoutToken(Object.fromEntries(new URLSearchParams(body))),
  )
  await app.register(multipart)
  app.addHook('preValidation', async (request) => {
    if (request.isMultipart() && !request.routeOptions.config.readsForm) request.body = await readFields(request)
  })
}

/** Earlier front ends put the token of their page into every form; whether a request may come is judged by its headers. */
const withoutToken = ({ _token, ...fields }: Record<string, unknown>) => fields

async function readFields(request: FastifyRequest): Promise<Record<string, unknown>> {
  const { bodyLimit } = request.routeOptions
  const fields: Record<string, unknown> = {}
  const limits = {
    fields: 20,
    fieldNameSize: 100,
    fieldSize: 200_000,
    files: 1,
    parts: 21,
    headerPairs: 20,
    fileSize: bodyLimit,
  }
  let length = 0
  try {
    for await (const part of request.parts({ limits })) {
      const value = part.type === 'file' ? (await part.toBuffer()).toString('base64') : part.value
      fields[part.fieldname] = value
      length += String(value).length
      // A file has a third more characters in base64.
      if (length > bodyLimit * 1.5) throw new Problem('too_large')
    }
  } catch (error) {
    if (error instanceof Problem) throw error
    const isTooLarge = (error as { code?: string }).code === 'FST_REQ_FILE_TOO_LARGE'
    throw new Problem(isTooLarge ? 'too_large' : 'invalid_document', { cause: error })
  }
  return withoutToken(fields)
}
