import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import multipart from '@fastify/multipart'
import fastify from 'fastify'
import pg from 'pg'
import { servePart } from '../serve.ts'

interface Input {
  databaseUrl: string
  folder: string
}

const findToken = { name: 'token', text: 'select user_id from access_tokens where id = $1' }
const createFiles = 'create table files (id serial primary key, owner int, uuid uuid, key bytea, iv bytea, tag bytea)'
const insertFile = {
  name: 'insert',
  text: 'insert into files (owner, uuid, key, iv, tag) values ($1, $2, $3, $4, $5) returning id::text',
}
const findFile = { name: 'find', text: 'select uuid, key, iv, tag from files where id = $1 and owner = $2' }

/** The least program that keeps files encrypted: one stream each way, no ranges, no kinds, no limits. */
servePart(async ({ databaseUrl, folder }: Input) => {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  await database.query(createFiles)
  const app = fastify()
  await app.register(multipart)
  const callerOf = async (authorization = ''): Promise<number> => {
    const { rows } = await database.query({ ...findToken, values: [Number(authorization.split('_', 2)[1])] })
    return rows[0].user_id
  }

  app.post('/api/svc/v1/attachments/actions/upload', async (request, reply) => {
    const owner = await callerOf(request.headers.authorization)
    const [uuid, key, iv] = [randomUUID(), randomBytes(32), randomBytes(12)]
    const cipher = createCipheriv('aes-256-gcm', key, iv)
    const part = await request.file({ limits: { fileSize: Number.POSITIVE_INFINITY } })
    if (!part) throw new Error('there is no file')
    await pipeline(part.file, cipher, createWriteStream(join(folder, uuid), { flush: true }))
    const { rows } = await database.query({ ...insertFile, values: [owner, uuid, key, iv, cipher.getAuthTag()] })
    return reply.code(201).send({ data: { id: rows[0].id } })
  })

  app.get<{ Params: { id: string } }>('/api/svc/v1/attachments/:id/actions/download', async (request, reply) => {
    const owner = await callerOf(request.headers.authorization)
    const { rows } = await database.query({ ...findFile, values: [request.params.id, owner] })
    const { uuid, key, iv, tag } = rows[0]
    const decipher = createDecipheriv('aes-256-gcm', key, iv).setAuthTag(tag)
    return reply.send(createReadStream(join(folder, uuid)).pipe(decipher))
  })

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { url }, stop: () => Promise.all([app.close(), database.end()]) }
})
