import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the system's ephemeral ports, so that no other test gets the port between the check and its use. */
const FIRST = 11_000
const END = 32_000

let next = randomInt(FIRST, END)

/** A port of 127.0.0.1 that nobody listens on, another one each time. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = next
    next = port + 1 < END ? port + 1 : FIRST
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  const isListening = await once(probe, 'listening').then(
    () => true,
    () => false,
  )
  await new Promise((done) => probe.close(done))
  return isListening
}
