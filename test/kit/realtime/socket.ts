import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'

interface Frame {
  event: string
  channel?: string
  data?: unknown
}

interface SocketOptions {
  path?: string
  options?: ClientOptions
}

/** Opens a raw connection, for frames that no library sends. */
export async function openSocket(url: string, { path = '/app/svc', options = {} }: SocketOptions = {}) {
  const ws = new WebSocket(url.replace(/^http/, 'ws') + path, options)
  const frames: Frame[] = []
  let closed: number | undefined
  ws.on('message', (bytes) => frames.push(readFrame(String(bytes))))
  ws.on('close', (code) => {
    closed = code
  })
  const failed = once(ws, 'error').then(([error]) => Promise.reject(error as Error))
  await Promise.race([once(ws, 'open'), failed])
  failed.catch(() => {})
  const established = () => frames.find(({ event }) => event === 'pusher:connection_established')
  await expect.poll(() => established() ?? closed ?? frames[0], { timeout: 60_000, interval: 5 }).toBeTruthy()
  const send = (frame: unknown) => ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame))

  return {
    ws,
    frames,
    send,
    id: String((established()?.data as { socket_id?: string } | undefined)?.socket_id),
    closeCode: () => closed,
    errors: () =>
      frames.filter(({ event }) => event === 'pusher:error').map(({ data }) => (data as { code: number }).code),
    /** Sends a frame, then waits until the service has handled all frames. */
    async settle(frame?: unknown) {
      if (frame !== undefined) send(frame)
      const before = frames.filter(({ event }) => event === 'pusher:pong').length
      send({ event: 'pusher:ping', data: {} })
      const isOver = () => closed !== undefined || frames.filter(({ event }) => event === 'pusher:pong').length > before
      while (!isOver()) await pause(5)
    },
    [Symbol.dispose]: () => ws.terminate(),
  }
}

function readFrame(text: string): Frame {
  const frame = JSON.parse(text)
  return { ...frame, data: typeof frame.data === 'string' ? JSON.parse(frame.data) : frame.data }
}

/** Requests the signature of a subscription; returns the status, too. */
export async function authorize(url: string, token: string, socketId: string, channel: string) {
  const response = await fetch(`${url}/api/broadcasting/auth`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ socket_id: socketId, channel_name: channel }).toString(),
  })
  const body = (await response.json()) as { auth?: string; channel_data?: string; code?: string }
  return { status: response.status, body }
}

type TestSocket = Awaited<ReturnType<typeof openSocket>>

/** Subscribes like a library, with a signature. Resolves once the service has answered. */
export async function subscribe(url: string, socket: TestSocket, token: string, channel: string): Promise<void> {
  const { body } = await authorize(url, token, socket.id, channel)
  socket.send({ event: 'pusher:subscribe', data: { ...body, channel } })
  const answers = ['pusher_internal:subscription_succeeded', 'pusher:subscription_error']
  const isAnswered = () => socket.frames.some((frame) => frame.channel === channel && answers.includes(frame.event))
  await expect.poll(isAnswered, { timeout: 60_000, interval: 5 }).toBe(true)
}
