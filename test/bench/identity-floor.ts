import { createHash } from 'node:crypto'
import fastify, { type FastifyReply } from 'fastify'
import pg from 'pg'
import { isoTime } from '../../entities/sql/statement.ts'
import { servePart } from './serve.ts'

interface Input {
  databaseUrl: string
  /** The members of a connection that do not come from the row. */
  connection: Record<string, unknown>
  /** The signed session ids with the ids of their users. */
  sessions: [string, number][]
}

const base = '/api/svc/v1'
const findToken = { name: 'token', text: 'select user_id, hash from access_tokens where id = $1' }
const findUser = {
  name: 'user',
  text: `select id, name, username, email, public_key as "publicKey", avatar, bio, role,
                ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt" from users where id = $1`,
}

/** The least program that sends the same bytes to the same person: one store read, one row read. */
servePart(async ({ databaseUrl, connection, ...input }: Input) => {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const sessions = new Map(input.sessions)
  const row = async (statement: { name: string; text: string }, id: number) =>
    (await database.query({ ...statement, values: [id] })).rows[0]
  const app = fastify()

  app.get(`${base}/connections/svc`, async (request, reply) => {
    const [, id = ''] = /svc_session=([^;]+)/.exec(request.headers.cookie ?? '') ?? []
    const userId = sessions.get(id)
    if (userId === undefined) return reply.code(401).send()
    const { publicKey, role, createdAt, updatedAt, ...person } = await row(findUser, userId)
    const hash = createHash('md5')
      .update(`${person.id}-${publicKey ?? ''}`)
      .digest('hex')
    return send(reply, 'connections', 'svc', { ...connection, userinfo: { ...person, hash } }, request.url)
  })

  app.get(`${base}/users/me`, async (request, reply) => {
    const token = await row(findToken, Number(request.headers.authorization?.split('_', 2)[1]))
    if (!token) return reply.code(401).send()
    const { id, name: displayName, ...attributes } = await row(findUser, token.user_id)
    return send(reply, 'users', String(id), { displayName, ...attributes }, request.url)
  })

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { url }, stop: () => Promise.all([app.close(), database.end()]) }
})

function send(reply: FastifyReply, type: string, id: string, attributes: object, url: string) {
  const data = { type, id, attributes, links: { self: `${base}/${type}/${id}` } }
  const payload = JSON.stringify({ jsonapi: { version: '1.1' }, data, links: { self: url } })
  reply.header('etag', `"${createHash('sha1').update(payload).digest('base64url')}"`)
  return reply.type('application/vnd.api+json').send(payload)
}
