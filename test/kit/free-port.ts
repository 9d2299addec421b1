import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that the system gives to who asks for any port, so that no other test gets one between the look and its use. */
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
