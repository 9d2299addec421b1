interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): string }
}

/**
 * Returns what starts a worker of this front end. Its address is as the policy of the page wants it, where a browser knows such
 * policies: made by one of that name, which is made once and makes no other.
 */
export function createWorkerFactory(name: 'import-worker' | 'search-worker', address: string): () => Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const trusted = trustedTypes?.createPolicy(name, { createScriptURL: () => address }).createScriptURL('') ?? address
  return () => new Worker(trusted, { type: 'module' })
}
