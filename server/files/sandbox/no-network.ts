import dgram from 'node:dgram'
import dns from 'node:dns'
import { Server, Socket } from 'node:net'

function refuse(): never {
  throw new Error('nothing is reached over the network from here')
}

/** Replaces all functions that use the network by ones that throw, since no parser needs it. */
export function blockNetwork(): void {
  Object.assign(Socket.prototype, { connect: refuse })
  Object.assign(Server.prototype, { listen: refuse })
  Object.assign(dgram, { createSocket: refuse })
  Object.assign(dgram.Socket.prototype, { bind: refuse, connect: refuse, send: refuse })
  for (const part of [dns, dns.promises]) Object.assign(part, refuseCalls(part))
}

const refuseCalls = (part: object) =>
  Object.fromEntries(Object.entries(part).flatMap(([name, value]) => (isFunction(value) ? [[name, refuse]] : [])))

const isFunction = (value: unknown) => typeof value === 'function' && !/^class\b/.test(String(value))
