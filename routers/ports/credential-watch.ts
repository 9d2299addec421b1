/** Tells when sessions and tokens end, wherever they were ended. */
export interface CredentialWatch {
  /**
   * Watches `session:{hash}` or `token:{id}`, and resolves with the way to stop; undefined where it holds no longer. Tells
   * of an end once, within a second.
   */
  watch(credential: string, onEnded: () => void): Promise<(() => void) | undefined>
  /** The same for one that was found to hold just now, which is not asked about again. */
  follow(credential: string, onEnded: () => void): () => void
  close(): void
}
