import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import pg from 'pg'
import { type WebSocket, WebSocketServer } from 'ws'
import { servePart } from './serve.ts'
import { writeMessage } from './write-message.ts'

interface Input {
  databaseUrl: string
}

interface Frame {
  event: string
  data: { channel: string }
  channel: string
}

/** The least program that does the same: one room to whose sockets a frame goes that is built once, and the same inserts. */
servePart(async ({ databaseUrl }: Input) => {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const room = new Set<WebSocket>()
  const tell = (frame: string, from?: WebSocket) => {
    const bytes = Buffer.from(frame)
    for (const socket of room) if (socket !== from) socket.send(bytes, { binary: false })
  }
  const server = createServer((request, response) => void post(request, response))
  const sockets = new WebSocketServer({ server, clientTracking: false })
  let seq = 0

  sockets.on('connection', (socket) => {
    socket.send(packet('pusher:connection_established', { socket_id: '1.1', activity_timeout: 30 }))
    socket.on('close', () => room.delete(socket))
    socket.on('message', (bytes) => {
      const { event, channel, data } = JSON.parse(String(bytes)) as Frame
      if (event.startsWith('client-')) return tell(JSON.stringify({ event, channel, data, user_id: '1' }), socket)
      room.add(socket)
      socket.send(packet('pusher_internal:subscription_succeeded', { epoch: '', seq }, data.channel))
    })
  })

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return void response.end('{}')
    const { data } = (await json(request)) as { data: { attributes: { content: string } } }
    const id = await writeMessage(database, { room: '1', user: 2, content: data.attributes.content })
    seq += 1
    const older = { data: { type: 'message', data: { slug: 'r1', message_id: `${seq}.000` } }, seq }
    const change = { epoch: '0123456789ab', seq, kind: 'room-messages.created', subject: String(id), at: new Date() }
    tell(packet('App\\Events\\RoomMessageEvent', older, 'private-Rooms.r1'))
    tell(packet('change', change, 'private-Rooms.r1'))
    response.writeHead(201).end('{}')
  }

  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  return { ready: { url: `http://127.0.0.1:${port}` }, stop: () => database.end() }
})

const packet = (event: string, data: object, channel?: string) =>
  JSON.stringify({ event, data: JSON.stringify(data), channel })
