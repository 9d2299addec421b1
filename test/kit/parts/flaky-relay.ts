import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between clients and a server like a bad network: it cuts connections, and lets some hang open without a word. */
export async function startFlakyRelay(port: number) {
  const open = new Map<Socket, Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    open.set(client, upstream)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => {})
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
    client.on('close', () => open.delete(client))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const some = (share: number) => [...open].filter(() => Math.random() < share)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Ends a share of the connections at once. */
    cut(share: number) {
      for (const [client, upstream] of some(share)) {
        client.destroy()
        upstream.destroy()
      }
    },
    /** Nothing comes through a share of the connections any more, in either direction, and no end of them either. */
    hang(share: number) {
      for (const [client, upstream] of some(share)) {
        upstream.removeAllListeners('close')
        client.unpipe(upstream).resume()
        upstream.unpipe(client).resume()
      }
    },
    async [Symbol.asyncDispose]() {
      for (const [client, upstream] of open) {
        client.destroy()
        upstream.destroy()
      }
      await new Promise((done) => server.close(done))
    },
  }
}
