/**
 * Members of the AI SDK's metadata that a provider needs back with reasoning or a tool call, by the first word of its
 * SDK.
 */
export const signatureMembers = [
  ['anthropic', 'signature'],
  ['anthropic', 'redactedData'],
  ['google', 'thoughtSignature'],
  ['openai', 'itemId'],
  ['openai', 'reasoningEncryptedContent'],
  ['compatible', 'thoughtSignature'],
] as const

type SignatureMember = (typeof signatureMembers)[number]

/** Writes one signature for each member into an opaque text. They are joined by blanks, which none of them has. */
export const writeSignature = (
  read: (provider: SignatureMember[0], member: SignatureMember[1]) => string | undefined,
): string => signatureMembers.map(([provider, member]) => read(provider, member) ?? '').join(' ')

/** True for a text that the service has written, and not a provider. */
export const isServiceSignature = (signature: string): boolean => signature.includes(' ')

/** Accepts Google's own signature of a call that began elsewhere. */
export function toGoogleSignature(signature: string | null | undefined): string | undefined {
  if (!signature || isServiceSignature(signature)) return signature ?? undefined
  return writeSignature((_, member) => (member === 'thoughtSignature' ? signature : undefined))
}

/** Accepts a thought that OpenAI encrypted, of a response that began elsewhere; other providers do not get it. */
export function toOpenAiThought(encrypted: string, itemId: string | null | undefined): string {
  if (isServiceSignature(encrypted)) return encrypted
  return writeSignature((_, member) => {
    if (member === 'itemId') return itemId ?? undefined
    return member === 'reasoningEncryptedContent' ? encrypted : undefined
  })
}

/** Accepts a hidden thought of Anthropic, of an answer that began elsewhere. */
export const toRedactedThought = (data: string): string =>
  isServiceSignature(data) ? data : writeSignature((_, member) => (member === 'redactedData' ? data : undefined))
