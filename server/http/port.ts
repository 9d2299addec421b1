import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Env } from '../config/settings.ts'

/** A port that no other process can take until it is released. */
export interface ClaimedPort {
  port: number
  release(): Promise<void>
}

/** Claims the port of the settings, or a free one if it is 0; an error names the setting to change. */
export async function claimPort({ PORT, HOST }: Pick<Env, 'PORT' | 'HOST'>): Promise<ClaimedPort> {
  // This socket only reserves the port and serves no requests.
  const holder = createServer((socket) => socket.destroy())
  holder.listen(PORT, HOST)
  await once(holder, 'listening').catch((error: NodeJS.ErrnoException) => rethrowPortError(error, { PORT, HOST }))
  const { port } = holder.address() as AddressInfo
  return { port, release: () => new Promise((done) => holder.close(() => done())) }
}

/** Throws an error that names the setting to change. */
export function rethrowPortError(error: NodeJS.ErrnoException, { PORT, HOST }: Pick<Env, 'PORT' | 'HOST'>): never {
  const sentence = buildSentences(PORT, HOST)[error.code ?? '']
  throw sentence ? new Error(sentence, { cause: error }) : error
}

const buildSentences = (port: number, host: string): Record<string, string> => ({
  EADDRINUSE: `Port ${port} of ${host} is taken. Set PORT to another.`,
  EACCES: `Port ${port} is open to administrators of this machine only. Set PORT to 1024 or more.`,
  EADDRNOTAVAIL: `${host} is no address of this machine. Set HOST to one, or to 0.0.0.0 for all.`,
  ENOTFOUND: `${host} is no address of this machine. Set HOST to one, or to 0.0.0.0 for all.`,
})
