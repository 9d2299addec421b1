import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Metrics } from '../../routers/ports/metrics.ts'
import { METRICS_TYPE } from '../ops/metrics.ts'

export interface MetricsPort {
  url: string
  close(): Promise<void>
}

/** Serves the metrics of this process on a separate port, without authentication. */
export async function openMetricsPort(metrics: Metrics, port: number, host: string): Promise<MetricsPort> {
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': METRICS_TYPE }).end(await metrics.render())
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: actualPort } = server.address() as AddressInfo
  return {
    url: `http://${host}:${actualPort}/metrics`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
