import { setTimeout as pause } from 'node:timers/promises'
import { buildQuestion } from '../ai/provider.ts'
import { send as sendTo, type TestApp } from '../app.ts'
import { openBrowser } from '../browser.ts'
import { createApiClient } from '../json-api/client.ts'
import { FrontEnd } from '../realtime/front-end.ts'
import { openPusher } from '../realtime/pusher.ts'
import { download, upload } from '../rooms/attachments.ts'
import { sendRoomMessage as sendMessage } from '../rooms/messages.ts'
import { type Deployment, TYPED_PASSWORD } from './deployment.ts'

/** The outcome of the load on each surface. */
export interface LoadOutcome {
  /** Number of calls of each action. */
  counts: Record<string, number>
  /** The name and error of each failed call. */
  failures: string[]
  /** The numbers of all changes of the room, as the log has them. */
  logged: number[]
  frontEnds: FrontEnd[]
}

/** Uses all surfaces of a deployment at once, as `ada`, until it is stopped; two front ends follow the room that it writes to. */
export async function startLoad({ url }: Deployment, token: string) {
  const svc: Pick<TestApp, 'url' | 'send'> = { url, send: (...to) => sendTo(url, ...to) }
  const ada = createApiClient(svc, token)
  const { one: room } = await ada.create('rooms', { name: 'Chess' })
  const browser = openBrowser(url)
  await browser.login('ada', TYPED_PASSWORD)
  const { pusher, [Symbol.dispose]: closeSocket } = openPusher(url, { token })
  const over = { pusher, channel: `private-Rooms.${room.attributes['slug']}` }
  const frontEnds = [
    new FrontEnd({ url, token, room: room.id }),
    new FrontEnd({ url, token, room: room.id, over }),
  ] as const
  // Changes before the front ends subscribe are not delivered.
  while (!frontEnds.every(({ reads }) => reads > 0)) await pause(50)
  const content = { text: { ciphertext: 'dGV4dA==', iv: 'aXY=', tag: 'dGFn' } }
  const older = `/req/room/sendMessage/${room.attributes['slug']}`
  const load = repeatActions({
    page: async () => (await browser.send('GET', '/logout', { headers: { accept: 'text/html' } })).status === 200,
    read: async () => (await ada.get('/users/me')).status === 200,
    older: async () => (await browser.send('POST', older, { body: { content, threadId: 0 } })).status === 200,
    write: async () => (await sendMessage(ada, room.id)).status === 201,
    query: async () => (await svc.send('GET', '/trpc/users.me', { token })).ok,
    mutation: async () =>
      (await svc.send('POST', '/trpc/rooms.update', { token, body: { id: room.id, name: 'Chess' } })).ok,
    ...buildModelActions(svc, token),
    file: async () => {
      const { one } = await upload(svc, token, Buffer.alloc(1_000_000, 'A line.\n'))
      const downloaded = await download(svc, token, one.id)
      const { status } = await ada.delete(`/attachments/${one.id}`)
      return downloaded.bytes.length === 1_000_000 && status === 200
    },
  })
  return {
    /** Ends the load; resolves once both front ends are up to date. */
    async stop(): Promise<LoadOutcome> {
      const outcome = await load.stop()
      const logged = await readChangeNumbers(ada, room.id)
      const last = logged.at(-1)
      const deadline = AbortSignal.timeout(60_000)
      while (!deadline.aborted && !frontEnds.every(({ live }) => live.position?.endsWith(`:${last}`))) await pause(50)
      for (const { live } of frontEnds) live.stop()
      closeSocket()
      return { ...outcome, logged, frontEnds: [...frontEnds] }
    },
  }
}

type Actions = Record<string, () => Promise<boolean>>

/** Calls a model by each API for programs. */
function buildModelActions(svc: Pick<TestApp, 'send'>, token: string): Actions {
  const messages = [{ role: 'user', content: 'Hello' }]
  return {
    sendQuestion: async () =>
      (await svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'llama') })).ok,
    openAi: async () =>
      (await svc.send('POST', '/v1/chat/completions', { token, body: { model: 'llama', messages } })).ok,
    anthropic: async () =>
      (await svc.send('POST', '/v1/messages', { token, body: { model: 'llama', max_tokens: 10, messages } })).ok,
    stream: async () => {
      const headers = { accept: 'text/event-stream' }
      const answer = await svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('Hello', 'llama') })
      return (await answer.text()).includes('event: done')
    },
  }
}

const PAUSE_MS = 20

/** Repeats each action until it is stopped. */
function repeatActions(doing: Actions) {
  const counts: Record<string, number> = {}
  const failures: string[] = []
  let isGoing = true
  const clients = Object.entries(doing).map(async ([name, once]) => {
    while (isGoing) {
      const failure = await once().then(
        (isWell) => (isWell ? undefined : name),
        (error: Error) => `${name}: ${error.cause ?? error}`,
      )
      if (failure) failures.push(failure)
      counts[name] = (counts[name] ?? 0) + 1
      // Without it the load would take the processor from the replicas that start.
      await pause(PAUSE_MS)
    }
  })
  return {
    async stop() {
      isGoing = false
      await Promise.all(clients)
      return { counts, failures }
    },
  }
}

interface Changes {
  changes: { seq: number }[]
  position: string
  hasMore: boolean
}

/** All changes of a room, read page by page from its log. */
async function readChangeNumbers(by: ReturnType<typeof createApiClient>, room: string): Promise<number[]> {
  const path = `/rooms/${room}/actions/changes`
  const changesAt = async (query = '') => (await by.get(path + query)).meta as unknown as Changes
  const [epoch] = (await changesAt()).position.split(':')
  const numbers: number[] = []
  let page: Changes = { changes: [], position: `${epoch}:0`, hasMore: true }
  while (page.hasMore) {
    page = await changesAt(`?page[after]=${page.position}`)
    numbers.push(...page.changes.map(({ seq }) => seq))
  }
  return numbers
}
