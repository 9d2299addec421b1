export const sessionCredential = (handle: string) => `session:${handle}`
export const tokenCredential = (id: number) => `token:${id}`

/** Tells when sessions and tokens end, wherever they were ended. */
export interface CredentialWatch {
  /**
   * Watches `session:{hash}` or `token:{id}`, and resolves with the way to stop; undefined where it holds no longer. Tells
   * of an end once: at once where it is announced, else within a second.
   */
  watch(credential: string, onEnded: () => void): Promise<(() => void) | undefined>
  /** The same for one that was found to hold just now, which is not asked about again. */
  watchVerified(credential: string, onEnded: () => void): () => void
  /**
   * Tells those who watch credentials here, before it returns, and on every other replica that these have ended; resolves
   * once the others are told. Comes after the commit.
   */
  announce(ended: readonly string[]): Promise<void>
  close(): void
}
