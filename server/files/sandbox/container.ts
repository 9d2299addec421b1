import { Unreadable } from './unreadable.ts'
import { guardZip } from './zip-guard.ts'

/** Refuses what no parser of documents is given: the container of documents with a password is no archive. */
export async function guardContainer(bytes: Buffer): Promise<void> {
  if (bytes.toString('latin1', 0, 4) === '\xd0\xcf\x11\xe0') throw new Unreadable('encrypted')
  await guardZip(bytes)
}

/** Throws the reason why a parser failed. */
export function refuseDocument(error: Error & { code?: unknown }): never {
  throw new Unreadable(/PASSWORD/.test(`${error.code}`) ? 'encrypted' : 'damaged', error)
}
