import { createHash } from 'node:crypto'
import fastify, { type FastifyReply } from 'fastify'
import pg from 'pg'
import { findChanges } from '../../entities/events/change-log.sql.ts'
import { isoTime } from '../../entities/sql/statement.ts'
import { servePart } from './serve.ts'
import { writeMessage } from './write-message.ts'

interface Input {
  databaseUrl: string
}

type Row = Record<string, unknown> & { id: string; room: string; member: string }

const base = '/api/svc/v1'
const findToken = { name: 'token', text: 'select user_id, hash from access_tokens where id = $1' }

const columns = `m.id::text as id, m.room_id::text as room, m.member_id::text as member,
  concat(m.seq, '.', lpad(m.sub_seq::text, 3, '0')) as number, m.content, m.key_epoch as "keyEpoch",
  m.client_id as "clientId", m.model, m.metadata,
  (select coalesce(max(r.sub_seq), 0) from room_messages r where r.room_id = m.room_id and r.seq = m.seq) as "replyCount",
  ${isoTime('m.edited_at')} as "editedAt", ${isoTime('m.deleted_at')} as "deletedAt",
  ${isoTime('m.created_at')} as "createdAt", ${isoTime('m.updated_at')} as "updatedAt"`

const page = {
  name: 'page',
  text: `select ${columns}, (select ordinal from room_messages where room_id = $1 order by id desc limit 1) as total
    from room_messages m join room_members v on v.room_id = m.room_id and v.user_id = $2 and v.state = 'member'
   where m.room_id = $1 order by m.seq desc, m.sub_seq desc limit $3`,
}

const one = { name: 'one', text: `select ${columns} from room_messages m where m.id = $1` }

/** The least program that sends the same bytes: the same inserts under the same lock, and no rules. */
servePart(async ({ databaseUrl }: Input) => {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const queryRows = async <Found>(statement: { name: string; text: string }, values: unknown[]) =>
    (await database.query({ ...statement, values })).rows as Found[]
  const userOf = async ({ headers }: { headers: { authorization?: string | undefined } }) => {
    const [token] = await queryRows<{ user_id: number }>(findToken, [Number(headers.authorization?.split('_', 2)[1])])
    return token?.user_id
  }
  const app = fastify()
  app.addContentTypeParser(
    'application/vnd.api+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  )

  app.post<{ Body: Sent }>(`${base}/room-messages`, async (request, reply) => {
    const user = await userOf(request)
    const { attributes, relationships } = request.body.data
    const id = await writeMessage(database, { room: relationships.room.data.id, user, content: attributes.content })
    const [row] = await queryRows<Row>(one, [id])
    return row && send(reply.code(201), { jsonapi, data: messageOf(row), links: { self: request.url } })
  })

  app.get<PageRoute>(`${base}/rooms/:id/messages`, async (request, reply) => {
    const size = Number(request.query['page[size]'])
    const found = await queryRows<Row & { total: number }>(page, [request.params.id, await userOf(request), size])
    const total = found[0]?.total ?? 0
    const lastPage = Math.ceil(total / size)
    const data = found.map(({ total: _, ...row }) => messageOf(row as unknown as Row))
    const numbers = { currentPage: 1, from: 1, to: size, perPage: size, lastPage, total }
    return send(reply, { jsonapi, data, links: linksOf(request.url, size, lastPage), meta: { page: numbers } })
  })

  app.get<PageRoute>(`${base}/rooms/:id/actions/changes`, async (request, reply) => {
    await userOf(request)
    const [epoch, seq] = request.query['page[after]']?.split(':') ?? []
    const { rows } = await database.query(findChanges.text, [`room:${request.params.id}`, seq, 501])
    const changes = rows[0].changes.slice(0, 500)
    const position = `${epoch}:${changes.at(-1).seq}`
    return send(reply, { jsonapi, meta: { changes, position, hasMore: rows[0].changes.length > 500 } })
  })

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { url }, stop: () => Promise.all([app.close(), database.end()]) }
})

interface PageRoute {
  Params: { id: string }
  Querystring: Record<string, string>
}

interface Sent {
  data: { attributes: { content: string }; relationships: { room: { data: { id: string } } } }
}

const jsonapi = { version: '1.1' }

function send(reply: FastifyReply, document: object) {
  const payload = JSON.stringify(document)
  reply.header('etag', `"${createHash('sha1').update(payload).digest('base64url')}"`)
  return reply.type('application/vnd.api+json').send(payload)
}

function messageOf({ id, room, member, ...attributes }: Row) {
  const self = `${base}/room-messages/${id}`
  const related = (name: string) => ({ self: `${self}/relationships/${name}`, related: `${self}/${name}` })
  return {
    type: 'room-messages',
    id,
    attributes,
    links: { self },
    relationships: {
      room: { links: related('room'), data: { type: 'rooms', id: room } },
      member: { links: related('member'), data: { type: 'room-members', id: member } },
      thread: { links: related('thread'), data: null },
      replies: { links: related('replies') },
      attachments: { links: related('attachments') },
    },
  }
}

function linksOf(self: string, size: number, lastPage: number) {
  const at = (number: number) => {
    const parameters = new URLSearchParams(self.split('?')[1])
    parameters.set('page[number]', String(number))
    parameters.set('page[size]', `${size}`)
    return `${self.split('?')[0]}?${parameters}`
  }
  return { self, first: at(1), prev: null, next: at(2), last: at(lastPage) }
}
