import { Pool } from 'undici'
import { servePart } from './serve.ts'

export interface BurstInput {
  url: string
  token: string
  method: 'GET' | 'POST'
  path: string
  /** The bodies to send, in turn. */
  bodies: readonly string[]
}

const AT_ONCE = 300
/** Between the end of a burst and the next one, so that there are several while the neighbour is measured. */
const PAUSE_MS = 50

/** Sends bursts of 300 concurrent requests of one person. */
servePart(async ({ url, token, method, path, bodies }: BurstInput) => {
  const pool = new Pool(url, { connections: AT_ONCE, pipelining: 1 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' }
  let isOver = false
  const send = async (turn: number) => {
    const body = bodies.length > 0 ? (bodies[turn % bodies.length] ?? null) : null
    const answer = await pool.request({ method, path, headers, body })
    await answer.body.dump()
    if (![200, 201, 429].includes(answer.statusCode)) throw new Error(`${path} was answered with ${answer.statusCode}`)
  }
  const burst = async () => {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, turn) => send(turn)))
    await new Promise((done) => setTimeout(done, PAUSE_MS))
  }
  // The connections are open before the measurement.
  await burst()
  const bursts = (async () => {
    while (!isOver) await burst()
  })()
  const stop = async () => {
    isOver = true
    await bursts
    await pool.close()
  }
  return { ready: { url }, stop }
})
