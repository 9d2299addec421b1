interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): string }
}

/**
 * Returns a function that starts a worker. Where the browser supports Trusted Types, the address comes from a policy of
 * this name, which the CSP of the page allows and which returns no other address.
 */
export function createWorkerFactory(name: 'import-worker' | 'search-worker', address: string): () => Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const scriptUrl = trustedTypes?.createPolicy(name, { createScriptURL: () => address }).createScriptURL('') ?? address
  return () => new Worker(scriptUrl, { type: 'module' })
}
