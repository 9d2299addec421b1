import type { Context } from '../core/context.ts'

/** Documents of programs that many people use: where one of these can be fetched, those of others can, too. */
export const knownDocuments = [
  'https://claude.ai/oauth/claude-code-client-metadata',
  'https://chatgpt.com/oauth/codex/client.json',
]

const KEY = 'oauth:documents'
/** Time for which an answer is kept; a failure may be one of a moment. */
const KEEP_MS = { yes: 60 * 60_000, no: 5 * 60_000 }
/** Programs that wait for the metadata give up after a few seconds. */
const MAX_WAIT_MS = 2000

/**
 * Returns true if the metadata may promise that documents are accepted. Programs prefer their document and have no second
 * way when it cannot be fetched, so a service without a way out only promises the registration.
 */
export async function offersDocuments({ services }: Context): Promise<boolean> {
  const { clients, clientHosts } = services.settings.oauth
  if (clients !== 'any' || !clientHosts.includes('*')) return clients !== 'off' && clients !== 'registered'
  const { kv } = services.stores
  const known = await kv.get(KEY)
  if (known !== undefined) return known === 'yes'
  const signal = AbortSignal.timeout(MAX_WAIT_MS)
  const found = await Promise.any(
    knownDocuments.map((address) => services.process.clientDocuments.fetch(address, signal)),
  ).then(
    () => 'yes' as const,
    () => 'no' as const,
  )
  await kv.set(KEY, found, KEEP_MS[found])
  return found === 'yes'
}
