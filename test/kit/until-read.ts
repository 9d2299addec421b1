import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Waits until the client has read all written bytes from its socket, so that what follows is not read with them. */
export async function untilRead(response: ServerResponse): Promise<void> {
  const { socket } = response
  if (!socket) return
  const deadline = AbortSignal.timeout(60_000)
  while (!socket.destroyed && !(await isRead(socket))) {
    deadline.throwIfAborted()
    await pause(2)
  }
}

/** Reads the kernel's table of sockets, which has the queued bytes of both ends. */
async function isRead({ remotePort = 0, localPort = 0, writableLength }: Socket): Promise<boolean> {
  if (writableLength > 0) return false
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')))
  const rows = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  const [near, far] = [localPort, remotePort].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`)
  const waiting = (from = '', to = '', queue: 0 | 1) =>
    rows.some(([, local, remote, , queues = '']) => {
      const isOne = local?.endsWith(from) && remote?.endsWith(to)
      return isOne && Number.parseInt(queues.split(':')[queue] ?? '', 16) > 0
    })
  return !waiting(near, far, 0) && !waiting(far, near, 1)
}
