import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A web site on a loopback address of its own, which answers each path with what is given for it. */
export async function startSite(host: string, paths: Record<string, RequestListener> = {}, port = 0) {
  const requestedPaths: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requestedPaths.push(path)
    const answer = paths[path.split('?')[0] ?? '']
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: actualPort } = server.address() as AddressInfo
  return {
    url: `http://${host}:${actualPort}`,
    port: actualPort,
    /** Paths in the order in which they were asked for. */
    requestedPaths: requestedPaths,
    /** The handler of each path; more may be added. */
    paths,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Answers with a page. */
export const sendsPage =
  (html: string | Uint8Array, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(html)

/** Sends the client elsewhere. */
export const redirectsTo =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end()
