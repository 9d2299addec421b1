/** The id of the item of a call, or of the question about one, in which clients send back unread what the provider wants back with the call. */
export const withProof = (id: string, signature: string | undefined): string =>
  signature ? `${id}~${Buffer.from(signature).toString('base64url')}` : id

const SIGNED = /^((?:fc|ctc|mcpr)_.+)~([\w-]+)$/

/** What the provider wants back; undefined where the id says nothing of it. */
export function proofIn(id: string | null | undefined): string | undefined {
  const proof = SIGNED.exec(id ?? '')?.[2]
  return proof && Buffer.from(proof, 'base64url').toString()
}

export const withoutProof = (id: string): string => SIGNED.exec(id)?.[1] ?? id
