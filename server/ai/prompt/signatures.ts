import type { SharedV4ProviderMetadata, SharedV4ProviderOptions } from '@ai-sdk/provider'

/** Where the SDKs keep what a provider wants back with a thought or a call of a tool. */
const places = [
  ['anthropic', 'signature'],
  ['anthropic', 'redactedData'],
  ['google', 'thoughtSignature'],
  ['openai', 'itemId'],
  ['openai', 'reasoningEncryptedContent'],
  ['compatible', 'thoughtSignature'],
] as const

/** The provider's proofs in one word, which callers cannot read; undefined where there are none. */
export function signatureOf(metadata: SharedV4ProviderMetadata = {}): string | undefined {
  const proofs = places.map(([provider, member]) => {
    const value = metadata[provider]?.[member]
    return typeof value === 'string' ? value : ''
  })
  return proofs.some(Boolean) ? proofs.join(' ') : undefined
}

/** What each SDK hands back to its provider. */
export function optionsOf(signature: string | undefined): SharedV4ProviderOptions {
  const options: SharedV4ProviderOptions = {}
  for (const [index, proof] of (signature ?? '').split(' ').entries()) {
    const [provider, member] = places[index] ?? []
    if (proof && provider && member) options[provider] = { ...options[provider], [member]: proof }
  }
  return options
}
